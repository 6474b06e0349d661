"""Limits over HTTP, counted for two workers together by a real store (P6, B5)."""

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import accumulate, product
from pathlib import Path

import pytest
import redis

from tests.api.building import browser_of
from tests.cli.installations import Installation
from tests.running import Answer, Client, DawrServer, at_once, eventually, must_be_problem
from tests.servers import PostgresServer, ValkeyServer, server_directory

PASSWORD = "a long walk to the sea"
QUOTA = 20
OF_PAIR, OF_ACCOUNT = 4, 10
CONNECTIONS = 30
LIMITS = {
    "DAWR_RATE_LIMITS": "on",
    "DAWR_WORKERS": "2",
    "DAWR_LIMIT_CLINIC_JOIN": str(QUOTA),
    "DAWR_LIMIT_LOGIN": str(OF_PAIR),
    "DAWR_LIMIT_LOGIN_ACCOUNT": str(OF_ACCOUNT),
    "DAWR_LIMIT_LOOK": "100000",
}


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, valkey: ValkeyServer
) -> Iterator[Installation]:
    with postgres_server.lend_database() as url:
        settings = {"DAWR_DATABASE_URL": url, "DAWR_REDIS_URL": valkey.url, **LIMITS}
        installation = Installation(settings, url, tmp_path_factory.mktemp("two-workers"))
        installation.create_venue()
        for name in ("known", "locked", "away"):
            hire(installation, name)
        yield installation


@pytest.fixture(scope="module")
def two_workers(installation: Installation) -> Iterator[DawrServer]:
    with installation.serve() as server:
        eventually(lambda: quotas_shown(server) == {100_000})
        yield server


def test_two_workers_let_the_quota_in_and_not_one_more(two_workers: DawrServer) -> None:
    joined = at_once(lambda number: enter(two_workers, number, address="198.51.100.1"), range(2 * CONNECTIONS))

    let_in = [answer for answer in joined if answer.status == 200]
    assert len({answer.json["number"] for answer in let_in}) == QUOTA
    assert sorted(left(answer) for answer in let_in) == list(range(QUOTA))
    for answer in joined:
        if answer.status != 200:
            must_be_problem(answer, 429, "quota-exceeded")
            assert answer.json["violated-policies"] == ["clinic-join"]
            assert answer.headers["ratelimit-policy"] == f'"clinic-join";q={QUOTA};w=60'
    assert enter(two_workers, 999, address="198.51.100.2").status == 200


def test_whoever_reads_the_whole_store_finds_no_address_by_trying_all(
    two_workers: DawrServer, installation: Installation, valkey: ValkeyServer
) -> None:
    enter(two_workers, 1, address="198.51.100.77")
    [(secret,)] = installation.rows("SELECT secret FROM installation")

    names, words = everything_in(valkey)

    assert found_by_trying(names, words) == set()
    assert secret.encode() not in b" ".join(words)
    assert found_by_trying(names, [secret.encode()]) >= {"198.51.100.77"}


def test_a_retry_costs_nothing_whichever_worker_it_comes_to(two_workers: DawrServer) -> None:
    first = enter(two_workers, 1, address="198.51.100.3", key="kept")
    again = at_once(lambda _: enter(two_workers, 1, address="198.51.100.3", key="kept"), range(CONNECTIONS))
    rest = at_once(lambda number: enter(two_workers, number, address="198.51.100.3"), range(2, CONNECTIONS))
    late = enter(two_workers, 1, address="198.51.100.3", key="kept")

    assert {(answer.status, answer.body) for answer in (*again, late)} == {(first.status, first.body)}
    assert sum(answer.status == 200 for answer in rest) == QUOTA - 1


def test_passwords_are_guessed_no_faster_through_two_workers(two_workers: DawrServer) -> None:
    from_one = at_once(lambda _: sign_in(two_workers, "basma", address="198.51.101.200").status, range(CONNECTIONS))
    from_many = at_once(
        lambda number: sign_in(two_workers, "amna", address=f"198.51.101.{number}").status, range(CONNECTIONS)
    )

    assert sorted(from_one) == [401] * OF_PAIR + [429] * (CONNECTIONS - OF_PAIR)
    assert sorted(from_many) == [401] * OF_ACCOUNT + [429] * (CONNECTIONS - OF_ACCOUNT)


def test_a_browser_that_one_worker_let_in_is_known_to_the_other(two_workers: DawrServer) -> None:
    cookie = browser_of(sign_in(two_workers, "known", PASSWORD, address="198.51.102.1"))
    hold_back(two_workers, "known", "198.51.103")

    must_be_problem(sign_in(two_workers, "known", PASSWORD, address="198.51.102.1"), 429, "quota-exceeded")
    assert let_in_by_both(two_workers, "known", "198.51.102.1", cookie=cookie)


def test_whoever_is_unlocked_by_the_command_line_is_let_in_by_both_workers(
    two_workers: DawrServer, installation: Installation
) -> None:
    hold_back(two_workers, "locked", "198.51.104")

    unlocked = installation.dawr("staff", "unlock", "locked")

    assert unlocked.exit_code == 0, unlocked
    assert let_in_by_both(two_workers, "locked", "198.51.105.1")


def test_without_the_store_passwords_are_guessed_no_faster_and_can_be_unlocked(
    two_workers: DawrServer, installation: Installation, valkey: ValkeyServer
) -> None:
    valkey.kill()
    try:
        guesses = at_once(
            lambda number: sign_in(two_workers, "away", address=f"198.51.106.{number}").status, range(2 * CONNECTIONS)
        )
        unlocked = installation.dawr("staff", "unlock", "away")
        let_in = let_in_by_both(two_workers, "away", "198.51.107.1")
    finally:
        valkey.start()

    assert 1 <= guesses.count(401) <= OF_ACCOUNT
    assert guesses.count(401) + guesses.count(429) == 2 * CONNECTIONS
    assert unlocked.exit_code == 0, unlocked
    assert let_in
    eventually(lambda: quotas_shown(two_workers) == {100_000}, seconds=30)


def test_without_the_store_each_worker_has_its_half_and_a_line_says_so(
    two_workers: DawrServer, valkey: ValkeyServer
) -> None:
    valkey.kill()
    try:
        joined = at_once(lambda number: enter(two_workers, number, address="198.51.100.4"), range(2 * CONNECTIONS))
        again = at_once(lambda number: enter(two_workers, number, address="198.51.100.4"), range(100, 130))
    finally:
        valkey.start()

    let_in = [answer for answer in (*joined, *again) if answer.status == 200]
    assert QUOTA // 2 <= len(let_in) <= QUOTA
    assert {quota(answer) for answer in again} == {QUOTA // 2}
    eventually(lambda: quotas_shown(two_workers) == {100_000}, seconds=30)
    lines = [json.loads(line) for line in two_workers.log.read_text().splitlines() if line.startswith("{")]
    hits = [line for line in lines if line["event"] == "limit.hit"]
    assert "clinic-join" in {line["policy"] for line in hits}
    assert not [line for line in hits if "198.51" in json.dumps(line)]
    assert {"limits.local", "limits.shared"} <= {line["event"] for line in lines}


def test_right_passwords_while_the_database_is_away_lock_nobody_out(tmp_path: Path) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        url = postgres.create_database("dawr")
        settings = {"DAWR_DATABASE_URL": url, "DAWR_RATE_LIMITS": "on"}
        installation = Installation(settings, url, tmp_path)
        installation.create_venue()
        hire(installation, "amna")
        with installation.serve() as server:
            postgres.kill()
            away = [sign_in(server, "amna", PASSWORD, address="198.51.100.1").status for _ in range(7)]

            postgres.start()

            eventually(lambda: sign_in(server, "amna", PASSWORD, address="198.51.100.1").status == 200)
            wrong = [sign_in(server, "amna", address="198.51.100.1").status for _ in range(6)]

    assert away == [503] * 7
    assert wrong == [401] * 5 + [429]


def everything_in(valkey: ValkeyServer) -> tuple[bytes, set[bytes]]:
    """The names of all keys, and every word that could be a key to their hashes."""
    with redis.Redis.from_url(valkey.url) as store:
        names = list(store.scan_iter())
        hashes = [store.hgetall(name) for name in names if store.type(name) == b"hash"]
        run_id = store.info("server")["run_id"].encode()
    parts = [part for name in names for part in accumulate(re.split(rb"(?<=:)", name))]
    values = [value for each in hashes for pair in each.items() for value in pair]
    words = {b"", run_id, *parts, *values, *(piece for part in (*parts, *values) for piece in part.split(b":"))}
    return b" ".join(names), {word[:64] for word in words}


def found_by_trying(names: bytes, keys: Iterable[bytes]) -> set[str]:
    """Those of 256 addresses whose hash under one of the keys is there."""
    found = set()
    for key, person, last in product(keys, (b"", b"shared log"), range(256)):
        address = f"198.51.100.{last}"
        if blake2b(address.encode(), digest_size=16, key=key, person=person).hexdigest().encode() in names:
            found.add(address)
    return found


def enter(server: DawrServer, number: int, *, address: str, key: str | None = None) -> Answer:
    """On a connection of its own, so that the kernel chooses the worker."""
    with Client(server.url) as client:
        given = {"clinic": "lab", "user": f"visitor {number} of {address}"}
        return client.post("/api/v1/queue/enter", given, key=key, X_Forwarded_For=address)


def hire(installation: Installation, name: str) -> None:
    arguments = ("--venue", "clinic", "--role", "staff", "--password-stdin")
    hired = installation.dawr("staff", "add", name, *arguments, stdin=f"{PASSWORD}\n")
    assert hired.exit_code == 0, hired


def sign_in(server: DawrServer, name: str, password: str = "a guess", *, address: str, cookie: str = "") -> Answer:
    with Client(server.url) as client:
        given = {"username": name, "password": password}
        return client.post("/v1/login", given, X_Forwarded_For=address, **({"Cookie": cookie} if cookie else {}))


def hold_back(server: DawrServer, name: str, network: str) -> None:
    for number in range(OF_ACCOUNT):
        must_be_problem(sign_in(server, name, address=f"{network}.{number}"), 401, "wrong-credentials")
    must_be_problem(sign_in(server, name, PASSWORD, address=f"{network}.200"), 429, "quota-exceeded")


def let_in_by_both(server: DawrServer, name: str, address: str, *, cookie: str = "") -> bool:
    """Unless a dozen connections all go to one. One after the other: who asks at once is charged at once."""
    return all(sign_in(server, name, PASSWORD, address=address, cookie=cookie).status == 200 for _ in range(12))


def quotas_shown(server: DawrServer) -> set[int]:
    """By both workers, unless a dozen connections all go to one."""

    def look(_: int) -> int:
        with Client(server.url) as client:
            return quota(client.status("lab"))

    return set(at_once(look, range(12)))


def quota(answer: Answer) -> int:
    told = re.fullmatch(r'"[a-z-]+";q=(\d+);w=\d+', answer.headers["ratelimit-policy"])
    assert told is not None
    return int(told[1])


def left(answer: Answer) -> int:
    told = re.fullmatch(r'"[a-z-]+";r=(\d+);t=\d+', answer.headers["ratelimit"])
    assert told is not None
    return int(told[1])

"""Limits over HTTP, counted for two workers together by a real store (P6, B5)."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.cli.installations import Installation
from tests.running import Answer, Client, DawrServer, at_once, eventually, must_be_problem
from tests.servers import PostgresServer, ValkeyServer, server_directory

QUOTA = 20
CONNECTIONS = 30
LIMITS = {
    "DAWR_RATE_LIMITS": "on",
    "DAWR_WORKERS": "2",
    "DAWR_LIMIT_CLINIC_JOIN": str(QUOTA),
    "DAWR_LIMIT_LOGIN": "4",
    "DAWR_LIMIT_LOOK": "100000",
}


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


@pytest.fixture(scope="module")
def two_workers(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, valkey: ValkeyServer
) -> Iterator[DawrServer]:
    with postgres_server.lend_database() as url:
        settings = {"DAWR_DATABASE_URL": url, "DAWR_REDIS_URL": valkey.url, **LIMITS}
        installation = Installation(settings, url, tmp_path_factory.mktemp("two-workers"))
        installation.create_venue()
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


def test_a_retry_costs_nothing_whichever_worker_it_comes_to(two_workers: DawrServer) -> None:
    first = enter(two_workers, 1, address="198.51.100.3", key="kept")
    again = at_once(lambda _: enter(two_workers, 1, address="198.51.100.3", key="kept"), range(CONNECTIONS))
    rest = at_once(lambda number: enter(two_workers, number, address="198.51.100.3"), range(2, CONNECTIONS))
    late = enter(two_workers, 1, address="198.51.100.3", key="kept")

    assert {(answer.status, answer.body) for answer in (*again, late)} == {(first.status, first.body)}
    assert sum(answer.status == 200 for answer in rest) == QUOTA - 1


def test_passwords_are_guessed_no_faster_through_two_workers(two_workers: DawrServer) -> None:
    statuses = at_once(lambda number: guess(two_workers, address=f"198.51.101.{number}").status, range(CONNECTIONS))

    assert sorted(statuses) == [401] * 4 + [429] * (CONNECTIONS - 4)


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


def enter(server: DawrServer, number: int, *, address: str, key: str | None = None) -> Answer:
    """On a connection of its own, so that the kernel chooses the worker."""
    with Client(server.url) as client:
        given = {"clinic": "lab", "user": f"visitor {number} of {address}"}
        return client.post("/api/v1/queue/enter", given, key=key, X_Forwarded_For=address)


def guess(server: DawrServer, *, address: str) -> Answer:
    with Client(server.url) as client:
        return client.post("/v1/login", {"username": "amna", "password": "a guess"}, X_Forwarded_For=address)


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

"""How often one address may knock, and what it is told then (MISSION A19, B1, B5).

The proxy in front of the server is trusted here, so that every test has an address of its own.
"""

import itertools
import json
import re
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

from tests.doors.restaurant import a_party
from tests.running import Answer, Client, DawrServer, must_be_problem

PASSWORD = "for the demo only"
SMALL = {
    "DAWR_RATE_LIMITS": "on",
    "DAWR_LIMIT_CLINIC_JOIN": "4",
    "DAWR_LIMIT_JOIN": "3",
    "DAWR_LIMIT_LOOK": "5",
    "DAWR_LIMIT_CALLER": "8",
    "DAWR_LIMIT_DEVICE": "6",
    "DAWR_LIMIT_RETRY": "3",
    "DAWR_LIMIT_LOGIN": "2",
    "DAWR_LIMIT_LOGIN_ACCOUNT": "3",
    "DAWR_MOST_STREAMS_PER_ADDRESS": "1",
}
JOIN = "/api/public/demo-restaurant/queue"
ENTER = "/api/v1/queue/enter"
STATUS = "/api/v1/queue/status?clinic=lab"
LOGIN = "/api/v1/admin/login"

_people = itertools.count(1)
_addresses = (f"198.51.100.{number}" for number in range(1, 255))


class Knocking(msgspec.Struct, frozen=True):
    """Whoever comes from one address."""

    client: Client
    address: str

    def join(self, number: int | None = None, *, key: str | None = None) -> Answer:
        party = a_party(next(_people) if number is None else number)
        return self.client.post(JOIN, party, key=key, X_Forwarded_For=self.address)

    def enter(self, user: str | None = None, *, key: str | None = None, bearer: str | None = None) -> Answer:
        given = {"clinic": "lab", "user": user or f"visitor {next(_people)}"}
        return self.client.post(ENTER, given, key=key, bearer=bearer, X_Forwarded_For=self.address)

    def look(self) -> Answer:
        return self.client.ask(STATUS, headers={"X-Forwarded-For": self.address})

    def login(self, password: str = "wrong", username: str = "demo") -> Answer:
        return self.client.post(LOGIN, {"username": username, "password": password}, X_Forwarded_For=self.address)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    directory = tmp_path_factory.mktemp("limited")
    with DawrServer(directory, "demo", "--password", PASSWORD, "--data", directory / "data", **SMALL) as demo:
        yield demo


@pytest.fixture
def somebody(demo: DawrServer) -> Iterator[Knocking]:
    with Client(demo.url) as client:
        yield Knocking(client, next(_addresses))


@pytest.fixture
def somebody_else(demo: DawrServer) -> Iterator[Knocking]:
    with Client(demo.url) as client:
        yield Knocking(client, next(_addresses))


def test_the_restaurants_door_counts_down_and_then_says_when_to_come_again(
    somebody: Knocking, somebody_else: Knocking
) -> None:
    let_in = [somebody.join() for _ in range(3)]

    refused = somebody.join()

    assert [answer.status for answer in let_in] == [201] * 3
    assert {answer.headers["ratelimit-policy"] for answer in let_in} == {'"join";q=3;w=60'}
    assert [answer.headers["ratelimit"].split(";")[1] for answer in let_in] == ["r=2", "r=1", "r=0"]
    must_be_told_to_wait(refused, "join")
    following = somebody_else.join().json["data"]["tokenNumber"]
    assert following == let_in[-1].json["data"]["tokenNumber"] + 1


def test_the_clinics_door_has_a_limit_of_its_own(somebody: Knocking) -> None:
    for _ in range(3):
        somebody.join()
    must_be_told_to_wait(somebody.join(), "join")

    let_in = [somebody.enter().status for _ in range(4)]

    assert let_in == [200] * 4
    must_be_told_to_wait(somebody.enter(), "clinic-join")


def test_looking_has_a_limit_of_its_own(somebody: Knocking) -> None:
    assert [somebody.look().status for _ in range(5)] == [200] * 5

    must_be_told_to_wait(somebody.look(), "look")

    assert (somebody.join().status, somebody.enter().status) == (201, 200)


def test_one_address_does_not_use_up_anothers(somebody: Knocking, somebody_else: Knocking) -> None:
    for _ in range(4):
        somebody.join()

    assert somebody_else.join().status == 201


def test_a_retry_under_its_key_is_answered_although_the_limit_is_used_up(somebody: Knocking) -> None:
    number, key = next(_people), f"kept-{somebody.address}"
    first = somebody.join(number, key=key)
    for _ in range(2):
        somebody.join()
    must_be_told_to_wait(somebody.join(), "join")

    again = somebody.join(number, key=key)

    assert (again.status, again.body, again.headers["idempotency-replayed"]) == (201, first.body, "true")


def test_past_the_limit_so_many_requests_with_a_key_are_looked_up_and_no_more(somebody: Knocking) -> None:
    number, key = next(_people), f"bounded-{somebody.address}"
    first = somebody.join(number, key=key)
    for _ in range(2):
        somebody.join()

    probed = [somebody.join(key=f"probe-{n}-{somebody.address}") for n in range(2)]
    again, too_often = somebody.join(number, key=key), somebody.join(number, key=key)

    for probe in probed:
        must_be_told_to_wait(probe, "join")
    assert (again.status, again.body) == (201, first.body)
    must_be_told_to_wait(too_often, "join")


def test_requests_without_a_key_keep_nobody_from_a_retry(somebody: Knocking) -> None:
    number, key = next(_people), f"among-{somebody.address}"
    first = somebody.join(number, key=key)
    for _ in range(8):
        somebody.join()

    again = somebody.join(number, key=key)

    assert (again.status, again.body) == (201, first.body)


def test_a_retry_under_its_key_costs_nothing(somebody: Knocking) -> None:
    key = f"free-{somebody.address}"
    for _ in range(6):
        assert somebody.enter("Amna of the retries", key=key).status == 200

    assert [somebody.enter().status for _ in range(4)] == [200, 200, 200, 429]


def test_something_else_under_a_known_key_is_refused_as_that_and_not_let_in(somebody: Knocking) -> None:
    key = f"other-{somebody.address}"
    somebody.join(key=key)
    for _ in range(2):
        somebody.join()

    must_be_problem(somebody.join(key=key), 422, "idempotency-key-reused")


def test_a_new_key_is_no_way_around_the_limit(somebody: Knocking) -> None:
    statuses = [somebody.join(key=f"{number}-{somebody.address}").status for number in range(5)]

    assert statuses == [201, 201, 201, 429, 429]


def test_a_kiosk_is_counted_apart_from_the_phones_around_it(somebody: Knocking) -> None:
    kiosk = a_kiosk(somebody)
    for _ in range(4):
        somebody.enter()
    must_be_told_to_wait(somebody.enter(), "clinic-join")

    let_in = [somebody.enter(bearer=kiosk) for _ in range(6)]

    assert [answer.status for answer in let_in] == [200] * 6
    assert {answer.headers["ratelimit-policy"] for answer in let_in} == {'"device";q=6;w=60'}
    must_be_told_to_wait(somebody.enter(bearer=kiosk), "device")


def test_two_kiosks_are_counted_apart(somebody: Knocking) -> None:
    one, other = a_kiosk(somebody), a_kiosk(somebody)
    for _ in range(7):
        somebody.enter(bearer=one)

    assert somebody.enter(bearer=other).status == 200


def test_after_two_wrong_passwords_even_the_right_one_must_wait(somebody: Knocking, somebody_else: Knocking) -> None:
    for _ in range(2):
        must_be_problem(somebody.login(), 401, "wrong-credentials")

    must_be_told_to_wait(somebody.login(PASSWORD), "login", seconds=15 * 60)
    assert somebody_else.login(PASSWORD).status == 200


def test_an_account_is_guarded_from_all_addresses_together(somebody: Knocking, somebody_else: Knocking) -> None:
    name = f"nobody-{next(_people)}"
    for _ in range(2):
        must_be_problem(somebody.login(username=name), 401, "wrong-credentials")
    must_be_problem(somebody_else.login(username=name.upper()), 401, "wrong-credentials")

    must_be_told_to_wait(somebody_else.login(username=name), "login-account", seconds=24 * 60 * 60)


def test_the_right_password_costs_nothing(somebody: Knocking) -> None:
    assert [somebody.login(PASSWORD).status for _ in range(4)] == [200] * 4


def test_credentials_that_are_no_good_are_charged_to_the_address(somebody: Knocking) -> None:
    tries = [somebody.enter(bearer="dws_nobody-has-this-one").status for _ in range(7)]

    assert tries == [401] * 5 + [429] * 2


def test_streams_that_cannot_be_are_counted_too(somebody: Knocking) -> None:
    path, headers = "/v1/events?venue=nowhere", {"X-Forwarded-For": somebody.address}

    asked = [somebody.client.ask(path, headers=headers).status for _ in range(6)]

    assert asked == [404] * 4 + [429] * 2


def test_health_is_asked_for_as_often_as_one_likes(somebody: Knocking) -> None:
    paths = ("/health/live", "/health/ready", "/health", "/api/v1/health/status", "/api/v1/status")

    assert {somebody.client.ask(path).status for path in paths for _ in range(7)} == {200}


def test_an_address_that_somebody_made_up_does_not_help(tmp_path: Path) -> None:
    """The peer is no proxy of ours: what it says about whom it speaks for does not count."""
    settings = {**SMALL, "DAWR_TRUSTED_PROXIES": "203.0.113.0/24"}
    with (
        DawrServer(tmp_path, "demo", "--data", tmp_path / "data", **settings) as demo,
        Client(demo.url) as client,
    ):
        statuses = [Knocking(client, f"198.51.{number}.7").join().status for number in range(30)]

    assert statuses == [201] * 3 + [429] * 27


def test_an_address_in_front_of_the_trusted_proxys_own_word_does_not_help(demo: DawrServer, somebody: Knocking) -> None:
    """Whatever the client wrote stands before what our proxy wrote."""
    statuses = [
        Knocking(somebody.client, f"203.0.113.{number}, {somebody.address}").join().status for number in range(5)
    ]

    assert statuses == [201, 201, 201, 429, 429]


def test_several_lines_of_the_header_are_one_list(demo: DawrServer, somebody: Knocking) -> None:
    for _ in range(3):
        somebody.join()
    body = json.dumps(a_party(next(_people))).encode()
    connection = HTTPConnection("127.0.0.1", demo.port, timeout=60)
    connection.putrequest("POST", JOIN)
    for address in ("203.0.113.77", somebody.address):
        connection.putheader("X-Forwarded-For", address)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)

    assert connection.getresponse().status == 429
    connection.close()


def must_be_told_to_wait(answer: Answer, policy: str, *, seconds: int = 60) -> None:
    """429, in the standard's words: when to come again is never too early."""
    must_be_problem(answer, 429, "quota-exceeded")
    assert answer.json["violated-policies"] == [policy]
    assert re.fullmatch(rf'"{policy}";q=\d+;w={seconds}', answer.headers["ratelimit-policy"])
    told = re.fullmatch(rf'"{policy}";r=0;t=(\d+)', answer.headers["ratelimit"])
    assert told is not None
    assert 1 <= int(told[1]) <= int(answer.headers["retry-after"]) <= seconds


def a_kiosk(somebody: Knocking) -> str:
    session = str(somebody.login(PASSWORD).json["token"])
    made = somebody.client.post(
        "/v1/venues/clinic/tokens", {"kind": "kiosk", "name": f"Kiosk {next(_people)}"}, bearer=session
    )
    assert made.status == 201, made
    return str(made.json["bearer"])

"""What a refused join costs the caller's address, at every door and on both limiters (docs/api.md, "Limits").

The server trusts the proxy here, so that every test has an address of its own.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from urllib.parse import urlencode

import msgspec
import pytest
import redis

from tests.cli.installations import Installation
from tests.doors.restaurant import a_party, restaurant_document
from tests.running import Answer, Client, DawrServer, eventually, must_be_problem, venue_document
from tests.servers import PostgresServer, ValkeyServer

JOINS, LOOKS = 3, 12
LIMITS = {
    "DAWR_RATE_LIMITS": "on",
    "DAWR_LIMIT_CLINIC_JOIN": str(JOINS),
    "DAWR_LIMIT_JOIN": str(JOINS),
    "DAWR_LIMIT_LOOK": str(LOOKS),
    "DAWR_LIMIT_MOBILE": "1",
    "DAWR_CLINIC_VENUE": "clinic",
}
FULL = {"id": "full", "capacity": 0}
CLOSED = {"id": "closed", "state": "closed"}
TAKE = "/v1/queues/{}/tickets"
ENTER = "/api/v1/queue/enter"
LIST = "/api/public/{}/queue"
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}

_numbers = count(1)


class Visitor(msgspec.Struct, frozen=True):
    """A caller at an address that no other test has."""

    client: Client
    address: str

    def post(self, path: str, given: object, *, key: str | None = None, bearer: str | None = None) -> Answer:
        return self.client.post(path, given, key=key, bearer=bearer, X_Forwarded_For=self.address)

    def send(self, path: str, body: bytes) -> Answer:
        headers = {"Content-Type": "application/json", "X-Forwarded-For": self.address}
        return self.client.ask(path, method="POST", body=body, headers=headers)

    def press(self, path: str, **fields: str) -> Answer:
        """Send a page's form as a script does."""
        headers = FORM | {"X-Forwarded-For": self.address, "Accept": "application/json"}
        return self.client.ask(path, method="POST", body=urlencode(fields).encode(), headers=headers)

    def join(self, policy: str) -> Answer:
        if policy == "clinic-join":
            return self.post(ENTER, {"clinic": "lab", "user": f"visitor {next(_numbers)}"})
        return self.post(TAKE.format("clinic:lab"), {})


Refusal = Callable[[Visitor], Answer]


def reuse_key(path: str, first: object, second: object) -> Refusal:
    def reuse(visitor: Visitor) -> Answer:
        key = f"key of {visitor.address}".replace(" ", "-")
        elsewhere = Visitor(visitor.client, f"203.0.113.{next(_numbers) % 250}")
        elsewhere.post(path, first, key=key)
        return visitor.post(path, second, key=key)

    return reuse


def join_too_often(path: str, given: dict[str, object], mobile: str) -> Refusal:
    """Join with a mobile number that is in another line of the restaurant already."""

    def join(visitor: Visitor) -> Answer:
        elsewhere = Visitor(visitor.client, f"203.0.113.{next(_numbers) % 250}")
        elsewhere.post(TAKE.format("bistro:terrace"), {"visitor": mobile})
        return visitor.post(path, given)

    return join


def give_lab_priority(visitor: Visitor) -> Answer:
    return visitor.post(TAKE.format("clinic:lab"), {"priority": 1})


FREE: dict[str, tuple[str, int, str, Refusal]] = {
    "v1 field": ("join", 422, "invalid-body", lambda v: v.post(TAKE.format("clinic:lab"), {"what": 1})),
    "v1 json": ("join", 400, "malformed-json", lambda v: v.send(TAKE.format("clinic:lab"), b"{")),
    "v1 value": ("join", 422, "invalid-value", lambda v: v.post(TAKE.format("clinic:lab"), {"visitor": "\x07"})),
    "v1 priority": ("join", 403, "role-too-low", give_lab_priority),
    "v1 venue": ("join", 404, "unknown-venue", lambda v: v.post(TAKE.format("nowhere:lab"), {})),
    "v1 queue": ("join", 404, "unknown-queue", lambda v: v.post(TAKE.format("clinic:nothing"), {})),
    "v1 full": ("join", 409, "queue-full", lambda v: v.post(TAKE.format("clinic:full"), {})),
    "v1 closed": ("join", 409, "queue-closed", lambda v: v.post(TAKE.format("clinic:closed"), {})),
    "v1 visit": ("join", 409, "queue-full", lambda v: v.post("/v1/venues/clinic/visits", {"queue": "full"})),
    "v1 journey": (
        *("join", 404, "unknown-journey"),
        lambda v: v.post("/v1/venues/clinic/journeys", {"journey": "nothing", "visitor": "Amna"}),
    ),
    "v1 key": ("join", 422, "idempotency-key-reused", reuse_key(TAKE.format("clinic:lab"), {}, {"name": "Amna"})),
    "v1 empty key": ("join", 400, "invalid-idempotency-key", lambda v: v.post(TAKE.format("clinic:lab"), {}, key="")),
    "v1 mobile": (
        *("join", 429, "quota-exceeded"),
        join_too_often(TAKE.format("bistro:bar"), {"visitor": "+97433009001"}, "+97433009001"),
    ),
    "clinic field": ("clinic-join", 422, "invalid-body", lambda v: v.post(ENTER, {"clinic": 5})),
    "clinic json": ("clinic-join", 400, "malformed-json", lambda v: v.send(ENTER, b"{")),
    "clinic queue": ("clinic-join", 404, "unknown-queue", lambda v: v.post(ENTER, {"clinic": "nothing", "user": "a"})),
    "clinic full": ("clinic-join", 503, "queue-full", lambda v: v.post(ENTER, {"clinic": "full", "user": "a"})),
    "clinic closed": ("clinic-join", 409, "queue-closed", lambda v: v.post(ENTER, {"clinic": "closed", "user": "a"})),
    "clinic key": (
        *("clinic-join", 422, "idempotency-key-reused"),
        reuse_key(ENTER, {"clinic": "lab", "user": "a"}, {"clinic": "lab", "user": "b"}),
    ),
    "clinic journey": (
        *("clinic-join", 404, "unknown-journey"),
        lambda v: v.post("/api/v1/patient/login", {"patientId": "12345", "gender": "male", "examType": "nothing"}),
    ),
    "restaurant field": ("join", 422, "invalid-body", lambda v: v.post(LIST.format("bistro"), {"name": 1})),
    "restaurant json": ("join", 400, "malformed-json", lambda v: v.send(LIST.format("bistro"), b"{")),
    "restaurant venue": ("join", 404, "unknown-venue", lambda v: v.post(LIST.format("nowhere"), a_party())),
    "restaurant full": ("join", 409, "queue-full", lambda v: v.post(LIST.format("packed"), a_party())),
    "restaurant key": (
        *("join", 422, "idempotency-key-reused"),
        reuse_key(LIST.format("bistro"), a_party(8001), a_party(8002)),
    ),
    "restaurant mobile": (
        *("join", 429, "quota-exceeded"),
        join_too_often(LIST.format("bistro"), a_party(9002), "+97433009002"),
    ),
    "page field": ("join", 422, "", lambda v: v.press("/v/bistro", queue="waitlist", name="Amna")),
    "page full": ("join", 409, "", lambda v: v.press("/v/clinic", queue="full")),
    "page queue": ("join", 404, "", lambda v: v.press("/v/clinic", queue="nothing")),
}
"""The policy, the status and code, and the request. A page says in words what a code says elsewhere."""

GUESSES: dict[str, tuple[str, Refusal]] = {
    "name in a queue": ("clinic-join", lambda v: v.post("/api/v1/queue/done", {"clinic": "lab", "user": "nobody"})),
    "link": ("clinic-join", lambda v: v.post("/api/v1/path/choose", {"ticket": f"/t/x.{'x' * 22}"})),
    "patient": (
        "clinic-join",
        lambda v: v.post(
            "/api/v1/patient/verify-pin", {"patientId": "12345", "clinic": "lab", "pin": "11", "queueNumber": 1}
        ),
    ),
    "owner's code": (
        "join",
        lambda v: v.press("/first-run", code="a guess", username="owner", password="a long walk to the sea"),
    ),
}


@pytest.fixture(scope="module", params=["local", "shared"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    directory = tmp_path_factory.mktemp("refused")
    if request.param == "local":
        with served(Installation({"DAWR_DATA": str(directory / "data"), **LIMITS}, "", directory)) as server:
            yield server
        return
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    valkey: ValkeyServer = request.getfixturevalue("valkey_server")
    before = keys_of(valkey)
    with postgres.lend_database() as url:
        settings = {"DAWR_DATABASE_URL": url, "DAWR_REDIS_URL": valkey.url, **LIMITS}
        with served(Installation(settings, url, directory)) as server:
            eventually(lambda: counts_in(valkey, server, before))
            yield server


def served(installation: Installation) -> DawrServer:
    bistro = {**restaurant_document(), "slug": "bistro"}
    bistro["queues"] = [*bistro["queues"], {"id": "terrace", "name": {"en": "Terrace"}}]
    packed = {**restaurant_document(), "slug": "packed", "journeys": []}
    packed["queues"] = [{**queue, "capacity": 0} for queue in packed["queues"]]
    for document in (venue_document({"id": "lab"}, FULL, CLOSED), json.dumps(bistro), json.dumps(packed)):
        installation.set_up("venue", "apply", "-", stdin=document)
    return installation.serve()


def counts_in(valkey: ValkeyServer, server: DawrServer, before: set[bytes]) -> bool:
    """Charge an address, and return whether the store has the charge."""
    with Client(server.url) as client:
        client.ask("/v1/queues/clinic:lab", headers={"X-Forwarded-For": f"203.0.113.{next(_numbers) % 250}"})
    return any(b":look:" in name for name in keys_of(valkey) - before)


def keys_of(valkey: ValkeyServer) -> set[bytes]:
    with redis.Redis.from_url(valkey.url) as store:
        return set(store.scan_iter())


@pytest.fixture
def visitor(server: DawrServer) -> Iterator[Visitor]:
    number = next(_numbers)
    with Client(server.url) as client:
        yield Visitor(client, f"198.51.{number // 250}.{number % 250}")


@pytest.mark.parametrize("case", FREE)
def test_a_refusal_that_reveals_nothing_costs_no_join(visitor: Visitor, case: str) -> None:
    policy, status, code, refuse = FREE[case]

    refused = [refuse(visitor) for _ in range(JOINS + 2)]
    joined = [visitor.join(policy) for _ in range(JOINS)]

    assert [answer.status for answer in refused] == [status] * (JOINS + 2)
    assert all(answer.json["code"] == code for answer in refused if code)
    assert not [answer for answer in refused if code == "quota-exceeded" and policies(answer) != ["mobile"]]
    assert {answer.status for answer in joined} <= {200, 201}
    must_be_told_to_wait(visitor.join(policy), policy)


@pytest.mark.parametrize("case", GUESSES)
def test_a_guess_costs_a_join(visitor: Visitor, case: str) -> None:
    policy, guess = GUESSES[case]

    guessed = [guess(visitor) for _ in range(JOINS)]

    assert 429 not in {answer.status for answer in guessed}
    assert min(answer.status for answer in guessed) >= 400
    must_be_told_to_wait(visitor.join(policy), policy)


@pytest.mark.parametrize("case", ["v1 field", "clinic queue", "restaurant full", "page full"])
def test_refused_joins_count_as_looks_and_as_joins_once_no_looks_are_left(visitor: Visitor, case: str) -> None:
    policy, status, _, refuse = FREE[case]

    refused = [refuse(visitor).status for _ in range(LOOKS + JOINS)]

    assert refused == [status] * (LOOKS + JOINS)
    must_be_told_to_wait(visitor.join(policy), policy)
    looked = visitor.client.ask("/v1/queues/clinic:lab", headers={"X-Forwarded-For": visitor.address})
    must_be_told_to_wait(looked, "look")


@pytest.mark.parametrize("path", ["/api/v1/queue/done", "/api/v1/path/choose"])
def test_a_visitors_link_is_heard_although_their_address_has_used_up_its_joins(visitor: Visitor, path: str) -> None:
    user = f"visitor {next(_numbers)}"
    link = visitor.post(ENTER, {"clinic": "lab", "user": user}).json["ticket"]
    named = {"clinic": "lab", "user": user}
    used_up = [visitor.post("/api/v1/queue/done", named | {"user": "nobody"}) for _ in range(JOINS)]

    by_link = [visitor.post(path, named | {"ticket": link}) for _ in range(JOINS)]
    others = [
        visitor.post(path, named),
        visitor.post(path, named | {"ticket": f"{link}x"}),
        visitor.post(path, named | {"ticket": link, "padding": "x" * 2000}),
    ]

    assert used_up[-1].status == 429
    assert {answer.status for answer in by_link} == {409}
    for answer in others:
        must_be_told_to_wait(answer, "clinic-join")


def must_be_told_to_wait(answer: Answer, policy: str) -> None:
    must_be_problem(answer, 429, "quota-exceeded")
    assert policies(answer) == [policy]


def policies(answer: Answer) -> object:
    return answer.json["violated-policies"]

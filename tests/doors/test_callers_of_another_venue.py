"""Whoever has no role at a venue is anybody there: counted by address, at every door. At their own they are not.

The proxy in front of the server is trusted here, so that every test has an address of its own.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias
from urllib.parse import urlencode

import msgspec
import pytest

from dawr import bootstrap
from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.domain.staff import Role
from dawr.domain.token import TokenKind
from dawr.domain.venue import VenueId
from dawr.settings import Settings
from tests.api.world import PASSWORD, venue
from tests.doors.restaurant import a_party
from tests.running import Answer, Client, DawrServer, must_be_problem

QUOTA = {"clinic-join": 4, "join": 3, "look": 5, "stream": 4, "caller": 12, "device": 6, "venue-tokens": 15}
SETTINGS = {
    "DAWR_RATE_LIMITS": "on",
    "DAWR_CLINIC_VENUE": "clinic",
    "DAWR_LIMIT_CLINIC_JOIN": str(QUOTA["clinic-join"]),
    "DAWR_LIMIT_JOIN": str(QUOTA["join"]),
    "DAWR_LIMIT_LOOK": str(QUOTA["look"]),
    "DAWR_LIMIT_CALLER": str(QUOTA["caller"]),
    "DAWR_LIMIT_DEVICE": str(QUOTA["device"]),
    "DAWR_LIMIT_VENUE_TOKENS": str(QUOTA["venue-tokens"]),
    "DAWR_MOST_STREAMS_PER_ADDRESS": "1",
}
FORM = "application/x-www-form-urlencoded"
SET_UP = {"name": {"en": "Another"}, "zone": "Asia/Qatar", "queues": [{"id": "main", "name": {"en": "Main"}}]}

_people = itertools.count(1)
_addresses = (f"198.51.100.{number}" for number in range(1, 255))


class Somebody(msgspec.Struct, frozen=True):
    """Who asks from one address, with a bearer or none."""

    client: Client
    address: str

    def get(self, path: str, bearer: str | None) -> Answer:
        return self._ask("GET", path, bearer)

    def post(self, path: str, given: object, bearer: str | None) -> Answer:
        return self._ask("POST", path, bearer, msgspec.json.encode(given))

    def send(self, path: str, fields: dict[str, str], bearer: str | None) -> Answer:
        return self._ask("POST", path, bearer, urlencode(fields).encode(), FORM)

    def put(self, path: str, given: object, bearer: str | None) -> Answer:
        return self._ask("PUT", path, bearer, msgspec.json.encode(given))

    def _ask(
        self, method: str, path: str, bearer: str | None, body: bytes | None = None, kind: str = "application/json"
    ) -> Answer:
        headers = {"X-Forwarded-For": self.address, "Content-Type": kind, "Sec-Fetch-Site": "same-origin"}
        if bearer is not None:
            headers["Authorization"] = f"Bearer {bearer}"
        return self.client.ask(path, method=method, body=body, headers=headers)


Way: TypeAlias = Callable[[Somebody, str | None], Answer]


def enter_clinic(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.post("/api/v1/queue/enter", {"clinic": "lab", "user": f"visitor {next(_people)}"}, bearer)


def take_ticket(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.post("/v1/queues/clinic:lab/tickets", {}, bearer)


def start_visit(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.post("/v1/venues/clinic/visits", {"queue": "lab"}, bearer)


def fill_in_form(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.send("/v/clinic", {"queue": "lab"}, bearer)


def look_at_queue(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.get("/v1/queues/clinic:lab", bearer)


def look_at_clinic(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.get("/api/v1/queue/status?clinic=lab", bearer)


def open_display(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.get("/d/clinic", bearer)


def ask_for_nothing(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.get("/v1/venues/nowhere", bearer)


def watch_nothing(somebody: Somebody, bearer: str | None) -> Answer:
    return somebody.get("/v1/events?queue=clinic:nothing", bearer)


def watch_in_other_letters(somebody: Somebody, bearer: str | None) -> Answer:
    """As the query is read later, it names the clinic."""
    return somebody.get("/v1/events?%71ueue=clinic:nothing", bearer)


WAYS: dict[Way, str] = {
    enter_clinic: "clinic-join",
    take_ticket: "join",
    start_visit: "join",
    fill_in_form: "join",
    look_at_queue: "look",
    look_at_clinic: "look",
    open_display: "look",
    ask_for_nothing: "look",
    watch_nothing: "stream",
    watch_in_other_letters: "stream",
}


class Place(msgspec.Struct, frozen=True):
    url: str
    bearers: dict[str, str]
    """By what it is, and where."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("two-venues")
    bearers = asyncio.run(bearers_at(Settings(data=str(directory / "data"))))
    with DawrServer(directory, "serve", DAWR_DATA=directory / "data", **SETTINGS) as server:
        yield Place(server.url, bearers)


async def bearers_at(settings: Settings) -> dict[str, str]:
    async with bootstrap.running(settings) as dawr:
        clinic, bistro, hall = [await dawr.set_up(venue(slug)) for slug in ("clinic", "bistro", "hall")]
        tokens = {f"token {number}@hall": await a_token(dawr, hall, "api", "staff") for number in range(4)}
        return {
            **tokens,
            "manager@hall": await a_session(dawr, hall, "manager"),
            "viewer@bistro": await a_session(dawr, bistro, "viewer"),
            "owner@bistro": await a_session(dawr, bistro, "owner"),
            "kiosk@bistro": await a_token(dawr, bistro, "kiosk"),
            "api@bistro": await a_token(dawr, bistro, "api", "viewer"),
            "kiosk@clinic": await a_token(dawr, clinic, "kiosk"),
            "api@clinic": await a_token(dawr, clinic, "api", "owner"),
        }


async def a_token(dawr: Dawr, venue_id: VenueId, kind: TokenKind, role: Role | None = None) -> str:
    making, bearer = dawr.accounts.new_token(venue_id, kind, role, "A token", made_by="command line", account_id=None)
    await dawr.engine.do(venue_id, making, origin=COMMAND_LINE)
    return bearer


async def a_session(dawr: Dawr, venue_id: VenueId, role: Role) -> str:
    adding = await dawr.accounts.add_staff(role, role, PASSWORD, by=None, known_to={})
    await dawr.engine.do(venue_id, adding, origin=COMMAND_LINE)
    signed_in = await dawr.accounts.sign_in(role, PASSWORD)
    assert signed_in is not None
    return signed_in[0]


@pytest.fixture
def somebody(place: Place) -> Iterator[Somebody]:
    with Client(place.url) as client:
        yield Somebody(client, next(_addresses))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("who", ["kiosk@bistro", "api@bistro", "viewer@bistro"])
def test_a_credential_of_another_venue_gets_no_more_than_anybody(
    place: Place, somebody: Somebody, who: str, way: Way
) -> None:
    policy = WAYS[way]

    asked = [way(somebody, place.bearers[who]) for _ in range(QUOTA[policy])]

    assert 429 not in {answer.status for answer in asked}
    must_be_held_back(way(somebody, place.bearers[who]), policy)
    must_be_held_back(way(somebody, None), policy)


def test_the_restaurants_door_counts_a_clinics_owner_by_address(place: Place, somebody: Somebody) -> None:
    path = "/api/public/bistro/queue"

    joined = [somebody.post(path, a_party(next(_people)), place.bearers["api@clinic"]) for _ in range(4)]

    assert [answer.status for answer in joined] == [201, 201, 201, 429]
    must_be_held_back(joined[-1], "join")


def test_at_their_own_venue_they_are_not_held_up_by_the_phones_around_them(place: Place, somebody: Somebody) -> None:
    for way in WAYS:
        for _ in range(QUOTA[WAYS[way]]):
            way(somebody, None)

    entered = enter_clinic(somebody, place.bearers["kiosk@clinic"])
    watched = watch_nothing(somebody, place.bearers["kiosk@clinic"])

    assert (entered.status, entered.headers["ratelimit-policy"]) == (200, '"device";q=6;w=60')
    must_be_problem(watched, 404, "unknown-queue")


def test_who_one_is_concerns_no_venue(place: Place, somebody: Somebody) -> None:
    for _ in range(QUOTA["look"] + 1):
        look_at_queue(somebody, None)

    me = somebody.get("/v1/me", place.bearers["owner@bistro"])

    assert (me.status, me.headers["ratelimit-policy"]) == (200, '"caller";q=12;w=60')


def test_an_owner_makes_a_new_venue_although_the_address_is_used_up(place: Place, somebody: Somebody) -> None:
    for _ in range(QUOTA["look"] + 1):
        look_at_queue(somebody, None)

    made = somebody.put("/v1/venues/another/set-up", SET_UP, place.bearers["owner@bistro"])

    assert (made.status, made.headers["ratelimit-policy"]) == (201, '"caller";q=12;w=60')


def test_many_tokens_of_a_venue_have_a_bound_together_that_holds_no_staff_back(
    place: Place, somebody: Somebody
) -> None:
    tokens = [place.bearers[f"token {number}@hall"] for number in range(4)]

    asked = [somebody.get("/v1/queues/hall:lab", token) for _ in range(6) for token in tokens]
    staff = somebody.get("/v1/queues/hall:lab", place.bearers["manager@hall"])

    assert sorted(answer.status for answer in asked) == [200] * QUOTA["venue-tokens"] + [429] * 9
    must_be_held_back(asked[-1], "venue-tokens")
    assert staff.status == 200


def must_be_held_back(answer: Answer, policy: str) -> None:
    must_be_problem(answer, 429, "quota-exceeded")
    assert answer.json["violated-policies"] == [policy]

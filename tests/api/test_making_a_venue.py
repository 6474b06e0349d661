"""A venue is made with its owner, in one step, by one of all who want its slug; on both databases.

Venue, owner and event are rows of one transaction: a server that is killed leaves all of them or none.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from dawr import bootstrap
from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.domain.venue import VenueId
from dawr.settings import Settings
from tests.api.world import PASSWORD, venue
from tests.builders import a_new
from tests.running import Answer, Client, DawrServer, at_once, dawr, eventually, must_be_problem, venue_document
from tests.servers import PostgresServer, ValkeyServer

MANY = 20
SET_UP: dict[str, Any] = {
    "name": {"en": "A place"},
    "zone": "Asia/Qatar",
    "queues": [{"id": "main", "name": {"en": "Main"}}],
}


class Served(msgspec.Struct, frozen=True):
    """An installation with a clinic, and the sessions of many who own it."""

    url: str
    owners: list[str]

    def put(self, slug: str, by: str, *, key: str | None = None, body: object = None) -> Answer:
        """Over a connection of one's own."""
        with Client(self.url) as client:
            path = f"/v1/venues/{slug}/set-up"
            return client.post(path, SET_UP if body is None else body, bearer=by, key=key, method="PUT")

    def get(self, path: str, by: str) -> Answer:
        with Client(self.url) as client:
            return client.get(path, bearer=by)

    def audit(self, slug: str, by: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get(f"/v1/venues/{slug}/audit", by).json["items"]
        return items


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("founding")
    if request.param == "sqlite":
        given = Settings(data=str(directory / "data"))
        owners = asyncio.run(owners_at(given))
        with DawrServer(directory, "serve", DAWR_DATA=given.data) as server:
            yield Served(server.url, owners)
        return
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    valkey: ValkeyServer = request.getfixturevalue("valkey_server")
    with postgres.lend_database() as url:
        owners = asyncio.run(owners_at(Settings(database_url=url)))
        settings = {"DAWR_DATABASE_URL": url, "DAWR_REDIS_URL": valkey.url}
        with DawrServer(directory, "serve", "--workers", "2", **settings) as server:
            yield Served(server.url, owners)


async def owners_at(settings: Settings, *, many: int = MANY) -> list[str]:
    async with bootstrap.running(settings) as dawr:
        venue_id = await dawr.set_up(venue("clinic"))
        return list(await asyncio.gather(*(an_owner(dawr, venue_id, f"owner{number}") for number in range(many))))


async def an_owner(dawr: Dawr, venue_id: VenueId, name: str) -> str:
    adding = await dawr.accounts.add_staff(name, "owner", PASSWORD, by=None, known_to={})
    await dawr.engine.do(venue_id, adding, origin=COMMAND_LINE)
    signed_in = await dawr.accounts.sign_in(name, PASSWORD)
    assert signed_in is not None
    return signed_in[0]


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def test_the_audit_trail_begins_with_whoever_made_the_venue(served: Served) -> None:
    slug, owner = a_new("place"), served.owners[3]

    made = served.put(slug, owner)

    assert made.status == 201
    (founding,) = served.audit(slug, owner)
    assert (founding["version"], founding["kind"], founding["actor"]) == (1, "staff.added", "staff:owner3")
    assert founding["facts"] == {"username": "owner3", "role": "owner"}
    assert founding["correlation_id"] == made.headers["x-correlation-id"]


@pytest.mark.parametrize("turn", range(3))
def test_one_owner_who_asks_many_times_at_once_makes_one_venue_and_is_never_refused(served: Served, turn: int) -> None:
    slug, owner = a_new("place"), served.owners[turn]

    answers = at_once(lambda _: served.put(slug, owner), range(MANY))

    assert statuses(answers) == {201: 1, 200: MANY - 1}
    assert len({answer.body for answer in answers}) == 1
    assert [event["kind"] for event in served.audit(slug, owner)] == ["staff.added"]


@pytest.mark.parametrize("turn", range(3))
def test_of_many_owners_who_ask_at_once_one_makes_the_venue_and_the_others_do_not_find_it(
    served: Served, turn: int
) -> None:
    slug = a_new(f"place{turn}")

    answers = at_once(lambda owner: served.put(slug, owner), served.owners)

    assert statuses(answers) == {201: 1, 404: MANY - 1}
    for answer in answers:
        if answer.status == 404:
            must_be_problem(answer, 404, "unknown-venue")
    maker = served.owners[[answer.status for answer in answers].index(201)]
    staff = served.get(f"/v1/venues/{slug}/staff", maker).json["items"]
    assert [member["role"] for member in staff] == ["owner"]
    assert served.put(slug, maker).status == 200


def test_many_at_once_under_one_key_make_one_venue_and_get_one_answer(served: Served) -> None:
    slug, owner, key = a_new("place"), served.owners[0], uuid4().hex

    answers = at_once(lambda _: served.put(slug, owner, key=key), range(MANY))

    assert {(answer.status, answer.body) for answer in answers} == {(201, answers[0].body)}
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == MANY - 1
    assert len(served.audit(slug, owner)) == 1


def test_a_retry_of_making_a_venue_is_told_the_same_although_it_was_changed_since(served: Served) -> None:
    slug, owner, key = a_new("place"), served.owners[0], uuid4().hex
    made = served.put(slug, owner, key=key)
    served.put(slug, owner, body={**SET_UP, "name": {"en": "Renamed"}})

    again = served.put(slug, owner, key=key)
    other = served.put(slug, owner, key=key, body={**SET_UP, "zone": "UTC"})

    assert (again.status, again.body, again.headers["idempotency-replayed"]) == (201, made.body, "true")
    must_be_problem(other, 422, "idempotency-key-reused")
    assert served.get(f"/v1/venues/{slug}", owner).json["name"] == {"en": "Renamed"}


def test_one_key_for_two_new_venues_is_two_keys(served: Served) -> None:
    owner, key = served.owners[0], uuid4().hex

    made = [served.put(a_new("place"), owner, key=key) for _ in range(2)]

    assert [answer.status for answer in made] == [201, 201]
    assert all("idempotency-replayed" not in answer.headers for answer in made)


def test_a_retry_is_answered_although_the_limit_is_used_up_and_a_new_venue_is_not_made(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("limited")
    owner, *_ = asyncio.run(owners_at(Settings(data=str(directory / "data"))))
    limits = {"DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_CALLER": "1"}
    with DawrServer(directory, "serve", DAWR_DATA=directory / "data", **limits) as server:
        limited, slug, key = Served(server.url, [owner]), a_new("place"), uuid4().hex
        made = limited.put(slug, owner, key=key)

        again, another = limited.put(slug, owner, key=key), limited.put(a_new("place"), owner, key=key)

    assert (made.status, again.status, again.body) == (201, 201, made.body)
    must_be_problem(another, 429, "quota-exceeded")


def test_an_account_owns_so_many_venues_and_the_command_line_makes_more(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("bounded")
    data = directory / "data"
    one, other = asyncio.run(owners_at(Settings(data=str(data)), many=2))
    with DawrServer(directory, "serve", DAWR_DATA=data, DAWR_MOST_VENUES_PER_ACCOUNT="4") as server:
        bounded, slugs = Served(server.url, [one, other]), [a_new("place") for _ in range(MANY)]
        unknown = bounded.get(f"/v1/venues/{slugs[0]}", one)
        made = at_once(lambda slug: bounded.put(slug, one), slugs)
        kept = slugs[[answer.status for answer in made].index(201)]
        changed, found = bounded.put(kept, one), bounded.get(f"/v1/venues/{kept}", one)
        others = bounded.put(a_new("place"), other)
        applied = dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug="one-more"), DAWR_DATA=data)

    assert unknown.status == 404
    assert statuses(made) == {201: 3, 409: MANY - 3}
    for answer in made:
        if answer.status == 409:
            must_be_problem(answer, 409, "too-many-venues")
            assert answer.json["most"] == 4
    assert (changed.status, found.status, others.status) == (200, 200, 201)
    assert applied.exit_code == 0, applied


def test_a_venue_is_found_although_it_was_asked_for_a_moment_before(served: Served) -> None:
    slug, owner = a_new("place"), served.owners[4]
    asked = [served.get(f"/v1/venues/{slug}", owner).status for _ in range(4)]

    made = served.put(slug, owner)

    assert (asked, made.status) == ([404] * 4, 201)
    eventually(lambda: {served.get(f"/v1/venues/{slug}", owner).status for _ in range(8)} == {200})


def test_whoever_was_told_that_we_are_busy_is_not_refused_when_they_ask_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """With a lane that one command fills, under load."""
    directory = tmp_path_factory.mktemp("busy")
    owners = asyncio.run(owners_at(Settings(data=str(directory / "data"))))
    with DawrServer(directory, "serve", DAWR_DATA=directory / "data", DAWR_MOST_WAITING="1") as server:
        busy = Served(server.url, owners)
        with people_who_take_numbers(busy) as told:
            eventually(lambda: told[503] > 0)
            tries = at_once(lambda owner: put_until_done(busy, a_new("place"), owner), owners)

    assert [[status for status in answers if status != 503] for answers in tries] == [[201, 200]] * MANY


def put_until_done(served: Served, slug: str, by: str) -> list[int]:
    """Make the venue and change it, again whenever we are busy; what was told each time."""
    told: list[int] = []

    def is_done(body: object) -> bool:
        told.append(served.put(slug, by, body=body).status)
        return told[-1] != 503

    for body in (SET_UP, {**SET_UP, "name": {"en": "Renamed"}}):
        eventually(partial(is_done, body), seconds=30)
    return told


@contextmanager
def people_who_take_numbers(served: Served) -> Iterator[Counter[int]]:
    """As fast as they can, until the block ends; how often they were told what."""
    told: Counter[int] = Counter()
    done = threading.Event()

    def take() -> None:
        with Client(served.url) as client:
            while not done.is_set():
                told[client.post("/v1/queues/clinic:lab/tickets", {}).status] += 1

    people = [threading.Thread(target=take) for _ in range(4)]
    for person in people:
        person.start()
    try:
        yield told
    finally:
        done.set()
        for person in people:
            person.join()

"""A venue and its owner are made together: both are there, or neither.

They are rows of one transaction, so there is no moment between them at which a process could be killed.
"""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from dawr.accounts.create_venue import create_owned_venue, create_venue
from dawr.bootstrap.system import SystemIds
from dawr.domain.account import Account, AccountId
from dawr.domain.errors import InvalidValue
from dawr.domain.events import Event, Origin
from dawr.domain.staff import StaffMember
from dawr.domain.venue import Head, Venue
from dawr.engine.engine import Engine
from dawr.operations.people import LookAtStaff
from dawr.operations.rows import ANSWERS, STAFF
from dawr.ports import Changes, Store, Wants
from dawr.ports.faults import StoreAway, Unstorable
from dawr.reliability.idempotency import Answer, Reply
from tests.builders import MONDAY_AT_TEN, DrivenClock, a_claim, a_head, a_venue, day_of, issue
from tests.stores.databases import Database
from tests.stores.doing import events_of, kinds_of, load, stored_head

AMNA = Account(AccountId("account-of-amna"), "amna", "a-hash", MONDAY_AT_TEN)
BY_AMNA = Origin(actor="staff:amna", correlation_id="a-correlation-id", reason="A new branch.")
TABLES = ("venues", "heads", "staff", "events", "idempotency")


async def owned_by_amna(store: Store, clock: DrivenClock, venue: Venue) -> Venue:
    return await create_owned_venue(store, clock, SystemIds(), venue, owner=AMNA, origin=BY_AMNA, ran_ms=7)


async def test_a_venue_begins_with_its_owner_and_the_event_that_says_who_made_it(
    store: Store, engine: Engine, clock: DrivenClock
) -> None:
    made = await owned_by_amna(store, clock, a_venue())

    head = await stored_head(store, made)
    (event,) = await events_of(engine, made)
    assert (head.version, head.config_version, head.day) == (1, 0, day_of(made, clock.now))
    assert event == Event(
        made.id,
        1,
        "staff.added",
        clock.now,
        None,
        None,
        "staff:amna",
        "a-correlation-id",
        "A new branch.",
        '{"username":"amna","role":"owner"}',
    )
    assert await engine.read(made.id, LookAtStaff()) == (
        StaffMember(made.id, AMNA.account_id, "amna", "owner", clock.now),
    )
    assert await store.accounts.has_owner()
    assert await store.faults() == []


class OnceUnlucky(SystemIds):
    """The first id that it makes is this one."""

    def __init__(self, code: str) -> None:
        self._codes = [code]

    def venue_code(self) -> str:
        return self._codes.pop() if self._codes else super().venue_code()


def called(slug: str) -> Venue:
    return msgspec.structs.replace(a_venue(), slug=slug)


async def test_no_slug_is_another_venues_id_and_no_id_is_anothers_slug(
    store: Store, engine: Engine, clock: DrivenClock
) -> None:
    first = await create_venue(store, clock, SystemIds(), called("clinic"))

    with pytest.raises(InvalidValue, match="slug-is-id"):
        await create_venue(store, clock, SystemIds(), called(first.id))
    with pytest.raises(InvalidValue, match="slug-is-id"):
        await owned_by_amna(store, clock, called(first.id))
    second = await create_venue(store, clock, OnceUnlucky("clinic"), called("eye-clinic"))

    assert await store.venue_ids() == {"clinic": first.id, "eye-clinic": second.id}
    assert [await engine.find_venue(name) for name in ("clinic", second.id)] == [first.id, second.id]


async def test_what_happens_next_is_the_second_event(store: Store, engine: Engine, clock: DrivenClock) -> None:
    made = await owned_by_amna(store, clock, a_venue())

    await engine.do(made.id, issue())

    assert await kinds_of(engine, made) == ["staff.added", "ticket.issued"]
    assert (await stored_head(store, made)).version == 2


async def test_a_venue_that_the_command_line_makes_has_no_owner_and_no_event(
    store: Store, engine: Engine, clock: DrivenClock
) -> None:
    made = await create_venue(store, clock, SystemIds(), a_venue())

    assert (await stored_head(store, made)).version == 0
    assert await events_of(engine, made) == []
    assert await engine.read(made.id, LookAtStaff()) == ()


def with_an_event_twice(first: Changes) -> Changes:
    return msgspec.structs.replace(first, events=first.events * 2)


def with_no_role_that_there_is(first: Changes) -> Changes:
    (owner,) = first.of(STAFF)
    return msgspec.structs.replace(first, rows={STAFF: [msgspec.structs.replace(owner, role="emperor")]})


def with_a_number_that_no_database_takes(first: Changes) -> Changes:
    return msgspec.structs.replace(first, head=msgspec.structs.replace(first.head, version=2**64))


@pytest.mark.parametrize(
    "spoilt", [with_an_event_twice, with_no_role_that_there_is, with_a_number_that_no_database_takes]
)
async def test_when_a_part_cannot_be_stored_nothing_is(
    database: Database, store: Store, clock: DrivenClock, spoilt: Callable[[Changes], Changes]
) -> None:
    venue = a_venue()
    head, first = a_head(venue), as_made_by_amna(venue)

    with pytest.raises(Unstorable):
        await store.add_venue(venue, head, spoilt(first))

    assert await rows_in_all(database) == dict.fromkeys(TABLES, 0)
    assert (await owned_by_amna(store, clock, venue)).slug == venue.slug


async def test_of_many_who_make_one_venue_at_once_one_does_and_it_has_one_owner(
    database: Database, store: Store, engine: Engine, clock: DrivenClock
) -> None:
    """From two processes: on PostgreSQL each has a store of its own. On a busy machine some may wait for too long."""
    venue = a_venue()
    async with database.share(store) as other:
        makers = [found_owned_by(account, each, clock, venue) for account in range(10) for each in (store, other)]
        outcomes = await asyncio.gather(*makers, return_exceptions=True)

    made = [outcome for outcome in outcomes if isinstance(outcome, Venue)]
    assert len(made) == 1
    assert {type(outcome) for outcome in outcomes if outcome not in made} <= {Unstorable, StoreAway}
    assert await store.venue_ids() == {venue.slug: made[0].id}
    assert len(await engine.read(made[0].id, LookAtStaff())) == 1
    assert await rows_in_all(database) == {**dict.fromkeys(TABLES, 1), "idempotency": 0}


async def test_the_answer_for_a_retry_is_stored_with_the_venue(store: Store, clock: DrivenClock) -> None:
    claim = a_claim()

    def kept(made: Venue, ran_ms: int) -> Answer:
        return Reply(201, made.id.encode()).kept(claim, ran_ms)

    made = await create_owned_venue(
        store, clock, SystemIds(), a_venue(), owner=AMNA, origin=BY_AMNA, ran_ms=7, kept=kept
    )

    (answer,) = (await load(store, made, Wants(rows={ANSWERS: {claim.key}}))).of(ANSWERS)
    assert answer.expires_at == 7 + claim.keep_ms
    assert answer.replay(claim, answer.expires_at - 1) == Reply(201, made.id.encode(), replayed=True)


async def test_an_installation_without_a_venue_has_none(engine: Engine) -> None:
    assert await engine.venues() == []
    assert await engine.venues_of([]) == []


async def found_owned_by(number: int, store: Store, clock: DrivenClock, venue: Venue) -> Venue:
    account = Account(AccountId(f"account-{number}"), f"person{number}", "a-hash", MONDAY_AT_TEN)
    return await create_owned_venue(store, clock, SystemIds(), venue, owner=account, origin=BY_AMNA, ran_ms=7)


def as_made_by_amna(venue: Venue) -> Changes:
    owner = StaffMember(venue.id, AMNA.account_id, "amna", "owner", MONDAY_AT_TEN)
    event = Event(venue.id, 1, "staff.added", MONDAY_AT_TEN, None, None, None, None, None, "{}")
    head = Head(venue.id, 1, day_of(venue, MONDAY_AT_TEN), 1, 0)
    return Changes(head, None, [], [], [], [event], {STAFF: [owner]})


async def rows_in_all(database: Database) -> dict[str, int]:
    counted = {table: await database.rows(f"SELECT count(*) FROM {table}") for table in TABLES}
    return {table: rows[0][0] for table, rows in counted.items()}

"""Staff on both stores: what is stored, who may, and that the last owner stays however many ask at once."""

import asyncio
from typing import Any

import pytest

from dawr.domain.account import AccountId
from dawr.domain.errors import AlreadyStaff, LastOwner, RoleTooLow, UnknownStaff, UnknownVenue
from dawr.domain.events import Origin
from dawr.domain.staff import Role, StaffMember
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.people import AddStaff, ChangeRole, DisableStaff, EnableStaff, LookAtStaff
from dawr.operations.rows import STAFF
from dawr.ports import Store, Wants
from tests.builders import DrivenClock, a_venue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, elsewhere, events_of, load, together

BY_AMNA = Origin(actor="staff:amna", correlation_id="c-1", reason="she asked")


def account_of(username: str) -> AccountId:
    return AccountId(f"account-of-{username}")


AMNA = account_of("amna")


def add(username: str, role: Role = "staff", by: AccountId | None = None) -> AddStaff:
    return AddStaff(account_of(username), username, role, by)


async def staff_of(engine: Engine, venue: Venue) -> dict[str, tuple[Role, bool]]:
    members = await engine.read(venue.id, LookAtStaff())
    return {member.username: (member.role, member.is_active) for member in members}


async def test_staff_are_stored_changed_and_found_again(
    database: Database, engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    await engine.do(venue.id, add("amna", "owner"))
    await engine.do(venue.id, add("basma", "viewer", AMNA))
    await engine.do(venue.id, ChangeRole("basma", "staff", AMNA))
    clock.advance(minutes=5)
    await engine.do(venue.id, DisableStaff("basma", AMNA))

    restarted = await database.open()
    members = await Engine(restarted, clock).read(venue.id, LookAtStaff())
    await restarted.close()

    joined, left = clock() - 300_000, clock()
    assert members == (
        StaffMember(venue.id, AccountId("account-of-amna"), "amna", "owner", joined),
        StaffMember(venue.id, AccountId("account-of-basma"), "basma", "staff", joined, left),
    )


async def test_every_change_of_staff_is_an_event_with_its_actor(engine: Engine, venue: Venue) -> None:
    operations: tuple[Operation[Any], ...] = (
        add("amna"),
        ChangeRole("amna", "manager", None),
        DisableStaff("amna", None),
        EnableStaff("amna", None),
    )
    for operation in operations:
        await engine.do(venue.id, operation, origin=BY_AMNA)

    events = await events_of(engine, venue)
    assert [event.kind for event in events] == [
        "staff.added",
        "staff.role_changed",
        "staff.disabled",
        "staff.enabled",
    ]
    assert {(event.actor, event.correlation_id, event.reason) for event in events} == {
        ("staff:amna", "c-1", "she asked")
    }


async def test_staff_of_one_venue_are_nobody_at_another(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())
    await engine.do(venue.id, add("amna", "owner"))

    with pytest.raises(UnknownStaff):
        await engine.do(other.id, DisableStaff("amna", None))
    await engine.do(other.id, add("amna", "viewer"))

    assert await staff_of(engine, venue) == {"amna": ("owner", True)}
    assert await staff_of(engine, other) == {"amna": ("viewer", True)}


async def test_at_a_venue_that_there_is_not_nobody_works(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownVenue):
        await engine.do(elsewhere(venue), add("amna"))


async def test_staff_are_loaded_only_when_they_are_wanted(engine: Engine, store: Store, venue: Venue) -> None:
    await engine.do(venue.id, add("amna"))

    without, with_staff = await load(store, venue, Wants()), await load(store, venue, Wants(rows={STAFF: set()}))

    assert without.of(STAFF) == []
    assert [member.username for member in with_staff.of(STAFF)] == ["amna"]


async def test_of_many_who_add_somebody_at_once_one_does(engine: Engine, venue: Venue) -> None:
    outcomes = await together(*(engine.do(venue.id, add("amna")) for _ in range(50)))

    assert [type(outcome) for outcome in outcomes] == [StaffMember] + [AlreadyStaff] * 49
    assert [event.kind for event in await events_of(engine, venue)] == ["staff.added"]


async def test_a_refused_change_leaves_its_batch_mates_alone(engine: Engine, venue: Venue) -> None:
    outcomes = await together(
        engine.do(venue.id, add("amna", "manager")),
        engine.do(venue.id, add("basma", "owner", AMNA)),
        engine.do(venue.id, add("celia", "staff", AMNA)),
        engine.do(venue.id, ChangeRole("amna", "owner", AMNA)),
    )

    assert [type(outcome) for outcome in outcomes] == [StaffMember, RoleTooLow, StaffMember, RoleTooLow]
    assert await staff_of(engine, venue) == {"amna": ("manager", True), "celia": ("staff", True)}


async def test_of_two_owners_who_demote_each_other_at_once_one_stays(
    database: Database, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    """From two processes: each has an engine, and on PostgreSQL a store, of its own."""
    async with database.share(store) as other_store:
        here, there = Engine(store, clock), Engine(other_store, clock)
        await here.do(venue.id, add("amna", "owner"))
        await here.do(venue.id, add("basma", "owner"))
        for _ in range(10):
            outcomes = await asyncio.gather(
                here.do(venue.id, ChangeRole("amna", "staff", None)),
                there.do(venue.id, DisableStaff("basma", None)),
                return_exceptions=True,
            )

            assert sorted(type(outcome).__name__ for outcome in outcomes) == ["LastOwner", "StaffChanged"]
            owners = [name for name, who in (await staff_of(here, venue)).items() if who == ("owner", True)]
            assert len(owners) == 1
            await here.do(venue.id, ChangeRole("amna", "owner", None))
            await here.do(venue.id, EnableStaff("basma", None))
        await here.stop()
        await there.stop()


async def test_whoever_is_disabled_does_not_enable_themselves_by_what_was_under_way(
    database: Database, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    """Behind it in one batch, and from another process."""
    async with database.share(store) as other_store:
        here, there = Engine(store, clock), Engine(other_store, clock)
        await here.do(venue.id, add("amna", "manager"))

        under_way = [here.do(venue.id, EnableStaff("amna", AMNA)) for _ in range(5)]
        disabled, *refused = await together(here.do(venue.id, DisableStaff("amna", None)), *under_way)
        refused += await together(there.do(venue.id, EnableStaff("amna", AMNA)), there.do(venue.id, add("b", by=AMNA)))

        assert not disabled.member.is_active
        assert [type(outcome) for outcome in refused] == [UnknownVenue] * 7
        assert await staff_of(here, venue) == {"amna": ("manager", False)}
        await here.stop()
        await there.stop()


async def test_the_last_owner_cannot_be_demoted_and_promoted_staff_can_take_over(engine: Engine, venue: Venue) -> None:
    await engine.do(venue.id, add("amna", "owner"))
    await engine.do(venue.id, add("basma", "staff"))

    with pytest.raises(LastOwner):
        await engine.do(venue.id, DisableStaff("amna", None))
    await engine.do(venue.id, ChangeRole("basma", "owner", AMNA))
    await engine.do(venue.id, DisableStaff("amna", account_of("basma")))

    assert await staff_of(engine, venue) == {"amna": ("owner", False), "basma": ("owner", True)}

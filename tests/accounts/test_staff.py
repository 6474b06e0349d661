"""Adding staff and disabling them, as the parts and the tools ask for it."""

import asyncio

import pytest

from dawr.accounts.accounts import Accounts
from dawr.accounts.passwords import Passwords
from dawr.domain.account import Account, AccountId
from dawr.domain.errors import (
    InvalidValue,
    LastOwner,
    RoleTooLow,
    UnknownStaff,
    UsernameTaken,
)
from dawr.domain.staff import Role
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.people import EnableStaff, LookAtStaff
from dawr.ports import Store
from dawr.reliability.idempotency import Reply
from dawr.stores.sqlite import SqliteStore
from tests.accounts.doing import BY_TOOL, PASSWORD, account_of, add, disable, do, signed_in
from tests.builders import Told, a_claim, a_venue
from tests.stores.doing import create_venue, kinds_of
from tests.stores.locked import Elsewhere


async def test_a_retried_addition_makes_one_account_and_gets_the_same_answer(
    accounts: Accounts, engine: Engine, venue: Venue
) -> None:
    await add(accounts, venue, "amna", "manager")
    amna = await account_of(accounts, "amna")

    async def add_again() -> Reply:
        adding = await accounts.add_staff(
            "basma", "staff", PASSWORD, by=(amna, "manager"), known_to={venue.id: "manager"}
        )
        return await do(accounts, venue, adding, claim=a_claim())

    replies = [await add_again() for _ in range(3)]

    assert {reply.body for reply in replies} == {b"basma"}
    assert [reply.replayed for reply in replies] == [False, True, True]
    assert await kinds_of(engine, venue) == ["staff.added", "staff.added"]


async def test_nobody_adds_somebody_above_their_own_role_and_no_account_is_made(
    accounts: Accounts, store: Store, venue: Venue
) -> None:
    with pytest.raises(RoleTooLow):
        await accounts.add_staff("basma", "owner", PASSWORD, by=(AccountId("a manager"), "manager"), known_to={})

    assert await store.accounts.find("basma") is None


async def test_a_new_account_needs_a_password_that_is_good_enough(accounts: Accounts, venue: Venue) -> None:
    for password in (None, "short", "password123", "basma"):
        with pytest.raises(InvalidValue):
            await accounts.add_staff("basma", "staff", password, by=None, known_to={})


async def test_a_name_that_is_taken_elsewhere_is_taken_here_unless_one_manages_them_there(
    accounts: Accounts, store: Store, venue: Venue
) -> None:
    second = await create_venue(store, a_venue())
    await add(accounts, second, "basma", "staff")
    await add(accounts, venue)
    amna = await account_of(accounts, "amna")

    async def add_here(known_to: dict[VenueId, Role]) -> Reply:
        adding = await accounts.add_staff("basma", "staff", None, by=(amna, "owner"), known_to=known_to)
        return await do(accounts, venue, adding)

    strangers: list[dict[VenueId, Role]] = [{}, {venue.id: "owner"}, {venue.id: "owner", second.id: "staff"}]
    for known_to in strangers:
        with pytest.raises(UsernameTaken):
            await add_here(known_to)

    assert (await add_here({venue.id: "owner", second.id: "manager"})).body == b"basma"


async def test_an_account_keeps_its_password_when_it_is_added_elsewhere(
    accounts: Accounts, store: Store, venue: Venue
) -> None:
    await add(accounts, venue)
    second = await create_venue(store, a_venue())

    adding = await accounts.add_staff("amna", "viewer", "another password", by=None, known_to={})
    await do(accounts, second, adding)

    assert await accounts.sign_in("amna", "another password") is None
    assert await accounts.sign_in("amna", PASSWORD) is not None


async def test_an_addition_that_was_cut_short_can_be_made_again_with_its_password(
    accounts: Accounts, store: Store, passwords: Passwords, venue: Venue
) -> None:
    """The account was made, and then the power went out."""
    await store.accounts.add(Account(AccountId("left behind"), "basma", await passwords.hash(PASSWORD), 0))
    await add(accounts, venue)
    amna = await account_of(accounts, "amna")

    async def again(password: str) -> Reply:
        adding = await accounts.add_staff("basma", "staff", password, by=(amna, "owner"), known_to={venue.id: "owner"})
        return await do(accounts, venue, adding)

    with pytest.raises(UsernameTaken):
        await again("a wrong password")
    assert (await again(PASSWORD)).body == b"basma"


async def test_many_who_add_one_name_at_once_make_one_account(
    accounts: Accounts, engine: Engine, store: Store, venue: Venue
) -> None:
    outcomes = await asyncio.gather(
        *(add(accounts, venue, "basma", "staff") for _ in range(12)), return_exceptions=True
    )

    assert [outcome for outcome in outcomes if outcome is None] == [None]
    assert await kinds_of(engine, venue) == ["staff.added"]


async def test_whoever_is_disabled_at_a_venue_stays_signed_in_for_where_they_still_work(
    accounts: Accounts, engine: Engine, store: Store, venue: Venue
) -> None:
    second = await create_venue(store, a_venue())
    await add(accounts, venue)
    for place in (venue, second):
        await add(accounts, place, "basma", "staff")
    session = await signed_in(accounts, "basma")

    reply = await disable(accounts, venue, "Basma", "amna")

    assert reply.body == b"basma"
    still = await accounts.who(session)
    assert still is not None
    assert (still.role_at(venue.id), still.role_at(second.id)) == (None, "staff")
    await disable(accounts, second, "basma")
    for place in (venue, second):
        await do(accounts, place, EnableStaff("basma", None))
    assert await accounts.who(session) is None


async def test_whoever_cannot_be_signed_out_just_then_may_nothing_here_all_the_same(
    accounts: Accounts, engine: Engine, store: SqliteStore, venue: Venue
) -> None:
    """The place is gone, and the disk is in the way of the rest: a retry ends the session too."""
    elsewhere = Elsewhere(store)
    await add(accounts, venue, "basma", "staff")
    session = await signed_in(accounts, "basma")
    engine._lanes[0]._listeners = [Told(elsewhere.lock)]

    reply = await disable(accounts, venue, "basma", claim=a_claim())
    elsewhere.unlock()

    assert reply.body == b"basma"
    assert await accounts.who(session) is None
    assert (await disable(accounts, venue, "basma", claim=a_claim())).replayed
    await do(accounts, venue, EnableStaff("basma", None))
    assert await accounts.who(session) is None
    elsewhere.close()


async def test_a_refused_disabling_signs_nobody_out(accounts: Accounts, venue: Venue) -> None:
    await add(accounts, venue)
    await add(accounts, venue, "basma", "manager")
    session = await signed_in(accounts)

    with pytest.raises(RoleTooLow):
        await disable(accounts, venue, "amna", "basma")
    with pytest.raises(LastOwner):
        await disable(accounts, venue, "amna", "amna")

    assert await accounts.who(session) is not None


async def test_a_whole_account_is_disabled_and_enabled_at_every_venue(
    accounts: Accounts, engine: Engine, store: Store, venue: Venue
) -> None:
    second = await create_venue(store, a_venue())
    for place in (venue, second):
        await add(accounts, place, "basma", "staff")
    session = await signed_in(accounts, "basma")

    await accounts.disable("basma", origin=BY_TOOL)
    out = await accounts.who(session), await accounts.sign_in("basma", PASSWORD)
    await accounts.enable("BASMA", origin=BY_TOOL)

    assert out == (None, None)
    assert await accounts.who(session) is None
    assert await accounts.sign_in("basma", PASSWORD) is not None
    for place in (venue, second):
        assert await kinds_of(engine, place) == ["staff.added", "staff.disabled", "staff.enabled"]


async def test_an_account_that_is_the_last_owner_anywhere_stays_everywhere(
    accounts: Accounts, engine: Engine, store: Store, venue: Venue
) -> None:
    second = await create_venue(store, a_venue())
    await add(accounts, venue, "amna", "staff")
    await add(accounts, second, "amna", "owner")
    session = await signed_in(accounts)

    with pytest.raises(LastOwner):
        await accounts.disable("amna", origin=BY_TOOL)

    assert [member.is_active for member in await engine.read(venue.id, LookAtStaff())] == [True]
    assert await accounts.who(session) is not None


@pytest.mark.parametrize("verb", ["disable", "enable"])
async def test_an_account_that_there_is_not_is_unknown(accounts: Accounts, verb: str) -> None:
    with pytest.raises(UnknownStaff):
        await getattr(accounts, verb)("nobody", origin=BY_TOOL)

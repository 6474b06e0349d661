"""Signing in and out, and passwords: what is wrong is never told apart."""

import pytest

from dawr.accounts.accounts import Accounts
from dawr.domain.account import AccountId
from dawr.domain.errors import (
    InvalidValue,
    UnknownStaff,
)
from dawr.domain.venue import Venue
from dawr.engine.clockwork import purge
from dawr.engine.engine import Engine
from dawr.operations.people import ChangeRole, DisableStaff
from dawr.ports import Store
from tests.accounts.doing import BY_TOOL, PASSWORD, add, signed_in
from tests.builders import DrivenClock, a_timekeeper


async def test_whoever_signs_in_is_known_until_they_sign_out(accounts: Accounts, venue: Venue) -> None:
    await add(accounts, venue)

    session, who = await accounts.sign_in(" AMNA ", PASSWORD) or ("", None)

    assert who is not None
    assert (who.account.username, who.role_at(venue.id)) == ("amna", "owner")
    assert await accounts.who(session) == who
    await accounts.sign_out(session)
    assert await accounts.who(session) is None


async def test_each_sign_in_is_a_session_of_its_own_that_nobody_can_guess(accounts: Accounts, venue: Venue) -> None:
    await add(accounts, venue)

    sessions = {await signed_in(accounts) for _ in range(5)}

    assert len(sessions) == 5
    assert {session[:4] for session in sessions} == {"dws_"}
    assert all(len(session) >= 4 + 22 for session in sessions)


async def test_a_wrong_name_password_state_or_place_are_all_alike(
    accounts: Accounts, engine: Engine, venue: Venue
) -> None:
    await add(accounts, venue)
    for name in ("disabled", "nowhere"):
        await add(accounts, venue, name, "staff")
    await accounts.disable("disabled", origin=BY_TOOL)
    await engine.do(venue.id, DisableStaff("nowhere", None))

    tries = [("amna", "a wrong one"), ("nobody", PASSWORD), ("disabled", PASSWORD), ("nowhere", PASSWORD)]
    tries += [("", ""), ("\ud800", "\ud800"), ("amna\x00", PASSWORD), ("x" * 5000, PASSWORD)]

    assert [await accounts.sign_in(*attempt) for attempt in tries] == [None] * 8


@pytest.mark.parametrize("nonsense", ["", "dws_", "dws_unknown", "dwt_x.y", "amna", "dws_" + "x" * 5000, "dws_\ud800"])
async def test_what_is_no_session_is_nobodys(accounts: Accounts, venue: Venue, nonsense: str) -> None:
    assert await accounts.who(nonsense) is None


async def test_a_session_ends_after_its_idle_time_and_after_its_life(
    accounts: Accounts, venue: Venue, clock: DrivenClock
) -> None:
    await add(accounts, venue)
    idle, busy = await signed_in(accounts), await signed_in(accounts)

    seen = []
    for _ in range(20):
        clock.advance(hours=9)
        seen.append(await accounts.who(busy) is not None)
    clock.advance(minutes=-1)

    assert seen == [True] * 18 + [False] * 2
    assert await accounts.who(idle) is None


async def test_being_seen_is_written_down_every_five_minutes_only(
    accounts: Accounts, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    await add(accounts, venue)
    session = await signed_in(accounts)
    began = clock()

    seen = []
    for _ in range(4):
        clock.advance(minutes=2)
        await accounts.who(session)
        who = await accounts.who_now(session)
        assert who is not None
        seen.append((who.session.seen_at - began) // 60_000)

    assert seen == [0, 0, 6, 6]


async def test_a_role_that_changes_counts_from_the_next_look(accounts: Accounts, engine: Engine, venue: Venue) -> None:
    await add(accounts, venue)
    await add(accounts, venue, "basma", "staff")
    session = await signed_in(accounts, "basma")

    await engine.do(venue.id, ChangeRole("basma", "manager", None))

    who = await accounts.who(session)
    assert who is not None
    assert who.role_at(venue.id) == "manager"


async def test_expired_sessions_are_swept(
    accounts: Accounts, engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    await add(accounts, venue)
    await signed_in(accounts)
    clock.advance(days=7)
    kept = await signed_in(accounts)

    await purge(store, clock, a_timekeeper(store, clock))

    assert await store.accounts.purge_sessions(clock(), most=100) == 0
    assert await accounts.who(kept) is not None


async def test_whoever_changes_their_password_is_signed_out_everywhere(accounts: Accounts, venue: Venue) -> None:
    await add(accounts, venue)
    session = await signed_in(accounts)
    who = await accounts.who(session)
    assert who is not None

    wrong = await accounts.change_password(who.account.account_id, "a wrong one", "another password")
    still = await accounts.who(session)
    right = await accounts.change_password(who.account.account_id, PASSWORD, "another password")

    assert (wrong is None, still is not None, right is not None) == (True, True, True)
    assert await accounts.who(session) is None
    assert await accounts.sign_in("amna", PASSWORD) is None
    assert await accounts.sign_in("amna", "another password") is not None


async def test_a_new_password_must_be_good_enough_too(accounts: Accounts, venue: Venue) -> None:
    await add(accounts, venue)
    who = await accounts.who(await signed_in(accounts))
    assert who is not None

    with pytest.raises(InvalidValue):
        await accounts.change_password(who.account.account_id, PASSWORD, "12345678")
    with pytest.raises(InvalidValue):
        await accounts.set_password("amna", "short")

    assert await accounts.sign_in("amna", PASSWORD) is not None


async def test_the_command_line_sets_a_password_without_the_old_one(accounts: Accounts, venue: Venue) -> None:
    await add(accounts, venue)
    session = await signed_in(accounts)

    await accounts.set_password("Amna", "another password")

    assert await accounts.who(session) is None
    assert await accounts.sign_in("amna", "another password") is not None
    with pytest.raises(UnknownStaff):
        await accounts.set_password("nobody", "another password")


async def test_nobodys_password_is_not_changed(accounts: Accounts) -> None:
    assert not await accounts.change_password(AccountId("nobody"), PASSWORD, "another password")

"""Accounts and sessions on both stores, many at once included."""

import asyncio

import msgspec
import pytest

from dawr.domain.account import Account, AccountId, Session
from dawr.domain.staff import StaffMember
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.people import AddStaff, DisableStaff
from dawr.ports import AccountStore, Store
from dawr.ports.faults import Unstorable
from tests.builders import a_new, a_venue
from tests.stores.databases import Database
from tests.stores.doing import create_venue

NOW = 1_000_000_000
HOUR = 60 * 60 * 1000


def an_account(username: str = "amna", **given: object) -> Account:
    account = Account(AccountId(a_new("account")), username, "hash of a password", NOW)
    return msgspec.structs.replace(account, **given)


def a_session(account: Account, *, seen_at: int = NOW, expires_at: int = NOW + 10 * HOUR) -> Session:
    return Session(a_new("session"), account.account_id, NOW, seen_at, expires_at)


@pytest.fixture
def accounts(store: Store) -> AccountStore:
    return store.accounts


@pytest.fixture
async def amna(accounts: AccountStore) -> Account:
    account = an_account()
    assert await accounts.add(account)
    return account


async def sign_in(accounts: AccountStore, account: Account, **given: int) -> Session:
    session = a_session(account, **given)
    assert await accounts.add_session(session, password_hash=account.password_hash)
    return session


async def is_good(accounts: AccountStore, session: Session, *, now: int = NOW + HOUR) -> bool:
    return await accounts.signed_in(session.session_hash, now, idle_ms=2 * HOUR) is not None


async def test_a_session_that_was_used_while_a_clock_was_ahead_lets_nobody_in_for_a_year(
    accounts: AccountStore, amna: Account
) -> None:
    ahead = NOW + 365 * 24 * HOUR
    made_then = await sign_in(accounts, amna, seen_at=ahead, expires_at=ahead + 10 * HOUR)
    used_then = await sign_in(accounts, amna)
    await accounts.touch_session(used_then.session_hash, ahead)

    assert [await is_good(accounts, session) for session in (made_then, used_then)] == [False, False]


async def test_an_account_is_found_by_name_and_by_id(database: Database, amna: Account) -> None:
    restarted = await database.open()

    by_name, by_id = await restarted.accounts.find("amna"), await restarted.accounts.get(amna.account_id)
    nobody = [await restarted.accounts.find("Amna"), await restarted.accounts.get(AccountId("amna"))]
    await restarted.close()

    assert (by_name, by_id, nobody) == (amna, amna, [None, None])


async def test_a_name_belongs_to_one_account(accounts: AccountStore, amna: Account) -> None:
    assert not await accounts.add(an_account("amna"))
    assert await accounts.find("amna") == amna


async def test_an_account_id_that_is_taken_is_no_name_that_is_taken(accounts: AccountStore, amna: Account) -> None:
    with pytest.raises(Unstorable):
        await accounts.add(msgspec.structs.replace(amna, username="basma"))


async def test_of_fifty_who_add_one_name_at_once_one_makes_the_account(
    database: Database, store: Store, accounts: AccountStore
) -> None:
    async with database.share(store) as other:
        candidates = [an_account("amna") for _ in range(50)]

        added = await asyncio.gather(
            *((other.accounts if number % 2 else accounts).add(account) for number, account in enumerate(candidates))
        )

    assert sum(added) == 1
    assert await accounts.find("amna") == candidates[added.index(True)]
    assert await database.rows("SELECT count(*) FROM accounts") == [(1,)]


async def test_a_password_and_being_disabled_change_one_without_the_other(
    accounts: AccountStore, amna: Account
) -> None:
    await asyncio.gather(
        accounts.set_password(amna.account_id, "another hash", NOW), accounts.set_disabled(amna.account_id, NOW + 1)
    )
    disabled = await accounts.get(amna.account_id)
    await accounts.set_disabled(amna.account_id, None)

    await accounts.set_unlocked(amna.account_id, NOW + 2)

    changed = msgspec.structs.replace(amna, password_hash="another hash", unlocked_at=NOW)
    assert disabled == msgspec.structs.replace(changed, disabled_at=NOW + 1)
    assert await accounts.get(amna.account_id) == msgspec.structs.replace(changed, unlocked_at=NOW + 2)


async def test_an_installation_has_one_secret_whoever_asks_first(store: Store, database: Database) -> None:
    async with database.share(store) as other:
        asked = await asyncio.gather(*((other if turn % 2 else store).secret(f"secret {turn}") for turn in range(10)))

    assert len(set(asked)) == 1
    assert await store.secret("another") == asked[0]


async def test_a_session_says_whose_it_is_and_where_they_work_now(
    store: Store, engine: Engine, venue: Venue, accounts: AccountStore, amna: Account
) -> None:
    second, third = await create_venue(store, a_venue()), await create_venue(store, a_venue())
    for place in (third, venue, second):
        await engine.do(place.id, AddStaff(amna.account_id, "amna", "staff", None))
        await engine.do(place.id, AddStaff(AccountId("another"), "basma", "owner", None))
    await engine.do(second.id, DisableStaff("amna", None))
    session = await sign_in(accounts, amna)

    signed_in = await accounts.signed_in(session.session_hash, NOW + 1, idle_ms=HOUR)

    assert signed_in is not None
    assert (signed_in.session, signed_in.account) == (session, amna)
    assert [member.venue_id for member in signed_in.memberships] == sorted([venue.id, third.id])
    assert {member.username for member in signed_in.memberships} == {"amna"}
    assert [member.venue_id for member in await accounts.memberships(amna.account_id)] == sorted(
        [venue.id, second.id, third.id]
    )


async def test_somebody_who_works_nowhere_is_signed_in_without_a_membership(
    accounts: AccountStore, amna: Account
) -> None:
    session = await sign_in(accounts, amna)

    signed_in = await accounts.signed_in(session.session_hash, NOW + 1, idle_ms=HOUR)

    assert signed_in is not None
    assert signed_in.memberships == ()
    assert await accounts.memberships(amna.account_id) == []


async def test_a_session_ends_with_its_time_and_when_it_is_idle_for_too_long(
    accounts: AccountStore, amna: Account
) -> None:
    session = await sign_in(accounts, amna, expires_at=NOW + 3 * HOUR)

    assert await is_good(accounts, session, now=NOW + 2 * HOUR - 1)
    assert not await is_good(accounts, session, now=NOW + 2 * HOUR)
    await accounts.touch_session(session.session_hash, NOW + 2 * HOUR)
    assert await is_good(accounts, session, now=NOW + 3 * HOUR - 1)
    assert not await is_good(accounts, session, now=NOW + 3 * HOUR)


async def test_a_disabled_account_loses_its_sessions_at_once(accounts: AccountStore, amna: Account) -> None:
    session = await sign_in(accounts, amna)

    await accounts.set_disabled(amna.account_id, NOW + 1)

    assert not await is_good(accounts, session)


async def test_a_session_that_ended_is_gone_and_the_others_stay(accounts: AccountStore, amna: Account) -> None:
    here, there = await sign_in(accounts, amna), await sign_in(accounts, amna)

    await accounts.end_session(here.session_hash)

    assert [await is_good(accounts, session) for session in (here, there)] == [False, True]


async def test_all_sessions_of_one_account_end_together(accounts: AccountStore, amna: Account) -> None:
    basma = an_account("basma")
    await accounts.add(basma)
    hers, of_basma = [await sign_in(accounts, amna) for _ in range(3)], await sign_in(accounts, basma)

    await accounts.end_sessions(amna.account_id)

    assert [await is_good(accounts, session) for session in [*hers, of_basma]] == [False] * 3 + [True]


async def test_sessions_that_open_nothing_any_more_are_ended_and_no_others(
    engine: Engine, store: Store, accounts: AccountStore, venue: Venue, amna: Account
) -> None:
    second = await create_venue(store, a_venue())
    for place in (venue, second):
        await engine.do(place.id, AddStaff(amna.account_id, amna.username, "staff", None))
    session = await sign_in(accounts, amna)
    good = []

    for place in (venue, venue, second):
        await engine.do(place.id, DisableStaff(amna.username, None))
        await accounts.end_sessions_unless_member(amna.account_id)
        good.append(await is_good(accounts, session))

    assert good == [True, True, False]


async def test_a_session_is_not_begun_with_a_password_that_was_changed_meanwhile(
    accounts: AccountStore, amna: Account
) -> None:
    await accounts.set_password(amna.account_id, "another hash", NOW)

    assert not await accounts.add_session(a_session(amna), password_hash=amna.password_hash)
    assert await accounts.add_session(a_session(amna), password_hash="another hash")


async def test_a_session_is_not_begun_for_an_account_that_was_disabled_meanwhile(
    accounts: AccountStore, amna: Account
) -> None:
    await accounts.set_disabled(amna.account_id, NOW)

    assert not await accounts.add_session(a_session(amna), password_hash=amna.password_hash)


async def test_no_session_outlives_a_change_of_password_that_comes_at_the_same_time(
    database: Database, store: Store, accounts: AccountStore, amna: Account
) -> None:
    async def change(new: str) -> None:
        await accounts.set_password(amna.account_id, new, NOW)
        await accounts.end_sessions(amna.account_id)

    known = amna.password_hash
    async with database.share(store) as other:
        for turn in range(20):
            sessions = [a_session(amna) for _ in range(5)]
            await asyncio.gather(
                *(other.accounts.add_session(session, password_hash=known) for session in sessions[:3]),
                change(f"hash {turn}"),
                *(other.accounts.add_session(session, password_hash=known) for session in sessions[3:]),
            )
            known = f"hash {turn}"

            assert await database.rows("SELECT count(*) FROM sessions") == [(0,)]


async def test_expired_sessions_are_purged_in_steps_and_the_rest_stays(accounts: AccountStore, amna: Account) -> None:
    for number in range(7):
        await sign_in(accounts, amna, expires_at=NOW + number)
    kept = await sign_in(accounts, amna)

    purged = [await accounts.purge_sessions(NOW + 100, most=3) for _ in range(4)]

    assert purged == [3, 3, 1, 0]
    assert await is_good(accounts, kept)


async def test_there_is_an_owner_once_one_is_active_anywhere(
    engine: Engine, venue: Venue, accounts: AccountStore, amna: Account
) -> None:
    seen = [await accounts.has_owner()]
    await engine.do(venue.id, AddStaff(AccountId("another"), "basma", "manager", None))
    seen.append(await accounts.has_owner())
    await engine.do(venue.id, AddStaff(amna.account_id, "amna", "owner", None))
    seen.append(await accounts.has_owner())

    assert seen == [False, False, True]


async def test_the_owners_code_is_taken_by_one_of_all_who_bring_it(
    database: Database, store: Store, accounts: AccountStore
) -> None:
    await accounts.set_owner_code("the right one", NOW)

    async with database.share(store) as other:
        wrong = await accounts.take_owner_code("a wrong one", made_after=NOW - 1)
        looked = [await accounts.is_owner_code(code, made_after=NOW - 1) for code in ("the right one", "a wrong one")]
        taken = await asyncio.gather(
            *(
                (other.accounts if turn % 2 else accounts).take_owner_code("the right one", made_after=NOW - 1)
                for turn in range(40)
            )
        )

    assert (wrong, looked, sum(taken)) == (False, [True, False], 1)
    assert not await accounts.is_owner_code("the right one", made_after=NOW - 1)


async def test_a_new_owners_code_replaces_the_old_one_and_an_old_one_expires(accounts: AccountStore) -> None:
    await accounts.set_owner_code("first", NOW)
    await accounts.set_owner_code("second", NOW + 10)

    assert not await accounts.take_owner_code("first", made_after=0)
    assert not await accounts.take_owner_code("second", made_after=NOW + 10)
    assert await accounts.take_owner_code("second", made_after=NOW + 9)


async def test_without_an_owners_code_none_is_taken(accounts: AccountStore) -> None:
    assert not await accounts.take_owner_code("", made_after=0)


async def test_a_membership_of_another_account_is_not_shown(
    engine: Engine, venue: Venue, accounts: AccountStore, amna: Account
) -> None:
    await engine.do(venue.id, AddStaff(amna.account_id, "amna", "staff", None))

    (member,) = await accounts.memberships(amna.account_id)

    assert isinstance(member, StaffMember)
    assert member.venue_id == VenueId(venue.id)
    assert await accounts.memberships(AccountId("another")) == []

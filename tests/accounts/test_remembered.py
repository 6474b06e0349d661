"""Who asked a moment ago is remembered for a second, and never for longer than it is true in this process."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from dawr.accounts.accounts import Accounts
from dawr.accounts.passwords import Passwords
from dawr.accounts.remembered import KEPT_MS, Remembered
from dawr.bootstrap.system import SystemIds
from dawr.domain.staff import member_called
from dawr.domain.token import Token, TokenId
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.people import ChangeRole
from dawr.operations.rows import STAFF
from dawr.operations.tokens import RevokeToken
from dawr.operations.transaction import Transaction
from dawr.ports import Store
from dawr.ports.faults import OutcomeUnknown
from tests.accounts.doing import HOUR, add, make_token, signed_in
from tests.builders import DrivenClock, issue

THE_TOKEN = Token(VenueId("v"), TokenId("v-1"), "a hash", "api", "staff", "A program", "staff:amna", 0)


async def found(token: Token | None = THE_TOKEN) -> Token | None:
    return token


async def test_what_was_found_is_kept_for_a_second(remembered: Remembered, clock: DrivenClock) -> None:
    await remembered.keep("key", found())

    clock.advance(ms=KEPT_MS - 1)
    assert remembered.get("key") is THE_TOKEN
    clock.advance(ms=1)
    assert remembered.get("key") is None


async def test_the_second_begins_before_the_store_is_asked(remembered: Remembered, clock: DrivenClock) -> None:
    async def slow() -> Token:
        clock.advance(ms=KEPT_MS - 1)
        return THE_TOKEN

    assert await remembered.keep("key", slow()) is THE_TOKEN

    assert remembered.get("key") is THE_TOKEN
    clock.advance(ms=1)
    assert remembered.get("key") is None


async def test_credentials_that_are_no_good_are_asked_for_every_time(remembered: Remembered) -> None:
    assert await remembered.keep("key", found(None)) is None

    assert remembered.get("key") is None
    assert await remembered.keep("key", found()) is THE_TOKEN


async def test_a_look_that_was_under_way_when_something_changed_is_not_kept(remembered: Remembered) -> None:
    changed = asyncio.Event()

    async def read_before_the_change() -> Token:
        await changed.wait()
        return THE_TOKEN

    looking = asyncio.create_task(remembered.keep("key", read_before_the_change()))
    await asyncio.sleep(0)
    remembered.drop()
    changed.set()

    assert await looking is THE_TOKEN
    assert remembered.get("key") is None


async def test_only_so_many_are_kept_and_the_oldest_goes_first(clock: DrivenClock) -> None:
    remembered = Remembered(clock, most=2)

    for key in ("one", "two", "one", "three"):
        await remembered.keep(key, found())

    assert [remembered.get(key) for key in ("one", "two", "three")] == [THE_TOKEN, None, THE_TOKEN]


async def test_a_number_that_is_given_drops_nobody(
    remembered: Remembered, accounts: Accounts, engine: Engine, venue: Venue
) -> None:
    await remembered.keep("key", found())

    await engine.do(venue.id, issue())

    assert remembered.get("key") is THE_TOKEN


@pytest.mark.parametrize("changes", ["staff", "a token"])
async def test_what_changes_who_may_drops_all_before_it_is_answered(
    changes: str, remembered: Remembered, accounts: Accounts, engine: Engine, venue: Venue
) -> None:
    await add(accounts, venue)
    await add(accounts, venue, "basma", "staff")
    token = await accounts.token(await make_token(accounts, venue))
    assert token is not None
    await remembered.keep("key", found())

    if changes == "staff":
        await engine.do(venue.id, ChangeRole("basma", "viewer", None))
    else:
        await engine.do(venue.id, RevokeToken(token.token_id, None))

    assert remembered.get("key") is None


async def test_the_store_is_not_asked_again_within_the_second(
    accounts: Accounts, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    """What another process does is seen when the second is over."""
    await add(accounts, venue)
    session = await signed_in(accounts)
    who = await accounts.who(session)
    assert who is not None

    await store.accounts.end_sessions(who.account.account_id)

    clock.advance(ms=KEPT_MS - 1)
    assert await accounts.who(session) is who
    assert await accounts.who_now(session) is None
    clock.advance(ms=1)
    assert await accounts.who(session) is None


async def test_a_session_that_ends_within_the_second_is_not_good_any_more(
    store: Store, engine: Engine, passwords: Passwords, venue: Venue, clock: DrivenClock
) -> None:
    """Its end is judged by the clock of the day, here while the other one stands still."""
    accounts = Accounts(
        store,
        engine,
        passwords,
        clock,
        SystemIds(),
        remembered=Remembered(lambda: 0),
        idle_ms=12 * HOUR,
        session_ms=24 * HOUR,
    )
    await add(accounts, venue)
    session, good = await signed_in(accounts), []

    for hours in (11, 11, 1, 1):
        clock.advance(hours=hours)
        good.append(await accounts.who(session) is not None)

    assert good == [True, True, True, False]


async def test_no_secret_is_kept(accounts: Accounts, venue: Venue, remembered: Remembered) -> None:
    await add(accounts, venue)
    session, bearer = await signed_in(accounts), await make_token(accounts, venue)

    assert (await accounts.who(session), await accounts.token(bearer)) != (None, None)

    kept = repr(vars(remembered))
    assert session not in kept
    assert session.removeprefix("dws_") not in kept
    assert bearer.partition(".")[2] not in kept


class Forgetful:
    """A store whose commit is never answered, though it is made."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)

    async def transact(self, venues: Any, work: Any) -> Any:  # noqa: ANN401
        await self._store.transact(venues, work)
        raise OutcomeUnknown("the connection was lost")


async def test_what_may_have_been_changed_is_not_remembered(
    accounts: Accounts, store: Store, clock: DrivenClock, remembered: Remembered, venue: Venue
) -> None:
    bearer = await make_token(accounts, venue)
    token = await accounts.token(bearer)
    assert token is not None
    engine = Engine(cast("Store", Forgetful(store)), clock, caches=[remembered])

    with pytest.raises(OutcomeUnknown):
        await engine.do(venue.id, RevokeToken(token.token_id, None))
    await engine.stop()

    assert await accounts.token(bearer) is None


class QuietlyDemote(Operation[None], frozen=True):
    """A change of staff without an event."""

    username: str

    def decide(self, tx: Transaction, now: int) -> None:  # noqa: ARG002
        member = member_called(tx.all(STAFF), self.username)
        tx.put(STAFF, msgspec.structs.replace(member, role="viewer"))


async def test_a_change_of_staff_without_an_event_is_dropped_too(
    accounts: Accounts, engine: Engine, venue: Venue
) -> None:
    await add(accounts, venue)
    session = await signed_in(accounts)
    assert await accounts.who(session) is not None

    await engine.do(venue.id, QuietlyDemote("amna"))

    who = await accounts.who(session)
    assert who is not None
    assert who.role_at(venue.id) == "viewer"

"""The first owner, owners of new venues, and what is kept of all that lets anybody in."""

import asyncio
from pathlib import Path

import pytest

from dawr import bootstrap
from dawr.accounts.accounts import Accounts
from dawr.accounts.passwords import Passwords
from dawr.accounts.remembered import Remembered
from dawr.bootstrap.system import SystemIds
from dawr.domain.account import Account, AccountId
from dawr.domain.errors import (
    InvalidValue,
    OwnerCodeInvalid,
    UnknownStaff,
    UsernameTaken,
)
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.people import LookAtStaff
from dawr.ports import Store
from dawr.ports.faults import Busy
from dawr.settings import Settings
from tests.accounts.doing import BY_AMNA, BY_TOOL, HOUR, PASSWORD, add, do, make_token, signed_in
from tests.builders import DrivenClock, a_claim, a_queue, a_venue
from tests.stores.doing import create_venue, events_of


async def test_the_owners_link_makes_one_owner_of_every_venue(accounts: Accounts, store: Store, venue: Venue) -> None:
    second = await create_venue(store, a_venue())
    code = await accounts.owner_code()
    assert code is not None

    outcomes = await asyncio.gather(
        *(accounts.first_owner(code, f"amna{number}", PASSWORD) for number in range(8)), return_exceptions=True
    )

    made = [outcome for outcome in outcomes if isinstance(outcome, Account)]
    assert [type(outcome) for outcome in outcomes if outcome not in made] == [OwnerCodeInvalid] * 7
    session = await accounts.sign_in(made[0].username, PASSWORD)
    assert session is not None
    assert (session[1].role_at(venue.id), session[1].role_at(second.id)) == ("owner", "owner")
    assert await accounts.owner_code() is None


async def test_a_code_is_of_no_use_when_it_is_wrong_old_replaced_or_there_is_an_owner(
    accounts: Accounts, venue: Venue, clock: DrivenClock
) -> None:
    await add(accounts, venue, "celia", "staff")
    replaced, old = await accounts.owner_code() or "", await accounts.owner_code() or ""
    clock.advance(hours=24)
    for code in ("", "a wrong one", replaced, old):
        with pytest.raises(OwnerCodeInvalid):
            await accounts.first_owner(code, "amna", PASSWORD)
        with pytest.raises(OwnerCodeInvalid):  # and nobody is told which names there are
            await accounts.first_owner(code, "celia", "short")

    good = await accounts.owner_code() or ""
    await add(accounts, venue, "basma", "owner")
    with pytest.raises(OwnerCodeInvalid):
        await accounts.first_owner(good, "amna", PASSWORD)


async def test_what_is_wrong_with_the_name_or_the_password_does_not_use_the_code_up(
    accounts: Accounts, venue: Venue
) -> None:
    await add(accounts, venue, "basma", "staff")
    code = await accounts.owner_code() or ""

    with pytest.raises(InvalidValue):
        await accounts.first_owner(code, "amna", "short")
    with pytest.raises(InvalidValue):
        await accounts.first_owner(code, "a b", PASSWORD)
    with pytest.raises(UsernameTaken):
        await accounts.first_owner(code, "basma", PASSWORD)

    assert (await accounts.first_owner(code, "Amna", PASSWORD)).username == "amna"


async def test_without_a_venue_there_is_nothing_to_own_yet(accounts: Accounts, store: Store) -> None:
    code = await accounts.owner_code() or ""

    with pytest.raises(InvalidValue):
        await accounts.first_owner(code, "amna", PASSWORD)
    await create_venue(store, a_venue())

    assert (await accounts.first_owner(code, "amna", PASSWORD)).username == "amna"


async def test_the_first_owner_may_make_the_first_venue_with_the_account(accounts: Accounts, engine: Engine) -> None:
    code = await accounts.owner_code() or ""
    wanted, unfit = a_venue(a_queue("eye")), a_venue(zone="Mars/Olympus")

    before = await accounts.has_venue()
    with pytest.raises(InvalidValue):
        await accounts.first_owner(code, "amna", PASSWORD, unfit)
    await accounts.first_owner(code, "amna", PASSWORD, wanted)

    session = await accounts.sign_in("amna", PASSWORD)
    venue_id = await engine.find_venue(wanted.slug)
    (founding,) = await engine.events_after(venue_id, 0, most=10)
    assert session is not None
    assert session[1].role_at(venue_id) == "owner"
    assert (founding.version, founding.kind, founding.actor) == (1, "staff.added", "first run")
    assert (before, await accounts.has_venue()) == (False, True)


async def test_a_venue_is_made_and_owned_although_no_lane_has_room(
    store: Store, accounts: Accounts, passwords: Passwords, clock: DrivenClock, venue: Venue
) -> None:
    await add(accounts, venue)
    session = await accounts.sign_in("amna", PASSWORD)
    assert session is not None
    full = Engine(store, clock, most_waiting=0)
    busy = Accounts(
        store, full, passwords, clock, SystemIds(), remembered=Remembered(clock), idle_ms=HOUR, session_ms=HOUR
    )

    with pytest.raises(Busy):
        await add(busy, venue, "basma")
    made = await busy.create_venue(a_venue(), session[1].account.account_id, BY_AMNA)

    assert [member.username for member in await full.read(made.id, LookAtStaff())] == ["amna"]


async def test_whoever_founds_a_venue_owns_it(accounts: Accounts, engine: Engine, venue: Venue) -> None:
    await add(accounts, venue)
    session = await accounts.sign_in("amna", PASSWORD)
    assert session is not None

    made = await accounts.create_venue(a_venue(a_queue("eye")), session[1].account.account_id, BY_AMNA)

    who = await accounts.who(session[0])
    assert who is not None
    assert who.role_at(made.id) == "owner"
    assert await engine.find_venue(made.slug) == made.id
    assert [(event.kind, event.actor) for event in await events_of(engine, made)] == [("staff.added", "staff:amna")]


async def test_an_account_that_there_is_not_founds_nothing(accounts: Accounts, store: Store, venue: Venue) -> None:
    with pytest.raises(UnknownStaff):
        await accounts.create_venue(a_venue(), AccountId("nobody"), BY_AMNA)

    assert await store.venue_ids() == {venue.slug: venue.id}


async def test_nothing_that_lets_anybody_in_is_in_the_database_or_in_an_event(
    accounts: Accounts, engine: Engine, store: Store, venue: Venue, tmp_path: Path
) -> None:
    code = await accounts.owner_code() or ""
    await accounts.first_owner(code, "amna", PASSWORD)
    session = await signed_in(accounts)
    await accounts.who(session)
    bearer = await make_token(accounts, venue)
    making, kept_bearer = accounts.new_token(venue.id, "display", None, "TV", made_by="", account_id=None)
    await do(accounts, venue, making, claim=a_claim(), origin=BY_TOOL)
    await accounts.set_password("amna", "another password")

    secrets = [PASSWORD, "another password", session.removeprefix("dws_"), code]
    secrets += [text.rpartition(".")[2] for text in (bearer, kept_bearer)]

    stored = bytes_in(tmp_path)
    told = repr(await events_of(engine, venue))
    assert b"amna" in stored
    assert b"$argon2id$" in stored
    for secret in secrets:
        assert len(secret) > 10
        assert secret.encode() not in stored
        assert secret not in told


def bytes_in(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("dawr.sqlite*")))


async def test_the_answer_to_whoever_makes_a_venue_is_kept_by_how_long_the_installation_ran(tmp_path: Path) -> None:
    """The clock may jump; and what was kept until a time of the clock would stay for as long as that is from 1970."""
    ran: list[int] = []

    def kept(_: Venue, ran_ms: int) -> None:
        ran.append(ran_ms)

    async with bootstrap.running(Settings(data=str(tmp_path / "data"))) as dawr:
        code = await dawr.accounts.owner_code()
        assert code is not None
        amna = await dawr.accounts.first_owner(code, "amna", PASSWORD, a_venue())
        await dawr.accounts.create_venue(a_venue(), amna.account_id, BY_AMNA, kept)

    assert 0 <= ran[0] < HOUR

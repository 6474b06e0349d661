"""Tokens on both stores: made, looked up by id, revoked for good; and who answers for them."""

import pytest

from dawr.domain.account import Account
from dawr.domain.errors import RoleTooLow, UnknownStaff, UnknownVenue
from dawr.domain.staff import AccountId, Role
from dawr.domain.token import Token, TokenId, TokenKind
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.people import AddStaff, ChangeRole, DisableStaff, EnableStaff
from dawr.operations.rows import TOKENS
from dawr.operations.tokens import LookAtTokens, MakeToken, RevokeToken, TakeTokenOver
from dawr.ports import Store, Wants
from tests.builders import DrivenClock, a_new, a_venue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, events_of, load, together


def make(
    kind: TokenKind = "api",
    role: Role | None = "staff",
    name: str = "A program",
    *,
    account_id: AccountId | None = None,
) -> MakeToken:
    return MakeToken(
        token_id=TokenId(a_new("v-token")),
        secret_hash="hash of a secret",
        kind=kind,
        role=role,
        name=name,
        made_by="staff:amna",
        account_id=account_id,
    )


async def test_a_token_is_stored_whole_and_found_again(
    database: Database, engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    await engine.do(venue.id, AddStaff(AccountId("account-of-amna"), "amna", "manager", None))
    amnas = make("kiosk", None, "كشك الباب", account_id=AccountId("account-of-amna"))
    made = (await engine.do(venue.id, amnas)).token

    restarted = await database.open()
    found_again = await restarted.accounts.token(venue.id, made.token_id)
    await restarted.close()

    assert found_again == (made, None)
    assert made == Token(
        venue.id,
        made.token_id,
        "hash of a secret",
        "kiosk",
        "viewer",
        "كشك الباب",
        "staff:amna",
        clock(),
        account_id=AccountId("account-of-amna"),
    )


async def test_a_revoked_token_stays_in_the_list_and_is_revoked_once(
    engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    made = (await engine.do(venue.id, make())).token
    clock.advance(minutes=1)

    outcomes = await together(*(engine.do(venue.id, RevokeToken(made.token_id, None)) for _ in range(20)))

    assert {outcome.token.revoked_at for outcome in outcomes} == {clock()}
    assert await store.accounts.token(venue.id, made.token_id) == (outcomes[0].token, None)
    assert await engine.read(venue.id, LookAtTokens()) == (outcomes[0],)
    assert [event.kind for event in await events_of(engine, venue)] == ["token.made", "token.revoked"]


async def test_a_token_is_of_its_venue_alone(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())
    made = (await engine.do(venue.id, make())).token

    assert await store.accounts.token(other.id, made.token_id) is None
    assert await engine.read(other.id, LookAtTokens()) == ()


async def test_many_tokens_made_at_once_are_all_there(engine: Engine, venue: Venue) -> None:
    made = await together(*(engine.do(venue.id, make(name=f"Token {number}")) for number in range(60)))

    assert set(await engine.read(venue.id, LookAtTokens())) == set(made)


async def test_tokens_are_loaded_only_when_they_are_wanted(engine: Engine, store: Store, venue: Venue) -> None:
    made = (await engine.do(venue.id, make())).token

    assert (await load(store, venue, Wants())).of(TOKENS) == []
    assert (await load(store, venue, Wants(rows={TOKENS: set()}))).of(TOKENS) == [made]


async def test_with_a_token_comes_what_whoever_answers_for_it_may_now(
    engine: Engine, store: Store, venue: Venue
) -> None:
    account = Account(AccountId(a_new("account")), a_new("amna"), "hash of a password", 1)
    await store.accounts.add(account)
    await engine.do(venue.id, AddStaff(account.account_id, account.username, "manager", None))
    made = (await engine.do(venue.id, make(account_id=account.account_id))).token

    async def theirs() -> Role | None:
        found = await store.accounts.token(venue.id, made.token_id)
        assert found is not None
        return found[1]

    roles = [await theirs()]
    name = account.username
    for change in (ChangeRole(name, "viewer", None), DisableStaff(name, None), EnableStaff(name, None)):
        await engine.do(venue.id, change)
        roles.append(await theirs())
    await store.accounts.set_disabled(account.account_id, 2)
    roles.append(await theirs())

    assert roles == ["manager", "viewer", None, "viewer", None]


async def test_membership_of_another_venue_answers_for_nothing(
    database: Database, engine: Engine, store: Store, venue: Venue
) -> None:
    other = await create_venue(store, a_venue())
    account = Account(AccountId(a_new("account")), a_new("amna"), "hash of a password", 1)
    await store.accounts.add(account)
    await engine.do(other.id, AddStaff(account.account_id, account.username, "owner", None))

    token_id = (await engine.do(venue.id, make())).token.token_id
    await database.rows(f"UPDATE tokens SET account_id = '{account.account_id}' WHERE token_id = '{token_id}'")
    [theirs] = await engine.read(venue.id, LookAtTokens())

    assert (theirs.username, theirs.may) == ("", None)
    assert await store.accounts.token(venue.id, token_id) == (theirs.token, None)
    with pytest.raises(UnknownVenue):
        await engine.do(venue.id, make(account_id=account.account_id))


async def test_a_token_that_is_taken_over_answers_to_somebody_else_from_then_on(engine: Engine, venue: Venue) -> None:
    people: dict[str, Role] = {"amna": "owner", "basma": "staff"}
    for name, role in people.items():
        await engine.do(venue.id, AddStaff(AccountId(f"account-of-{name}"), name, role, None))
    made = (await engine.do(venue.id, make(role="manager", account_id=AccountId("account-of-amna")))).token

    basmas = await engine.do(venue.id, TakeTokenOver(made.token_id, "Basma", None))
    nobodys = await engine.do(venue.id, TakeTokenOver(made.token_id, None, None))
    with pytest.raises(RoleTooLow):
        await engine.do(venue.id, TakeTokenOver(made.token_id, "basma", AccountId("account-of-basma")))
    with pytest.raises(UnknownStaff):
        await engine.do(venue.id, TakeTokenOver(made.token_id, "celia", AccountId("account-of-amna")))

    assert (basmas.username, basmas.may) == ("basma", "staff")
    assert (nobodys.username, nobodys.may) == (None, "manager")
    assert await engine.read(venue.id, LookAtTokens()) == (nobodys,)

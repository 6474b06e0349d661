"""Tokens on both stores: made, looked up by id, revoked for good."""

from dawr.domain.staff import Role
from dawr.domain.token import Token, TokenId, TokenKind
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.rows import TOKENS
from dawr.operations.tokens import LookAtTokens, MakeToken, RevokeToken
from dawr.ports import Store, Wants
from tests.builders import DrivenClock, a_new, a_venue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, events_of, load, together


def make(kind: TokenKind = "api", role: Role | None = "staff", name: str = "A program") -> MakeToken:
    return MakeToken(
        token_id=TokenId(a_new("v-token")),
        secret_hash="hash of a secret",
        kind=kind,
        role=role,
        name=name,
        made_by="staff:amna",
        by="owner",
    )


async def test_a_token_is_stored_whole_and_found_again(
    database: Database, engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    made = await engine.do(venue.id, make("kiosk", None, "كشك الباب"))

    restarted = await database.open()
    found_again = await restarted.accounts.token(venue.id, made.token_id)
    await restarted.close()

    assert found_again == made
    assert made == Token(
        venue.id, made.token_id, "hash of a secret", "kiosk", "viewer", "كشك الباب", "staff:amna", clock()
    )


async def test_a_revoked_token_stays_in_the_list_and_is_revoked_once(
    engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    made = await engine.do(venue.id, make())
    clock.advance(minutes=1)

    outcomes = await together(*(engine.do(venue.id, RevokeToken(made.token_id, "owner")) for _ in range(20)))

    assert {outcome.revoked_at for outcome in outcomes} == {clock()}
    assert await store.accounts.token(venue.id, made.token_id) == outcomes[0]
    assert await engine.read(venue.id, LookAtTokens()) == (outcomes[0],)
    assert [event.kind for event in await events_of(engine, venue)] == ["token.made", "token.revoked"]


async def test_a_token_is_of_its_venue_alone(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())
    made = await engine.do(venue.id, make())

    assert await store.accounts.token(other.id, made.token_id) is None
    assert await engine.read(other.id, LookAtTokens()) == ()


async def test_many_tokens_made_at_once_are_all_there(engine: Engine, venue: Venue) -> None:
    made = await together(*(engine.do(venue.id, make(name=f"Token {number}")) for number in range(60)))

    assert set(await engine.read(venue.id, LookAtTokens())) == set(made)


async def test_tokens_are_loaded_only_when_they_are_wanted(engine: Engine, store: Store, venue: Venue) -> None:
    made = await engine.do(venue.id, make())

    assert (await load(store, venue, Wants())).of(TOKENS) == []
    assert (await load(store, venue, Wants(rows={TOKENS: set()}))).of(TOKENS) == [made]

"""Bearer tokens: told once, good until they are revoked."""

import pytest

from dawr.accounts.accounts import Accounts
from dawr.domain.errors import (
    RoleTooLow,
)
from dawr.domain.token import TokenId
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.tokens import RevokeToken
from dawr.ports import Store
from tests.accounts.doing import add, do, make_token
from tests.builders import a_claim
from tests.stores.doing import kinds_of


async def test_a_token_is_good_until_it_is_revoked(accounts: Accounts, engine: Engine, venue: Venue) -> None:
    bearer = await make_token(accounts, venue)

    token = await accounts.token(bearer)

    assert token is not None
    assert bearer.startswith(f"dwt_{token.token_id}.")
    assert (token.venue_id, token.kind, token.role, token.made_by) == (venue.id, "api", "staff", "staff:amna")
    await engine.do(venue.id, RevokeToken(token.token_id, None))
    assert await accounts.token(bearer) is None


async def test_a_token_that_is_changed_by_one_letter_is_no_good(accounts: Accounts, venue: Venue) -> None:
    bearer = await make_token(accounts, venue)
    token_id, _, secret = bearer.removeprefix("dwt_").partition(".")

    forged = [
        f"dwt_{token_id}.{secret[:-1]}",
        f"dwt_{token_id}.{secret.swapcase()}",
        f"dwt_{token_id}.",
        f"dwt_{token_id}",
        f"dwt_x{token_id}.{secret}",
        f"dwt_{token_id[:-1]}.{secret}",
        f"dws_{token_id}.{secret}",
        bearer + "x" * 5000,
        "dwt_.",
        "dwt_\ud800.x",
        "dwt_\x00-1.x",
        "",
    ]

    assert [await accounts.token(bearer) for bearer in forged] == [None] * len(forged)


async def test_nobody_makes_a_token_above_their_own_role(accounts: Accounts, venue: Venue) -> None:
    await add(accounts, venue, "manager", "manager")
    await add(accounts, venue, "staff", "staff")

    with pytest.raises(RoleTooLow):
        await make_token(accounts, venue, "owner", by="manager")
    with pytest.raises(RoleTooLow):
        await make_token(accounts, venue, "viewer", by="staff")


async def test_a_retried_token_is_made_once_and_what_is_stored_opens_nothing(
    accounts: Accounts, engine: Engine, venue: Venue
) -> None:
    made = [
        accounts.new_token(venue.id, "kiosk", None, "By the door", made_by="staff:amna", account_id=None)
        for _ in range(2)
    ]
    (making, bearer), (making_again, other_bearer) = made

    first = await do(accounts, venue, making, claim=a_claim())
    second = await do(accounts, venue, making_again, claim=a_claim())

    assert (first.body, first.replayed, second.replayed) == (second.body, False, True)
    assert await accounts.token(bearer) is not None
    assert await accounts.token(other_bearer) is None
    assert await kinds_of(engine, venue) == ["token.made"]


async def test_a_token_of_a_venue_that_there_is_not_is_no_good(accounts: Accounts, store: Store) -> None:
    assert await store.accounts.token(VenueId("nowhere"), TokenId("nowhere-1")) is None
    assert await accounts.token("dwt_nowhere-1.secret") is None

"""Tokens of a venue: for programs, kiosks and displays."""

from typing import Annotated

import msgspec

from dawr.domain import Role, TokenId, TokenKind
from dawr.domain.errors import InvalidValue, UnknownToken, UnknownVenue
from dawr.operations.tokens import LookAtTokens, RevokeToken, TakeTokenOver, TokenState
from dawr.reliability.idempotency import Reply
from dawr.web.api.queues import Reason
from dawr.web.pagination import ListQuery, Page, page_by
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "tokens"


class TokenAnswer(msgspec.Struct, frozen=True):
    token: str
    kind: TokenKind
    role: Role
    name: str
    made_by: str
    made_at: int
    revoked_at: int | None
    account: str | None
    """Who answers for it; null: the command line. Empty: nobody, until an owner takes it over."""
    may: Role | None
    """What it may now: never more than whoever answers for it. Null: nothing."""


class MakeTokenInput(msgspec.Struct, forbid_unknown_fields=True):
    kind: TokenKind
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80, description="What it is for, or where it stands.")]
    role: Annotated[Role, msgspec.Meta(description="Of an API token. A kiosk or display has its own.")] | None = None


class MadeToken(msgspec.Struct, frozen=True):
    token: TokenAnswer
    bearer: str | None
    """What to send as `Authorization: Bearer …`. Shown once; it is not kept, so a replay has null."""


async def list_tokens(parts: Parts, request: Request[ListQuery]) -> Response:
    """By id, which is by time: the cursor is the last id of the page before."""
    tokens = await parts.engine.read(request.venue_id, LookAtTokens())
    return answered(page_by(lambda state: state.token.token_id, tokens, request.given, token_answer))


async def make(parts: Parts, request: Request[MakeTokenInput]) -> Reply | Response:
    given, caller = request.given, request.caller
    making, bearer = parts.accounts.new_token(
        request.venue_id,
        given.kind,
        given.role,
        given.name,
        made_by=caller.actor,
        account_id=request.account_id,
    )
    reply = await request.do(making, lambda state: MadeToken(token_answer(state), None), status=201)
    if reply.replayed:
        return reply
    made = msgspec.json.decode(reply.body, type=MadeToken)
    return answered(msgspec.structs.replace(made, bearer=bearer), status=reply.status)


async def revoke(_: Parts, request: Request[Reason]) -> Reply:
    token = request.caller.token_id
    by = request.account_id if token is None else None
    revoking = RevokeToken(TokenId(request.params["token"]), by, token)
    return await request.do(revoking, token_answer, reason=request.given.reason)


async def take_over(_: Parts, request: Request[Reason]) -> Reply:
    taking = TakeTokenOver(TokenId(request.params["token"]), request.caller.username, request.account_id)
    return await request.do(taking, token_answer, reason=request.given.reason)


def token_answer(state: TokenState) -> TokenAnswer:
    token = state.token
    return TokenAnswer(
        token.token_id,
        token.kind,
        token.role,
        token.name,
        token.made_by,
        token.made_at,
        token.revoked_at,
        state.username,
        state.may,
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/venues/{venue}/tokens",
        name="list-tokens",
        summary="The venue's tokens, oldest first",
        tag=TAG,
        handler=list_tokens,
        query=ListQuery,
        answer=Page[TokenAnswer],
        who="manager",
        venue="venue",
        refusals=(UnknownVenue,),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/tokens",
        name="make-token",
        summary="Make a token for a program, a kiosk or a display",
        tag=TAG,
        handler=make,
        body=MakeTokenInput,
        answer=MadeToken,
        status=201,
        who="manager",
        for_people=True,
        venue="venue",
        refusals=(UnknownVenue, InvalidValue),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/tokens/{token}/revoke",
        name="revoke-token",
        summary="End a token at once",
        tag=TAG,
        handler=revoke,
        body=Reason,
        answer=TokenAnswer,
        who="manager",
        venue="venue",
        refusals=(UnknownVenue, UnknownToken),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/tokens/{token}/take-over",
        name="take-token-over",
        summary="Answer for a token from now on, whoever did before",
        tag=TAG,
        handler=take_over,
        body=Reason,
        answer=TokenAnswer,
        who="owner",
        for_people=True,
        venue="venue",
        refusals=(UnknownVenue, UnknownToken),
    ),
)

"""Signing in and out, and who one is."""

from typing import Annotated

import msgspec

from dawr.domain import SignedIn
from dawr.domain.errors import InvalidValue
from dawr.domain.secret import hash_of
from dawr.web.api.answers import VenueRole
from dawr.web.api.queues import NoInput
from dawr.web.password_tries import WrongPassword, trying_password
from dawr.web.problems import BadRequest
from dawr.web.raw_request import Caller
from dawr.web.response import Header, Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "sessions"


class SignInInput(msgspec.Struct, forbid_unknown_fields=True):
    username: Annotated[str, msgspec.Meta(max_length=64)]
    password: Annotated[str, msgspec.Meta(max_length=128)]


class SessionAnswer(msgspec.Struct, frozen=True):
    """The session, to be sent as bearer; browsers have it as a cookie besides."""

    session: str
    username: str
    expires_at: int
    venues: list[VenueRole]


class CallerAnswer(msgspec.Struct, frozen=True):
    actor: str
    username: str | None
    token_kind: str | None
    venues: list[VenueRole]


class SignedOut(msgspec.Struct, frozen=True):
    signed_out: bool


class PasswordInput(msgspec.Struct, forbid_unknown_fields=True):
    old: Annotated[str, msgspec.Meta(max_length=128)]
    new: Annotated[str, msgspec.Meta(max_length=128)]


class PasswordChanged(msgspec.Struct, frozen=True):
    changed: bool


async def login(parts: Parts, request: Request[SignInInput]) -> Response:
    session, signed_in, cookies = await sign_in(parts, request)
    venues = [VenueRole(await parts.engine.slug_of(m.venue_id), m.role) for m in signed_in.memberships]
    answer = SessionAnswer(session, signed_in.account.username, signed_in.session.expires_at, venues)
    return answered(answer, headers=cookies)


async def sign_in(parts: Parts, request: Request[SignInInput]) -> tuple[str, SignedIn, tuple[Header, ...]]:
    """A new session, whose it is, and cookies for a browser, whichever door it comes through.

    The same answer for every kind of wrong.
    """
    username, raw = request.given.username, request.raw
    account = await parts.accounts.find(username)
    browser = parts.auth.known_browser(raw, account)
    async with trying_password(parts, raw, username, account, browser=browser):
        signed_in = await parts.accounts.sign_in(username, request.given.password, is_known_browser=browser is not None)
        if signed_in is None:
            raise WrongPassword(401, "wrong-credentials")
    session, who = signed_in
    return session, who, (parts.auth.remember_browser(raw, who.account), parts.auth.cookie(raw, session))


async def logout(parts: Parts, request: Request[NoInput]) -> Response:
    await end_session(parts, request.caller)
    return answered(SignedOut(signed_out=True), headers=(parts.auth.no_cookie(request.raw),))


async def end_session(parts: Parts, caller: Caller) -> None:
    """The caller's own, if it is by a session that they ask; what they watch with it ends, too."""
    if caller.session is not None:
        await parts.accounts.sign_out(caller.session)
        for venue_id in caller.roles:
            parts.hub.judge_again(venue_id)


async def me(parts: Parts, request: Request[NoInput]) -> Response:
    caller = request.caller
    venues = [VenueRole(await parts.engine.slug_of(venue_id), role) for venue_id, role in caller.roles.items()]
    return answered(CallerAnswer(caller.actor, caller.username, caller.token_kind, venues))


async def change_password(parts: Parts, request: Request[PasswordInput]) -> Response:
    """Every session of the account ends, this one too: whoever knew the old password is out."""
    caller, raw = request.caller, request.raw
    if caller.username is None or caller.session is None:
        raise BadRequest(403, "not-an-account")
    account = await parts.accounts.find(caller.username)
    async with trying_password(parts, raw, caller.username, account, browser=hash_of(caller.session)):
        changed = await parts.accounts.change_password(request.account_id, request.given.old, request.given.new)
        if changed is None:
            raise WrongPassword(403, "wrong-password")
    for venue_id in caller.roles:
        parts.hub.judge_again(venue_id)
    cookies = (parts.auth.remember_browser(raw, changed), parts.auth.no_cookie(raw))
    return answered(PasswordChanged(changed=True), headers=cookies)


ROUTES = (
    Route(
        method="POST",
        path="/v1/login",
        name="login",
        summary="Sign in",
        tag=TAG,
        handler=login,
        body=SignInInput,
        answer=SessionAnswer,
        limit=None,
        other_codes=((401, "wrong-credentials"), (429, "quota-exceeded")),
    ),
    Route(
        method="POST",
        path="/v1/logout",
        name="logout",
        summary="Sign out: the session ends at once",
        tag=TAG,
        handler=logout,
        body=NoInput,
        answer=SignedOut,
        who="signed-in",
    ),
    Route(
        method="GET",
        path="/v1/me",
        name="me",
        summary="Who the caller is, and where they have which role",
        tag=TAG,
        handler=me,
        query=NoInput,
        answer=CallerAnswer,
        who="signed-in",
    ),
    Route(
        method="POST",
        path="/v1/me/password",
        name="change-password",
        summary="Change one's own password; all one's sessions end",
        tag=TAG,
        handler=change_password,
        body=PasswordInput,
        answer=PasswordChanged,
        who="signed-in",
        for_people=True,
        refusals=(InvalidValue,),
        other_codes=((403, "wrong-password"), (429, "quota-exceeded")),
    ),
)

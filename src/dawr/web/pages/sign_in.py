"""Signing in and out with a browser: a form, and on to the page that was asked for.

It leads to pages of ours only. Every sign-in is a new session, and the one that this browser had before ends with it:
so a tablet that several people share has one of them at a time.
"""

import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

import msgspec

from dawr.domain import Desk, Role, Venue, VenueId
from dawr.domain.errors import UnknownVenue
from dawr.domain.staff import at_least
from dawr.operations.snapshots import LookAtVenue
from dawr.web.api.sessions import SignedOut, SignInInput, end_session, sign_in
from dawr.web.forms import Form, is_for_a_person, own_path, see_other
from dawr.web.links import absolute
from dawr.web.pages.rendering import language_of, page
from dawr.web.problems import BadRequest, Problem, problem_of
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

HERE = re.compile(r"/sign-(in|out)\b.*")
CONSOLE = re.compile(r"/staff/([^/?#]+)(?:/([^/?#]+))?(?:[?#].*)?")


class SignInQuery(msgspec.Struct, frozen=True):
    then: str = ""
    switch: str = ""


class SignInForm(msgspec.Struct, frozen=True):
    username: Annotated[str, msgspec.Meta(max_length=64)] = ""
    password: Annotated[str, msgspec.Meta(max_length=128)] = ""


class SignedInAnswer(msgspec.Struct, frozen=True):
    """For a script of ours. The session itself is in a cookie that no script can read."""

    username: str
    then: str


class Ahead(msgspec.Struct, frozen=True):
    """Where it leads: a venue, or one of its desks."""

    venue: Venue
    desk: Desk | None

    @property
    def beside(self) -> dict[str, str]:
        """What is written beside the desk's plate: its queue, or the venue if it has several."""
        queues = () if self.desk is None else self.desk.queues
        return self.venue.queue(queues[0]).name if len(queues) == 1 else self.venue.name


async def show(parts: Parts, request: Request[SignInQuery]) -> Response:
    """Whoever is signed in already goes on at once, unless somebody else is about to."""
    then, switches = _then(request.given.then), bool(request.given.switch)
    if request.caller.username is not None and not switches:
        return see_other(then or await _first_page(parts, request.caller.roles))
    return await _shown(parts, request, then, switches=switches)


async def enter(parts: Parts, request: Request[dict[str, str]]) -> Response:
    """What is wrong is said above the form, which keeps the name."""
    form, for_a_person = request.form or Form({}, None, None), is_for_a_person(request.raw)
    if for_a_person and not parts.auth.is_kept(request.raw):
        return await _again(parts, request, form)
    try:
        given = form.as_a(SignInForm)
        credentials = SignInInput(given.username, given.password)
        signing_in = Request(request.engine, request.raw, credentials, request.caller, request.venue_id, "", "")
        _, who, cookies = await sign_in(parts, signing_in)
    except BadRequest as refusal:
        if not for_a_person:
            raise
        return await _again(parts, request, form, refusal)
    await end_session(parts, request.caller)
    roles = {member.venue_id: member.role for member in who.memberships}
    then = _then(form.then) or await _first_page(parts, roles)
    if for_a_person:
        return see_other(then, *cookies)
    return answered(SignedInAnswer(who.account.username, then), headers=cookies)


async def leave(parts: Parts, request: Request[dict[str, str]]) -> Response:
    await end_session(parts, request.caller)
    gone = parts.auth.no_cookie(request.raw)
    if not is_for_a_person(request.raw):
        return answered(SignedOut(signed_out=True), headers=(gone,))
    return see_other((request.form and request.form.then) or "/", gone)


async def _again(
    parts: Parts, request: Request[dict[str, str]], form: Form, refusal: BadRequest | None = None
) -> Response:
    name, switches = form.fields.get("username", ""), "switch" in form.fields
    return await _shown(parts, request, _then(form.then), name=name, switches=switches, refusal=refusal)


async def _shown(
    parts: Parts,
    request: Request[SignInQuery] | Request[dict[str, str]],
    then: str | None,
    *,
    name: str = "",
    switches: bool = False,
    refusal: BadRequest | None = None,
) -> Response:
    ahead = await _ahead(parts, then)
    venue = None if ahead is None else ahead.venue
    wrong = None if refusal is None else problem_of(refusal, language_of(request.raw, venue))
    is_kept = parts.auth.is_kept(request.raw)
    return page(
        parts,
        request.raw,
        "sign_in.html",
        venue=venue,
        status=_status(wrong, is_kept=is_kept),
        headers=() if wrong is None else wrong.headers_of_response(),
        then=then or "",
        ahead=ahead,
        typed=name,
        wrong=wrong,
        is_kept=is_kept,
        elsewhere=_encrypted(parts, then),
        signed_in=request.caller.username if switches else None,
    )


def _status(wrong: Problem | None, *, is_kept: bool) -> int:
    if wrong is not None:
        return wrong.status
    return 200 if is_kept else 403


def _encrypted(parts: Parts, then: str | None) -> str | None:
    """The same page where browsers can sign in, if it is known where that is."""
    address = absolute(parts.settings, "/sign-in" if then is None else f"/sign-in?then={quote(then, safe='/')}")
    return address if address is not None and address.startswith("https:") else None


def _then(path: str | None) -> str | None:
    """A page of ours, and not this one."""
    found = own_path(path)
    return None if found is None or HERE.fullmatch(found) else found


async def _ahead(parts: Parts, then: str | None) -> Ahead | None:
    found = CONSOLE.fullmatch(then or "")
    if found is None:
        return None
    try:
        venue_id = await parts.engine.find_venue(found[1])
    except UnknownVenue:
        return None
    venue, _ = await parts.engine.read(venue_id, LookAtVenue())
    return Ahead(venue, next((desk for desk in venue.desks if desk.id == found[2]), None))


async def _first_page(parts: Parts, roles: Mapping[VenueId, Role]) -> str:
    """Where somebody begins who asked for no page: at the desks of their venue, if they work at one."""
    works_at = [venue_id for venue_id, role in roles.items() if at_least(role, "staff")]
    return f"/staff/{await parts.engine.slug_of(works_at[0])}" if len(works_at) == 1 else "/"


ROUTES = (
    Route(
        method="GET",
        path="/sign-in",
        name="sign-in-page",
        summary="The form for signing in",
        tag="pages",
        handler=show,
        query=SignInQuery,
        kind="text/html",
    ),
    Route(
        method="POST",
        path="/sign-in",
        name="sign-in",
        summary="Sign in by the form, and go on to a page",
        tag="pages",
        handler=enter,
        body=dict[str, str],
        limit=None,
        kind="text/html",
    ),
    Route(
        method="POST",
        path="/sign-out",
        name="sign-out",
        summary="Sign out of this browser",
        tag="pages",
        handler=leave,
        body=dict[str, str],
        kind="text/html",
    ),
)

"""A screen in the hall of a venue whose display is for staff: it shows its token once, and is known from then on.

Somebody of the staff may sign in there instead. A screen hangs where anybody can touch it, so that is for a moment:
a display's token lets it see the display, and nothing else.
"""

from urllib.parse import quote

import msgspec

from dawr.accounts.accounts import TOKEN
from dawr.domain.errors import UnknownVenue
from dawr.operations.snapshots import LookAtVenue
from dawr.web.forms import own_path, see_other
from dawr.web.pages.rendering import page
from dawr.web.raw_request import WATCHING_KINDS, RawRequest
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route


class TokenQuery(msgspec.Struct, frozen=True):
    then: str = ""


def to_the_form(raw: RawRequest, venue: str) -> Response:
    query = raw.scope["query_string"].decode("latin-1")
    then = f"/d/{venue}" + (f"?{query}" if query else "")
    return see_other(f"/d/{venue}/token?then={quote(then, safe='/')}")


async def show(parts: Parts, request: Request[TokenQuery]) -> Response:
    return await _form(parts, request, _then(request, request.given.then))


async def enter(parts: Parts, request: Request[dict[str, str]]) -> Response:
    """Only a display's token: the browser keeps it, and anybody can use the browser."""
    form = request.form
    given = "" if form is None else form.fields.get("token", "")
    then = _then(request, "" if form is None else form.then or "")
    if not parts.auth.is_kept(request.raw):
        return await _form(parts, request, then)
    token = await parts.accounts.token_now(given) if given.startswith(TOKEN) else None
    if token is None or token.kind not in WATCHING_KINDS or token.venue_id != request.venue_id:
        await parts.limits.charge_stranger(request.raw)
        return await _form(parts, request, then, is_wrong=True)
    return see_other(then, parts.auth.display_cookie(request.raw, given))


async def _form(
    parts: Parts, request: Request[TokenQuery] | Request[dict[str, str]], then: str, *, is_wrong: bool = False
) -> Response:
    venue, _ = await parts.engine.read(request.venue_id, LookAtVenue())
    is_kept = parts.auth.is_kept(request.raw)
    return page(
        parts,
        request.raw,
        "display_token.html",
        venue=venue,
        status=422 if is_wrong else 200 if is_kept else 403,
        then=then,
        is_wrong=is_wrong,
        is_kept=is_kept,
    )


def _then(request: Request[TokenQuery] | Request[dict[str, str]], asked_for: str) -> str:
    """Back to this venue's display, and nowhere else."""
    display = f"/d/{request.venue}"
    then = own_path(asked_for)
    return then if then is not None and (then == display or then.startswith(f"{display}?")) else display


ROUTES = (
    Route(
        method="GET",
        path="/d/{venue}/token",
        name="display-token-page",
        summary="The form for a display's token",
        tag="pages",
        handler=show,
        query=TokenQuery,
        venue="venue",
        refusals=(UnknownVenue,),
        kind="text/html",
    ),
    Route(
        method="POST",
        path="/d/{venue}/token",
        name="display-token",
        summary="Let a screen show the display, by its token",
        tag="pages",
        handler=enter,
        body=dict[str, str],
        venue="venue",
        refusals=(UnknownVenue,),
        keyed=False,
        kind="text/html",
    ),
)

"""The owner's account, made once by whoever started the server and saw the link.

Once there is an owner the page is gone. Only whoever sent the form twice is signed in by the second, too.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Literal, TypeVar
from zoneinfo import available_timezones

import msgspec

from dawr.accounts.create_venue import first_queue
from dawr.domain import Desk, DeskId, Venue, VenueId
from dawr.domain.errors import OwnerCodeInvalid, Refused
from dawr.domain.queue import LONGEST_CODE
from dawr.domain.staff import LONGEST_USERNAME
from dawr.web.api.sessions import SignInInput, sign_in
from dawr.web.auth import is_from_our_own_page
from dawr.web.forms import converted, is_form, read_fields, see_other
from dawr.web.pages.home import start_page
from dawr.web.pages.rendering import page, words_of
from dawr.web.password_tries import WrongPassword
from dawr.web.problems import BadRequest, Problem, problem_of
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route

T = TypeVar("T")

LONGEST_NAME = 80
KINDS = ("clinic", "restaurant", "office")
BLANK = dict.fromkeys(("code", "username", "venue_name", "venue_slug", "venue_kind", "zone", "queue_name"), "")


class CodeQuery(msgspec.Struct, forbid_unknown_fields=True):
    code: Annotated[str, msgspec.Meta(max_length=100)] = ""


class OwnerForm(msgspec.Struct, frozen=True):
    code: Annotated[str, msgspec.Meta(max_length=100)] = ""
    username: Annotated[str, msgspec.Meta(max_length=LONGEST_USERNAME)] = ""
    password: Annotated[str, msgspec.Meta(max_length=128)] = ""


class VenueForm(msgspec.Struct, frozen=True):
    """The first venue, with one queue to begin with. All names are in one language."""

    venue_name: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
    venue_slug: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_CODE)]
    zone: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    language: Literal["en", "ar", "zh"] = "en"
    venue_kind: Literal["clinic", "restaurant", "office"] = "clinic"
    queue_name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""

    def venue(self) -> Venue:
        language, words = self.language, words_of("first_run", self.language)
        queue = first_queue(self.queue_name, language, usual=words("usual-queue", kind=self.venue_kind))
        return Venue(
            VenueId(""),
            self.venue_slug.lower(),
            {language: self.venue_name},
            self.zone,
            self.venue_kind,
            queues=(queue,),
            desks=(Desk(DeskId("desk-1"), {language: words("usual-desk")}, (queue.id,)),),
            language=language,
        )


async def show(parts: Parts, request: Request[CodeQuery]) -> Response:
    if await parts.accounts.has_owner():
        raise BadRequest(410, "owner-exists")
    return await _form(parts, request, {"code": request.given.code})


async def make(parts: Parts, request: Request[None]) -> Response:
    """What is wrong is said beside its field, and the form keeps what was typed but for the password."""
    typed = await _read(request)
    if await parts.accounts.has_owner():
        return await _enter_again(parts, request, typed)
    try:
        owner = converted(typed, OwnerForm)
        venue = None if await parts.accounts.has_venue() else converted(typed, VenueForm).venue()
        await parts.accounts.first_owner(owner.code, owner.username, owner.password, venue)
    except (Refused, BadRequest) as refusal:
        if isinstance(refusal, OwnerCodeInvalid) and await parts.accounts.has_owner():
            return await _enter_again(parts, request, typed)
        return await _form(parts, request, typed, problem_of(refusal, request.raw.language))
    return await _enter(parts, request, owner)


async def _enter(parts: Parts, request: Request[None], owner: OwnerForm) -> Response:
    """Signed in, to the page that says what comes next. It is shown at once to a browser that will not stay so."""
    given = SignInInput(owner.username, owner.password)
    signing_in = Request(request.engine, request.raw, given, request.caller, request.venue_id, "", "")
    _, who, cookies = await sign_in(parts, signing_in)
    if b"Secure" in cookies[0][1] and not parts.clients.is_secure(request.raw.scope):
        roles = {member.venue_id: member.role for member in who.memberships}
        return await start_page(parts, request.raw, who.account.username, roles, stays=False)
    return see_other("/", *cookies)


async def _enter_again(parts: Parts, request: Request[None], typed: Mapping[str, str]) -> Response:
    """Whoever pressed twice, or in two tabs: the account that is there may be theirs."""
    with suppress(WrongPassword):
        if is_from_our_own_page(request.raw, parts.clients):
            return await _enter(parts, request, converted(typed, OwnerForm))
    raise BadRequest(410, "owner-exists")


async def _form(
    parts: Parts, request: Request[CodeQuery] | Request[None], typed: Mapping[str, str], wrong: Problem | None = None
) -> Response:
    language = request.raw.language
    return page(
        parts,
        request.raw,
        "first_run.html",
        status=200 if wrong is None else 422,
        given={**BLANK, "language": language, **typed},
        wrong={} if wrong is None else {_field_of(wrong): wrong.detail},
        needs_venue=not await parts.accounts.has_venue(),
        kinds=KINDS,
        zones=_zones(),
    )


def _field_of(wrong: Problem) -> str:
    """Beside which field it is said. What the rules call a venue or a name is several fields here."""
    if wrong.code == "owner-code-invalid":
        return "code"
    if wrong.code == "username-taken":
        return "username"
    field, kind = str(wrong.facts.get("field")), wrong.facts.get("kind")
    if field == "name":
        return f"{kind}_name"
    return {"venue": "venue_slug", "queue": "queue_name"}.get(field, field)


async def _read(request: Request[None]) -> dict[str, str]:
    """From whichever page: whoever has the code saw the link."""
    if not is_form(request.raw):
        raise BadRequest(415, "not-a-form")
    fields = await read_fields(request.raw)
    if "code" not in fields:
        raise BadRequest(422, "invalid-body", why="form")
    return fields


@cache
def _zones() -> list[str]:
    """To choose from; others that there are may be typed."""
    return sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "SystemV/")))


ROUTES = (
    Route(
        method="GET",
        path="/first-run",
        name="first-run",
        summary="The form for the owner's account",
        tag="pages",
        handler=show,
        query=CodeQuery,
        kind="text/html",
    ),
    Route(
        method="POST",
        path="/first-run",
        name="make-owner",
        summary="Make the owner's account",
        tag="pages",
        handler=make,
        limit="join",
        kind="text/html",
    ),
)

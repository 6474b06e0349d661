"""The owner's account, made once by whoever started the server and saw the link."""

from typing import Annotated
from urllib.parse import parse_qsl

import msgspec

from dawr.domain import Venue
from dawr.domain.errors import Refused
from dawr.web.pages.rendering import page
from dawr.web.problems import BadRequest
from dawr.web.raw_request import read_body
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route

FORM = b"application/x-www-form-urlencoded"


class CodeQuery(msgspec.Struct, forbid_unknown_fields=True):
    code: Annotated[str, msgspec.Meta(max_length=100)] = ""


class OwnerForm(msgspec.Struct, frozen=True):
    code: Annotated[str, msgspec.Meta(max_length=100)]
    username: Annotated[str, msgspec.Meta(max_length=64)] = ""
    password: Annotated[str, msgspec.Meta(max_length=128)] = ""
    venue_name: Annotated[str, msgspec.Meta(max_length=80)] = ""
    venue_slug: Annotated[str, msgspec.Meta(max_length=32)] = ""
    venue_kind: str = "clinic"
    zone: Annotated[str, msgspec.Meta(max_length=64)] = "Asia/Qatar"

    def venue(self) -> Venue:
        """The first venue, with one queue to begin with."""
        document = {
            "id": "",
            "slug": self.venue_slug.strip().lower(),
            "name": {"en": self.venue_name.strip()},
            "zone": self.zone.strip(),
            "kind": self.venue_kind,
            "queues": [{"id": "main", "name": {"en": "Main queue"}, "prefix": "A"}],
            "desks": [{"id": "desk-1", "name": {"en": "Desk 1"}, "queues": ["main"]}],
        }
        return msgspec.convert(document, Venue)


async def show(parts: Parts, request: Request[CodeQuery]) -> Response:
    return await _form(parts, OwnerForm(request.given.code))


async def make(parts: Parts, request: Request[None]) -> Response:
    """What is wrong is said above the form, which keeps what was typed but for the password."""
    given = await _read(request)
    try:
        wanted = None if await parts.accounts.has_venue() else given.venue()
        account = await parts.accounts.first_owner(given.code, given.username, given.password, wanted)
    except Refused as refusal:
        return await _form(parts, given, str(refusal))
    except msgspec.ValidationError as error:
        return await _form(parts, given, f"{error}.")
    return page("first_run_done.html", username=account.username)


async def _form(parts: Parts, given: OwnerForm, wrong: str | None = None) -> Response:
    return page("first_run.html", given=given, wrong=wrong, needs_venue=not await parts.accounts.has_venue())


async def _read(request: Request[None]) -> OwnerForm:
    kind = request.raw.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != FORM:
        raise BadRequest(415, "not-a-form", "Send the form as the page does.")
    body = await read_body(request.raw.receive)
    try:
        fields = dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict"))
        return msgspec.convert(fields, OwnerForm)
    except (ValueError, msgspec.ValidationError) as error:
        raise BadRequest(422, "invalid-body", "The form does not fit.") from error


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

"""A form of one of our pages: read as the type that a JSON body would be, and where the browser goes when it is done.

The same routes take both. A form has two fields of its own: `idempotency_key`, so that a page that is sent twice does
its work once, and `then`, the page to go on to. A form is taken from our own pages only: any site can send one.
"""

import re
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from dawr.reliability.client_address import Clients
from dawr.web.auth import is_from_our_own_page
from dawr.web.misfits import misfit
from dawr.web.problems import BadRequest
from dawr.web.raw_request import RawRequest, checked_key, read_body
from dawr.web.response import HTML, SAME_ORIGIN, Header, Response

T = TypeVar("T")

FORM = b"application/x-www-form-urlencoded"
KEY, THEN = "idempotency_key", "then"
PASSWORDS = frozenset({"old", "new"})
"""Fields that have one, though they are not called so."""
MARKS = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
"""Nobody sees them. Arabic keyboards and pasted contacts put them around what was typed."""
MOST_FIELDS = 40
LONGEST_PATH = 500
OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""Of this server: a path that a browser takes for another site's, or with what cannot be in one, is none."""


class Form(msgspec.Struct, frozen=True):
    fields: Mapping[str, str]
    """As they were typed, but for blanks and marks, if it is no password. What was left empty is not there."""
    key: str | None
    then: str | None
    """A path of ours."""

    def as_a(self, kind: type[T]) -> T:
        return converted(self.fields, kind)


def converted(fields: Mapping[str, str], kind: type[T]) -> T:
    try:
        return msgspec.convert(fields, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(422, "invalid-body", **misfit(error, kind)) from error


def is_form(raw: RawRequest) -> bool:
    kind = raw.headers.get(b"content-type")
    return kind is not None and kind[: len(FORM)].lower() == FORM


def is_for_a_person(raw: RawRequest) -> bool:
    """Whether a browser asks for a page. A script of ours asks for JSON."""
    return b"text/html" in raw.headers.get(b"accept", b"")


async def read_form(raw: RawRequest, clients: Clients) -> Form:
    if not is_from_our_own_page(raw, clients):
        if b"origin" in raw.headers or b"sec-fetch-site" in raw.headers:
            raise BadRequest(403, "cross-site")
        raise BadRequest(415, "not-json")
    fields = await read_fields(raw)
    key, then = fields.pop(KEY, None), fields.pop(THEN, "")
    given = {name: value for name, value in fields.items() if value}
    return Form(given, None if key is None else checked_key(key), own_path(then))


async def read_fields(raw: RawRequest) -> dict[str, str]:
    """What was typed, without the blanks around it and the marks in it."""
    body = await read_body(raw)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise BadRequest(422, "invalid-body", why="form") from error
    return {name: value if _is_secret(name) else MARKS.sub("", value).strip() for name, value in pairs}


def _is_secret(name: str) -> bool:
    """A password may begin or end with a blank."""
    return name in PASSWORDS or "password" in name


def own_path(path: str | None) -> str | None:
    """The path itself, if it leads to a page of ours."""
    return path if path and len(path) <= LONGEST_PATH and OWN_PATH.fullmatch(path) else None


def came_from(raw: RawRequest) -> str | None:
    """The page of ours that a browser says it comes from."""
    try:
        referrer = urlsplit(raw.headers.get(b"referer", b"").decode("latin-1"))
    except ValueError:
        return None
    if not referrer.netloc or referrer.netloc.encode("latin-1") != raw.headers.get(b"host"):
        return None
    return own_path(referrer.path + (f"?{referrer.query}" if referrer.query else ""))


def see_other(path: str, *headers: Header) -> Response:
    """Go on to a page of ours. A reload there sends nothing again."""
    return Response(303, b"", ((b"location", path.encode("ascii")), SAME_ORIGIN, *headers), HTML)


def sign_in_first(raw: RawRequest) -> Response:
    """To the form, and back to the page that was asked for; after a form that was sent, to the page it is on."""
    return see_other(_sign_in(raw))


def switch_person(raw: RawRequest) -> str:
    """Where somebody else signs in, and comes back to the same page."""
    address = _sign_in(raw)
    return f"{address}{'&' if '?' in address else '?'}switch=1"


def _sign_in(raw: RawRequest) -> str:
    query = raw.scope["query_string"].decode("latin-1")
    asked_for = raw.scope["path"] + (f"?{query}" if query else "")
    then = own_path(quote(asked_for, safe="/?=&,:.-_~%")) if raw.scope["method"] == "GET" else came_from(raw)
    return "/sign-in" if then is None else f"/sign-in?then={quote(then, safe='/')}"

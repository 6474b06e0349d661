"""A request as it came, who sent it, and what it says as the types that handlers know, or a refusal."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from dawr.domain import AccountId, Role, TokenId, TokenKind, VenueId
from dawr.domain.staff import at_least
from dawr.reliability.asgi import Receive, Scope
from dawr.reliability.idempotency import ANONYMOUS
from dawr.web.misfits import given_twice, misfit
from dawr.web.problems import BadRequest
from dawr.web.repeated_keys import RepeatedKey, must_name_each_once
from dawr.web.server.answering import rest_of_body
from dawr.web.wording import ENGLISH, LANGUAGES, preferred

T = TypeVar("T")
BYTE = re.compile(r"\(byte (\d+)\)$")

SWITCHED = re.compile(rb"(?:^|&)lang=(%b)(?:&|$)" % "|".join(LANGUAGES).encode())

LARGEST_BODY = 64 * 1024
LONGEST_KEY = 255
DEVICES: frozenset[TokenKind] = frozenset({"kiosk", "display"})
ISSUING_KINDS: frozenset[TokenKind] = frozenset({"kiosk"})
WATCHING_KINDS: frozenset[TokenKind] = frozenset({"display"})


class RawRequest(msgspec.Struct, frozen=True):
    """A request as it came."""

    scope: Scope
    receive: Receive
    headers: dict[bytes, bytes]
    """One value each, the last one that was sent."""
    params: Mapping[str, str]
    correlation_id: str

    @property
    def language(self) -> str:
        """In which they want to be told what is wrong."""
        return self.liked_language or ENGLISH

    @property
    def liked_language(self) -> str | None:
        """One of ours: by the switch on the page, now or before, else by what their browser says. None: no matter."""
        if self.language_asked_for is not None:
            return self.language_asked_for
        if b"cookie" in self.headers:
            kept = cookies(self).get("dawr-language")
            if kept in LANGUAGES:
                return kept
        return preferred(self.headers.get(b"accept-language", b""))

    @property
    def language_asked_for(self) -> str | None:
        found = SWITCHED.search(self.scope["query_string"])
        return None if found is None else found[1].decode()


class Caller(msgspec.Struct, frozen=True):
    """Who asks: anybody, a staff member by their session, or a token."""

    actor: str
    """As events name them: `visitor`, `staff:…`, `token:…`."""
    roles: Mapping[VenueId, Role] = {}
    account_id: AccountId | None = None
    username: str | None = None
    session: str | None = None
    """The session's own secret, to end it by."""
    token_id: TokenId | None = None
    token_kind: TokenKind | None = None

    @property
    def is_known(self) -> bool:
        return self is not ANYBODY

    @property
    def principal(self) -> str:
        """Whose idempotency keys these are."""
        return self.actor if self.is_known else ANONYMOUS

    def may(self, needed: Role, venue_id: VenueId) -> bool:
        """A kiosk or display stands where anybody can touch it: it sees no more than anybody does."""
        role = self.roles.get(venue_id)
        return role is not None and self.token_kind not in DEVICES and at_least(role, needed)

    def may_issue(self, venue_id: VenueId) -> bool:
        """Staff and kiosks give numbers to people in front of them."""
        return self.may("staff", venue_id) or (self.token_kind in ISSUING_KINDS and venue_id in self.roles)

    def may_watch(self, venue_id: VenueId) -> bool:
        """Staff and displays see a display that is not open to everybody."""
        return self.may("viewer", venue_id) or (self.token_kind in WATCHING_KINDS and venue_id in self.roles)


ANYBODY = Caller(actor="visitor")


async def read_json(raw: RawRequest, decoder: msgspec.json.Decoder[T]) -> T:
    """The body as its type. No body at all is an empty one. What is not said to be JSON, any site's page may send."""
    kind = raw.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind not in {b"application/json", b""}:
        raise BadRequest(415, "not-json")
    body = await read_body(raw)
    if body and not kind:
        raise BadRequest(415, "not-json")
    return _decoded(body or b"{}", decoder)


def _decoded(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        given = decoder.decode(body)
        must_name_each_once(body)
    except msgspec.ValidationError as error:
        raise BadRequest(422, "invalid-body", **misfit(error, decoder.type)) from error
    except RepeatedKey as error:
        raise BadRequest(422, "invalid-body", **given_twice(error.key)) from error
    except (ValueError, RecursionError) as error:  # msgspec's own errors among them
        raise BadRequest(400, "malformed-json", byte=_byte_of(error)) from error
    return given


def _byte_of(error: Exception) -> int | None:
    """Where the decoder stopped, as it says in brackets at the end."""
    found = BYTE.search(str(error))
    return None if found is None else int(found[1])


async def read_body(raw: RawRequest) -> bytes:
    """Whole, or not at all. Whoever has sent it may be gone by now: it is done all the same."""
    body: bytes = b""
    while True:
        message = await raw.receive()
        if message["type"] == "http.disconnect":
            rest = rest_of_body(raw.scope)
            if rest is None:
                raise BadRequest(400, "disconnected")
            message = {"body": rest}
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise BadRequest(413, "body-too-large", most_kib=LARGEST_BODY // 1024)
        if not message.get("more_body", False):
            return body


def read_query(raw: RawRequest, kind: type[T]) -> T:
    """The query as its type: what it asks for is given once."""
    try:
        pairs = parse_qsl(
            raw.scope["query_string"].decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20
        )
    except ValueError as error:
        raise BadRequest(422, "invalid-query", why="not-a-query") from error
    values = dict(pairs)
    if len(values) != len(pairs) and _asks_twice([name for name, _ in pairs], kind):
        raise BadRequest(422, "invalid-query", why="twice")
    return _as_a(kind, values)


def read_page_query(raw: RawRequest, kind: type[T]) -> T:
    """The query of a page: messengers add to links and break them. The first of two counts."""
    query = raw.scope["query_string"].decode("ascii", "replace")
    return _as_a(kind, dict(reversed(parse_qsl(query, keep_blank_values=True))))


def _as_a(kind: type[T], values: dict[str, str]) -> T:
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(422, "invalid-query", **misfit(error, kind)) from error


def _asks_twice(names: list[str], kind: type[Any]) -> bool:
    """What a door does not know it ignores, however often it is given."""
    return any(names.count(field.encode_name) > 1 for field in msgspec.structs.fields(kind))


def idempotency_key(raw: RawRequest) -> str | None:
    """The `Idempotency-Key` header, quoted as the standard has it or bare."""
    if b"idempotency-key" not in raw.headers:
        return None
    if sum(name == b"idempotency-key" for name, _ in raw.scope["headers"]) > 1:
        raise BadRequest(400, "invalid-idempotency-key", why="several")
    return checked_key(raw.headers[b"idempotency-key"].decode("latin-1"))


def checked_key(key: str) -> str:
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable() and not {" ", '"'} & set(key)):
        raise BadRequest(400, "invalid-idempotency-key", why="form", most=LONGEST_KEY)
    return key


def cookies(raw: RawRequest) -> dict[str, str]:
    pairs: list[Any] = raw.headers.get(b"cookie", b"").decode("latin-1").split(";")
    return {name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in pairs)}

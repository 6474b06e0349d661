"""One request that was answered, as it is counted."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dawr.traffic.identity import extract_timestamp, id_of

MS_PER_MINUTE = 60 * 1000
MS_PER_HOUR = 60 * MS_PER_MINUTE
MS_PER_DAY = 24 * MS_PER_HOUR

REPEATED_MS = 10 * MS_PER_MINUTE
"""So long after a request, another with its hash is the same one again."""

Outcome = Literal["ok", "refused", "error"]
"""An error is ours; refused is what the caller was told by a rule, whatever its status."""

REFUSALS_FROM = 400
ERRORS_FROM = 500

Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Word = Annotated[str, Meta(max_length=1000)]


class Event(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, rename="camel"):
    """Its fields have the names of the seed's event in the spool and in the queue."""

    idempotent_id: Annotated[str, Meta(pattern="^[0-9]{13}-[0-9a-f]{8}$")]
    timestamp: Annotated[int, Meta(ge=0)]
    path: Annotated[str, Meta(min_length=1, max_length=1000)]
    method: Annotated[str, Meta(min_length=1, max_length=20)]
    status: Annotated[int, Meta(ge=100, le=599)]
    response_time: Annotated[float, Meta(ge=0, le=1e9)]
    """Milliseconds."""
    hash: Hash
    client_ip_hash: Annotated[str, Meta(pattern="^([0-9a-f]{16})?$")] = ""
    request_id: Word = ""
    correlation_id: Word = ""
    user_agent: Word = ""
    """Its family, never the whole text."""
    country: Annotated[str, Meta(max_length=2)] = ""
    outcome: Outcome = "ok"
    hash_before: Hash | msgspec.UnsetType = msgspec.UNSET
    """Under the key of the day before, in its last ten minutes: a repeat from before midnight is known by it."""
    counted_only: bool = False
    """Left out of the details by sampling."""
    is_repeatable: bool = False
    """Its request id is a trusted proxy's: the same request may come again, through another process too."""
    is_stream: bool = False
    """A stream lasts as long as its reader stays. Its time is no response time."""


def outcome_of(status: int, *, by_rule: bool = False) -> Outcome:
    if status < REFUSALS_FROM:
        return "ok"
    return "refused" if by_rule or status < ERRORS_FROM else "error"


def hour_of(at: int) -> int:
    return at - at % MS_PER_HOUR


def day_of(at: int) -> int:
    return at - at % MS_PER_DAY


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


def encoded(event: Event) -> bytes:
    return _encode(event)


def decoded(body: str | bytes) -> Event:
    """Raises `msgspec.MsgspecError` for what is no event."""
    event = _decode(body)
    if event.idempotent_id != id_of(event.timestamp, event.hash):
        raise msgspec.ValidationError("The id is not that of this time and hash.")
    return event


class _Timed(msgspec.Struct):
    idempotent_id: str = msgspec.field(name="idempotentId")


_decode_timed = msgspec.json.Decoder(_Timed).decode


def hour_in(body: bytes, otherwise: int) -> int:
    """Where the ledger counts a message, also one that is no event: by its id, or where it was found."""
    try:
        at = extract_timestamp(_decode_timed(body).idempotent_id)
    except (msgspec.MsgspecError, RecursionError):
        at = None
    return otherwise if at is None else hour_of(at)

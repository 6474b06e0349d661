"""Errors as problem details (RFC 9457). The only place that knows both errors and HTTP."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from dawr.domain.errors import Closed, Conflict, Forbidden, Full, Invalid, NotFound, Refused, TooOften
from dawr.domain.venue import Digits
from dawr.ports.faults import (
    Busy,
    ClockUntrusted,
    OutcomeUnknown,
    StoreAway,
    StoreDamaged,
    StoreFault,
    StoreMissing,
    Unstorable,
)
from dawr.reliability.idempotency import ClaimLost, InProgress, KeyConflict, KeyReused
from dawr.reliability.rate_limit import Policy, Verdict, headers
from dawr.traffic.database import DatabaseAway
from dawr.traffic.ranges import Unanswerable
from dawr.traffic.view import TrafficProcessAway
from dawr.web.wording import ENGLISH, LATIN, problem_in, say, words_in

STATUS_OF: Mapping[type[Exception], int] = {
    NotFound: 404,
    Forbidden: 403,
    Conflict: 409,
    Closed: 409,
    Full: 409,
    TooOften: 429,
    Invalid: 422,
    KeyReused: 422,
    InProgress: 409,
    ClaimLost: 409,
    Busy: 503,
    StoreAway: 503,
    OutcomeUnknown: 503,
    Unstorable: 422,
    DatabaseAway: 503,
    TrafficProcessAway: 503,
}

CODE_OF_FAULT: Mapping[type[Exception], str] = {
    StoreAway: "store-away",
    ClockUntrusted: "clock-untrusted",
    StoreDamaged: "store-damaged",
    StoreMissing: "store-missing",
    OutcomeUnknown: "outcome-unknown",
    Unstorable: "unstorable",
    DatabaseAway: "traffic-away",
    TrafficProcessAway: "traffic-process-away",
}

MISFITS = frozenset({"invalid-body", "invalid-query"})
"""Told by what does not fit, whichever it is."""
TRAFFIC_FAULTS = DatabaseAway | TrafficProcessAway

NO_WORDS: Mapping[str, str] = {}
NO_FACTS: Mapping[str, "Fact"] = {}
NO_STATUSES: Mapping[type[Exception], int] = {}
NO_NAMES: Mapping[str, Mapping[str, str]] = {}
RETRY_SOON = (b"retry-after", b"1")
OUR_FAULT = 500


Fact = str | int | bool | list[str] | dict[str, str] | None

STANDARD_TYPES = {"quota-exceeded": "https://iana.org/assignments/http-problem-types#quota-exceeded"}
"""Problems that have a name of their own in the registry of HTTP problem types."""


class BadRequest(Exception):
    """The request cannot be answered as it is."""

    retryable: ClassVar[bool] = False

    def __init__(self, status: int, code: str, *headers: tuple[bytes, bytes], **facts: Fact) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.headers = headers
        self.facts: Mapping[str, Fact] = facts


class Problem(msgspec.Struct, frozen=True):
    status: int
    code: str
    title: str
    detail: str
    retryable: bool = False
    facts: Mapping[str, Fact] = {}
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def body(self, correlation_id: str) -> bytes:
        return msgspec.json.encode(
            {
                **self.facts,
                "type": STANDARD_TYPES.get(self.code, f"urn:dawr:problem:{self.code}"),
                "title": self.title,
                "status": self.status,
                "detail": self.detail,
                "code": self.code,
                "retryable": self.retryable,
                "correlation_id": correlation_id,
            }
        )

    def headers_of_response(self) -> tuple[tuple[bytes, bytes], ...]:
        says_when = any(name == b"retry-after" for name, _ in self.headers)
        return self.headers if says_when or not self.retryable else (*self.headers, RETRY_SOON)


def problem_of(
    error: Exception,
    language: str = ENGLISH,
    *,
    words: Mapping[str, str] = NO_WORDS,
    statuses: Mapping[type[Exception], int] = NO_STATUSES,
    names: Mapping[str, Mapping[str, str]] = NO_NAMES,
    digits: Digits = LATIN,
) -> Problem:
    """What the caller is told in their language, and in the words and by the statuses of the door they came through.

    `names` are those of queues and desks by their codes, where people read it. A fault that is not theirs is told
    without its inside.
    """
    if isinstance(error, Unanswerable):
        error = BadRequest(422, "invalid-query", field=error.field, why="unanswerable", sentence=str(error))
    if isinstance(error, BadRequest):
        return _told(error.status, error.code, error.facts, language, error.retryable, error.headers, digits=digits)
    status = status_of(type(error), statuses)
    if isinstance(error, TooOften):
        facts: Mapping[str, Fact] = {"violated-policies": [error.policy], **error.facts}
        return _told(status, error.code, facts, language, retryable=True, headers=_told_of_limit(error))
    if isinstance(error, Refused):
        return _told(status, error.code, _facts(error, words), language, names=names, digits=digits)
    if isinstance(error, Busy | KeyConflict):
        return _told(status, error.code, NO_FACTS, language, retryable=not isinstance(error, KeyReused))
    if isinstance(error, StoreFault | TRAFFIC_FAULTS):
        return _told(status, CODE_OF_FAULT[type(error)], NO_FACTS, language, retryable=_may_pass(error))
    return _told(500, "internal-error", NO_FACTS, language)


def _may_pass(fault: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(fault, OutcomeUnknown):
        return fault.has_key
    return isinstance(fault, StoreAway | TRAFFIC_FAULTS) and not isinstance(fault, StoreDamaged)


def _told(  # noqa: PLR0917 - what a problem is made of
    status: int,
    code: str,
    facts: Mapping[str, Fact],
    language: str,
    retryable: bool = False,  # noqa: FBT001, FBT002 - as above
    headers: tuple[tuple[bytes, bytes], ...] = (),
    names: Mapping[str, Mapping[str, str]] = NO_NAMES,
    digits: Digits = LATIN,
) -> Problem:
    said = problem_in(language, code)
    detail = words_in(language).misfits if code in MISFITS else said["detail"]
    by_name = {name: names[name].get(str(facts[name]), facts[name]) for name in names.keys() & facts.keys()}
    told = {**facts, **by_name}
    title, detail = (say(message, told, language, digits) for message in (said["title"], detail))
    return Problem(status, code, title, detail, retryable, facts, headers)


def _told_of_limit(error: TooOften) -> tuple[tuple[bytes, bytes], ...]:
    """As by any other limit: what is left of it, and when to come again."""
    policy = Policy(error.policy, error.most, error.window_seconds)
    return tuple(headers(Verdict(allowed=False, remaining=0, reset_seconds=error.again_seconds, policy=policy, key="")))


def status_of(error: type[Exception], statuses: Mapping[type[Exception], int] = NO_STATUSES) -> int:
    """`statuses` are those that a door's contract has instead of ours."""
    for kind in error.__mro__:
        if kind in statuses:
            return statuses[kind]
        if kind in STATUS_OF:
            return STATUS_OF[kind]
    return OUR_FAULT


def code_of(refusal: type[Exception]) -> str:
    """The public code of a kind of error, as clients see it."""
    if issubclass(refusal, StoreFault):
        return CODE_OF_FAULT.get(refusal, "store-away")
    if refusal in CODE_OF_FAULT:
        return CODE_OF_FAULT[refusal]
    return str(getattr(refusal, "code", "refused"))


def _facts(error: Refused, words: Mapping[str, str]) -> Mapping[str, Fact]:
    field = error.facts.get("field")
    return {**error.facts, "field": words[field]} if isinstance(field, str) and field in words else error.facts

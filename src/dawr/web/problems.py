"""Errors as problem details (RFC 9457). The only place that knows both errors and HTTP."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from dawr.domain.errors import Closed, Conflict, Forbidden, Full, Invalid, NotFound, Refused, TooOften
from dawr.ports import Busy, ClockUntrusted, OutcomeUnknown, StoreAway, StoreFault, Unstorable
from dawr.reliability.idempotency import ClaimLost, InProgress, KeyConflict, KeyReused
from dawr.reliability.rate_limit import Policy, Verdict, headers
from dawr.traffic.database import DatabaseAway
from dawr.traffic.ranges import Unanswerable
from dawr.traffic.view import TrafficProcessAway

STATUS_OF: Mapping[type[Exception], int] = {
    NotFound: 404,
    Forbidden: 403,
    Conflict: 409,
    Closed: 409,
    Full: 503,
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
    OutcomeUnknown: "outcome-unknown",
    Unstorable: "unstorable",
    DatabaseAway: "traffic-away",
    TrafficProcessAway: "traffic-process-away",
}

TRAFFIC_FAULTS = DatabaseAway | TrafficProcessAway

NO_WORDS: Mapping[str, str] = {}
RETRY_SOON = (b"retry-after", b"1")


Fact = str | int | bool | list[str] | dict[str, str] | None

STANDARD_TYPES = {"quota-exceeded": "https://iana.org/assignments/http-problem-types#quota-exceeded"}
"""Problems that have a name of their own in the registry of HTTP problem types."""


class BadRequest(Exception):
    """The request cannot be answered as it is."""

    retryable: ClassVar[bool] = False

    def __init__(self, status: int, code: str, sentence: str, *headers: tuple[bytes, bytes], **facts: Fact) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code
        self.headers = headers
        self.facts: Mapping[str, Fact] = {name.replace("_", "-"): fact for name, fact in facts.items()}


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


def problem_of(error: Exception, *, words: Mapping[str, str] = NO_WORDS) -> Problem:
    """What the caller is told, in the words of the door they came through.

    A fault that is not theirs is told without its inside.
    """
    if isinstance(error, Unanswerable):
        error = BadRequest(422, "invalid-query", f"`{error.field}` does not fit: {error}", field=error.field)
    status = next((STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF), 500)
    if isinstance(error, BadRequest):
        return Problem(error.status, error.code, _title(error), str(error), error.retryable, error.facts, error.headers)
    if isinstance(error, TooOften):
        facts: Mapping[str, Fact] = {"violated-policies": [error.policy]}
        told = _told_of_limit(error)
        return Problem(status, error.code, _title(error), str(error), retryable=True, facts=facts, headers=told)
    if isinstance(error, Refused):
        return Problem(status, error.code, _title(error), str(error), facts=_facts(error, words))
    if isinstance(error, Busy | KeyConflict):
        return Problem(status, error.code, _title(error), _title(error), retryable=not isinstance(error, KeyReused))
    if isinstance(error, StoreFault | TRAFFIC_FAULTS):
        retryable = isinstance(error, StoreAway | TRAFFIC_FAULTS) or (
            isinstance(error, OutcomeUnknown) and error.has_key
        )
        return Problem(status, CODE_OF_FAULT[type(error)], _title(error), _title(error), retryable=retryable)
    return Problem(500, "internal-error", "Something went wrong here.", "The fault was logged; nothing of it is shown.")


def _told_of_limit(error: TooOften) -> tuple[tuple[bytes, bytes], ...]:
    """As by any other limit: what is left of it, and when to come again."""
    policy = Policy(error.policy, error.most, error.window_seconds)
    return tuple(headers(Verdict(allowed=False, remaining=0, reset_seconds=error.again_seconds, policy=policy, key="")))


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


def _title(error: Exception) -> str:
    for kind in type(error).__mro__:
        if kind.__doc__:
            return kind.__doc__.partition("\n")[0]
    return "Error"

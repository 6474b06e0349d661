"""Errors as problem details (RFC 9457). The only place that knows both errors and HTTP."""

from collections.abc import Mapping

import msgspec

from dawr.domain.errors import Closed, Conflict, Full, Invalid, NotFound, Refused
from dawr.engine import Busy
from dawr.ports import ClockUntrusted, OutcomeUnknown, StoreAway, StoreFault, Unstorable
from dawr.reliability.idempotency import KeyReused

STATUS_OF: Mapping[type[Exception], int] = {
    NotFound: 404,
    Conflict: 409,
    Closed: 409,
    Full: 503,
    Invalid: 422,
    KeyReused: 422,
    Busy: 503,
    StoreAway: 503,
    OutcomeUnknown: 503,
    Unstorable: 422,
}

CODE_OF_FAULT: Mapping[type[StoreFault], str] = {
    StoreAway: "store-away",
    ClockUntrusted: "clock-untrusted",
    OutcomeUnknown: "outcome-unknown",
    Unstorable: "unstorable",
}

RETRY_SOON = (b"retry-after", b"1")


class BadRequest(Exception):
    """The request cannot be answered as it is."""

    def __init__(self, status: int, code: str, sentence: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code
        self.headers = headers


class Problem(msgspec.Struct, frozen=True):
    status: int
    code: str
    title: str
    detail: str
    retryable: bool = False
    facts: Mapping[str, str | int | bool | None] = {}
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def body(self) -> bytes:
        return msgspec.json.encode(
            {
                **self.facts,
                "type": f"urn:dawr:problem:{self.code}",
                "title": self.title,
                "status": self.status,
                "detail": self.detail,
                "code": self.code,
                "retryable": self.retryable,
            }
        )


def problem_of(error: Exception, *, keyed: bool = False) -> Problem:
    """What the caller is told. A fault that is not theirs is told without its inside."""
    status = next((STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF), 500)
    if isinstance(error, BadRequest):
        return Problem(error.status, error.code, _title(error), str(error), headers=error.headers)
    if isinstance(error, Refused):
        return Problem(status, error.code, _title(error), str(error), facts=error.facts)
    if isinstance(error, Busy | KeyReused):
        return Problem(status, error.code, _title(error), _title(error), retryable=isinstance(error, Busy))
    if isinstance(error, StoreFault):
        retryable = isinstance(error, StoreAway) or (isinstance(error, OutcomeUnknown) and keyed)
        return Problem(status, CODE_OF_FAULT[type(error)], _title(error), _title(error), retryable=retryable)
    return Problem(500, "internal-error", "Something went wrong here.", "The fault was logged; nothing of it is shown.")


def _title(error: Exception) -> str:
    for kind in type(error).__mro__:
        if kind.__doc__:
            return kind.__doc__.partition("\n")[0]
    return "Error"

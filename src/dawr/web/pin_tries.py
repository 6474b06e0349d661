"""Guesses by callers who only know a visitor's name: of their PIN, their number, or where they are.

They are charged to the address. A caller who holds the visit's link is not one of them: the visit's own five tries
bound it, whatever others at that address did.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any

from dawr.domain.errors import NumberWrong, PinForeign, PinTriedTooOften, PinWrong, UnknownVisit
from dawr.web.routes import Parts, Request

FAILURES = (NumberWrong, PinForeign, PinTriedTooOften, PinWrong, UnknownVisit)


def guessing_by_name(parts: Parts, request: Request[Any]) -> AbstractAsyncContextManager[None]:
    """Charge the address for what is done here if it fails as a guess does."""
    return parts.limits.guessing_by_name(request.raw, FAILURES)

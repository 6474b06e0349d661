"""How often one address may try PINs: only failures count, so that a hall of people behind one address goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dawr.domain.errors import NotInPlan, NotItsTurn, NumberWrong, PinForeign, PinWrong
from dawr.web.routes import Parts, Request

FAILURES = (PinWrong, PinForeign, NumberWrong, NotInPlan, NotItsTurn)


@asynccontextmanager
async def trying_pin(parts: Parts, request: Request[Any]) -> AsyncIterator[None]:
    """An address whose failures are used up is refused. Charged is what failed, so tries under way are no burden.

    A guess of where somebody is counts too: it is how a stranger would look for them.
    """
    await parts.limits.may_try_pin(request.raw)
    try:
        yield
    except FAILURES:
        await parts.limits.charge_pin(request.raw)
        raise

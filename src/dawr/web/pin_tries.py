"""How often one address may try PINs: only failures count, so that a hall of people behind one address goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dawr.domain.errors import NumberWrong, PinForeign, PinWrong
from dawr.web.routes import Parts, Request


@asynccontextmanager
async def trying_pin(parts: Parts, request: Request[Any]) -> AsyncIterator[None]:
    """Charged before the PIN is looked at, and given back unless it, or the number, was wrong.

    Whoever used theirs up is refused. A number that was guessed wrong counts too: it is how a stranger would look for
    where somebody is.
    """
    charged = await parts.limits.try_pin(request.raw)
    try:
        yield
    except (PinWrong, PinForeign, NumberWrong):
        raise
    except BaseException:
        await parts.limits.give_back(*charged)
        raise
    await parts.limits.give_back(*charged)

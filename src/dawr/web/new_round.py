"""A new round of a queue, whichever door asks for it."""

from collections.abc import Callable
from typing import Any

import structlog

from dawr.domain.ticket import LineKey
from dawr.engine.clockwork import sweep
from dawr.engine.engine import Busy
from dawr.operations.admin import Reset
from dawr.operations.snapshots import LookAtVenue
from dawr.ports import StoreFault
from dawr.reliability.idempotency import Reply
from dawr.web.parts import Parts
from dawr.web.request import Request

log = structlog.get_logger("dawr.web")


async def begin_new_round(
    parts: Parts, request: Request[Any], queue: str, answer: Callable[[LineKey], object], *, reason: str | None = None
) -> Reply:
    """Whoever waited is swept away after it: in steps, now or, if that fails, by the clock, in whichever process.

    The round has begun anyway.
    """
    reply = await request.do(Reset(queue), answer, reason=reason)
    try:
        venue, _ = await parts.engine.read(request.venue_id, LookAtVenue())
        await sweep(parts.engine, request.venue_id, [venue.queue(queue).id])
    except (Busy, StoreFault) as fault:
        log.warning("sweep.postponed", venue=request.venue, reason=str(fault) or type(fault).__name__)
    return reply

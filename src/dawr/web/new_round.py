"""A new round of a queue, whichever door asks for it."""

from collections.abc import Callable
from typing import Any

import structlog

from dawr.domain.ticket import LineKey
from dawr.engine.clockwork import sweep
from dawr.operations.admin import Reset
from dawr.operations.snapshots import LookAtVenue
from dawr.ports import Busy, StoreFault
from dawr.reliability.idempotency import Reply
from dawr.web.call import Call
from dawr.web.parts import Parts

log = structlog.get_logger("dawr.web")


async def begin_new_round(
    parts: Parts, call: Call[Any], queue: str, render: Callable[[LineKey], Reply], *, reason: str | None = None
) -> Reply:
    """Whoever waited is swept away after it: in steps, now or, if that fails, by the clock, in whichever process.

    The round has begun anyway.
    """
    origin = call.origin(reason)
    reply = await parts.engine.answer(call.venue_id, Reset(queue), render, claim=call.claim, origin=origin)
    try:
        venue, _ = await parts.engine.read(call.venue_id, LookAtVenue())
        await sweep(parts.engine, call.venue_id, [venue.queue(queue).id])
    except (Busy, StoreFault) as fault:
        log.warning("sweep.postponed", venue=call.venue, reason=str(fault) or type(fault).__name__)
    return reply

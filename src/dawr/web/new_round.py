"""A new round of a queue, whichever door asks for it."""

from collections.abc import Callable
from typing import Any

from dawr.domain.ticket import LineKey
from dawr.operations.admin import Reset
from dawr.operations.snapshots import LookAtVenue
from dawr.reliability.idempotency import Reply
from dawr.sweeper import sweep
from dawr.web.call import Call
from dawr.web.edge import Edge


async def begin_new_round(
    edge: Edge, call: Call[Any], queue: str, render: Callable[[LineKey], Reply], *, reason: str | None = None
) -> Reply:
    """Whoever waited is swept away after it: in steps, and safe to repeat."""
    origin = call.origin(reason)
    reply = await edge.engine.answer(call.venue_id, Reset(queue), render, claim=call.claim, origin=origin)
    venue, _ = await edge.engine.read(call.venue_id, LookAtVenue())
    await sweep(edge.engine, call.venue_id, [venue.queue(queue).id])
    return reply

"""From a wish to a stream: where it was left, and what is said when there can be none."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dawr.domain.venue import VenueId
from dawr.live.feed import Unresumable
from dawr.live.frames import EventId, event_id
from dawr.live.hub import HubClosed, TooManyStreams
from dawr.live.joining import Wish
from dawr.ports import Stopping
from dawr.web.client_address import limit_key
from dawr.web.event_stream import Stream
from dawr.web.parts import Parts
from dawr.web.problems import BadRequest
from dawr.web.request import RawRequest, Request

NOT_OURS = EventId(-1, -1)


def last_seen(raw: RawRequest, given: str | None) -> EventId | None:
    """Where the client stopped: the header if there is one, for a browser keeps that up to date, else the query.

    Something that is no id of ours is one that nobody can resume from.
    """
    header = raw.headers.get(b"last-event-id")
    text = given if header is None else header.decode("latin-1")
    return None if text is None else event_id(text) or NOT_OURS


async def resume_or_begin(
    parts: Parts, request: Request[Any], venue_id: VenueId, wish: Callable[[EventId | None], Wish]
) -> Stream:
    """From where the client stopped; if nobody can resume from there, from now on."""
    since = last_seen(request.raw, request.given.last_event_id)
    if since is not None:
        with suppress(Unresumable):
            return await watch(parts, request, venue_id, wish(since))
    return await watch(parts, request, venue_id, wish(None))


async def watch(parts: Parts, request: Request[Any], venue_id: VenueId, wish: Wish) -> Stream:
    address = limit_key(parts.clients.client_of(request.raw.scope))
    try:
        return Stream(await parts.hub.join(venue_id, wish, address=address))
    except HubClosed:
        raise Stopping from None
    except TooManyStreams:
        sentence = "This address has as many streams open as one may have: close some."
        raise BadRequest(429, "too-many-streams", sentence, (b"retry-after", b"10")) from None

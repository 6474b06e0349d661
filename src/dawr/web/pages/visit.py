"""What a visitor's link shows: the number, the queue, and how many are ahead. It needs no script."""

from dawr.domain import Link
from dawr.domain.errors import UnknownVisit
from dawr.operations.visits import LookAtVisit, Whereabouts
from dawr.web.pages.rendering import page
from dawr.web.response import NO_REFERRER, Header, Response
from dawr.web.routes import Parts, Request, Route

NOT_INDEXED: Header = (b"x-robots-tag", b"noindex")
MOST_DOTS = 10
"""Above that the figure says it alone."""


async def show(parts: Parts, request: Request[None]) -> Response:
    """Whatever else stands in the address is ignored: messengers add to links that are sent by them."""
    seen = await parts.engine.read(request.venue_id, LookAtVisit(Link.read(request.code)))
    joined = seen.joined
    desk_id = None if joined is None else joined.ticket.desk_id
    return page(
        "visit.html",
        request.raw.language,
        headers=(NOT_INDEXED,),
        referrer=NO_REFERRER,
        venue=seen.venue,
        joined=joined,
        state=_state(seen),
        desk=next((desk for desk in seen.venue.desks if desk.id == desk_id), None),
        most_dots=MOST_DOTS,
    )


def _state(seen: Whereabouts) -> str:
    """The visit's if it has ended, else that of the ticket where the visitor stands."""
    if not seen.visit.is_open:
        return seen.visit.state
    if seen.place is None:
        return "missed" if seen.ticket is not None and seen.ticket.state == "missed" else "between"
    return "near" if seen.place.ticket.state == "waiting" and seen.place.is_near else seen.place.ticket.state


ROUTES = (
    Route(
        method="GET",
        path="/t/{visit}",
        name="visit-page",
        summary="Where the visitor with this link stands, as a page",
        tag="pages",
        handler=show,
        venue="visit",
        refusals=(UnknownVisit,),
        kind="text/html",
    ),
)

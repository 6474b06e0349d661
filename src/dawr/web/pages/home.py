"""What somebody sees who opens the bare address."""

from dawr import __version__
from dawr.web.pages.rendering import page
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route


async def home(_: Parts, __: Request[None]) -> Response:
    return page("home.html", version=__version__)


ROUTES = (
    Route(
        method="GET",
        path="/",
        name="home",
        summary="That Dawr is here, and where to go from here",
        tag="pages",
        handler=home,
        kind="text/html",
    ),
)

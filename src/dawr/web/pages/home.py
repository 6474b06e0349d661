"""What somebody sees who opens the bare address, and the files that pages are made of, as they are."""

from functools import cache
from importlib.resources import files

from dawr import __version__
from dawr.web.pages.rendering import page
from dawr.web.problems import BadRequest
from dawr.web.response import Header, Response
from dawr.web.routes import Parts, Request, Route

KINDS: dict[str, Header] = {"css": (b"content-type", b"text/css; charset=utf-8")}


async def home(_: Parts, __: Request[None]) -> Response:
    return page("home.html", version=__version__)


async def asset(_: Parts, request: Request[None]) -> Response:
    found = _assets().get(request.params["file"])
    if found is None:
        raise BadRequest(404, "no-such-path", "There is nothing at this address.")
    return found


@cache
def _assets() -> dict[str, Response]:
    return {
        file.name: Response(200, file.read_bytes(), kind=KINDS[file.name.rpartition(".")[2]])
        for file in (files("dawr.web") / "static").iterdir()
    }


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
    Route(
        method="GET",
        path="/static/{file}",
        name="asset",
        summary="A file that pages use",
        tag="pages",
        handler=asset,
        limit=None,
        kind="text/css",
    ),
)

"""The files that pages are made of, as they are. A browser keeps them for five minutes."""

from functools import cache
from importlib.resources import files

from dawr.web.problems import BadRequest
from dawr.web.response import CSS, JAVASCRIPT, SVG, Header, Response
from dawr.web.routes import Parts, Request, Route

KINDS: dict[str, Header] = {"css": CSS, "js": JAVASCRIPT, "svg": SVG}


async def asset(_: Parts, request: Request[None]) -> Response:
    found = _assets().get(request.params["file"])
    if found is None:
        raise BadRequest(404, "no-such-path")
    return found


async def favicon(_: Parts, __: Request[None]) -> Response:
    """Browsers ask for it under this name by themselves, and go by its type."""
    return _assets()["icon.svg"]


@cache
def _assets() -> dict[str, Response]:
    return {
        file.name: Response(200, file.read_bytes(), kind=KINDS[file.name.rpartition(".")[2]])
        for file in (files("dawr.web") / "static").iterdir()
    }


ROUTES = (
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
    Route(
        method="GET",
        path="/favicon.ico",
        name="favicon",
        summary="The icon in a browser's tab",
        tag="pages",
        handler=favicon,
        limit=None,
        kind="image/svg+xml",
    ),
)

"""The files that pages are made of. Each has a hash of itself in its name, so browsers keep it for ever.

Modules import each other by their plain names, which are replaced here by the full ones. The words of a page are
such a file too, one for each language: what the server says and what the browser says come from the same place.
"""

import gzip
import re
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files

import msgspec

from dawr.web.problems import BadRequest
from dawr.web.response import CSS, JAVASCRIPT, JSON_FILE, SVG, Header, Response
from dawr.web.routes import Parts, Request, Route
from dawr.web.wording import LANGUAGES, words_in

KINDS: dict[str, Header] = {"css": CSS, "js": JAVASCRIPT, "svg": SVG, "json": JSON_FILE}
IMPORTED = re.compile(r'(?<=")\./([a-z_]+\.js)(?=")')
FOR_EVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")
FOR_FIVE_MINUTES: Header = (b"cache-control", b"public, max-age=300")


async def asset(_: Parts, request: Request[None]) -> Response:
    found = _assets().served.get(request.params["file"])
    if found is None:
        raise BadRequest(404, "no-such-path")
    return found


async def favicon(_: Parts, __: Request[None]) -> Response:
    """Browsers ask for it under this name by themselves, and go by its type."""
    icon = _assets().served[_assets().names["icon.svg"]]
    return msgspec.structs.replace(icon, headers=(FOR_FIVE_MINUTES,))


def address_of(name: str) -> str:
    """Where a file is found, by its plain name."""
    return f"/static/{_assets().names[name]}"


class Assets(msgspec.Struct, frozen=True):
    names: Mapping[str, str]
    """Plain name → full name."""
    served: Mapping[str, Response]
    """By full name."""


@cache
def _assets() -> Assets:
    sources = {file.name: file.read_bytes() for file in (files("dawr.web") / "static").iterdir()}
    for language in LANGUAGES:
        for screen, words in words_in(language).screens.items():
            sources[f"words-{screen}-{language}.json"] = msgspec.json.encode(words)
    names: dict[str, str] = {}
    served: dict[str, Response] = {}
    for name in sources:
        _serve(name, sources, names, served)
    return Assets(names, served)


def _serve(name: str, sources: Mapping[str, bytes], names: dict[str, str], served: dict[str, Response]) -> str:
    """What a module imports is named first: its hash is of what it says in the end."""
    if name not in names:
        stem, _, ending = name.rpartition(".")
        body = sources[name]
        if ending == "js":
            body = IMPORTED.sub(lambda found: f"./{_serve(found[1], sources, names, served)}", body.decode()).encode()
        names[name] = f"{stem}.{blake2b(body, digest_size=6).hexdigest()}.{ending}"
        packed = gzip.compress(body, 9, mtime=0)
        served[names[name]] = Response(200, body, (FOR_EVER,), KINDS[ending], packed=packed)
    return names[name]


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

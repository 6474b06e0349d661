"""What somebody sees who opens the bare address; and what an owner does next."""

import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from dawr import __version__
from dawr.domain import Role, Venue, VenueId
from dawr.settings import Settings
from dawr.web.pages.rendering import page
from dawr.web.raw_request import RawRequest
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route

MOST_SHOWN = 50
HOST = re.compile(rb"[A-Za-z0-9.\-]+(:\d+)?|\[[0-9a-fA-F:]+\](:\d+)?")


class Step(msgspec.Struct, frozen=True):
    """One of the things to do next: its words are `step-{name}` and `step-{name}-more`."""

    name: str
    commands: tuple[str, ...]


async def home(parts: Parts, request: Request[None]) -> Response:
    return await start_page(parts, request.raw, request.caller.username, request.caller.roles.get)


async def start_page(
    parts: Parts,
    raw: RawRequest,
    username: str | None,
    role_at: Callable[[VenueId], Role | None],
    *,
    stays: bool = True,
) -> Response:
    """Which places are here; for an owner, what to do next. `stays`: whether their browser stays signed in."""
    venues = await (parts.engine.latest_venues() if username is None else parts.engine.venues())
    active = [venue for venue in venues if venue.active]
    owned = [venue for venue in venues if username is not None and role_at(venue.id) == "owner"]
    own = owned[0] if owned else None
    typed = _typed(parts.settings) if len(owned) == len(venues) else ("dawr", "")
    url = _url(parts, raw)
    return page(
        "home.html",
        raw.language,
        version=__version__,
        has_owner=await parts.accounts.has_owner(),
        venues=active[:MOST_SHOWN],
        unseen=max(0, len(active) - MOST_SHOWN),
        username=username,
        stays=stays,
        own=own,
        steps=() if own is None else _steps(own, url, *typed),
        url=url,
    )


def _steps(venue: Venue, url: str, dawr: str, data: str) -> tuple[Step, ...]:
    slug, file = venue.slug, f"{venue.slug}.json"
    steps = (
        Step("staff", (f"{dawr} staff add noor --role staff --venue {slug}{data}",)),
        Step("set-up", (f"{dawr} venue show {slug}{data} > {file}", f"{dawr} venue apply {file}{data}")),
    )
    if not venue.queues:
        return steps
    queue = f"{url}/v1/queues/{slug}:{venue.queues[0].id}"
    number = (
        f'TOKEN=$({dawr} token new --kind api --role staff --name "First call" --venue {slug}{data})',
        f"curl -X POST {queue}/tickets",
        f'curl -X POST {queue}/call-next -H "Authorization: Bearer $TOKEN"',
    )
    return (*steps, Step("number", number))


def _typed(settings: Settings) -> tuple[str, str]:
    """What the program is called where this one was started, and how it finds this one's data.

    Those are paths of the machine: only for an owner of all that runs on it.
    """
    program = Path(sys.argv[0])
    called = str(program) if program.name == "dawr" and shutil.which("dawr") is None else "dawr"
    elsewhere = settings.data != Settings().data and not settings.database_url
    return shlex.quote(called), f" --data {shlex.quote(settings.data)}" if elsewhere else ""


def _url(parts: Parts, raw: RawRequest) -> str:
    """Where the browser found us. It is shown in commands, so it is nothing but a host."""
    host = raw.headers.get(b"host", b"")
    scheme = "https" if parts.clients.is_secure(raw.scope) else "http"
    name = host.decode() if HOST.fullmatch(host) else f"127.0.0.1:{parts.settings.port}"
    return f"{scheme}://{name}"


ROUTES = (
    Route(
        method="GET",
        path="/",
        name="home",
        summary="Which places are here; and what an owner does next",
        tag="pages",
        handler=home,
        kind="text/html",
    ),
)

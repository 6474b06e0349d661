"""What somebody sees who opens the bare address: the places here, and for an owner what comes next."""

import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from dawr import __version__
from dawr.domain import Role, Venue, VenueId
from dawr.domain.staff import at_least
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
    commands: tuple[str, ...] = ()
    pages: tuple[tuple[str, str], ...] = ()
    """Paths to open; the words of each are `page-{name}`."""


class Place(msgspec.Struct, frozen=True):
    """An open venue, and whether the caller calls people there."""

    venue: Venue
    is_ours: bool


async def home(parts: Parts, request: Request[None]) -> Response:
    return await start_page(parts, request.raw, request.caller.username, request.caller.roles)


async def start_page(
    parts: Parts,
    raw: RawRequest,
    username: str | None,
    roles: Mapping[VenueId, Role],
    *,
    stays: bool = True,
) -> Response:
    """Which places are here; for an owner, what to do next. `stays`: whether their browser stays signed in."""
    venues = await _venues(parts, roles if username is not None else {})
    # Where they work comes first: it must not be among those that are not shown.
    active = sorted((venue for venue in venues if venue.active), key=lambda venue: not _works(roles.get(venue.id)))
    owned = [venue for venue in venues if username is not None and roles.get(venue.id) == "owner"]
    own = owned[0] if owned else None
    called = typed(parts.settings) if len(owned) == len(venues) else ("dawr", "")
    return page(
        parts,
        raw,
        "home.html",
        version=__version__,
        has_owner=await parts.accounts.has_owner(),
        places=[Place(venue, _works(roles.get(venue.id))) for venue in active[:MOST_SHOWN]],
        unseen=max(0, len(active) - MOST_SHOWN),
        username=username,
        stays=stays,
        own=own,
        steps=() if own is None else _steps(own, *called),
        url=parts.settings.public_url or _url(parts, raw),
    )


async def _venues(parts: Parts, roles: Mapping[VenueId, Role]) -> list[Venue]:
    """All of them as they were a moment ago, and their own as they are now; by slug."""
    venues = await parts.engine.latest_venues()
    if not roles:
        return venues
    own = {venue.id: venue for venue in await parts.engine.venues_of(roles.keys())}
    others = (venue for venue in venues if venue.id not in own)
    return sorted((*others, *own.values()), key=lambda venue: venue.slug)


def _works(role: Role | None) -> bool:
    return role is not None and at_least(role, "staff")


def _steps(venue: Venue, dawr: str, data: str) -> tuple[Step, ...]:
    slug, file = venue.slug, f"{venue.slug}.json"
    desk = f"/{venue.desks[0].id}" if venue.desks else ""
    pages = (("join", f"/v/{slug}"), ("display", f"/d/{slug}"), ("console", f"/staff/{slug}{desk}"))
    return (
        Step("number", pages=pages),
        # A name of ours might be an account's already, which would then get a place here.
        Step("staff", (f"{dawr} staff add NAME --role staff --venue {slug}{data}",)),
        Step("set-up", (f"{dawr} venue show {slug}{data} > {file}", f"{dawr} venue apply {file}{data}")),
    )


def typed(settings: Settings) -> tuple[str, str]:
    """What the program is called where this one was started, and how it finds this one's data.

    Those are paths of the machine: only for an owner of all that runs on it.
    """
    program = Path(sys.argv[0])
    called = str(program) if program.name == "dawr" and shutil.which("dawr") is None else "dawr"
    elsewhere = settings.data != Settings().data and not settings.database_url
    return shlex.quote(called), f" --data {shlex.quote(settings.data)}" if elsewhere else ""


def _url(parts: Parts, raw: RawRequest) -> str:
    """Where the browser found us. It is shown to be copied, so it is nothing but a host."""
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

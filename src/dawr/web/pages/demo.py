"""The demo's start page: phone, display and console side by side, alive, and one press that signs in.

The press works on the machine that the demo runs on, and nowhere else. It gives the phone a number, with a few others
behind it. Only the demo has these routes. Its clinic is shown at X-ray: the laboratory is left for what people type.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from ipaddress import ip_address

import msgspec
from markupsafe import Markup, escape

from dawr.domain import Desk, Link, Origin, Queue, TicketId, Venue, VisitId
from dawr.domain.errors import Closed, Full, TicketInWrongState, UnknownVenue, UnknownVisit
from dawr.operations.desks import OpenDesk
from dawr.operations.snapshots import FROM_THE_START, LookAtLine, LookAtVenue
from dawr.operations.staff import Finish
from dawr.operations.visitor import Issue, Leave
from dawr.operations.visits import LookAtVisit, Whereabouts
from dawr.web.auth import calls_itself_loopback
from dawr.web.forms import see_other
from dawr.web.links import NewLink, absolute, new_link
from dawr.web.pages.home import home
from dawr.web.pages.qr import qr_svg
from dawr.web.pages.rendering import language_of, page, words_of
from dawr.web.problems import BadRequest
from dawr.web.raw_request import RawRequest, cookies
from dawr.web.response import Header, Response
from dawr.web.routes import Parts, Request, Route

PLAYED = Origin(actor="sample")
VISITOR = "sample-"
PARTIES = (2, 4, 2, 3)
"""The phone's, and those of the others, where people come in parties."""
MOST_OPEN = 200
KEYS = {"␣": "space", "Ⓐ": "A", "⏎": "⏎"}
"""How the words write a key, and its name there or the letter on it."""


class Demo(msgspec.Struct, frozen=True):
    """What the command that starts it knows."""

    username: str
    password: str
    desks: Mapping[str, str]
    """Where each venue is shown: the first is the start page's."""
    command: str
    """What to type, so that phones can reach it."""
    turn: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    """For one press after the other."""


class Scene(msgspec.Struct, frozen=True):
    """A desk of a venue, and the queue that it calls from."""

    venue: Venue
    desk: Desk
    queue: Queue

    @property
    def path(self) -> str:
        return f"/demo/{self.venue.slug}"

    @property
    def cookie(self) -> str:
        """It keeps the link that the phone shows."""
        return f"dawr-phone-{self.venue.slug}"


class Press(msgspec.Struct, frozen=True):
    venue: str = ""


async def start(demo: Demo, parts: Parts, request: Request[None]) -> Response:
    """For others than those on this machine it is the start page that every server has."""
    scene = await _scene(demo, parts, next(iter(demo.desks)))
    may = scene is not None and request.caller.may("staff", scene.venue.id)
    if scene is None or not (may or _is_here(parts, request.raw)):
        return await home(parts, request)
    return await _shown(demo, parts, request, scene)


async def show(demo: Demo, parts: Parts, request: Request[None]) -> Response:
    scene = await _scene(demo, parts, request.venue)
    if scene is None:
        raise UnknownVenue(request.venue)
    return await _shown(demo, parts, request, scene)


async def press(demo: Demo, parts: Parts, request: Request[Press]) -> Response:
    """Signs in, sits down at the desk, and lets a new visitor in."""
    if not _is_here(parts, request.raw):
        raise BadRequest(403, "not-this-machine")
    venue = request.given.venue or next(iter(demo.desks))
    scene = await _scene(demo, parts, venue)
    if scene is None:
        raise UnknownVenue(venue)
    actor = request.caller.actor
    headers: tuple[Header, ...] = ()
    if not request.caller.may("staff", scene.venue.id):
        signed_in = await parts.accounts.sign_in(demo.username, demo.password)
        if signed_in is None:  # the password was changed since
            return see_other("/sign-in")
        actor, headers = f"staff:{demo.username}", (parts.auth.cookie(request.raw, signed_in[0]),)
    await parts.engine.do(scene.venue.id, OpenDesk(scene.desk.id, parts.ids.token()), origin=Origin(actor=actor))
    async with demo.turn:
        link = await _let_in(parts, scene)
    if link is not None:
        kept = f"{scene.cookie}={link.token}; Path=/; HttpOnly; SameSite=Lax"
        headers = (*headers, (b"set-cookie", kept.encode()))
    is_first = venue == next(iter(demo.desks))
    return see_other("/" if is_first else scene.path, *headers)


def _is_here(parts: Parts, raw: RawRequest) -> bool:
    """Whether the browser is on this machine. Its address says so, too: a site's name could be made to lead here."""
    try:
        is_loopback = ip_address(parts.clients.client_of(raw.scope)).is_loopback
    except ValueError:
        return False
    return is_loopback and calls_itself_loopback(raw)


async def _scene(demo: Demo, parts: Parts, slug: str) -> Scene | None:
    """At the desk where the venue is shown, or at the first: somebody may have changed the set-up."""
    try:
        venue_id = await parts.engine.find_venue(slug)
    except UnknownVenue:
        return None
    venue, _ = await parts.engine.read(venue_id, LookAtVenue())
    desks = sorted((desk for desk in venue.desks if desk.queues), key=lambda desk: desk.id != demo.desks.get(slug))
    return Scene(venue, desks[0], venue.queue(desks[0].queues[0])) if desks else None


async def _let_in(parts: Parts, scene: Scene) -> NewLink | None:
    """The phone's visitor, and others behind. Those of the press before are gone: they would stand in front.

    None: the queue takes nobody now, and they stay.
    """
    engine, venue_id = parts.engine, scene.venue.id
    before = await engine.read(venue_id, LookAtLine(scene.queue.id, FROM_THE_START, MOST_OPEN))
    try:
        link = await _give_numbers(parts, scene)
    except (Closed, Full):
        return None
    for ticket in before:
        if ticket.visitor.startswith(VISITOR):
            ends = Finish(ticket.ticket_id) if ticket.state == "serving" else Leave(ticket.ticket_id)
            with suppress(TicketInWrongState):  # somebody at the console was quicker
                await engine.do(venue_id, ends, origin=PLAYED)
    return link


async def _give_numbers(parts: Parts, scene: Scene) -> NewLink:
    engine, venue_id, queue = parts.engine, scene.venue.id, scene.queue.id
    links = [new_link(parts.ids, venue_id) for _ in PARTIES]
    for link, size in zip(links, PARTIES, strict=True):
        issue = Issue(
            queue=queue,
            visitor=f"{VISITOR}{link.visit_id}",
            ticket_id=TicketId(parts.ids.new(venue_id)),
            visit_id=VisitId(link.visit_id),
            secret_hash=link.secret_hash,
            party_size=size if scene.venue.kind == "restaurant" else 1,
        )
        await engine.do(venue_id, issue, origin=PLAYED)
    return links[0]


async def _shown(demo: Demo, parts: Parts, request: Request[None], scene: Scene) -> Response:
    raw = request.raw
    token, seen = await _phone(parts, raw, scene)
    joined = None if seen is None else seen.place
    say = words_of("demo", language_of(raw, scene.venue))
    address = None if token is None else absolute(parts.settings, f"/t/{token}")
    others = [await _scene(demo, parts, slug) for slug in demo.desks if slug != scene.venue.slug]
    return page(
        parts,
        raw,
        "demo.html",
        venue=scene.venue,
        scene=scene,
        phone=f"/v/{scene.venue.slug}" if token is None else f"/t/{token}",
        label=joined.ticket.label if joined is not None and joined.ticket.state in {"waiting", "called"} else None,
        is_signed_in=request.caller.may("staff", scene.venue.id),
        is_here=_is_here(parts, raw),
        address=address,
        qr=None if address is None else qr_svg(address, say("qr")),
        reaches_phones=bool(parts.settings.public_url),
        command=demo.command,
        username=demo.username,
        others=[other for other in others if other is not None],
        first=next(iter(demo.desks)),
        keys=partial(_keys, say("space")),
    )


async def _phone(parts: Parts, raw: RawRequest, scene: Scene) -> tuple[str | None, Whereabouts | None]:
    """The link of the visitor whom the last press let in, and where they stand."""
    token = cookies(raw).get(scene.cookie, "")
    try:
        return token, await parts.engine.read(scene.venue.id, LookAtVisit(Link.read(token)))
    except UnknownVisit:
        return None, None


def _keys(space: str, text: str) -> Markup:
    """A sentence with its keys drawn as keys."""
    drawn = str(escape(text))
    for sign, name in KEYS.items():
        drawn = drawn.replace(sign, f"<kbd>{escape(space if name == 'space' else name)}</kbd>")
    return Markup(drawn)  # noqa: S704 - escaped above


def routes(demo: Demo) -> tuple[Route, ...]:
    return (
        Route(
            method="GET",
            path="/",
            name="demo",
            summary="Phone, display and console of the sample clinic",
            tag="pages",
            handler=partial(start, demo),
            kind="text/html",
        ),
        Route(
            method="GET",
            path="/demo/{venue}",
            name="demo-venue",
            summary="The same of another sample venue",
            tag="pages",
            handler=partial(show, demo),
            venue="venue",
            kind="text/html",
        ),
        Route(
            method="POST",
            path="/demo/sign-in",
            name="demo-sign-in",
            summary="Sign in with one press, on this machine, and let a new visitor in",
            tag="pages",
            handler=partial(press, demo),
            body=Press,
            kind="text/html",
        ),
    )

"""`dawr demo`: sample venues on this machine, to try everything on."""

import asyncio
import shlex
import socket
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import SystemRandom

import click
import msgspec
import uvloop

from dawr import __version__, bootstrap
from dawr.bootstrap.web import LOOPBACK
from dawr.cli.options import data_option, host_option, port_option, quiet, settings_of
from dawr.cli.serve import PLAIN_HTTP, serve_running, warn_of_unknown_settings
from dawr.domain import VenueId
from dawr.observe import logs
from dawr.sample import staff
from dawr.sample.life import SampleLife
from dawr.sample.venues import CLINIC, RESTAURANT
from dawr.settings import Settings
from dawr.web import sample
from dawr.web.pages import demo
from dawr.web.pages.home import typed

DEMO_DATA = "data/demo"
SHOWN_AT = {CLINIC.slug: "room-102", RESTAURANT.slug: "host"}
"""At which desks the start page shows the venues. Nothing else plays there."""
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - what one may have said
SOMEWHERE = ("192.0.2.1", 9)
"""An address for examples, which is nobody's."""


@click.command("demo")
@host_option
@port_option
@data_option
@click.option("--live", is_flag=True, help="Play a day in the clinic, in all queues but lab and xray.")
@click.option("--password", metavar="TEXT", help="Password of the sample staff account demo; made up otherwise.")
def command(*, host: str | None, port: int | None, data: str | None, live: bool, password: str | None) -> None:
    """Start the sample venues: a clinic with twelve queues, and a restaurant."""
    settings = settings_of(host=host, port=port, data=data or DEMO_DATA, database_url="", traffic_log="on")
    logs.configure_server(quiet(settings))
    warn_of_unknown_settings()
    with bootstrap.listened(settings) as listeners:
        settings = _reached_by_phones(settings, listeners)
        uvloop.run(_demonstrate(settings, listeners, password, live=live))


async def _demonstrate(settings: Settings, listeners: bootstrap.Listeners, password: str | None, *, live: bool) -> None:
    venues, chosen = await _set_up_samples(settings, password)
    ready = partial(_say_ready, settings, chosen if password is None else None)
    async with bootstrap.running(settings, bootstrap.instruments_of(settings)) as dawr:
        shown = demo.Demo(staff.USERNAME, chosen, SHOWN_AT, _command(settings))
        routes = (*sample.ROUTES, *demo.routes(shown))
        serving = serve_running(msgspec.structs.replace(dawr, routes=routes, is_demo=True), listeners, ready)
        if not live:
            return await serving
        life = asyncio.create_task(SampleLife(dawr.engine, dawr.ids, SystemRandom()).play(venues))
        try:
            await serving
        finally:
            life.cancel()
            with suppress(asyncio.CancelledError):
                await life


async def _set_up_samples(settings: Settings, password: str | None) -> tuple[list[VenueId], str]:
    """Before anything goes on by itself: what that logs comes after the first lines."""
    async with bootstrap.at_hand(settings) as dawr:
        known = await dawr.store.venue_ids()
        venues = [known.get(venue.slug) or await dawr.set_up(venue) for venue in (CLINIC, RESTAURANT)]
        chosen = dawr.ids.token() if password is None else password
        account = await staff.set_up_account(
            dawr.store.accounts, dawr.passwords, bootstrap.system.now, dawr.ids, password=chosen
        )
        await staff.add_to_venues(dawr.engine, account, venues)
    return venues, chosen


def _reached_by_phones(settings: Settings, listeners: bootstrap.Listeners) -> Settings:
    """Where it listens beyond this machine, QR codes begin with its address in the network."""
    if settings.public_url or settings.host in LOOPBACK:
        return settings
    url = listeners.url
    if settings.host in EVERYWHERE:
        address = _own_address()
        if address is None:
            return settings
        url = _at(address, url)
    return msgspec.structs.replace(settings, public_url=url)


def _at(address: str, url: str) -> str:
    """The same URL with another address of this machine."""
    return f"{url.partition('//')[0]}//{address}:{url.rpartition(':')[2]}"


def _own_address() -> str | None:
    """This machine's, as others in its network know it. Nothing is sent: it is enough to choose the way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(SOMEWHERE)
        except OSError:
            return None
        return str(probe.getsockname()[0])


def _command(settings: Settings) -> str:
    """What to type so that phones reach it, as this one was started."""
    data = "" if settings.data == DEMO_DATA else f" --data {shlex.quote(settings.data)}"
    port = "" if settings.port == Settings().port else f" --port {settings.port}"
    return f"{typed(settings)[0]} demo --host 0.0.0.0{port}{data}"


def _say_ready(settings: Settings, password: str | None, url: str) -> None:
    """What runs, where, who to sign in as, what to open first: for a person, in one piece, and then the log."""
    queues = " ".join(queue.id for queue in CLINIC.queues)
    here = _at("127.0.0.1", url) if settings.host in EVERYWHERE else url
    facts = {
        "open first": f"{here}/",
        **({"on a phone": f"{settings.public_url}/v/{CLINIC.slug}"} if settings.public_url else {}),
        "the whole API": f"{here}/docs",
        "a clinic": f"{CLINIC.slug}, with the queues {queues}",
        "a restaurant": f"{RESTAURANT.slug}, with a waitlist",
        "the data": f"{Path(settings.data).absolute()}",
        "the version": __version__,
    }
    width = max(map(len, facts))
    click.echo(
        "\n".join(
            (
                f"Dawr is ready at {url}",
                f"Sign in as {staff.USERNAME} with the password {password or 'that you chose'}",
                "",
                *(f"  {name:<{width}}  {fact}" for name, fact in facts.items()),
                "",
                "Ctrl+C stops it, and the next start goes on where this one ended. What follows is the log.",
                *([PLAIN_HTTP] if bootstrap.shuts_browsers_out(settings) else []),
                "",
            )
        )
    )
    logs.configure_server(settings)

"""`dawr demo`: sample venues on this machine, to try everything on."""

import asyncio
from contextlib import suppress
from random import SystemRandom

import click
import msgspec
import uvloop

from dawr import bootstrap
from dawr.cli.options import data_option, host_option, port_option, settings_of
from dawr.cli.serve import serve_running
from dawr.domain import VenueId
from dawr.observe import logs
from dawr.sample import staff
from dawr.sample.life import SampleLife
from dawr.sample.venues import CLINIC, RESTAURANT
from dawr.settings import Settings
from dawr.web import sample

DEMO_DATA = "data/demo"


@click.command("demo")
@host_option
@port_option
@data_option
@click.option("--live", is_flag=True, help="Play a day: people come and are served in every queue but lab.")
@click.option("--password", metavar="TEXT", help="Password of the sample staff account demo; made up otherwise.")
def command(*, host: str | None, port: int | None, data: str | None, live: bool, password: str | None) -> None:
    """Start the sample venues: a clinic with twelve queues, and a restaurant."""
    settings = settings_of(host=host, port=port, data=data or DEMO_DATA, database_url="", traffic_log="on")
    logs.configure(settings)
    with bootstrap.listened(settings) as listeners:
        uvloop.run((_play if live else _show)(settings, listeners, password))


async def _show(settings: Settings, listeners: bootstrap.Listeners, password: str | None) -> None:
    async with bootstrap.running(settings, bootstrap.instruments_of(settings)) as dawr:
        await _set_up_samples(dawr, password)
        await serve_running(_with_sample_routes(dawr), listeners)


async def _play(settings: Settings, listeners: bootstrap.Listeners, password: str | None) -> None:
    async with bootstrap.running(settings, bootstrap.instruments_of(settings)) as dawr:
        venues = await _set_up_samples(dawr, password)
        life = asyncio.create_task(SampleLife(dawr.engine, dawr.ids, SystemRandom()).play(venues))
        try:
            await serve_running(_with_sample_routes(dawr), listeners)
        finally:
            life.cancel()
            with suppress(asyncio.CancelledError):
                await life


def _with_sample_routes(dawr: bootstrap.Dawr) -> bootstrap.Dawr:
    return msgspec.structs.replace(dawr, routes=sample.ROUTES)


async def _set_up_samples(dawr: bootstrap.Dawr, password: str | None) -> list[VenueId]:
    known = await dawr.store.venue_ids()
    venues = [known.get(venue.slug) or await dawr.set_up(venue) for venue in (CLINIC, RESTAURANT)]
    chosen = dawr.ids.token() if password is None else password
    account = await staff.set_up_account(
        dawr.store.accounts, dawr.passwords, bootstrap.system.now, dawr.ids, password=chosen
    )
    await staff.add_to_venues(dawr.engine, account, venues)
    if password is None:
        click.echo(f"Sign in as {account.username} with the password {chosen}")
    return venues

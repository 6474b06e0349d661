"""`dawr venue`: list venues, print one's set-up, or set one up from a file. Also while the server runs."""

import asyncio
from typing import BinaryIO

import click
import msgspec

from dawr import bootstrap
from dawr.cli import one_writer
from dawr.cli.options import data_option, settings_of
from dawr.domain import Venue
from dawr.operations.snapshots import LookAtVenue
from dawr.settings import Settings


@click.group("venue")
def command() -> None:
    """List venues, print one, or set one up."""


@command.command("list")
@data_option
def list_venues(data: str | None) -> None:
    """Print every venue's slug."""
    for slug in asyncio.run(_slugs(settings_of(data=data))):
        click.echo(slug)


@command.command("show")
@data_option
@click.argument("slug")
def show(data: str | None, slug: str) -> None:
    """Print a venue's set-up as JSON, ready to be changed and applied again."""
    venue, _ = one_writer.look(settings_of(data=data), slug, LookAtVenue())
    click.echo(msgspec.json.format(msgspec.json.encode(venue)).decode())


@command.command("apply")
@data_option
@click.argument("file", type=click.File("rb"))
def apply(data: str | None, file: BinaryIO) -> None:
    """Make the venue that FILE describes, or change it (- is standard input)."""
    try:
        document = msgspec.json.decode(file.read(), type=dict[str, object])
        venue = msgspec.convert({"id": "", **document}, Venue)
    except msgspec.MsgspecError as error:
        raise click.ClickException(f"{file.name} does not describe a venue: {error}.") from error
    venue_id = one_writer.write(settings_of(data=data), "set-up", venue, lambda dawr: dawr.set_up(venue))
    click.echo(f"Venue {venue.slug} is set up ({venue_id}).")


async def _slugs(settings: Settings) -> list[str]:
    async with bootstrap.reading(settings) as store:
        return list(await store.venue_ids())

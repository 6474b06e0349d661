"""`dawr venue`: a venue's file begun, applied, printed; venues listed; a day repaired. Also while the server runs."""

import asyncio
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, get_args

import click
import msgspec

from dawr import bootstrap
from dawr.bootstrap.control import DayRepair
from dawr.cli import one_writer
from dawr.cli.options import data_option, settings_of
from dawr.domain import Venue
from dawr.domain.venue import VenueKind
from dawr.operations.snapshots import LookAtVenue
from dawr.settings import Settings
from dawr.web.misfits import given_twice, misfit
from dawr.web.repeated_keys import RepeatedKey, must_name_each_once
from dawr.web.wording import ENGLISH, say, words_in


@click.group("venue")
def command() -> None:
    """Begin a venue's file, set one up, list venues, print one, or repair its day."""


@command.command("new")
@click.option("--kind", type=click.Choice(get_args(VenueKind)), default="clinic", show_default=True, help="What it is.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def new(kind: VenueKind, file: Path | None) -> None:
    """Write a file to begin with to FILE: its comments say what to change. It is named after its kind by default."""
    target = file or Path(f"{kind}.toml")
    text = (files("dawr.cli") / "new_venues" / f"{kind}.toml").read_text(encoding="utf-8")
    try:
        with target.open("x", encoding="utf-8") as opened:
            opened.write(text.replace("Etc/UTC", bootstrap.system.local_zone()))
    except FileExistsError as error:
        raise click.ClickException(f"{target} is there already, and stays as it is: choose another name.") from error
    except OSError as error:
        raise click.ClickException(f"{target} cannot be written: {error.strerror}.") from error
    click.echo(f"{target} is ready to be changed. Then: dawr venue apply {target}")


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
    click.echo(msgspec.json.format(msgspec.json.encode(venue.as_written())).decode())


@command.command("apply")
@data_option
@click.argument("file", type=click.File("rb"))
def apply(data: str | None, file: BinaryIO) -> None:
    """Make the venue that FILE describes, in TOML or JSON, or change it (- is standard input)."""
    venue = _described(file.read(), file.name)
    venue_id = one_writer.write(settings_of(data=data), "set-up", venue, lambda dawr: dawr.set_up(venue))
    click.echo(f"Venue {venue.slug} is set up ({venue_id}).")


@command.command("repair-day")
@data_option
@click.option("--today", help="Today's date at the venue, like 2026-11-15: needed where the clock is doubted.")
@click.argument("slug")
def repair_day(data: str | None, today: str | None, slug: str) -> None:
    """Bring a venue whose day is ahead of today back to today, after a clock was wrong. Nobody who waits is lost."""
    asked = DayRepair(slug, today)
    click.echo(one_writer.write(settings_of(data=data), "repair-day", asked, lambda dawr: dawr.repair_day(asked)))


def _described(document: bytes, name: str) -> Venue:
    try:
        return msgspec.convert({"id": "", **_read(document)}, Venue)
    except msgspec.ValidationError as error:
        why = say(words_in(ENGLISH).misfits, misfit(error, Venue), ENGLISH)
    except RepeatedKey as error:
        why = say(words_in(ENGLISH).misfits, given_twice(error.key), ENGLISH)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        why = f"it cannot be read: {error}."
    raise click.ClickException(f"{name} does not describe a venue: {why}")


def _read(document: bytes) -> dict[str, Any]:
    """What begins with a bracket is JSON: no venue's TOML does."""
    if document.lstrip().startswith((b"{", b"[")):
        described = msgspec.json.decode(document, type=dict[str, Any])
        must_name_each_once(document)
        return described
    return tomllib.loads(document.decode("utf-8-sig"))


async def _slugs(settings: Settings) -> list[str]:
    async with bootstrap.reading(settings) as store:
        return list(await store.venue_ids())

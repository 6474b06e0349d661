"""`dawr venue`: a venue's file begun, applied, printed; venues listed; a day repaired. Also while the server runs."""

import asyncio
import tomllib
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, get_args

import click
import msgspec

from dawr import bootstrap
from dawr.bootstrap.control import DayRepair
from dawr.cli import one_writer
from dawr.cli.options import data_option, settings_of
from dawr.cli.venue_lines import line_of, line_with, path_of_field, path_of_refusal
from dawr.domain import Venue
from dawr.domain.errors import InvalidValue
from dawr.domain.venue import VenueKind, checked
from dawr.operations.snapshots import LookAtVenue
from dawr.settings import Settings
from dawr.web.misfits import given_twice, list_fields, misfit
from dawr.web.repeated_keys import RepeatedKey, must_name_each_once
from dawr.web.wording import ENGLISH, say, sentence_of, words_in


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
    document = file.read()
    venue = _described(document, file.name)
    try:
        venue_id = one_writer.write(settings_of(data=data), "set-up", venue, lambda dawr: dawr.set_up(venue))
    except InvalidValue as refusal:  # some rules depend on what the venue had before
        raise _complaint(file.name, _refusal(refusal, document)) from refusal
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
        venue = msgspec.convert({"id": "", **_read(document)}, Venue)
        return checked(venue, before=venue)  # whether its codes are good depends on those that it has
    except msgspec.ValidationError as error:
        why = _misfit(error, document.decode("utf-8-sig"))
    except InvalidValue as refusal:
        why = _refusal(refusal, document)
    except RepeatedKey as error:
        why = say(words_in(ENGLISH).misfits, given_twice(error.key), ENGLISH)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        why = f"it cannot be read: {error}."
    except RecursionError:
        why = "it is nested more deeply than any venue."
    except ValueError:  # of Python itself: TOML sets no limit to the digits of a number
        why = "a number in it has too many digits."
    raise _complaint(name, why)


def _complaint(name: str, why: str) -> click.ClickException:
    return click.ClickException(f"{name} does not describe a venue: {why}")


def _misfit(error: msgspec.ValidationError, document: str) -> str:
    facts = misfit(error, Venue)
    field = str(facts["field"])
    why = say(words_in(ENGLISH).misfits, facts, ENGLISH)
    if facts["why"] == "unknown":
        outer, _, last = f".{field}".rpartition(".")
        nearest = get_close_matches(last, list_fields(Venue, outer), n=1)
        why += "".join(f" The nearest known field is {known}." for known in nearest)
    return _name_line(line_of(document, path_of_field(field)), why)


def _refusal(refusal: InvalidValue, document: bytes) -> str:
    """Find opening hours by their text, because their refusal does not name the queue."""
    facts, text = refusal.facts, document.decode("utf-8-sig")
    hours = facts.get("span", facts.get("date"))
    found = line_of(text, path_of_refusal(facts, _read(document))) if hours is None else line_with(text, str(hours))
    return _name_line(found, sentence_of(refusal))


def _name_line(line: int | None, why: str) -> str:
    return why if line is None else f"line {line}: {why}"


def _read(document: bytes) -> dict[str, Any]:
    """Read JSON if the document begins with a curly bracket, else TOML."""
    if document.lstrip().startswith(b"{"):
        described = msgspec.json.decode(document, type=dict[str, Any])
        must_name_each_once(document)
        return described
    return tomllib.loads(document.decode("utf-8-sig"))


async def _slugs(settings: Settings) -> list[str]:
    async with bootstrap.reading(settings) as store:
        return list(await store.venue_ids())

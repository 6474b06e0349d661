"""`dawr traffic dead`: what could not be counted, looked at and dropped."""

import click

from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic.options import as_json as json_of
from dawr.cli.traffic.options import json_option, letters_argument, shown, time_of
from dawr.cli.traffic.reading import look
from dawr.cli.traffic.writing import write
from dawr.traffic import dead as letters
from dawr.traffic.commands import DROP, Letters
from dawr.traffic.dead import PAGE


@click.group("dead")
def dead() -> None:
    """Messages that could not be counted, and lines that came back damaged."""


@dead.command("list")
@data_option
@click.option("--after", type=click.IntRange(0, 2**63 - 1), default=0, metavar="ID", help="Begin behind this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=PAGE, show_default=True, help="At most so many.")
@json_option
def list_letters(*, data: str | None, after: int, limit: int, as_json: bool) -> None:
    """Print dead letters: id, when it died, kind, tries, and why."""
    found = look(settings_of(data=data), lambda database: letters.list_dead(database, after=after, limit=limit))
    if as_json:
        click.echo(json_of(found))
        return
    for letter in found:
        reason = shown(letter.reason)
        click.echo(f"{letter.seq}  {time_of(letter.at)}  {letter.kind}  {letter.tries} tries  {reason}")
    if len(found) == limit:
        click.echo(f"There may be more: --after {found[-1].seq}.", err=True)


@dead.command("show")
@data_option
@click.argument("seq", metavar="ID", type=click.IntRange(1, 2**63 - 1))
@json_option
def show(*, data: str | None, seq: int, as_json: bool) -> None:
    """Print all of the dead letter ID."""
    letter = look(settings_of(data=data), lambda database: letters.show(database, seq))
    if as_json:
        click.echo(json_of(letter))
        return
    for name, value in (
        ("id", str(letter.seq)),
        ("died", time_of(letter.at)),
        ("hour", time_of(letter.hour)),
        ("kind", letter.kind),
        ("tries", str(letter.tries)),
        ("reason", letter.reason),
        ("body", letter.body),
    ):
        click.echo(f"{name:<8}{shown(value)}")


@dead.command("drop")
@data_option
@click.option("--all", "all_of_them", is_flag=True, help="Every dead letter that is there now.")
@letters_argument
def drop(*, data: str | None, all_of_them: bool, seqs: tuple[int, ...]) -> None:
    """Remove these dead letters for good. They stay counted as dead."""
    if bool(seqs) == all_of_them:
        raise click.UsageError("Name the ids to drop, or say --all.")
    asked = Letters(None if all_of_them else list(seqs))
    write(
        settings_of(data=data),
        DROP,
        asked,
        lambda commands, line: commands.drop(asked, lambda count: line.show(f"{count:,} dead letters")),
    )

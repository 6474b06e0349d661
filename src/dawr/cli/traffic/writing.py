"""A tool that writes does so itself, or has the running traffic process do it: `traffic.sqlite` has one writer."""

import asyncio
from collections.abc import Awaitable, Callable

import click
import msgspec

from dawr.bootstrap import control
from dawr.bootstrap.system import now
from dawr.bootstrap.traffic import on_postgres
from dawr.cli.traffic.progress import Line
from dawr.cli.traffic.reading import must_be_there
from dawr.cli.traffic_lock import TrafficProcessRuns, no_traffic_process
from dawr.settings import Settings
from dawr.traffic.commands import Commands, Said
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.sqlite import SqliteDatabase


def write(settings: Settings, command: str, argument: object, do: Callable[[Commands, Line], Awaitable[Said]]) -> None:
    """Say what was done; what was refused is an error."""
    directory = traffic_in(settings.data)
    with Line() as line:
        said = _said(settings, directory, lambda commands: do(commands, line)) or _asked(
            directory, command, argument, line
        )
    if said.is_refused:
        raise click.ClickException(said.sentence)
    click.echo(said.sentence)


def _said(settings: Settings, directory: TrafficDirectory, do: Callable[[Commands], Awaitable[Said]]) -> Said | None:
    """None: a traffic process runs, and is to be asked."""

    async def here(database: Database) -> Said:
        try:
            return await do(Commands(database, directory, now, details_days=settings.traffic_details_days))
        finally:
            await database.close()

    async def in_postgres() -> Said:
        return await here(await on_postgres(settings))

    if settings.database_url:
        return asyncio.run(in_postgres())
    must_be_there(directory)
    try:
        with no_traffic_process(directory):
            return asyncio.run(here(SqliteDatabase(directory.database)))
    except TrafficProcessRuns:
        return None


def _asked(directory: TrafficDirectory, command: str, argument: object, line: Line) -> Said:
    """Until it is done."""
    while True:
        said = msgspec.json.decode(control.ask(directory.socket, command, argument), type=Said)
        if said.is_done:
            return said
        line.show(said.sentence)

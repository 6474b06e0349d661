"""`dawr check`: look an installation over, running or stopped, and explain what is wrong in sentences."""

import asyncio
from pathlib import Path

import click

from dawr import bootstrap, control
from dawr.cli.options import data_option, sentences, settings_of
from dawr.ports import Store, StoreFault
from dawr.settings import Settings, unknown
from dawr.stores.data_directory import NETWORK_FILE_SYSTEMS, DataDirectory, DataDirectoryUnfit, file_system_of
from dawr.stores.migrations import SchemaUnfit


@click.command("check")
@data_option
def command(data: str | None) -> None:
    """Look this installation over. Exit code 1 when something is wrong."""
    with sentences():
        settings = settings_of(data=data)
    for name in unknown(bootstrap.environment()):
        click.echo(f"?  {name} is set, but is no setting of this version.")
    report = asyncio.run(_look(settings))
    for sentence in report.good:
        click.echo(f"✓  {sentence}")
    for sentence in report.bad:
        click.echo(f"✗  {sentence}")
    if report.bad:
        raise click.exceptions.Exit(1)


class Report:
    def __init__(self) -> None:
        self.good: list[str] = []
        self.bad: list[str] = []


async def _look(settings: Settings) -> Report:
    report = Report()
    if not settings.database_url:
        _look_at_directory(DataDirectory(Path(settings.data)), report)
    try:
        async with bootstrap.reading(settings) as store:
            await _look_at_schema(store, report)
            await _look_at_clock(store, settings, report)
            if not report.bad:
                await _look_at_rows(store, report)
    except (DataDirectoryUnfit, SchemaUnfit, StoreFault) as fault:
        report.bad.append(str(fault) or str(fault.__doc__))
    return report


def _look_at_directory(directory: DataDirectory, report: Report) -> None:
    kind = file_system_of(directory.path)
    if kind in NETWORK_FILE_SYSTEMS:
        report.bad.append(f"{directory.path} is on a network file system ({kind}), where SQLite is not safe.")
    if directory.is_locked():
        try:
            control.ask(directory.control_socket, "status")
            report.good.append("A server runs here and can store.")
        except control.ControlFailed as failure:
            report.bad.append(f"A server holds {directory.path}, but is not well. {failure}")
    else:
        report.good.append("No server runs here.")


async def _look_at_schema(store: Store, report: Report) -> None:
    pending = await store.pending_migrations()
    if pending:
        report.bad.append(f"The schema is behind: run `dawr migrate` to apply {', '.join(pending)}.")
    else:
        report.good.append("The schema is up to date.")


async def _look_at_clock(store: Store, settings: Settings, report: Report) -> None:
    """An embedded database has no clock of its own, and a tool that reads does not ask it to write."""
    if settings.database_url:
        await store.ping()
        report.good.append("PostgreSQL answers, and its clock and ours agree.")


async def _look_at_rows(store: Store, report: Report) -> None:
    venues = await store.venue_ids()
    report.good.append(f"Venues: {', '.join(venues) or 'none yet'}.")
    faults = await store.faults()
    report.bad.extend(faults)
    if not faults:
        report.good.append("Every number was given once, and no event is missing.")

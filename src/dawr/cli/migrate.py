"""`dawr migrate`: bring the schema up to date, settle a restored copy, or move to PostgreSQL."""

import asyncio
from pathlib import Path

import click

from dawr import bootstrap
from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic_lock import TrafficProcessRuns, no_traffic_process
from dawr.settings import Settings
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit
from dawr.stores.moving import Compared, Copy, MoveFailed, SourceFile, copy_to_postgres, without_secrets
from dawr.stores.sqlite import SqliteStore
from dawr.traffic.database import DatabaseAway, journal
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.sqlite import SqliteDatabase


@click.command("migrate")
@data_option
@click.option("--to", metavar="URL", help="Move the embedded installation to this empty PostgreSQL database.")
@click.option("--back", is_flag=True, help="Give numbers from the embedded database again, after it was moved.")
def command(*, data: str | None, to: str | None, back: bool) -> None:
    """Bring the database's schema up to date. `serve` does this too when it starts."""
    if to is not None and back:
        raise click.UsageError("--to and --back are two ways: choose one.")
    if to is not None:
        _move(_embedded(data), to)
    elif back:
        _go_back(_embedded(data))
    else:
        asyncio.run(_migrate(settings_of(data=data)))


async def _migrate(settings: Settings) -> None:
    async with bootstrap.opened(settings) as store:
        applied = await store.migrate()
        for title in applied:
            click.echo(f"Applied {title}.")
        if not settings.database_url:
            applied += await _migrate_statistics(traffic_in(settings.data))
        if not applied:
            click.echo("The schema is up to date.")
        if venues := await store.renew_epochs(bootstrap.system.SystemIds().epoch):
            click.echo(f"This is a restored copy: its event streams begin new epochs (venues: {venues}).")


async def _migrate_statistics(directory: TrafficDirectory) -> list[str]:
    """If they are there: the traffic process makes them, and brings them up to date too when it starts."""
    if not directory.database.exists():
        return []
    database = SqliteDatabase(directory.database)
    try:
        with no_traffic_process(directory):
            applied = await database.create_tables()
    except TrafficProcessRuns as running:
        click.echo(f"The traffic statistics were left as they are. {running}")
        return []
    except DatabaseAway as away:
        raise DataDirectoryUnfit(f"The traffic statistics cannot be brought up to date: {away}.") from away
    finally:
        await database.close()
    for title in applied:
        click.echo(f"Applied {title}, to the traffic statistics.")
    return applied


def _embedded(data: str | None) -> DataDirectory:
    """What is moved is the embedded installation, also when the settings name PostgreSQL already."""
    settings = settings_of(data=data, database_url="", redis_url="", workers=1, hosts=1)
    directory = DataDirectory(Path(settings.data))
    if not directory.database.exists():
        raise DataDirectoryUnfit(f"There is no database in {settings.data} to move: is --data right?")
    directory.prepare()
    return directory


def _move(directory: DataDirectory, to: str) -> None:
    if not to.startswith(("postgresql://", "postgres://")):
        raise MoveFailed("The address after --to must begin with postgresql://.")
    directory.lock()
    try:
        with no_traffic_process(traffic_in(directory.path)):
            copy = asyncio.run(_copy(directory, to))
            _print_table(copy)
            if not copy.is_proved:
                raise MoveFailed("The copy is not equal to its source, and was taken back. Nothing was moved.")
            place = without_secrets(to)
            directory.mark_moved(place)
        _say_moved(directory, copy, place)
    finally:
        directory.unlock()


async def _copy(directory: DataDirectory, to: str) -> Copy:
    statistics = SourceFile(traffic_in(directory.path).database, journal("sqlite"))
    return await copy_to_postgres(directory.database, to, clock=bootstrap.system.now, statistics=statistics)


def _print_table(copy: Copy) -> None:
    click.echo(f"{'table':<18} {'rows here':>11} {'rows there':>11}  checksum")
    for table in copy.tables:
        click.echo(f"{table.table:<18} {table.here.rows:>11,} {table.there.rows:>11,}  {_verdict(table)}")


def _verdict(table: Compared) -> str:
    if table.is_equal:
        return f"{table.here.checksum} equal"
    return f"{table.here.checksum} here, {table.there.checksum} there: NOT EQUAL"


def _say_moved(directory: DataDirectory, copy: Copy, place: str) -> None:
    rows = sum(table.here.rows for table in copy.tables)
    if copy.was_there:
        click.echo("An earlier run had stored all of it; it was compared again.")
    click.echo(f"The copy is proved: {rows:,} rows in {len(copy.tables)} tables are equal on both sides.")
    if copy.begins_epochs:
        click.echo("This is a restored copy: its event streams begin new epochs at the next start.")
    else:
        click.echo("Event streams resume where they were.")
    click.echo(f"{directory.path} has moved to {place}, and gives no numbers any more.")
    click.echo("Serve it with DAWR_DATABASE_URL, and DAWR_REDIS_URL for several processes: see docs/run/postgres.md.")


def _go_back(directory: DataDirectory) -> None:
    directory.hold()
    try:
        place = directory.moved_to()
        if place is None:
            raise MoveFailed(f"{directory.path} has not moved: it gives numbers as before.")
        with no_traffic_process(traffic_in(directory.path)):
            asyncio.run(_mark_copy(directory))
            directory.unmark_moved()
        click.echo(f"{directory.path} gives numbers again, from where it stopped when it moved to {place}.")
        click.echo("What was done there since is not known here. Its event streams begin new epochs at the next start.")
    finally:
        directory.unlock()


async def _mark_copy(directory: DataDirectory) -> None:
    """Its history and the other database's went different ways: no stream may resume from one into the other."""
    store = SqliteStore(directory.database, clock=bootstrap.system.now)
    try:
        await store.change_rows("mark_copy")
    finally:
        await store.close()

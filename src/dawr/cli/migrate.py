"""`dawr migrate`: bring the schema up to date, settle a restored copy, or move to PostgreSQL."""

import asyncio
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import NamedTuple

import click

from dawr import bootstrap
from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic_lock import TrafficProcessRuns, no_traffic_process
from dawr.engine.engine import Engine
from dawr.operations.admin import ResetBehind
from dawr.operations.snapshots import LookAtVenue
from dawr.settings import Settings, from_environment
from dawr.stores import reasons
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit, Mark
from dawr.stores.moving import (
    Compared,
    Copy,
    Departure,
    MoveFailed,
    SourceFile,
    copy_to_postgres,
    finish_move,
    without_secrets,
)
from dawr.stores.moving_back import Lines, NobodyAnswers, Reached, leaving, lines_in
from dawr.stores.sqlite import SqliteStore
from dawr.traffic.database import DatabaseAway, journal
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.sqlite import SqliteDatabase

SCHEMES = ("postgresql://", "postgres://")
NOTHING_GIVEN = Reached(None, 0)
UNKNOWN = Reached(None, 10_000)
"""More numbers than a queue gives in a day: one every nine seconds, day and night."""


@click.command("migrate")
@data_option
@click.option("--to", metavar="URL", help="Move the embedded installation to this empty PostgreSQL database.")
@click.option("--back", is_flag=True, help="Give numbers from the embedded database again, after it was moved.")
@click.option("--from", "source", metavar="URL", help="With --back: the PostgreSQL database that it was moved to.")
@click.option("--even-though-numbers-were-given", "changed", is_flag=True, help="With --back: give up what was stored.")
@click.option("--even-though-nobody-answers", "silent", is_flag=True, help="With --back: PostgreSQL is gone for good.")
def command(*, data: str | None, to: str | None, back: bool, source: str | None, changed: bool, silent: bool) -> None:
    """Bring the database's schema up to date. `serve` does this too when it starts."""
    if to is not None and back:
        raise click.UsageError("--to and --back are two ways: choose one.")
    if not back and (source is not None or changed or silent):
        raise click.UsageError("--from and --even-though-… say how to go --back: add it, or leave them out.")
    if to is not None:
        _move(_embedded(data), to)
    elif back:
        _go_back(_embedded(data), source, Allowed(changed=changed, silent=silent))
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
        why = reasons.of_either(away)
        raise DataDirectoryUnfit(f"The traffic statistics cannot be brought up to date: {why}") from away
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
        raise DataDirectoryUnfit(f"There is no database in {directory.path} to move: is --data right?")
    directory.prepare()
    return directory


def _move(directory: DataDirectory, to: str) -> None:
    if not to.startswith(SCHEMES):
        raise MoveFailed("The address after --to must begin with postgresql://.")
    directory.hold()
    try:
        mark = directory.mark()
        if mark is None or mark.is_under_way:
            directory.must_be_whole()
            _say_moved(directory, _move_all(directory, to), without_secrets(to))
        elif asyncio.run(finish_move(to, mark.identity)):
            click.echo(f"An earlier run had stored all of it. {mark.place} gives numbers now.")
        else:
            directory.must_be_here()
    finally:
        directory.unlock()


def _move_all(directory: DataDirectory, to: str) -> Copy:
    with no_traffic_process(traffic_in(directory.path)):
        copy = asyncio.run(_copy(directory, to))
        _print_table(copy)
        if not copy.is_proved:
            raise MoveFailed("The copy is not equal to its source, and was taken back. Nothing was moved.")
        directory.mark_moved(without_secrets(to), copy.identity)
    asyncio.run(finish_move(to, copy.identity))
    return copy


async def _copy(directory: DataDirectory, to: str) -> Copy:
    statistics = SourceFile(traffic_in(directory.path).database, journal("sqlite"))
    departure = Departure(_place_of(directory), partial(directory.mark_moving, without_secrets(to)))
    return await copy_to_postgres(
        directory.database, to, clock=bootstrap.system.now, statistics=statistics, departure=departure
    )


def _place_of(directory: DataDirectory) -> str:
    return f"{gethostname()}:{directory.path.resolve()}"


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


class Allowed(NamedTuple):
    """What somebody has said that they know."""

    changed: bool
    silent: bool


def _go_back(directory: DataDirectory, source: str | None, allowed: Allowed) -> None:
    directory.hold()
    try:
        mark = directory.mark()
        if mark is None:
            raise MoveFailed(f"{directory.path} has not moved: it gives numbers as before.")
        url = source or from_environment(bootstrap.environment()).database_url or mark.place
        if not url.startswith(SCHEMES):
            raise MoveFailed(
                "The address of PostgreSQL, after --from or in DAWR_DATABASE_URL, must begin with postgresql://."
            )
        with no_traffic_process(traffic_in(directory.path)):
            rounds = asyncio.run(_return(directory, mark, dict.fromkeys((url, mark.place)), allowed))
            directory.unmark_moved()
        _say_back(directory, mark.place, rounds)
    finally:
        directory.unlock()


async def _return(directory: DataDirectory, mark: Mark, addresses: Iterable[str], allowed: Allowed) -> int:
    """How many queues begin a new round. Nobody answers where neither the named address does nor the marked one."""
    store = SqliteStore(directory.database, clock=bootstrap.system.now)
    silences: list[str] = []
    try:
        await store.migrate()
        for url in addresses:
            try:
                return await _return_from(url, store, directory, mark, allowed)
            except NobodyAnswers as silence:
                silences.append(f"Nobody answers at {without_secrets(url)}: {silence}")
        if not allowed.silent:
            raise MoveFailed(
                f"{' '.join(silences)} So nobody knows which numbers were given there. "
                "Start PostgreSQL, but no Dawr on it, and run this again, or name it with --from. If it is gone for "
                "good: --even-though-nobody-answers begins a new round in every queue, "
                f"{UNKNOWN.highest:,} numbers further on."
            )
        rounds = 0
        if not mark.is_under_way:  # a copy whose move has not ended gave nothing
            rounds = await _begin_rounds(store, await _as_far_as_it_may_be(store), otherwise=UNKNOWN)
        await _mark_copy(store)
        return rounds
    finally:
        await store.close()


async def _return_from(url: str, store: SqliteStore, directory: DataDirectory, mark: Mark, allowed: Allowed) -> int:
    here, clock = _place_of(directory), bootstrap.system.now
    async with leaving(url, directory.database, mark=mark, left_for=here, clock=clock) as left:
        if left.changed is not None:
            _must_be_allowed(left.changed, allowed)
        rounds = 0 if left.changed is None else await _begin_rounds(store, left.lines)
        await _mark_copy(store)
        return rounds


def _must_be_allowed(changed: str, allowed: Allowed) -> None:
    if not allowed.changed:
        raise MoveFailed(
            f"Something was stored in PostgreSQL since the move (in the table {changed}), and this directory does not "
            "know of it. Go on with PostgreSQL. To come back all the same, and give up what was stored there: "
            "--even-though-numbers-were-given begins a new round in every queue, behind the numbers given there."
        )


async def _as_far_as_it_may_be(store: SqliteStore) -> Lines:
    known = lines_in(await store.select_rows("lines_reached"))
    return {key: Reached(None, reached.highest + UNKNOWN.highest) for key, reached in known.items()}


async def _begin_rounds(store: SqliteStore, lines: Lines, *, otherwise: Reached = NOTHING_GIVEN) -> int:
    """In every queue of every venue, behind what was given there. The next start ends the old ones, as a reset does.

    Queues that were made there count: somebody will make them here again. So would a venue, which is another one then.
    """
    engine, begun = Engine(store, bootstrap.system.now), 0
    for venue_id in (await store.venue_ids()).values():
        venue, _ = await engine.read(venue_id, LookAtVenue())
        made_there = {queue for owner, queue in lines if owner == venue_id}
        for queue in sorted({queue.id for queue in venue.queues} | made_there):
            reached = lines.get((venue_id, queue), otherwise)
            operation = ResetBehind(queue, reached.line, reached.highest)
            await engine.do(venue_id, operation, origin=bootstrap.COMMAND_LINE)
            begun += 1
    await engine.stop()
    return begun


async def _mark_copy(store: SqliteStore) -> None:
    """Its history and the other database's went different ways: no stream may resume from one into the other."""
    await store.change_rows("mark_copy")


def _say_back(directory: DataDirectory, place: str, rounds: int) -> None:
    if rounds:
        click.echo(f"{directory.path} gives numbers again. What {place} stored since the move is not known here.")
        click.echo(f"Every queue begins a new round ({rounds} queues), behind the numbers that were given there.")
        click.echo("Whoever waits takes a new number.")
    else:
        click.echo(f"{directory.path} gives numbers again, from where it stopped when it moved to {place}.")
    click.echo("Its event streams begin new epochs at the next start. Start no server on that database again.")

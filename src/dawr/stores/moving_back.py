"""The way back from PostgreSQL to the directory: while nobody uses PostgreSQL, and so that no number is given twice.

PostgreSQL is asked whether it is the one, who uses it, and whether anything was stored there since the move. Until the
directory is ready nobody can write there or start there; then it is left, and whoever starts there later is told so.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import msgspec

from dawr.domain import Line, QueueId, VenueId
from dawr.ports import Clock
from dawr.stores import reasons
from dawr.stores.data_directory import Mark
from dawr.stores.migrations import journal
from dawr.stores.moving import (
    ALWAYS_THERE,
    CONNECT_SECONDS,
    Connection,
    Digest,
    MoveFailed,
    SourceFile,
    Table,
    connect,
    digest_of,
    opened,
    tables_of,
    without_secrets,
)
from dawr.stores.session import Row, all_statements, line_of

SILENCE = (OSError, TimeoutError, asyncpg.InvalidCatalogNameError)
FIRST = "heads"
"""Whatever happens at a venue changes its head, so it is compared before the large tables."""


WRITTEN_BY_A_START = frozenset({ALWAYS_THERE, "alarms"})
"""A server puts down what is due when it starts, whichever database it is started on."""


class NobodyAnswers(Exception):
    """PostgreSQL, or the database, is not there; the sentence says why."""


class Reached(msgspec.Struct, frozen=True):
    """How far a queue has come."""

    line: Line | None
    """Its latest; None if that is not known."""
    highest: int
    """The highest number of the line's day, in whichever round; or the highest that may have been given."""


Lines = Mapping[tuple[VenueId, QueueId], Reached]


class Left(msgspec.Struct, frozen=True):
    """PostgreSQL as it was found."""

    changed: str | None
    """The first table that is not as it was moved."""
    lines: Lines


@asynccontextmanager
async def leaving(url: str, database: Path, *, mark: Mark, left_for: str, clock: Clock) -> AsyncIterator[Left]:
    """Keep everybody out of PostgreSQL while the directory is made ready, and for good if that succeeds."""
    sql = all_statements("postgres")
    async with _asked(url) as there:
        await _must_be_the_one(there, url, mark)
        await _must_be_up_to_date(there, clock)
        await _refuse_while_used(there)
        async with there.transaction():
            await there.execute(sql["lock_tables"])
            await _refuse_while_used(there)  # whoever came meanwhile waits for the lock, and is connected
            if mark.is_under_way and not await there.fetch(sql["all_heads"]):
                yield Left(None, {})  # the move was cut short before its commit: there is nothing to leave
                return
            yield Left(await _changed(there, database, clock), lines_in(await there.fetch(sql["lines_reached"])))
            await there.execute(sql["leave"], left_for)
            await there.execute(sql["shut"])


def lines_in(rows: Iterable[Row]) -> Lines:
    """Of the statement `lines_reached`."""
    return {(row[0], row[1]): Reached(line_of(row[:-1]), row[-1]) for row in rows}


@asynccontextmanager
async def _asked(url: str) -> AsyncIterator[Connection]:
    try:
        there = await connect(url)
    except SILENCE as error:
        if type(error) is ConnectionError:  # somebody answered, and will not speak in this way
            raise MoveFailed(f"PostgreSQL answers, but cannot be asked: {error}. Correct the address.") from error
        raise NobodyAnswers(reasons.of_postgres(error)) from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise MoveFailed(
            f"PostgreSQL answers, but cannot be asked: {reasons.of_postgres(error)} Then run the same command again."
        ) from error
    try:
        yield there
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise MoveFailed(
            f"PostgreSQL stopped answering: {reasons.of_postgres(error)} The directory gives no numbers yet. "
            "Run the same command again."
        ) from error
    finally:
        await there.close(timeout=CONNECT_SECONDS)


async def _must_be_the_one(there: Connection, url: str, mark: Mark) -> None:
    """A mark of an earlier version has no identity: it is where it was, and no copy of it."""
    sql = all_statements("postgres")
    this = await there.fetchval(sql["this_database"])
    is_copy = this != (mark.identity or await there.fetchval(sql["identity"]))
    if is_copy or not (mark.identity or without_secrets(url) == mark.place):
        raise MoveFailed(
            "That database is not the one that this directory moved to, so nobody knows what was given there. "
            f"Name the right one with --from: it was {mark.place}."
        )


async def _must_be_up_to_date(there: Connection, clock: Clock) -> None:
    known = journal("postgres", all_statements("postgres"), clock)
    if behind := known.pending(await there.fetch(known.applied)):
        titles = ", ".join(migration.title for migration in behind)
        raise MoveFailed(
            f"The schema of that PostgreSQL database is behind: run `dawr migrate` with DAWR_DATABASE_URL first, to "
            f"apply {titles}."
        )


async def _refuse_while_used(there: Connection) -> None:
    """A server that lost its connection a moment ago still holds its leases."""
    sql = all_statements("postgres")
    servers = await there.fetchval(sql["servers_here"])
    holders = {
        holder for _, holder, _, until_at, now in await there.fetch(sql["all_leases"]) if holder and until_at > now
    }
    if servers or holders:
        raise MoveFailed(
            f"A Dawr uses that PostgreSQL database ({servers} connections, {len(holders)} lease holders), and gives "
            "numbers there: stop every server on it first. One that was killed is forgotten after some seconds."
        )


async def _changed(there: Connection, database: Path, clock: Clock) -> str | None:
    """The statistics are not compared: they have no numbers that anybody waits with."""
    theirs = {table.name: table for table in tables_of(await there.fetch(all_statements("postgres")["tables_to_move"]))}
    with opened(SourceFile(database, journal("sqlite", all_statements("sqlite"), clock))) as here:
        for table in sorted(here.tables, key=lambda table: table.name != FIRST):
            if table.name in WRITTEN_BY_A_START:
                continue
            if not await _is_equal(
                there, theirs.get(table.name), Digest().plus(here.connection.execute(table.reading))
            ):
                return table.name
    return None


async def _is_equal(there: Connection, table: Table | None, digest: Digest) -> bool:
    return table is not None and await digest_of(there, table) == digest

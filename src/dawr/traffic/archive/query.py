"""One SELECT over what is in the database and what is in archives, run where it can do no harm.

What the database has is first written to a private folder; DuckDB reads that and the archives, in a process of its
own that can reach nothing else. A row that is in an archive and still in the database is one row.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from dawr.traffic.archive.child import MISSING, Child, ChildFailed, has_duckdb
from dawr.traffic.archive.export import Progress, exported, private_folder
from dawr.traffic.archive.messages import Cell, Columns, NextRows, Question, Rows, Sources, Wanted
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory

SECONDS = 30.0
MOST_ROWS = 10_000
SANDBOX = "dawr.traffic.archive.sandbox"


class QueryFailed(Exception):
    """It was not answered; the sentence says why."""


class Answer(msgspec.Struct, frozen=True):
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    is_cut: bool
    """There is more than is shown."""
    missing: tuple[str, ...]
    """Archive files that are not on this host, and that the answer therefore knows nothing of."""


def ignore(table: str, rows: int) -> None:
    """Nobody watches."""


async def run_query(
    sql: str,
    database: Database,
    directory: TrafficDirectory,
    *,
    seconds: float = SECONDS,
    rows: int = MOST_ROWS,
    progress: Progress = ignore,
) -> Answer:
    """The database may be one that can only be read. Reading it takes its time; DuckDB has so many seconds."""
    if not has_duckdb():
        raise QueryFailed(MISSING)
    try:
        async with Child(SANDBOX) as child:
            async with asyncio.timeout(seconds):
                wanted = (await child.ask(Question(sql), Wanted)).tables
            with private_folder(directory) as folder:
                sources, missing = await exported(
                    wanted, database, directory, folder, most_rows=rows, progress=progress
                )
                async with asyncio.timeout(seconds):
                    return await _answer(child, sources, missing)
    except ChildFailed as error:
        raise QueryFailed(str(error)) from error
    except TimeoutError as error:
        raise QueryFailed(f"It took longer than {seconds:g} seconds, and was stopped.") from error
    except OSError as error:
        raise QueryFailed(f"The rows could not be written for DuckDB to read: {error}.") from error


async def _answer(child: Child, sources: Sources, missing: Sequence[str]) -> Answer:
    columns = await child.ask(sources, Columns)
    found: list[tuple[Cell, ...]] = []
    while True:
        more = await child.ask(NextRows(), Rows)
        found += [tuple(row) for row in more.rows]
        if more.is_cut or not more.rows:
            return Answer(tuple(columns.names), found, more.is_cut, tuple(missing))

"""What a look at every row finds wrong, in sentences; and what the schema should have."""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from dawr.domain.venue import Venue
from dawr.stores.migrations import known
from dawr.stores.session import Row

INDEX_MADE = re.compile(r"^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?P<name>\w+)", re.MULTILINE)
INDEX_DROPPED = re.compile(r"^DROP INDEX (?:IF EXISTS )?(?P<name>\w+)", re.MULTILINE)
TABLE_MADE = re.compile(r"^CREATE TABLE (?P<table>\w+) \((?P<body>.*?)^\)", re.MULTILINE | re.DOTALL)
TABLE_CHANGED = re.compile(r"^ALTER TABLE (?P<table>\w+) ADD (?:COLUMN )?(?P<body>.*)$", re.MULTILINE)


def faults_in(*found: Iterable[Row]) -> list[str]:
    """What is wrong in the rows of each of `CHECKS`, which come in this order."""
    faults: list[str] = []
    for tell, rows in zip(TELLERS.values(), found, strict=True):
        for row in rows:
            tell(row, faults)
    return faults


def _events(row: Row, faults: list[str]) -> None:
    slug, version, count, last = row
    if not version == count == last:
        faults.append(
            f"Venue {slug} is at version {version}, but has {count} events, the last of them {last}: "
            "events are missing or were added by hand."
        )


def _line(row: Row, faults: list[str]) -> None:
    slug, queue, day, round_, last_number, count, highest = row
    faults.append(
        f"Queue {queue} of {slug} on {day}, round {round_}, gave {last_number} numbers, "
        f"but has {count} tickets, the highest {highest}: numbers are missing or doubled."
    )


def _double(row: Row, faults: list[str]) -> None:
    slug, queue, day, round_, number, count = row
    faults.append(
        f"Number {number} of queue {queue} of {slug} on {day}, round {round_}, was given {count} times: "
        "tell these visitors, and do not write to the tables by hand."
    )


def _headless(row: Row, faults: list[str]) -> None:
    (slug,) = row
    faults.append(f"Venue {slug} has no head, the row that gives its numbers: restore a backup.")


def _stray(row: Row, faults: list[str]) -> None:
    venue_id, queue, day, round_, count = row
    faults.append(
        f"{count} tickets of queue {queue} of venue {venue_id} on {day}, round {round_}, belong to no line: "
        "the line was removed by hand. Restore a backup."
    )


def _waiting(row: Row, faults: list[str]) -> None:
    slug, queue, day, round_, kept, counted = row
    faults.append(
        f"Queue {queue} of {slug} on {day}, round {round_}, says that {kept} wait by priority, but its tickets say "
        f"{counted}: visitors are told a wrong place. The line was changed by hand; restore a backup."
    )


def _ownerless(row: Row, faults: list[str]) -> None:
    (venue_id,) = row
    faults.append(
        f"A head belongs to venue {venue_id}, which is not there: the venue was removed by hand. Restore a backup."
    )


def _document(row: Row, faults: list[str]) -> None:
    venue_id, slug, document = row
    try:
        venue = msgspec.json.decode(document, type=Venue)
    except (msgspec.MsgspecError, RecursionError):
        faults.append(f"How venue {slug} is set up cannot be read: it was changed by hand. Restore a backup.")
        return
    if (venue.id, venue.slug) != (venue_id, slug):
        faults.append(f"How venue {slug} is set up is another venue's: it was changed by hand. Restore a backup.")


TELLERS: dict[str, Callable[[Row, list[str]], None]] = {
    "check_events": _events,
    "check_lines": _line,
    "check_doubles": _double,
    "check_heads": _headless,
    "check_strays": _stray,
    "check_waiting": _waiting,
    "check_ownerless": _ownerless,
    "check_documents": _document,
}
"""A statement, and who tells what its rows mean."""
CHECKS = tuple(TELLERS)


def missing_indexes(dialect: str, present: Iterable[str]) -> list[str]:
    """Indexes and constraints that the migrations made and nobody was to remove, by the names PostgreSQL gives them.

    SQLite has no way to remove the condition of a row, and does not list them.
    """
    expected: set[str] = set()
    for migration in known(dialect):
        expected -= {dropped["name"] for dropped in INDEX_DROPPED.finditer(migration.sql)}
        expected |= {made["name"] for made in INDEX_MADE.finditer(migration.sql)}
        for pattern in (TABLE_MADE, TABLE_CHANGED):
            for made in pattern.finditer(migration.sql):
                expected.update(_constraints(made["table"], made["body"]))
    if dialect == "sqlite":
        expected = {name for name in expected if not name.endswith("_check")}
    return sorted(expected - set(present))


def _constraints(table: str, body: str) -> Iterator[str]:
    for line in body.splitlines():
        said = line.partition("--")[0].strip()
        column = said.partition(" ")[0]
        if "PRIMARY KEY" in said:
            yield f"{table}_pkey"
        if " UNIQUE" in said:
            yield f"{table}_{column}_key"
        if "CHECK (" in said:
            yield f"{table}_check" if column == "CHECK" else f"{table}_{column}_check"

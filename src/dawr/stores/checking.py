"""What a look at every row finds wrong, in sentences; and what the schema should have."""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from dawr.domain import Venue
from dawr.domain.errors import Refused
from dawr.stores.migrations import known
from dawr.stores.session import Row

INDEX_MADE = re.compile(r"^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?P<name>\w+)", re.MULTILINE)
INDEX_DROPPED = re.compile(r"^DROP INDEX (?:IF EXISTS )?(?P<name>\w+)", re.MULTILINE)
TABLE_MADE = re.compile(r"^CREATE TABLE (?P<table>\w+) \((?P<body>.*?)^\)", re.MULTILINE | re.DOTALL)
TABLE_CHANGED = re.compile(r"^ALTER TABLE (?P<table>\w+) ADD (?:COLUMN )?(?P<body>.*)$", re.MULTILINE)


def faults_in(*found: Iterable[Row]) -> list[str]:
    """What is wrong in the rows of each of `CHECKS`, which come in this order."""
    told = zip(TELLERS.values(), found, strict=True)
    return [fault for tell, rows in told for row in rows if (fault := tell(row)) is not None]


Teller = Callable[[Row], str | None]
"""What a row means, in a sentence; None if nothing is wrong with it."""


def _every_row(columns: str, sentence: str) -> Teller:
    """Of a statement that finds only what is wrong."""
    names = columns.split()
    return lambda row: sentence.format(**dict(zip(names, row, strict=True)))


def _events(row: Row) -> str | None:
    slug, version, count, last = row
    if version == count == last:
        return None
    return (
        f"Venue {slug} is at version {version}, but has {count} events, the last of them {last}: "
        "events are missing or were added by hand."
    )


def _document(row: Row) -> str | None:
    venue_id, slug, document = row
    try:
        venue = msgspec.json.decode(document, type=Venue)
    except (msgspec.MsgspecError, RecursionError, Refused):
        return f"How venue {slug} is set up cannot be read: it was changed by hand. Restore a backup."
    if (venue.id, venue.slug) != (venue_id, slug):
        return f"How venue {slug} is set up is another venue's: it was changed by hand. Restore a backup."
    return None


TELLERS: dict[str, Teller] = {
    "check_events": _events,
    "check_lines": _every_row(
        "slug queue day round given count highest",
        "Queue {queue} of {slug} on {day}, round {round}, gave {given} numbers, but has {count} tickets, "
        "the highest {highest}: numbers are missing or doubled.",
    ),
    "check_doubles": _every_row(
        "slug queue day round number count",
        "Number {number} of queue {queue} of {slug} on {day}, round {round}, was given {count} times: "
        "tell these visitors, and do not write to the tables by hand.",
    ),
    "check_heads": _every_row("slug", "Venue {slug} has no head, the row that gives its numbers: restore a backup."),
    "check_strays": _every_row(
        "venue queue day round count",
        "{count} tickets of queue {queue} of venue {venue} on {day}, round {round}, belong to no line: "
        "the line was removed by hand. Restore a backup.",
    ),
    "check_waiting": _every_row(
        "slug queue day round kept counted",
        "Queue {queue} of {slug} on {day}, round {round}, says that {kept} wait by priority, but its tickets say "
        "{counted}: visitors are told a wrong place. The line was changed by hand; restore a backup.",
    ),
    "check_stranded": _every_row(
        "slug visit",
        "Visit {visit} of {slug} is open, but its visitor stands in no queue and waits for none: "
        "they would never be called. Let them enter a stage, or end the visit.",
    ),
    "check_torn": _every_row(
        "slug visit count",
        "Visit {visit} of {slug} has {count} open tickets, but its visitor can be in one queue only: "
        "the tickets were changed by hand. Take all but one out of their queues.",
    ),
    "check_stages": _every_row(
        "slug visit queue",
        "Visit {visit} of {slug} is said to be in queue {queue}, but has no open ticket there: "
        "the ticket was changed by hand. Skip or complete the stage.",
    ),
    "check_left_over": _every_row(
        "slug visit state label queue",
        "Visit {visit} of {slug} is {state}, but its ticket {label} in queue {queue} is open: "
        "take it out of the queue.",
    ),
    "check_ownerless": _every_row(
        "venue",
        "A head belongs to venue {venue}, which is not there: the venue was removed by hand. Restore a backup.",
    ),
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
        column, _, rest = said.partition(" ")
        if column == "CONSTRAINT":
            yield rest.partition(" ")[0]
            continue
        if "PRIMARY KEY" in said:
            yield f"{table}_pkey"
        if " UNIQUE" in said:
            yield f"{table}_{column}_key"
        if "CHECK (" in said:
            yield f"{table}_check" if column == "CHECK" else f"{table}_{column}_check"

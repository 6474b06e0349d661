"""What a look at every row finds wrong, in sentences; and what the schema should have."""

import re
from collections.abc import Iterable

from dawr.stores.migrations import known
from dawr.stores.session import Row

CHECKS = ("check_events", "check_lines", "check_doubles", "check_heads", "check_strays")
"""The statements whose rows `faults_in` takes, in this order."""

INDEX_MADE = re.compile(r"^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?P<name>\w+)", re.MULTILINE)
INDEX_DROPPED = re.compile(r"^DROP INDEX (?:IF EXISTS )?(?P<name>\w+)", re.MULTILINE)


def faults_in(
    events: Iterable[Row], lines: Iterable[Row], doubles: Iterable[Row], headless: Iterable[Row], strays: Iterable[Row]
) -> list[str]:
    faults = []
    for slug, version, count, last in events:
        if not version == count == last:
            faults.append(
                f"Venue {slug} is at version {version}, but has {count} events, the last of them {last}: "
                "events are missing or were added by hand."
            )
    for slug, queue, day, round_, last_number, count, highest in lines:
        faults.append(
            f"Queue {queue} of {slug} on {day}, round {round_}, gave {last_number} numbers, "
            f"but has {count} tickets, the highest {highest}: numbers are missing or doubled."
        )
    for slug, queue, day, round_, number, count in doubles:
        faults.append(
            f"Number {number} of queue {queue} of {slug} on {day}, round {round_}, was given {count} times: "
            "tell these visitors, and do not write to the tables by hand."
        )
    for (slug,) in headless:
        faults.append(f"Venue {slug} has no head, the row that gives its numbers: restore a backup.")
    for venue_id, queue, day, round_, count in strays:
        faults.append(
            f"{count} tickets of queue {queue} of venue {venue_id} on {day}, round {round_}, belong to no line: "
            "the line was removed by hand. Restore a backup."
        )
    return faults


def missing_indexes(dialect: str, present: Iterable[str]) -> list[str]:
    """Those that the migrations made and nobody was to remove."""
    expected: set[str] = set()
    for migration in known(dialect):
        expected -= {dropped["name"] for dropped in INDEX_DROPPED.finditer(migration.sql)}
        expected |= {made["name"] for made in INDEX_MADE.finditer(migration.sql)}
    return sorted(expected - set(present))

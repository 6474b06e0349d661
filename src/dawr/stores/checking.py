"""What a look at every row finds wrong, in sentences."""

from collections.abc import Iterable

from dawr.stores.session import Row


def faults_in(events: Iterable[Row], lines: Iterable[Row]) -> list[str]:
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
    return faults

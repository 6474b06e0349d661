"""How the statistics fare: what waits, what failed, who is alive, and whether all that was sent was counted.

Cheap enough to be asked every second: it looks at no detail, and at 10,001 messages at most.
"""

import msgspec

from dawr.traffic import snapshot
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import MS_PER_DAY, MS_PER_MINUTE, hour_of

MOST_COUNTED = 10_001
"""Of messages that wait, and of dead letters: what is above 10,000 is too much, however much it is."""
JUST_QUEUED_MS = MS_PER_MINUTE
"""What is due for less than this is on its way, not left behind."""
ERRORS_WITHIN_MS = 5 * MS_PER_MINUTE
GONE_AFTER_MS = MS_PER_DAY
"""A host that was silent for so long was taken away, unless it is the last one."""

LEAST_CONSUMED = 0.999
MOST_WAITING = 100
MOST_SILENT_SECONDS = 180.0
MOST_BEHIND_SECONDS = 60.0
SPOOL_UNWRITABLE = "spool-unwritable"


class Heartbeat(msgspec.Struct, frozen=True):
    """The traffic process of one host."""

    host: str
    pid: int
    version: str
    age_seconds: float
    up_seconds: float
    spool_bytes: int
    key_day: int
    key_check: str
    behind_seconds: float = 0.0
    """For how long its spools have not been shipped to their end."""
    unreadable: int = 0
    """Spools that it cannot read."""
    unspooled: int = 0
    """Requests that were answered and are in no file, because the spool cannot be written."""
    unwritable: int = 0
    """Directories of its spools and counters in which it can write no file."""


class OpenAlert(msgspec.Struct, frozen=True):
    name: str
    level: str
    sentence: str
    value: float
    began_at: int


class Status(msgspec.Struct, frozen=True):
    at: int
    backlog: int
    """Messages that wait; 10,001 are so many or more."""
    lag_seconds: float
    """For how long the first of them has been due."""
    dead_letters: int
    damaged: int
    """Lines that came back damaged and were set aside."""
    lost: int
    """Requests of the latest 24 hours that could be kept nowhere, or whose lines are gone."""
    sent: int
    """What the latest 24 hours put into the queue, but for what was due less than a minute ago."""
    consumed: int
    """What of it was stored, known as a duplicate, or put aside as a dead letter."""
    requests: int
    """Of the latest five whole minutes and the one that runs."""
    errors: int
    rpm: int
    """Requests of the latest whole minute."""
    peak_rpm: int
    """Of the busiest minute of the latest 24 hours."""
    snapshot_age_seconds: float | None
    heartbeats: tuple[Heartbeat, ...]
    alerts: tuple[OpenAlert, ...]

    @property
    def consumed_share(self) -> float | None:
        return min(1.0, self.consumed / self.sent) if self.sent > 0 else None

    @property
    def error_rate(self) -> float | None:
        return self.errors / self.requests if self.requests else None

    @property
    def spool_bytes(self) -> int:
        return sum(beat.spool_bytes for beat in self.heartbeats)


async def status(database: Database, now: int) -> Status:
    """All of it in one consistent picture."""
    return await database.read(lambda transaction: read_status(transaction, now))


async def read_status(transaction: Transaction, now: int) -> Status:
    since = hour_of(now - MS_PER_DAY)
    ((backlog, due_at),) = await transaction.select_rows("traffic_backlog", MOST_COUNTED)
    ((under_way,),) = await transaction.select_rows("traffic_just_queued", since, now - JUST_QUEUED_MS, MOST_COUNTED)
    ((queued, consumed, lost),) = await transaction.select_rows("traffic_settled_since", since)
    dead = dict(await transaction.select_rows("traffic_dead_by_kind", MOST_COUNTED))
    minute = now - now % MS_PER_MINUTE
    requests, errors, _ = await minutes_between(transaction, minute - ERRORS_WITHIN_MS, now + 1)
    rpm, _, _ = await minutes_between(transaction, minute - MS_PER_MINUTE, minute)
    _, _, peak_rpm = await minutes_between(transaction, minute - MS_PER_DAY, now + 1)
    made = await transaction.select_rows("traffic_snapshot_at", snapshot.NAME)
    return Status(
        at=now,
        backlog=backlog,
        lag_seconds=0.0 if due_at is None else _seconds(due_at, now),
        dead_letters=dead.get("poison", 0),
        damaged=dead.get("damaged", 0),
        lost=lost,
        sent=max(queued - under_way, 0),
        consumed=consumed,
        requests=requests,
        errors=errors,
        rpm=rpm,
        peak_rpm=peak_rpm,
        snapshot_age_seconds=_seconds(made[0][0], now) if made else None,
        heartbeats=tuple(_alive([_heartbeat(row, now) for row in await transaction.select_rows("traffic_heartbeats")])),
        alerts=tuple([OpenAlert(*row) for row in await transaction.select_rows("traffic_open_alerts")]),
    )


async def minutes_between(transaction: Transaction, start: int, end: int) -> tuple[int, int, int]:
    """Requests and errors of the minutes that begin in between, and the requests of the busiest."""
    ((requests, errors, most),) = await transaction.select_rows("traffic_minutes_between", start, end)
    return requests, errors, most


def failed_gates(status: Status) -> list[str]:
    """Why these statistics cannot be relied on now, each in a sentence; none if they can."""
    share = status.consumed_share
    silent = [beat for beat in status.heartbeats if beat.age_seconds > MOST_SILENT_SECONDS]
    behind = [beat for beat in status.heartbeats if beat.behind_seconds > MOST_BEHIND_SECONDS]
    unreadable = sum(beat.unreadable for beat in status.heartbeats)
    unspooled = sum(beat.unspooled for beat in status.heartbeats)
    is_writable = not any(beat.unwritable for beat in status.heartbeats)
    dead_letters = status.dead_letters
    gates = (
        (
            share is not None and share < LEAST_CONSUMED,
            f"Of {status.sent:,} messages of 24 hours {status.consumed:,} were consumed: less than 99.9 %.",
        ),
        (status.backlog >= MOST_WAITING, f"{at_least(status.backlog)} messages wait: {MOST_WAITING} or more."),
        (
            dead_letters > status.consumed * (1 - LEAST_CONSUMED),
            f"{at_least(dead_letters)} dead letters wait for somebody: more than 0.1 % of what was consumed.",
        ),
        (status.lost > 0, f"{status.lost:,} requests of 24 hours were lost: `dawr traffic verify` names the hours."),
        (not status.heartbeats, "No traffic process runs: nothing is counted."),
        (
            bool(silent),
            f"No heartbeat for more than 3 minutes: {', '.join(beat.host for beat in silent)}.",
        ),
        (
            bool(behind),
            f"What was written down is not shipped for more than a minute: {', '.join(beat.host for beat in behind)}.",
        ),
        (unspooled > 0 or not is_writable, unspooled_sentence(unspooled)),
        (unreadable > 0, f"{unreadable:,} spools cannot be read: look at the log for `traffic.spool-unreadable`."),
    )
    critical = [f"{alert.name}: {alert.sentence}" for alert in status.alerts if alert.level == "critical"]
    return [sentence for failed, sentence in gates if failed] + critical


def unspooled_sentence(requests: int) -> str:
    """Return the sentence of the gate and the alert. 0: the number is unknown without the spool's counters."""
    who = f"{requests:,} requests are" if requests else "Requests may be"
    return f"{who} in no file: the spool cannot be written. Look at its directory and its disk."


def at_least(count: int) -> str:
    """A number that was counted up to a bound only."""
    return f"{count:,}" if count < MOST_COUNTED else f"{MOST_COUNTED - 1:,} or more"


def _heartbeat(row: tuple[str, int, str, int, int, int, int, str, int, int, int, int], now: int) -> Heartbeat:
    host, pid, version, began_at, beat_at, spool_bytes, key_day, key_check, shipped_at, *unwell = row
    age, up, behind = _seconds(beat_at, now), _seconds(began_at, now), _seconds(shipped_at, beat_at)
    return Heartbeat(host, pid, version, age, up, spool_bytes, key_day, key_check, behind, *unwell)


def _alive(beats: list[Heartbeat]) -> list[Heartbeat]:
    """All but hosts that are gone for good; the one that was heard last always counts."""
    last = min((beat.age_seconds for beat in beats), default=0.0)
    return [beat for beat in beats if beat.age_seconds <= max(last, GONE_AFTER_MS / 1000)]


def _seconds(since: int, now: int) -> float:
    """Clocks of two hosts differ: never less than nothing."""
    return max(now - since, 0) / 1000

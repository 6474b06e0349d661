"""Alerts: what is out of its bounds for long enough, told once in ten minutes, and closed when it is over.

One process evaluates them for all, every ten seconds. What an alert is known by is its name: one that comes back
within ten minutes is the same one, and goes on. A worse level is told at once.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from dawr.reliability.lease import Fence, hold
from dawr.reliability.log import log
from dawr.traffic.alert_rules import Before, Bounds, Condition, Level, Picture, judge
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, hour_of
from dawr.traffic.status import minutes_between, read_status

COOLDOWN_MS = 10 * MS_PER_MINUTE
KEPT_MS = 30 * MS_PER_DAY
LONGEST_GAP_MS = MS_PER_MINUTE
"""After a longer pause nobody knows whether what is out of its bounds was so all the time."""
COMPARED_MS = 15 * MS_PER_MINUTE
WEEK_MS = 7 * MS_PER_DAY
UNFINISHED_MS = 6 * MS_PER_HOUR
RANK: dict[Level, int] = {"warning": 0, "critical": 1}


class Alert(msgspec.Struct, frozen=True):
    name: str
    began_at: int
    level: Level
    sentence: str
    value: float
    told_at: int
    ended_at: int | None = None


class Memory:
    """What the evaluating process remembers from one time to the next. It may begin empty at any time."""

    def __init__(self, bounds: Bounds | None = None, is_disk_low: Callable[[], bool] = lambda: False) -> None:
        self.bounds = bounds or Bounds()
        self.is_disk_low = is_disk_low
        self.archive_failure = ""
        """Set by whoever archives: the sentence of the latest failure, empty after a success."""
        self.evaluated_at: int | None = None
        self.since: dict[tuple[str, Level], int] = {}
        """Since when something has been this far out of its bounds."""
        self.told: dict[str, Level] = {}
        """At which level each alert was told last."""
        self.silent: set[str] = set()
        """Whose end was told, and nothing since."""
        self.peak_rpm = 0
        self.peak_until = 0
        self.purged_at = 0


class Judged(NamedTuple):
    condition: Condition
    lasted: Level | None
    """The worst level at which it has been for long enough; None: at none yet."""


class Changes(NamedTuple):
    open: list[Alert]
    told: list[Alert]
    ended: list[Alert]


async def evaluate(database: Database, now: int, memory: Memory, fence: Fence | None = None) -> list[Alert]:
    """The alerts that are open now. With a fence, somebody who lost the lease meanwhile changes and tells nothing."""
    picture = await database.read(lambda transaction: read_picture(transaction, now, memory))
    judged = _judged(judge(picture, memory.bounds), now, memory)

    async def work(transaction: Transaction) -> Changes:
        if fence is not None:
            await hold(fence, transaction)
        return await _settle(transaction, judged, now, memory)

    changes = await database.transact(work)
    _tell(changes, memory)
    return changes.open


async def read_picture(transaction: Transaction, now: int, memory: Memory) -> Picture:
    status = await read_status(transaction, now)
    ((lost, over_limit),) = await transaction.select_rows("lost_since", hour_of(now) - MS_PER_HOUR)
    ((table_bytes,),) = await transaction.select_rows("traffic_bytes")
    ((first_minute,),) = await transaction.select_rows("first_traffic_minute")
    ((unfinished,),) = await transaction.select_rows("unfinished_archives", now - UNFINISHED_MS)
    requests, _, _ = await minutes_between(transaction, now - MS_PER_DAY, now)
    stuck = f"{unfinished} archives were written, and their rows could not be deleted." if unfinished else ""
    return Picture(
        status,
        before=None if first_minute is None else await _before(transaction, now, first_minute),
        peak_rpm=0 if first_minute is None else await _peak(transaction, now, first_minute, memory),
        mean_rpm=requests * MS_PER_MINUTE / MS_PER_DAY,
        lost=lost,
        over_limit=over_limit,
        is_disk_low=memory.is_disk_low(),
        table_bytes=table_bytes,
        archive_failure=memory.archive_failure or stuck,
    )


async def _before(transaction: Transaction, now: int, first_minute: int) -> Before | None:
    """Whole minutes that all messages had the time to arrive of. The same weekday says more than the day before."""
    end = now - now % MS_PER_MINUTE - MS_PER_MINUTE
    start = end - COMPARED_MS
    if first_minute <= start - WEEK_MS:
        back, when = WEEK_MS, "a week ago"
    elif first_minute <= start - MS_PER_DAY:
        back, when = MS_PER_DAY, "yesterday"
    else:
        return None
    requests, _, _ = await minutes_between(transaction, start, end)
    requests_before, _, _ = await minutes_between(transaction, start - back, end - back)
    return Before(requests, requests_before, when)


async def _peak(transaction: Transaction, now: int, first_minute: int, memory: Memory) -> int:
    """Up to the minute before the latest whole one. What was looked at once is not looked at again."""
    until = now - now % MS_PER_MINUTE - MS_PER_MINUTE
    _, _, most = await minutes_between(transaction, memory.peak_until, until)
    memory.peak_rpm = max(memory.peak_rpm, most)
    memory.peak_until = max(memory.peak_until, until - COOLDOWN_MS)
    return memory.peak_rpm if first_minute <= now - MS_PER_DAY else 0


def _judged(conditions: list[Condition], now: int, memory: Memory) -> list[Judged]:
    """A worse level of a condition must have lasted by itself."""
    if memory.evaluated_at is None or not 0 <= now - memory.evaluated_at <= LONGEST_GAP_MS:
        memory.since.clear()
    memory.evaluated_at = now
    reached = {(c.name, level) for c in conditions for level in RANK if RANK[level] <= RANK[c.level]}
    memory.since = {key: memory.since.get(key, now) for key in reached}
    judged = []
    for condition in conditions:
        lasted: Level | None = None
        for level in RANK:
            since = memory.since.get((condition.name, level))
            if since is not None and now - since >= condition.lasting_ms:
                lasted = level
        judged.append(Judged(condition, lasted))
    return judged


async def _settle(transaction: Transaction, judged: list[Judged], now: int, memory: Memory) -> Changes:
    rows = await transaction.select_rows("recent_alerts", now - COOLDOWN_MS)
    recent = sorted([Alert(*row) for row in rows], key=lambda alert: alert.began_at)
    changes = _changed({alert.name: alert for alert in recent}, judged, now, memory)
    current = {(alert.name, alert.began_at) for alert in changes.open}
    for alert in recent:
        if alert.ended_at is None and (alert.name, alert.began_at) not in current:
            changes.ended.append(msgspec.structs.replace(alert, ended_at=now))
    await transaction.change_each("save_alerts", [_row(alert, now) for alert in changes.open])
    await transaction.change_each("end_alerts", [(alert.name, alert.began_at, now) for alert in changes.ended])
    if now - memory.purged_at >= MS_PER_HOUR:
        await transaction.change_rows("purge_alerts", now - KEPT_MS)
        memory.purged_at = now
    return changes


def _changed(latest: dict[str, Alert], judged: list[Judged], now: int, memory: Memory) -> Changes:
    changes = Changes([], [], [])
    for condition, lasted in judged:
        before = latest.get(condition.name)
        level = lasted or _level_of_open(before, condition)
        if level is None:
            continue
        is_told = before is None or _is_due(before, level, now, memory)
        alert = Alert(
            condition.name,
            now if before is None else before.began_at,
            level,
            condition.sentence,
            condition.value,
            now if before is None or is_told else before.told_at,
        )
        changes.open.append(alert)
        if is_told:
            changes.told.append(alert)
    return changes


def _level_of_open(before: Alert | None, condition: Condition) -> Level | None:
    """An alert that is open goes on, also when the process that evaluates it has just begun."""
    if before is None or before.ended_at is not None:
        return None
    return before.level if RANK[before.level] < RANK[condition.level] else condition.level


def _is_due(before: Alert, level: Level, now: int, memory: Memory) -> bool:
    told = memory.told.get(before.name, before.level)
    return now - before.told_at >= COOLDOWN_MS or RANK[level] > RANK[told]


def _row(alert: Alert, now: int) -> tuple[str | int | float | None, ...]:
    return (
        alert.name,
        alert.began_at,
        alert.level,
        alert.sentence,
        float(alert.value),
        alert.told_at,
        now,
        alert.ended_at,
    )


def _tell(changes: Changes, memory: Memory) -> None:
    """The end of what nobody was told is not told either."""
    for alert in changes.told:
        memory.told[alert.name] = alert.level
        memory.silent.discard(alert.name)
        if alert.level == "critical":
            log.error("traffic.alert", alert=alert.name, sentence=alert.sentence, value=alert.value)
        else:
            log.warning("traffic.alert", alert=alert.name, sentence=alert.sentence, value=alert.value)
    for alert in changes.ended:
        if alert.name not in memory.silent:
            log.info("traffic.alert-ended", alert=alert.name, began_at=alert.began_at)
        memory.silent.add(alert.name)

"""What is out of its bounds, judged from a picture of how the statistics fare: plain functions over plain numbers."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from dawr.traffic.event import MS_PER_MINUTE
from dawr.traffic.status import (
    LEAST_CONSUMED,
    MOST_BEHIND_SECONDS,
    MOST_SILENT_SECONDS,
    Status,
    at_least,
    unspooled_sentence,
)

Level = Literal["warning", "critical"]

LASTING_MS = MS_PER_MINUTE
MEGABYTE = 1024 * 1024
GIGABYTE = 1024 * MEGABYTE


class Bounds(msgspec.Struct, frozen=True):
    """Where something begins to be a warning and, as the second of two, critical. Shares are of 1."""

    error_rate: tuple[float, float] = (0.05, 0.10)
    least_requests: int = 20
    """With fewer requests in the latest minutes, no error rate is judged."""
    rise: tuple[float, float] = (1.0, 2.0)
    fall: tuple[float, float] = (0.5, 0.8)
    least_before: int = 100
    """With fewer requests at the same time before, nothing is compared with them."""
    backlog: tuple[int, int] = (100, 10_000)
    lag_seconds: float = 300.0
    snapshot_seconds: float = 600.0
    silent_seconds: float = MOST_SILENT_SECONDS
    behind_seconds: float = MOST_BEHIND_SECONDS
    consumed: float = LEAST_CONSUMED
    near_peak: float = 0.9
    least_peak_rpm: int = 600
    over_mean: float = 1.5
    """A rate that is the same all day is always near its peak, and nothing to be told."""
    spool_bytes: tuple[int, int] = (128 * MEGABYTE, 230 * MEGABYTE)
    """Of one host; at 256 MB it is full."""
    table_bytes: tuple[int, int] = (10 * GIGABYTE, 50 * GIGABYTE)


class Before(msgspec.Struct, frozen=True):
    """Requests of the latest minutes, and at the same time before."""

    requests: int
    requests_before: int
    when: str
    """`yesterday` or `a week ago`."""


class Picture(msgspec.Struct, frozen=True):
    status: Status
    before: Before | None = None
    """None: the statistics do not go back so far."""
    peak_rpm: int = 0
    """The most requests of any minute before the latest whole one; 0 while it is not known for a day."""
    mean_rpm: float = 0.0
    """Of the latest 24 hours."""
    lost: int = 0
    """In this hour and the one before."""
    over_limit: int = 0
    """Requests of these two hours that were counted without details, because an hour keeps no more."""
    is_disk_low: bool = False
    table_bytes: int = 0
    archive_failure: str = ""


class Condition(msgspec.Struct, frozen=True):
    """Something that is out of its bounds now."""

    name: str
    level: Level
    value: float
    sentence: str
    lasting_ms: int = 0
    """It is an alert when it has been so for that long."""


def judge(picture: Picture, bounds: Bounds) -> list[Condition]:
    """At most one of each name."""
    return [condition for rule in RULES for condition in rule(picture, bounds)]


def _errors(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    status, rate = picture.status, picture.status.error_rate
    if rate is not None and status.requests >= bounds.least_requests and rate > bounds.error_rate[0]:
        sentence = f"{status.errors:,} of {status.requests:,} requests of the latest minutes failed ({rate:.1%})."
        yield Condition("error-rate", _level(rate > bounds.error_rate[1]), rate, sentence)


def _traffic(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    """While messages are late, requests that came are not counted yet: then nothing has fallen."""
    before = picture.before
    if before is None or before.requests_before < bounds.least_before:
        return
    change = before.requests / before.requests_before - 1
    compared = f"{before.requests:,} requests in 15 minutes, {before.requests_before:,} at the same time {before.when}"
    if change > bounds.rise[0]:
        yield Condition("traffic-rose", _level(change > bounds.rise[1]), change, f"{compared} ({change:+.0%}).")
    elif -change > bounds.fall[0] and picture.status.lag_seconds * 1000 < LASTING_MS:
        sentence = f"{compared} ({change:+.0%})."
        yield Condition("traffic-fell", _level(-change > bounds.fall[1]), change, sentence, LASTING_MS)


def _peak(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    rpm, peak = picture.status.rpm, picture.peak_rpm
    is_much = rpm >= max(bounds.least_peak_rpm, picture.mean_rpm * bounds.over_mean)
    if is_much and 0 < peak * bounds.near_peak <= rpm:
        sentence = f"{rpm:,} requests in a minute; the most ever was {peak:,}."
        yield Condition("rate-near-peak", "warning", rpm / peak, sentence, LASTING_MS)


def _backlog(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    backlog, lag = picture.status.backlog, picture.status.lag_seconds
    if backlog > bounds.backlog[0]:
        sentence = f"{at_least(backlog)} messages wait to be counted."
        yield Condition("backlog", _level(backlog > bounds.backlog[1]), backlog, sentence, LASTING_MS)
    if lag > bounds.lag_seconds:
        sentence = f"The first message has waited for {_time(lag)} to be counted."
        yield Condition("lag", "critical", lag, sentence, LASTING_MS)


def _consumed(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    status, share = picture.status, picture.status.consumed_share
    if share is not None and share < bounds.consumed:
        sentence = f"Of {status.sent:,} messages of 24 hours {status.consumed:,} were consumed ({share:.2%})."
        yield Condition("not-consumed", "critical", share, sentence)


def _dead_letters(picture: Picture, _: Bounds) -> Iterator[Condition]:
    dead, damaged = picture.status.dead_letters, picture.status.damaged
    if dead:
        sentence = (
            f"{at_least(dead)} dead letters: `dawr traffic dead list` names them, `replay` or `dead drop` ends it."
        )
        yield Condition("dead-letters", "warning", dead, sentence)
    if damaged:
        sentence = f"{at_least(damaged)} lines came back damaged: look at the disk, then `dawr traffic dead drop` them."
        yield Condition("damaged-lines", "warning", damaged, sentence)


def _lost(picture: Picture, _: Bounds) -> Iterator[Condition]:
    if picture.lost:
        sentence = f"{picture.lost:,} requests were answered and not counted: no disk and no memory would take them."
        yield Condition("events-lost", "critical", picture.lost, sentence)


def _details(picture: Picture, _: Bounds) -> Iterator[Condition]:
    if picture.over_limit:
        sentence = f"{picture.over_limit:,} requests were counted without details: an hour keeps no more of them."
        yield Condition("details-limited", "warning", picture.over_limit, sentence)
    if picture.is_disk_low:
        sentence = (
            "The disk is nearly full: requests are counted without details. Make room, or tickets will stop, too."
        )
        yield Condition("disk-low", "critical", 1, sentence)


def _snapshot(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    """One that was never made counts from the start of the process that should make it."""
    status = picture.status
    up = max((beat.up_seconds for beat in status.heartbeats), default=0.0)
    age = up if status.snapshot_age_seconds is None else status.snapshot_age_seconds
    if age > bounds.snapshot_seconds:
        yield Condition("snapshot-old", "warning", age, f"The snapshot was not renewed for {_time(age)}.")


def _silent_hosts(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    silent = [beat for beat in picture.status.heartbeats if beat.age_seconds > bounds.silent_seconds]
    if silent:
        longest = max(beat.age_seconds for beat in silent)
        sentence = f"No heartbeat for up to {_time(longest)}: {', '.join(beat.host for beat in silent)}."
        yield Condition("heartbeat", "critical", longest, sentence)


def _shipping(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    beats = picture.status.heartbeats
    behind = max(beats, key=lambda beat: beat.behind_seconds, default=None)
    if behind is not None and behind.behind_seconds > bounds.behind_seconds:
        sentence = (
            f"{behind.host} has shipped nothing for {_time(behind.behind_seconds)}: what it wrote down waits there."
        )
        yield Condition("shipping-stuck", "critical", behind.behind_seconds, sentence)
    unspooled = sum(beat.unspooled for beat in beats)
    if unspooled or any(beat.unwritable for beat in beats):
        yield Condition("spool-unwritable", "critical", unspooled, unspooled_sentence(unspooled))
    unreadable = [beat for beat in beats if beat.unreadable]
    if unreadable:
        sentence = f"Spools cannot be read: {', '.join(f'{beat.unreadable:,} of {beat.host}' for beat in unreadable)}."
        yield Condition("spool-unreadable", "critical", sum(beat.unreadable for beat in unreadable), sentence)


def _keys(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    """Visitors of two hosts whose keys differ are counted twice."""
    by_day = defaultdict[int, dict[str, str]](dict)
    for beat in picture.status.heartbeats:
        if beat.age_seconds <= bounds.silent_seconds and beat.key_check:
            by_day[beat.key_day].setdefault(beat.key_check, beat.host)
    differing = [list(hosts.values()) for hosts in by_day.values() if len(hosts) > 1]
    if differing:
        sentence = f"Hosts hash visitors with different keys: {', '.join(differing[-1])}. Copy one key file to all."
        yield Condition("keys-differ", "warning", len(differing[-1]), sentence)


def _sizes(picture: Picture, bounds: Bounds) -> Iterator[Condition]:
    spool = max(picture.status.heartbeats, key=lambda beat: beat.spool_bytes, default=None)
    if spool is not None and spool.spool_bytes > bounds.spool_bytes[0]:
        sentence = f"The spool of {spool.host} takes {spool.spool_bytes // MEGABYTE:,} MB: at 256 MB it is full."
        yield Condition("spool-large", _level(spool.spool_bytes > bounds.spool_bytes[1]), spool.spool_bytes, sentence)
    size = picture.table_bytes
    if size > bounds.table_bytes[0]:
        sentence = f"The tables of the statistics take {size / GIGABYTE:,.1f} GB."
        yield Condition("tables-large", _level(size > bounds.table_bytes[1]), size, sentence)


def _archive(picture: Picture, _: Bounds) -> Iterator[Condition]:
    if picture.archive_failure:
        yield Condition("archive-failed", "warning", 1, picture.archive_failure)


RULES: tuple[Callable[[Picture, Bounds], Iterator[Condition]], ...] = (
    _errors,
    _traffic,
    _peak,
    _backlog,
    _consumed,
    _dead_letters,
    _lost,
    _details,
    _snapshot,
    _silent_hosts,
    _shipping,
    _keys,
    _sizes,
    _archive,
)


def _level(is_critical: bool) -> Level:  # noqa: FBT001 - what the one argument says is its name
    return "critical" if is_critical else "warning"


def _time(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:,.0f} hours"

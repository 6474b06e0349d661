"""Whether each request was counted once: every table's own count of the same requests, compared hour by hour.

- What was spooled waits, is stored, was a duplicate, or is dead: nothing else, and nothing twice.
- What is stored is in the aggregates, in the minutes and in the histograms, of its hour and of its day.
- What is stored is kept in detail, or the ledger says why it is not: its kind, the limit of the hour, or the disk.
- What is kept in detail is in the details, or left them by an archive or because its time was over.
- Whoever sends the bytes of answers counts them beside the collector: nothing may be missing. A process that is
  killed between the two leaves a request that was written down and not sent, so there may be 1 % more.

The hour that is running is compared as well, with what waits in it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import file_digest
from math import ceil
from pathlib import Path

import msgspec

from dawr.traffic.database import Database, Transaction
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, day_of, hour_of
from dawr.traffic.verify_sample import MOST_MISSING, Sample, compare_sample

MOST_SURPLUS = 0.01


class Hour(msgspec.Struct):
    """What every table says of an hour, or of a day."""

    answered: int = 0
    spooled: int = 0
    queued: int = 0
    stored: int = 0
    detailed: int = 0
    duplicates: int = 0
    dead: int = 0
    damaged: int = 0
    lost: int = 0
    counted_only: int = 0
    over_limit: int = 0
    no_space: int = 0
    waiting: int = 0
    dead_letters: int = 0
    damaged_lines: int = 0
    aggregated: int = 0
    errors: int = 0
    refused: int = 0
    sum_us: int = 0
    max_us: int = 0
    streams: int = 0
    in_buckets: int = 0
    in_minutes: int = 0
    errors_in_minutes: int = 0
    refused_in_minutes: int = 0
    details: int = 0

    @property
    def settled(self) -> int:
        return self.waiting + self.stored + self.duplicates + self.dead

    @property
    def accounted(self) -> int:
        """Requests that are stored, by what became of their details."""
        return self.detailed + self.counted_only + self.over_limit + self.no_space

    @property
    def collected(self) -> int:
        """What became of answers, whether or not it could be kept.

        A damaged line is missing if it was answered. One that was torn by a kill was not: its answer had not left.
        """
        return self.spooled + self.lost


class Difference(msgspec.Struct, frozen=True):
    """Two figures of one hour or day that should be the same."""

    at: int
    what: str
    expected: int
    found: int
    is_day: bool = False

    @property
    def deviation(self) -> float:
        return abs(self.expected - self.found) / max(self.expected, self.found, 1)

    def __str__(self) -> str:
        return f"{written(self.at, is_day=self.is_day)}: {self.what}: {self.expected:,} and {self.found:,}."


class Outside(msgspec.Struct, frozen=True):
    """Answers as they were sent, against what the collector wrote down."""

    answered: int
    collected: int

    @property
    def most_surplus(self) -> int:
        return ceil(self.answered * MOST_SURPLUS)


class Report(msgspec.Struct, frozen=True):
    hours: dict[int, Hour]
    differences: list[Difference]
    outside: Outside | None
    """None: nobody counted answers beside the collector."""
    faults: list[str]
    """What is wrong beyond one hour, in sentences."""
    elsewhere: list[str]
    """Archives that are not in this directory."""
    sample: Sample | None = None

    @property
    def is_empty(self) -> bool:
        return not self.hours

    @property
    def is_right(self) -> bool:
        return not self.differences and not self.faults

    def deviation_of(self, hour: int) -> float:
        return max(
            (found.deviation for found in self.differences if found.at == hour and not found.is_day), default=0.0
        )


class Archive(msgspec.Struct, frozen=True):
    day: int
    part: int
    file: str
    rows: int
    deleted: int
    sha256: str
    state: str


class Picture(msgspec.Struct, frozen=True):
    hours: dict[int, Hour]
    days: dict[int, Hour]
    """From the rows that are kept for whole days."""
    archives: list[Archive]


async def verify(
    database: Database, directory: TrafficDirectory, start: int, end: int, *, sample: float | None = None
) -> Report:
    """Of the hours from `start` on and before `end`; days are those that have one of these hours.

    With a sample, that share of the details is looked up one by one in the aggregates.
    """
    start, end = hour_of(start), hour_of(end - 1) + MS_PER_HOUR
    since, until = day_of(start), day_of(end - 1) + MS_PER_DAY

    async def work(transaction: Transaction) -> tuple[Picture, Sample | None]:
        sampled = None if sample is None else await compare_sample(transaction, start, end, sample)
        return await _read(transaction, since, until), sampled

    picture, sampled = await database.read(work)
    hours = {hour: picture.hours[hour] for hour in sorted(picture.hours) if start <= hour < end}
    archived = {archive.day for archive in picture.archives if archive.deleted}
    differences = [
        *(found for hour, figures in hours.items() for found in _of_hour(hour, figures, day_of(hour) in archived)),
        *_of_days(picture),
    ]
    outside, missing = _outside(picture.hours, start, end)
    spoiled, elsewhere = await asyncio.to_thread(_look_at_files, picture.archives, directory.archive)
    faults = [*_of_outside(outside), *spoiled, *_of_sample(sampled)]
    return Report(hours, [*differences, *missing], outside, faults, elsewhere, sampled)


async def _read(transaction: Transaction, since: int, until: int) -> Picture:
    hours = defaultdict[int, Hour](Hour)
    for hour, *columns in await transaction.select_rows("verify_ledger", since, until):
        hours[hour] = Hour(*columns)
    for hour, count in await transaction.select_rows("verify_waiting", since, until):
        hours[hour].waiting = count
    for hour, poison, damaged in await transaction.select_rows("verify_dead", since, until):
        hours[hour].dead_letters, hours[hour].damaged_lines = poison, damaged
    for hour, requests, errors, refused in await transaction.select_rows("verify_minutes", since, until):
        figures = hours[hour]
        figures.in_minutes, figures.errors_in_minutes, figures.refused_in_minutes = requests, errors, refused
    for hour, count in await transaction.select_rows("verify_details", f"{since:013}", f"{until:013}"):
        hours[hour].details = count
    await _read_aggregates(transaction, MS_PER_HOUR, since, until, hours)
    days = defaultdict[int, Hour](Hour)
    await _read_aggregates(transaction, MS_PER_DAY, since, until, days)
    archives = [Archive(*row) for row in await transaction.select_rows("verify_archives", since, until)]
    return Picture(hours, days, archives)


async def _read_aggregates(
    transaction: Transaction, span: int, since: int, until: int, into: defaultdict[int, Hour]
) -> None:
    for start, *sums in await transaction.select_rows("verify_hours", span, since, until):
        figures = into[start]
        figures.aggregated, figures.errors, figures.refused, figures.sum_us, figures.max_us, figures.streams = sums
    for start, count in await transaction.select_rows("verify_buckets", span, since, until):
        into[start].in_buckets = count


def _of_hour(hour: int, figures: Hour, is_archived: bool) -> Iterator[Difference]:  # noqa: FBT001 - one fact of the day
    f = figures
    same = [
        ("spooled, and waiting, stored, duplicate or dead", f.spooled, f.settled),
        ("spooled, and put into the queue", f.spooled, f.queued),
        ("stored, and aggregated", f.stored, f.aggregated),
        ("stored, and counted by the minute", f.stored, f.in_minutes),
        ("stored, and in the histograms or streams", f.stored, f.in_buckets + f.streams),
        ("stored, and kept in detail or counted without", f.stored, f.accounted),
        ("errors, and errors by the minute", f.errors, f.errors_in_minutes),
        ("refused, and refused by the minute", f.refused, f.refused_in_minutes),
        ("dead letters, and more of them than died", f.dead, max(f.dead, f.dead_letters)),
        ("damaged lines, and more of them than were found", f.damaged, max(f.damaged, f.damaged_lines)),
    ]
    if not is_archived:
        same.append(("kept in detail, and details that are there", f.detailed, f.details))
    same.append(("answered, and never written down: lost", 0, f.lost))
    for what, expected, found in same:
        if expected != found:
            yield Difference(hour, what, expected, found)


def _of_days(picture: Picture) -> Iterator[Difference]:
    sums, deleted = defaultdict[int, Hour](Hour), defaultdict[int, int](int)
    for hour, figures in picture.hours.items():
        _add(sums[day_of(hour)], figures)
    for archive in picture.archives:
        deleted[archive.day] += archive.deleted
        if archive.state != "written" and archive.rows != archive.deleted:
            what = f"rows of archive {archive.part}, and those that were deleted"
            yield Difference(archive.day, what, archive.rows, archive.deleted, is_day=True)
    for day in sorted({*sums, *picture.days, *deleted}):
        hours, whole = sums[day], picture.days.get(day, Hour())
        for what, expected, found in (
            ("aggregated by the hour, and by the day", hours.aggregated, whole.aggregated),
            ("errors by the hour, and by the day", hours.errors, whole.errors),
            ("refused by the hour, and by the day", hours.refused, whole.refused),
            ("microseconds by the hour, and by the day", hours.sum_us, whole.sum_us),
            ("the slowest by the hour, and by the day", hours.max_us, whole.max_us),
            ("in the histograms by the hour, and by the day", hours.in_buckets, whole.in_buckets),
            ("streams by the hour, and by the day", hours.streams, whole.streams),
            ("kept in detail, and details or archived", hours.detailed, hours.details + deleted[day]),
        ):
            if expected != found:
                yield Difference(day, what, expected, found, is_day=True)


def _add(day: Hour, hour: Hour) -> None:
    for name in Hour.__struct_fields__:
        together = max if name == "max_us" else int.__add__
        setattr(day, name, together(getattr(day, name), getattr(hour, name)))


def _outside(hours: dict[int, Hour], start: int, end: int) -> tuple[Outside | None, list[Difference]]:
    """Loss must be none. A repeat is written down in the hour of its first time, up to ten minutes before its answer.

    So what an hour has too little, the hour before may have too much.
    """
    compared = {hour: hours[hour] for hour in sorted(hours) if start <= hour < end}
    outside = Outside(sum(h.answered for h in compared.values()), sum(h.collected for h in compared.values()))
    if outside.answered == 0:
        return None, []
    lost = []
    for hour, figures in compared.items():
        before = hours.get(hour - MS_PER_HOUR, Hour())
        spare = max(before.collected - before.answered, 0)
        if figures.collected + spare < figures.answered:
            lost.append(Difference(hour, "answered, and written down", figures.answered, figures.collected + spare))
    return outside, lost


def _of_outside(outside: Outside | None) -> Iterator[str]:
    if outside is not None and outside.collected - outside.answered > outside.most_surplus:
        yield (
            f"{outside.answered:,} answers were sent, and {outside.collected:,} requests written down: "
            f"more than {outside.most_surplus:,} too many."
        )


def _of_sample(sample: Sample | None) -> Iterator[str]:
    if sample is not None and sample.missing > sample.looked_up * MOST_MISSING:
        yield (
            f"Of a sample of {sample.looked_up:,} details {sample.missing:,} are not in the aggregates "
            f"(more than {MOST_MISSING:.0%}), the first of them at {written(sample.first_missing)}."
        )


def _look_at_files(archives: list[Archive], folder: Path) -> tuple[list[str], list[str]]:
    """Those that are not what was written, and those that are not here."""
    spoiled, elsewhere = [], []
    for archive in archives:
        if archive.file:
            try:
                with (folder / archive.file).open("rb") as file:
                    digest = file_digest(file, "sha256").hexdigest()
            except OSError:
                elsewhere.append(archive.file)
            else:
                if digest != archive.sha256:
                    spoiled.append(f"The archive {archive.file} is not the file that was written.")
    return spoiled, elsewhere


def written(at: int, *, is_day: bool = False) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):{'%Y-%m-%d' if is_day else '%Y-%m-%d %H:%M'}} UTC"

"""What was counted, verified: a right database passes, and every row that somebody spoils is found and named."""

import hashlib
import re
from pathlib import Path

import pytest

from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR
from dawr.traffic.verify import Difference, Report, verify
from tests.traffic.builders import NOON, an_event
from tests.traffic.tables import consumed, in_ledger, rows_of, shipped

MIDNIGHT = NOON - 12 * MS_PER_HOUR
TOMORROW = MIDNIGHT + MS_PER_DAY
EVERY = range(60)


@pytest.fixture
def directory(tmp_path: Path) -> TrafficDirectory:
    directory = TrafficDirectory(tmp_path / "traffic")
    directory.prepare()
    return directory


@pytest.fixture
async def sixty(database: Database) -> Database:
    """Sixty requests in three hours, one of them twice, one poison, ten that still wait; five only counted."""
    events = [
        an_event(
            number,
            at=NOON - number % 3 * MS_PER_HOUR,
            status=(200, 404, 500)[number // 3 % 3],
            path=f"/{number % 4}",
            ms=number / 3,
            counted_only=number % 12 == 0,
        )
        for number in EVERY
    ]
    await shipped(database, [*events[:50], events[7]], poison=1)
    await consumed(database)
    await shipped(database, events[50:])
    return database


async def verified(database: Database, directory: TrafficDirectory, *, sample: float | None = None) -> Report:
    return await verify(database, directory, MIDNIGHT, TOMORROW, sample=sample)


async def test_a_right_database_passes_with_what_waits_and_what_is_dead(
    sixty: Database, directory: TrafficDirectory
) -> None:
    report = await verified(sixty, directory, sample=1.0)

    assert report.is_right, report
    hours = report.hours.values()
    assert [sum(getattr(hour, name) for hour in hours) for name in ("spooled", "stored", "duplicates", "dead")] == [
        62,
        50,
        1,
        1,
    ]
    assert sum(hour.waiting for hour in hours) == 10
    assert report.sample is not None
    assert (report.sample.looked_up, report.sample.missing) == (45, 0)
    assert report.outside is not None
    assert report.outside.answered == 62


HOUR, DAY = MS_PER_HOUR, MS_PER_DAY
ONE_HOUR = f"span = {HOUR} AND start = {NOON}"
ONE_DAY = f"span = {DAY}"
PLANTED = {
    f"DELETE FROM traffic_queue WHERE seq = (SELECT max(seq) FROM traffic_queue WHERE hour = {NOON})": (
        "2024-11-07 12:00 UTC: spooled, and waiting, stored, duplicate or dead: 21 and 20."
    ),
    f"INSERT INTO traffic_queue SELECT 999, hour, body, 0, 0, '' FROM traffic_queue WHERE hour = {NOON} LIMIT 1": (
        "2024-11-07 12:00 UTC: spooled, and waiting, stored, duplicate or dead: 21 and 22."
    ),
    f"UPDATE traffic_ledger SET queued = queued - 1 WHERE hour = {NOON}": (
        "2024-11-07 12:00 UTC: spooled, and put into the queue: 21 and 20."
    ),
    f"UPDATE traffic_ledger SET spooled = spooled + 1 WHERE hour = {NOON}": (
        "2024-11-07 12:00 UTC: spooled, and waiting, stored, duplicate or dead: 22 and 21."
    ),
    f"UPDATE traffic_ledger SET duplicates = 0 WHERE hour = {NOON - HOUR}": (
        "2024-11-07 11:00 UTC: spooled, and waiting, stored, duplicate or dead: 21 and 20."
    ),
    f"UPDATE traffic_ledger SET stored = stored + 1, dead = dead - 1 WHERE hour = {NOON}": (
        "2024-11-07 12:00 UTC: stored, and aggregated: 18 and 17."
    ),
    f"UPDATE traffic_ledger SET answered = answered + 1 WHERE hour = {NOON}": (
        "2024-11-07 12:00 UTC: answered, and written down: 22 and 21."
    ),
    f"DELETE FROM traffic_ledger WHERE hour = {NOON - 2 * HOUR}": (
        "2024-11-07 10:00 UTC: spooled, and waiting, stored, duplicate or dead: 0 and 4."
    ),
    f"UPDATE traffic_hours SET requests = requests + 1 WHERE {ONE_HOUR} AND path = '/0' AND class = '2xx'": (
        "2024-11-07 12:00 UTC: stored, and aggregated: 17 and 18."
    ),
    f"UPDATE traffic_hours SET errors = errors + 1 WHERE {ONE_HOUR} AND path = '/0' AND class = '5xx'": (
        "2024-11-07 12:00 UTC: errors, and errors by the minute: "
    ),
    f"UPDATE traffic_hours SET refused = refused + 1 WHERE {ONE_HOUR} AND path = '/0' AND class = '4xx'": (
        "2024-11-07 12:00 UTC: refused, and refused by the minute: "
    ),
    f"UPDATE traffic_hours SET sum_us = sum_us + 1 WHERE {ONE_HOUR} AND path = '/0' AND class = '5xx'": (
        "2024-11-07 UTC: microseconds by the hour, and by the day: "
    ),
    f"UPDATE traffic_hours SET max_us = max_us * 2 WHERE {ONE_DAY}": (
        "2024-11-07 UTC: the slowest by the hour, and by the day: "
    ),
    f"DELETE FROM traffic_hours WHERE {ONE_DAY} AND path = '/1' AND class = '2xx'": (
        "2024-11-07 UTC: aggregated by the hour, and by the day: 50 and "
    ),
    f"UPDATE traffic_ledger SET over_limit = over_limit + 1 WHERE hour = {NOON}": (
        "2024-11-07 12:00 UTC: stored, and kept in detail or counted without: 17 and 18."
    ),
    f"UPDATE traffic_hours SET streams = streams + 1 WHERE {ONE_DAY} AND path = '/1' AND class = '2xx'": (
        "2024-11-07 UTC: streams by the hour, and by the day: 0 and 1."
    ),
    f"DELETE FROM traffic_minutes WHERE minute = {NOON}": (
        "2024-11-07 12:00 UTC: stored, and counted by the minute: 17 and 0."
    ),
    f"UPDATE traffic_minutes SET errors = errors - 1 WHERE minute = {NOON}": (
        "2024-11-07 12:00 UTC: errors, and errors by the minute: "
    ),
    f"UPDATE traffic_buckets SET requests = requests + 1 WHERE {ONE_HOUR} AND bucket = 0": (
        "2024-11-07 12:00 UTC: stored, and in the histograms or streams: 17 and 18."
    ),
    f"UPDATE traffic_buckets SET requests = requests + 1 WHERE {ONE_DAY} AND bucket = 0": (
        "2024-11-07 UTC: in the histograms by the hour, and by the day: 50 and 51."
    ),
    f"DELETE FROM traffic_events WHERE id = (SELECT min(id) FROM traffic_events WHERE at = {NOON})": (
        "2024-11-07 12:00 UTC: kept in detail, and details that are there: 12 and 11."
    ),
    "DELETE FROM traffic_events": "2024-11-07 UTC: kept in detail, and details or archived: 45 and 0.",
    f"INSERT INTO traffic_dead SELECT 999, at, {NOON}, kind, reason, tries, body FROM traffic_dead LIMIT 1": (
        "2024-11-07 12:00 UTC: dead letters, and more of them than died: 1 and 2."
    ),
    f"INSERT INTO traffic_dead VALUES (999, {NOON}, {NOON}, 'damaged', '', 0, '')": (
        "2024-11-07 12:00 UTC: damaged lines, and more of them than were found: 0 and 1."
    ),
    f"INSERT INTO traffic_archives VALUES ({MIDNIGHT}, 0, '', 3, 2, '', '', 'expired', 0)": (
        "2024-11-07 UTC: rows of archive 0, and those that were deleted: 3 and 2."
    ),
}


async def test_every_row_that_is_spoiled_is_named_with_its_hour_and_both_figures(
    sixty: Database, directory: TrafficDirectory
) -> None:
    tables = sorted({found[0] for planted in PLANTED for found in re.finditer(r"traffic_\w+", planted)})
    for table in tables:
        await rows_of(sixty, f"CREATE TABLE saved_{table} AS SELECT * FROM {table}")

    unnoticed = {}
    for planted, sentence in PLANTED.items():
        await rows_of(sixty, planted)
        report = await verified(sixty, directory)
        if report.is_right or not any(str(found).startswith(sentence) for found in report.differences):
            unnoticed[planted] = report.differences
        for table in tables:
            await rows_of(sixty, f"DELETE FROM {table}")
            await rows_of(sixty, f"INSERT INTO {table} SELECT * FROM saved_{table}")

    assert len(tables) == 8
    assert unnoticed == {}
    assert (await verified(sixty, directory)).is_right


async def test_only_the_hours_that_are_asked_for_are_compared(sixty: Database, directory: TrafficDirectory) -> None:
    await rows_of(sixty, f"UPDATE traffic_ledger SET spooled = 99 WHERE hour = {NOON}")

    before = await verify(sixty, directory, MIDNIGHT, NOON)
    running = await verify(sixty, directory, NOON, NOON + 1)

    assert (before.is_right, [*before.hours]) == (True, [NOON - 2 * HOUR, NOON - HOUR])
    assert (running.is_right, [*running.hours]) == (False, [NOON])


async def test_nothing_to_count_is_said_to_be_nothing(database: Database, directory: TrafficDirectory) -> None:
    report = await verified(database, directory)

    assert (report.is_empty, report.outside) == (True, None)


async def test_details_that_were_archived_count_and_the_file_must_be_the_one_that_was_written(
    sixty: Database, directory: TrafficDirectory
) -> None:
    (directory.archive / "2024-11-07.0.parquet").write_bytes(b"forty-five rows")
    digest = hashlib.sha256(b"forty-five rows").hexdigest()
    await rows_of(sixty, "DELETE FROM traffic_events")
    await rows_of(
        sixty,
        "INSERT INTO traffic_archives VALUES "
        f"({MIDNIGHT}, 0, '2024-11-07.0.parquet', 45, 45, '', '{digest}', 'emptied', 0)",
    )

    right = await verified(sixty, directory)
    (directory.archive / "2024-11-07.0.parquet").write_bytes(b"forty-four rows")
    spoiled = await verified(sixty, directory)
    (directory.archive / "2024-11-07.0.parquet").unlink()
    gone = await verified(sixty, directory)

    assert right.is_right, right
    assert spoiled.faults == ["The archive 2024-11-07.0.parquet is not the file that was written."]
    assert (gone.is_right, gone.elsewhere) == (True, ["2024-11-07.0.parquet"])


@pytest.mark.parametrize(
    ("answered", "spooled", "is_right"),
    [(1000, 1000, True), (1000, 1010, True), (1000, 1011, False), (1000, 999, False), (3, 4, True), (3, 5, False)],
)
async def test_answers_that_were_sent_are_all_written_down_and_hardly_any_others(
    database: Database, directory: TrafficDirectory, *, answered: int, spooled: int, is_right: bool
) -> None:
    await in_ledger(database, answered=answered, spooled=spooled, queued=spooled, dead=spooled)

    report = await verified(database, directory)

    assert report.is_right is is_right
    assert [type(found) for found in report.differences] == ([Difference] if spooled < answered else [])


async def test_what_was_lost_is_told(database: Database, directory: TrafficDirectory) -> None:
    await in_ledger(database, answered=9, spooled=7, queued=7, dead=7, lost=2)

    report = await verified(database, directory)

    assert [(found.what.rpartition(" ")[2], found.found) for found in report.differences] == [("lost", 2)]


@pytest.mark.parametrize(("answered", "is_right"), [(7, True), (8, False)])
async def test_a_damaged_line_is_a_loss_if_it_was_answered(
    database: Database, directory: TrafficDirectory, *, answered: int, is_right: bool
) -> None:
    await in_ledger(database, answered=answered, spooled=7, queued=7, dead=7, damaged=1)

    assert (await verified(database, directory)).is_right is is_right


async def test_a_repeat_that_is_answered_after_the_hour_of_its_first_time_is_no_loss(
    database: Database, directory: TrafficDirectory
) -> None:
    """It is written down where the first was. The next hour has nothing to spare."""
    await in_ledger(database, hour=NOON - HOUR, answered=100, spooled=101, queued=101, dead=101)
    await in_ledger(database, hour=NOON, answered=101, spooled=100, queued=100, dead=100)
    before = await verified(database, directory)
    await in_ledger(database, hour=NOON + HOUR, answered=101, spooled=100, queued=100, dead=100)

    after = await verified(database, directory)

    assert before.is_right
    assert [str(found) for found in after.differences] == [
        "2024-11-07 13:00 UTC: answered, and written down: 101 and 100."
    ]


async def test_an_app_that_counts_no_answers_is_compared_with_none(
    database: Database, directory: TrafficDirectory
) -> None:
    await in_ledger(database, spooled=7, queued=7, dead=7)

    report = await verified(database, directory)

    assert (report.is_right, report.outside) == (True, None)


@pytest.mark.parametrize(
    "moved",
    [
        f"UPDATE traffic_hours SET path = '/9' WHERE span = {HOUR} AND path = '/1'",
        f"UPDATE traffic_buckets SET bucket = bucket + 1000 WHERE span = {HOUR}",
        f"UPDATE traffic_visitors SET visitor = visitor || 'f' WHERE span = {HOUR} AND path = ''",
    ],
    ids=["hours", "buckets", "visitors"],
)
async def test_a_sample_finds_what_is_right_in_number_and_wrong_in_kind(
    sixty: Database, directory: TrafficDirectory, moved: str
) -> None:
    await rows_of(sixty, moved)

    without = await verified(sixty, directory)
    report = await verified(sixty, directory, sample=1.0)

    assert without.is_right
    (fault,) = report.faults
    assert fault.startswith("Of a sample of 45 details ")


async def test_a_sample_is_the_same_every_time_and_of_the_size_that_was_asked_for(
    database: Database, directory: TrafficDirectory
) -> None:
    await shipped(database, [an_event(number, path="/1") for number in range(2000)])
    await consumed(database)
    await rows_of(database, f"UPDATE traffic_hours SET path = '/2' WHERE span = {HOUR}")

    tenth, again = [await verified(database, directory, sample=0.1) for _ in range(2)]
    nothing = await verified(database, directory, sample=0.0)

    assert tenth.sample == again.sample
    assert tenth.sample is not None
    assert 150 < tenth.sample.looked_up == tenth.sample.missing < 250
    assert nothing.sample is not None
    assert (nothing.sample.looked_up, nothing.is_right) == (0, True)

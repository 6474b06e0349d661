"""How the statistics fare, on both databases."""

import inspect
import re

import msgspec
import pytest

from dawr.traffic import status as module
from dawr.traffic.database import Database, statements
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE
from dawr.traffic.status import MOST_COUNTED, Heartbeat, OpenAlert, failed_gates, status, unspooled_sentence
from tests.traffic.builders import NOON, an_event, counted
from tests.traffic.tables import (
    WELL,
    a_damaged_line,
    a_dead_letter,
    a_heartbeat,
    a_message,
    in_ledger,
    many_messages,
    plan_of,
)

READ = set(re.findall(r'"(traffic_[a-z_]+)"', inspect.getsource(module)))


async def test_nothing_yet_is_no_fault_but_that_nobody_counts(database: Database) -> None:
    now = await status(database, NOON)

    assert (now.backlog, now.lag_seconds, now.consumed_share, now.error_rate) == (0, 0.0, None, None)
    assert failed_gates(now) == ["No traffic process runs: nothing is counted."]


def test_no_gate_holds_beside_a_critical_alert() -> None:
    alerts = (
        OpenAlert("traffic-rose", "warning", "More came.", 1.0, NOON),
        OpenAlert("error-rate", "critical", "Many failed.", 0.5, NOON),
    )

    assert failed_gates(msgspec.structs.replace(WELL, alerts=alerts)) == ["error-rate: Many failed."]


async def test_requests_that_no_file_has_are_told(database: Database) -> None:
    await a_heartbeat(database, unspooled=7)

    assert failed_gates(await status(database, NOON)) == [unspooled_sentence(7)]


async def test_a_spool_that_cannot_be_written_is_told_while_nothing_counts_the_requests(database: Database) -> None:
    await a_heartbeat(database, unwritable=1)

    assert failed_gates(await status(database, NOON)) == [unspooled_sentence(0)]


async def test_what_waits_is_counted_and_timed_by_the_first_that_is_due(database: Database) -> None:
    for due_at in (NOON - 7_000, NOON - 90_000, NOON + 16_000):
        await a_message(database, due_at=due_at)

    now = await status(database, NOON)

    assert (now.backlog, now.lag_seconds) == (3, 90.0)


async def test_what_waits_for_less_than_a_minute_is_not_missed(database: Database) -> None:
    await in_ledger(database, queued=1000, stored=700, duplicates=200, dead=98)
    await a_message(database, due_at=NOON - 59_000)
    await a_message(database, due_at=NOON - 61_000)

    now = await status(database, NOON)

    assert (now.sent, now.consumed) == (999, 998)
    assert now.consumed_share == 998 / 999


async def test_the_ledger_of_more_than_a_day_ago_says_nothing_about_now(database: Database) -> None:
    await in_ledger(database, hour=NOON - MS_PER_DAY - MS_PER_HOUR, queued=1000, lost=5)
    await in_ledger(database, hour=NOON - MS_PER_DAY, queued=10, stored=10)

    now = await status(database, NOON)

    assert (now.sent, now.consumed, now.lost) == (10, 10, 0)


@pytest.mark.parametrize("hours_ago", [0, 24], ids=["running hour", "first hour of the day"])
async def test_an_answer_whose_line_is_of_the_hour_before_is_no_loss(database: Database, hours_ago: int) -> None:
    """A repeat is written down in the hour of its first time, which may be a day and an hour ago."""
    hour = NOON - hours_ago * MS_PER_HOUR
    await in_ledger(database, hour=hour - MS_PER_HOUR, answered=100, spooled=103)
    await in_ledger(database, hour=hour, answered=103, spooled=100)

    assert (await status(database, NOON)).lost == 0


@pytest.mark.parametrize(
    ("figures", "lost"),
    [
        ({"answered": 410, "spooled": 10}, 400),
        ({"answered": 410, "spooled": 7, "lost": 3}, 403),
        ({"answered": 10, "spooled": 7, "lost": 3}, 3),
        ({"spooled": 7, "lost": 3}, 3),
        ({"answered": 10, "spooled": 410}, 0),
    ],
    ids=["lines gone", "lines gone and lost", "lost", "answers not counted", "lines left by a kill"],
)
async def test_answers_without_a_line_are_lost(database: Database, figures: dict[str, int], lost: int) -> None:
    """What another hour has too many of replaces none of them."""
    await in_ledger(database, hour=NOON - 2 * MS_PER_HOUR, answered=100, spooled=1000)
    await in_ledger(database, hour=NOON, **figures)

    found = await status(database, NOON)

    assert found.lost == lost
    assert any("were lost" in sentence for sentence in failed_gates(found)) is (lost > 0)


async def test_rates_are_those_of_the_latest_minutes_and_the_peak_of_a_day(database: Database) -> None:
    minutes_ago = {0: 2, 1: 7, 5: 3, 6: 50, 60: 9}
    events = [
        an_event(100 * ago + n, at=NOON - ago * MS_PER_MINUTE, status=500 if n == 0 else 200)
        for ago, count in minutes_ago.items()
        for n in range(count)
    ]
    await counted(database, events)

    now = await status(database, NOON + 30_000)

    assert (now.rpm, now.peak_rpm, now.requests, now.errors) == (7, 50, 12, 3)
    assert now.error_rate == 0.25


async def test_hosts_that_are_gone_for_a_day_are_left_out_but_never_the_last_one(database: Database) -> None:
    await a_heartbeat(database, "old", beat_at=NOON - 2 * MS_PER_DAY)
    alone = await status(database, NOON)
    await a_heartbeat(database, "new", beat_at=NOON - 5_000, spool_bytes=4096)

    both = await status(database, NOON)

    assert [beat.host for beat in alone.heartbeats] == ["old"]
    assert [(beat.host, beat.age_seconds) for beat in both.heartbeats] == [("new", 5.0)]
    assert both.spool_bytes == 4096


async def test_dead_letters_and_damaged_lines_are_told_apart(database: Database) -> None:
    for _ in range(2):
        await a_dead_letter(database)
    await a_damaged_line(database)

    now = await status(database, NOON)

    assert (now.dead_letters, now.damaged) == (2, 1)


@pytest.mark.parametrize(
    ("unwell", "sentence"),
    [
        ({"consumed": 998}, "Of 1,000 messages of 24 hours 998 were consumed: less than 99.9 %."),
        ({"backlog": 100}, "100 messages wait: 100 or more."),
        ({"backlog": MOST_COUNTED}, "10,000 or more messages wait: 100 or more."),
        ({"dead_letters": 2}, "2 dead letters wait for somebody: more than 0.1 % of what was consumed."),
        ({"lost": 1}, "1 requests of 24 hours were lost: `dawr traffic verify` names the hours."),
        ({"heartbeats": ()}, "No traffic process runs: nothing is counted."),
        (
            {"heartbeats": (Heartbeat("two", 1, "1", 181.0, 999.0, 0, 0, ""), *WELL.heartbeats)},
            "No heartbeat for more than 3 minutes: two.",
        ),
    ],
    ids=["consumed", "backlog", "many", "dead", "lost", "nobody", "silent"],
)
def test_a_gate_that_does_not_hold_is_named(unwell: dict[str, object], sentence: str) -> None:
    assert failed_gates(msgspec.structs.replace(WELL, **unwell)) == [sentence]


def test_every_gate_holds_up_to_its_bound() -> None:
    at_the_bound = msgspec.structs.replace(
        WELL, consumed=999, backlog=99, heartbeats=(Heartbeat("one", 1, "1", 180.0, 999.0, 0, 0, ""),)
    )

    assert failed_gates(at_the_bound) == []
    assert failed_gates(msgspec.structs.replace(WELL, dead_letters=1)) == []


async def test_no_look_at_the_status_reads_all_messages_or_any_detail(database: Database) -> None:
    """The rows of a queue that is long are read in the order of its key, and only up to the bound."""
    await many_messages(database, 3 * MOST_COUNTED)

    now = await status(database, NOON)
    backlog = await plan_of(database, "traffic_backlog", MOST_COUNTED)
    just_queued = await plan_of(database, "traffic_just_queued", NOON, NOON, MOST_COUNTED)

    assert now.backlog == MOST_COUNTED
    assert len(READ) == 8
    assert not [plan for plan in (backlog, just_queued) if "TEMP B-TREE" in plan or "Sort" in plan]
    assert not [name for name, sql in statements("sqlite").items() if name in READ and "traffic_events" in sql]

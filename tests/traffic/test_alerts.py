"""Alerts on a driven clock: told once, told again after ten minutes, ended, and not told for what did not last."""

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from dawr.reliability.lease import LeaseLost, Leases
from dawr.traffic.alert_rules import Bounds
from dawr.traffic.alerts import COOLDOWN_MS, KEPT_MS, Memory, evaluate
from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY, MS_PER_MINUTE
from dawr.traffic.sqlite import SqliteDatabase
from tests.traffic.builders import NOON, an_event, counted
from tests.traffic.tables import a_dead_letter, a_heartbeat, in_ledger, many_messages, rows_of

EVERY_MS = 10_000
WARNING_BACKLOG = 101


class Watch:
    """Evaluates every ten seconds, and keeps what was told."""

    def __init__(self, database: Database, memory: Memory | None = None) -> None:
        self.database = database
        self.memory = memory or Memory()
        self.now = NOON
        self.told: list[tuple[int, str, str]] = []

    async def once(self) -> list[str]:
        with capture_logs() as lines:
            found = await evaluate(self.database, self.now, self.memory)
        self.told += [(self.now, line["alert"], line["log_level"]) for line in lines]
        self.now += EVERY_MS
        return [alert.name for alert in found]

    async def until(self, end: int) -> None:
        while self.now <= end:
            await self.once()

    def seconds_of(self, name: str, level: str) -> list[int]:
        return [(at - NOON) // 1000 for at, told, said in self.told if (told, said) == (name, level)]


async def test_a_backlog_is_told_when_it_has_lasted_a_minute_and_again_after_ten(database: Database) -> None:
    watch = Watch(database)
    await many_messages(database, WARNING_BACKLOG, due_at=NOON + 10**9)

    await watch.until(NOON + 50_000)
    before = list(watch.told)
    await watch.until(NOON + 21 * MS_PER_MINUTE)

    assert before == []
    assert watch.seconds_of("backlog", "warning") == [60, 660, 1260]


async def test_a_backlog_of_less_than_a_minute_is_told_to_nobody(database: Database) -> None:
    watch = Watch(database)
    for _ in range(5):
        await many_messages(database, WARNING_BACKLOG, due_at=NOON + 10**9)
        await watch.until(watch.now + 40_000)
        await rows_of(database, "DELETE FROM traffic_queue")
        await watch.once()

    assert watch.told == []
    assert await rows_of(database, "SELECT * FROM traffic_alerts") == []


async def test_an_alert_ends_when_it_is_over_and_goes_on_when_it_comes_back_soon(database: Database) -> None:
    watch = Watch(database)
    await a_dead_letter(database)
    await watch.once()
    await rows_of(database, "DELETE FROM traffic_dead")
    await watch.once()
    ended = await rows_of(database, "SELECT name, ended_at - began_at FROM traffic_alerts")
    await a_dead_letter(database)

    back = await watch.once()
    await rows_of(database, "DELETE FROM traffic_dead")
    await watch.once()

    assert ended == [("dead-letters", EVERY_MS)]
    assert back == ["dead-letters"]
    assert [(name, level) for _, name, level in watch.told] == [("dead-letters", "warning"), ("dead-letters", "info")]
    assert await rows_of(database, "SELECT count(*) FROM traffic_alerts") == [(1,)]


async def test_a_worse_level_is_told_at_once_but_must_last_as_long(database: Database) -> None:
    watch = Watch(database)
    await many_messages(database, WARNING_BACKLOG, due_at=NOON + 10**9)
    await watch.until(NOON + 2 * MS_PER_MINUTE)
    await many_messages(database, 10_000, due_at=NOON + 10**9)

    await watch.until(NOON + 5 * MS_PER_MINUTE)

    assert watch.seconds_of("backlog", "warning") == [60]
    assert watch.seconds_of("backlog", "error") == [190]


async def test_a_process_that_begins_anew_goes_on_with_the_alerts_that_are_open(database: Database) -> None:
    watch = Watch(database)
    await many_messages(database, WARNING_BACKLOG, due_at=NOON + 10**9)
    await watch.until(NOON + 2 * MS_PER_MINUTE)

    watch.memory = Memory()
    await watch.until(NOON + 4 * MS_PER_MINUTE)

    assert watch.told == [(NOON + MS_PER_MINUTE, "backlog", "warning")]
    assert await rows_of(database, "SELECT name, ended_at FROM traffic_alerts") == [("backlog", None)]


async def test_what_happened_during_a_pause_is_not_taken_for_granted(database: Database) -> None:
    watch = Watch(database)
    await many_messages(database, WARNING_BACKLOG, due_at=NOON + 10**9)
    await watch.once()

    watch.now += 10 * MS_PER_MINUTE
    await watch.until(watch.now + 50_000)

    assert watch.told == []


async def test_whoever_lost_the_lease_changes_and_tells_nothing(database: Database) -> None:
    leases = Leases(database, lambda: NOON)
    first = await leases.take("traffic", "one")
    assert first is not None
    await leases.release(first)
    await leases.take("traffic", "two")
    await a_dead_letter(database)

    with capture_logs() as lines, pytest.raises(LeaseLost):
        await evaluate(database, NOON, Memory(), first)

    assert lines == []
    assert await rows_of(database, "SELECT * FROM traffic_alerts") == []


async def test_alerts_that_ended_a_month_ago_are_forgotten(database: Database) -> None:
    watch = Watch(database)
    await a_dead_letter(database)
    await watch.once()
    await rows_of(database, "DELETE FROM traffic_dead")
    await watch.once()

    watch.now += KEPT_MS
    await watch.once()

    assert await rows_of(database, "SELECT * FROM traffic_alerts") == []


async def test_traffic_is_compared_with_the_same_weekday_once_it_is_known(database: Database) -> None:
    """A week ago 100 requests came in these minutes and yesterday 300: now 250 are many, or few enough."""
    week, day = 7 * MS_PER_DAY, MS_PER_DAY
    for back, count in ((0, 250), (day, 300), (week, 100)):
        at = NOON - 5 * MS_PER_MINUTE - back
        await counted(database, [an_event(back // 1000 + n, at=at) for n in range(count)], now=at)
    watch = Watch(database)

    unknown = await watch.once()
    await counted(database, [an_event(-1, at=NOON - week - MS_PER_DAY)], now=NOON)
    known = await watch.once()

    assert unknown == []
    assert known == ["traffic-rose"]


async def test_a_picture_has_what_only_the_rules_want_to_know(database: Database) -> None:
    await in_ledger(database, lost=3)
    await a_heartbeat(database, "one", key_check="x")
    await a_heartbeat(database, "two", key_check="y")
    await rows_of(
        database, f"INSERT INTO traffic_archives VALUES (0, 0, 'f', 1, 0, '', '', 'written', {NOON - MS_PER_DAY})"
    )
    memory = Memory(Bounds(table_bytes=(1, 10**15)))

    with capture_logs() as lines:
        found = await evaluate(database, NOON, memory)

    assert {alert.name for alert in found} == {"events-lost", "keys-differ", "archive-failed", "tables-large"}
    assert {line["event"] for line in lines} == {"traffic.alert"}


async def test_a_rate_near_the_highest_of_all_times_is_told(database: Database) -> None:
    old, now = NOON - 3 * MS_PER_DAY, NOON - 6 * MS_PER_MINUTE
    await counted(database, [an_event(n, at=old) for n in range(20)], now=old)
    await counted(database, [an_event(n, at=now + n // 20 * MS_PER_MINUTE) for n in range(100, 140)], now=NOON)
    watch = Watch(database, Memory(Bounds(least_peak_rpm=10, least_before=1000)))

    await watch.until(NOON + 100_000)

    assert watch.seconds_of("rate-near-peak", "warning") == [60]


ups_and_downs = st.lists(st.tuples(st.sampled_from([0, 50, 200, 20_000]), st.integers(1, 120)), min_size=1, max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(day=ups_and_downs)
async def test_a_day_of_ups_and_downs_tells_each_alert_at_most_once_in_ten_minutes(
    day: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every stretch of so many evaluations has one backlog; dead letters come with the high ones."""
    database = SqliteDatabase(tmp_path_factory.mktemp("day") / "traffic.sqlite")
    await database.create_tables()
    watch = Watch(database, Memory(Bounds(backlog=(100, 10_000))))
    lasted = defaultdict[str, int](int)
    for backlog, times in day:
        await rows_of(database, "DELETE FROM traffic_queue")
        await _queue(database, backlog)
        for _ in range(times):
            if watch.now < NOON + MS_PER_DAY:
                await watch.once()
                lasted["warning"] = lasted["warning"] + EVERY_MS if backlog > 100 else 0
                lasted["error"] = lasted["error"] + EVERY_MS if backlog > 10_000 else 0
                _must_have_lasted(watch, lasted)
    await database.close()

    for level in ("warning", "error"):
        at = watch.seconds_of("backlog", level)
        assert all(later - earlier >= COOLDOWN_MS // 1000 for earlier, later in pairwise(at))


async def _queue(database: Database, count: int) -> None:
    if count:
        await many_messages(database, count, due_at=NOON + 2 * MS_PER_DAY)


def _must_have_lasted(watch: Watch, lasted: dict[str, int]) -> None:
    just_now = watch.now - EVERY_MS
    for at, _, level in watch.told:
        if at == just_now and level in lasted:
            assert lasted[level] - EVERY_MS >= MS_PER_MINUTE

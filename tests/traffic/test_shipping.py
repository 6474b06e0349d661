"""From spools to the queue: each line once, whatever goes wrong on the way, on both databases."""

import shutil
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from dawr.traffic import spool_reader
from dawr.traffic.database import Database, DatabaseAway, Transaction
from dawr.traffic.event import MS_PER_HOUR, Event, encoded
from dawr.traffic.shipping import ASK_AGAIN_MS, Shipper
from dawr.traffic.spool import MOST_IN_MEMORY, Spool, framed
from dawr.traffic.spool_file import HEADER, counters_beside
from tests.traffic.builders import NOON, an_event
from tests.traffic.faults import FaultyDatabase
from tests.traffic.tables import rows_of

T = TypeVar("T")

LINES = 30
QUEUED = "SELECT hour, body FROM traffic_queue ORDER BY seq"
LEDGER = "SELECT hour, answered, spooled, queued, damaged, lost FROM traffic_ledger ORDER BY hour"

_names = count(1)


def written(spools: Path, events: Sequence[Event]) -> Spool:
    """By a process that still runs."""
    spool = Spool(spools, lambda: f"{next(_names):04}")
    for event in events:
        spool.append(encoded(event), event.timestamp)
        spool.count_answer()
    return spool


def left(spools: Path) -> int:
    """How many spools are there."""
    return len(list(spools.glob("*.spool")))


async def bodies(database: Database) -> list[str]:
    return [body for _, body in await rows_of(database, QUEUED)]


async def test_each_line_comes_once_while_its_process_goes_on(database: Database, tmp_path: Path) -> None:
    events = [an_event(number) for number in range(LINES)]
    shipper = Shipper(database, tmp_path, lambda: NOON)
    with written(tmp_path, events[:10]) as spool:
        assert await shipper.ship() == 10
        assert await shipper.ship() == 0
        for event in events[10:]:
            spool.append(encoded(event), NOON)

        assert await shipper.ship() == LINES - 10

        assert await bodies(database) == [encoded(event).decode() for event in events]
        assert await rows_of(database, LEDGER) == [(NOON, 10, LINES, LINES, 0, 0)]
        assert left(tmp_path) == 1


async def test_the_spool_of_a_process_that_is_gone_is_removed_and_forgotten(database: Database, tmp_path: Path) -> None:
    written(tmp_path, [an_event(1)]).close()
    written(tmp_path, [an_event(2)]).close()

    assert await Shipper(database, tmp_path, lambda: NOON).ship() == 2

    assert left(tmp_path) == 0
    assert await rows_of(database, "SELECT spool FROM traffic_spools") == []


async def test_a_torn_line_is_set_aside_and_counted_and_its_mates_are_shipped(
    database: Database, tmp_path: Path
) -> None:
    torn = framed(b"{}")[:-3] + b"\xff\0"
    lines = framed(b'"first"') + b"deadbeef {}\n" + framed(b'"last"') + torn
    (tmp_path / f"{NOON:013}-x.spool").write_bytes(HEADER + lines)

    await Shipper(database, tmp_path, lambda: NOON + 1).ship()

    dead = await rows_of(database, "SELECT at, hour, kind, tries, body FROM traffic_dead ORDER BY seq")
    assert await bodies(database) == ['"first"', '"last"']
    assert dead == [
        (NOON + 1, NOON, "damaged", 0, "deadbeef {}"),
        (NOON + 1, NOON, "damaged", 0, repr(torn)[2:-1]),
    ]
    assert await rows_of(database, LEDGER) == [(NOON, 0, 2, 2, 2, 0)]


async def test_over_the_full_hour_each_hour_has_its_own(database: Database, tmp_path: Path) -> None:
    """The process also lost some in either hour, and says so."""
    events = [an_event(number, at=NOON + MS_PER_HOUR - 2 + number) for number in range(5)]
    spool = written(tmp_path, events)
    spool.append(b'{"lost":[[%d,7],[%d,1]]}' % (NOON, NOON + MS_PER_HOUR), NOON + MS_PER_HOUR)
    spool.close()

    await Shipper(database, tmp_path, lambda: NOON).ship()

    assert await rows_of(database, LEDGER) == [(NOON, 2, 2, 2, 0, 7), (NOON + MS_PER_HOUR, 3, 3, 3, 0, 1)]


async def test_wherever_the_database_goes_away_each_line_comes_once(database: Database, tmp_path: Path) -> None:
    """Also when it had committed, and could not say so."""
    expected: list[str] = []
    for moment in count(1):
        events = [an_event(1000 * moment + number) for number in range(3)]
        expected += [encoded(event).decode() for event in events]
        faulty = FaultyDatabase(database, moment)
        shipper = Shipper(faulty, tmp_path, lambda: NOON)
        with written(tmp_path, events[:2]) as spool:
            await shipped(shipper)
            spool.append(encoded(events[2]), NOON)
            await shipped(shipper)
        await shipped(shipper)
        await shipped(shipper)

        assert await bodies(database) == expected, moment
        assert left(tmp_path) == 0
        if not faulty.has_failed:
            break
    assert moment > 15


async def shipped(shipper: Shipper) -> None:
    try:
        await shipper.ship()
    except DatabaseAway:
        await shipper.ship()


async def test_a_database_that_lost_what_it_had_said_gets_it_again(database: Database, tmp_path: Path) -> None:
    """As a server that crashed before its disk had the last commits."""
    now = NOON
    shipper = Shipper(database, tmp_path, lambda: now)
    with written(tmp_path, [an_event(number) for number in range(LINES)]):
        await shipper.ship()
        await rows_of(database, "DELETE FROM traffic_queue")
        await rows_of(database, "DELETE FROM traffic_spools")

        now += ASK_AGAIN_MS

        assert await shipper.ship() == LINES
        assert len(await bodies(database)) == LINES


async def test_a_server_that_crashed_before_the_sync_keeps_the_spool(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, [an_event(1)]).close()
    own = database.sync

    async def crashed_before() -> None:
        await rows_of(database, "DELETE FROM traffic_queue")
        await rows_of(database, "DELETE FROM traffic_spools")
        monkeypatch.setattr(database, "sync", own)

    monkeypatch.setattr(database, "sync", crashed_before)
    shipper = Shipper(database, tmp_path, lambda: NOON)

    await shipper.ship()
    assert left(tmp_path) == 1
    await shipper.ship()

    assert await bodies(database) == [encoded(an_event(1)).decode()]
    assert left(tmp_path) == 0


async def test_a_spool_that_cannot_be_read_costs_only_itself_and_is_told(database: Database, tmp_path: Path) -> None:
    (tmp_path / f"{0:013}-aaaa-000000.spool").mkdir()
    written(tmp_path, [an_event(1)]).close()
    shipper = Shipper(database, tmp_path, lambda: NOON)

    assert await shipper.ship() == 1

    assert shipper.unreadable == 1
    (tmp_path / f"{0:013}-aaaa-000000.spool").rmdir()
    await shipper.ship()
    assert shipper.unreadable == 0


@pytest.mark.parametrize(("counted", "answered"), [(2, 2), (2**63 + 7, MOST_IN_MEMORY + 2)])
async def test_answers_that_an_earlier_version_counted_in_the_spool_are_shipped(
    database: Database, tmp_path: Path, counted: int, answered: int
) -> None:
    """A damaged number counts no more than could have been waiting."""
    header = HEADER[:16] + counted.to_bytes(8, "little") + HEADER[24:]
    lines = b"".join(framed(encoded(an_event(number))) for number in range(2))
    (tmp_path / f"{NOON:013}-old-000000.spool").write_bytes(header + lines)

    await Shipper(database, tmp_path, lambda: NOON).ship()

    assert await rows_of(database, LEDGER) == [(NOON, answered, 2, 2, 0, 0)]
    assert left(tmp_path) == 0


async def test_answers_are_counted_also_when_their_lines_are_gone(database: Database, tmp_path: Path) -> None:
    written(tmp_path, [an_event(number) for number in range(LINES)]).close()
    shutil.rmtree(tmp_path)

    await Shipper(database, tmp_path, lambda: NOON).ship()

    assert await rows_of(database, LEDGER) == [(NOON, LINES, 0, 0, 0, 0)]
    assert [*counters_beside(tmp_path).iterdir()] == []
    assert await rows_of(database, "SELECT spool FROM traffic_spools") == []


async def test_at_no_moment_has_the_ledger_more_answers_than_lines(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while a spool is read in pieces, and while requests come that are not read yet."""
    monkeypatch.setattr(spool_reader, "MOST_READ", 2000)
    later = [an_event(number) for number in range(LINES, 2 * LINES)]
    own, seen = database.transact, list[tuple[int, int]]()

    async def transact_and_go_on(work: Callable[[Transaction], Awaitable[T]]) -> T:
        done = await own(work)
        [(_, answered, spooled, *_)] = await database.select_rows("verify_ledger", NOON, NOON + 1)
        seen.append((answered, spooled))
        if later:
            spool.append(encoded(later.pop()), NOON)
            spool.count_answer()
        return done

    with written(tmp_path, [an_event(number) for number in range(LINES)]) as spool:
        monkeypatch.setattr(database, "transact", transact_and_go_on)
        shipper = Shipper(database, tmp_path, lambda: NOON)
        while later:
            await shipper.ship()
        await shipper.ship()

    assert [(answered, spooled) for answered, spooled in seen if answered > spooled] == []
    assert seen[0][1] < LINES
    assert seen[-1] == (2 * LINES, 2 * LINES)


async def test_a_spool_that_is_removed_in_use_counts_lines_and_answers_once(database: Database, tmp_path: Path) -> None:
    spools = tmp_path / "spool"
    shipper = Shipper(database, spools, lambda: NOON)
    with written(spools, [an_event(number) for number in range(10)]) as spool:
        await shipper.ship()
        shutil.rmtree(spools)
        spool.sync()
        spool.flush()
        await shipper.ship()
        spool.append(encoded(an_event(10)), NOON)
        spool.count_answer()

        assert await shipper.ship() == 1

    assert await rows_of(database, LEDGER) == [(NOON, 11, 11, 11, 0, 0)]


@pytest.mark.parametrize("is_repaired", [True, False], ids=["repaired", "stopped"])
async def test_answers_whose_lines_wait_in_memory_are_lost_only_with_their_process(
    database: Database, tmp_path: Path, *, is_repaired: bool
) -> None:
    """Also those of the hour before, whose counter is over."""
    spools = tmp_path / "spool"
    shipper = Shipper(database, spools, lambda: NOON)
    with written(spools, [an_event(number) for number in range(2)]) as spool:
        await shipper.ship()
        shutil.rmtree(spools)
        spools.write_text("no directory can be here")
        spool.sync()
        for number, at in enumerate([NOON] * 3 + [NOON + MS_PER_HOUR] * 4, start=2):
            assert not spool.append(encoded(an_event(number, at=at)), at)
            spool.count_answer()
        spool.sync()

        await shipper.ship()
        assert await rows_of(database, LEDGER) == [(NOON, 2, 2, 2, 0, 0)]
        assert shipper.unspooled == 9

        if is_repaired:
            spools.unlink()
    await shipper.ship()

    lines = (5, 4) if is_repaired else (2, 0)
    assert await rows_of(database, LEDGER) == [
        (NOON, 5, lines[0], lines[0], 0, 0),
        (NOON + MS_PER_HOUR, 4, lines[1], lines[1], 0, 0),
    ]
    assert [*counters_beside(spools).iterdir()] == []


async def test_a_damaged_counter_counts_nothing_and_is_removed(database: Database, tmp_path: Path) -> None:
    counters = counters_beside(tmp_path)
    counters.mkdir()
    (counters / f"{NOON:013}-zeros-000000.answers").write_bytes(bytes(32))
    (counters / f"{NOON:013}-short-000000.answers").write_bytes(b"")

    await Shipper(database, tmp_path, lambda: NOON).ship()

    assert await rows_of(database, LEDGER) == []
    assert [*counters.iterdir()] == []

"""SQLite on a disk that is full, held by somebody else, or gone; and the pragmas that keep its promise."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import apsw
import pytest
from structlog.testing import capture_logs

from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.snapshots import LookAtQueue
from dawr.ports import Session
from dawr.ports.faults import OutcomeUnknown, StoreAway, StoreDamaged, StoreMissing
from dawr.stores.sqlite import SqliteStore
from dawr.stores.sqlite_connections import open_reading
from tests.builders import DrivenClock, a_claim, a_venue, issue
from tests.stores.databases import SqliteDatabase, wall_clock
from tests.stores.doing import create_venue, events_of, numbers, rendered, stored_head, take, together

READING_A_URI = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
SMALL_DISK_BYTES = 1_500_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "dawr.db", clock=wall_clock)
    await store.migrate()
    yield store
    await store.close()


async def test_the_writer_waits_for_the_disk_and_readers_cannot_write(store: SqliteStore, venue: Venue) -> None:
    writing = {name: in_writer(store, f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "mmap_size")}
    reader = open_reading(store.path)

    assert writing == {"journal_mode": "wal", "synchronous": 2, "mmap_size": 0}
    with contextlib.closing(reader), pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM venues")


async def test_when_the_file_may_not_grow_nothing_is_stored_and_it_works_again_with_room(
    store: SqliteStore, engine: Engine, venue: Venue
) -> None:
    await take(engine, venue)
    pages = in_writer(store, "PRAGMA page_count")
    in_writer(store, f"PRAGMA max_page_count = {pages}")

    outcomes = await together(*(engine.do(venue.id, issue(visitor=f"{n:0>100}")) for n in range(200)))
    in_writer(store, "PRAGMA max_page_count = 1000000")

    assert set(numbers(outcomes)) == {"StoreAway"}
    assert (await stored_head(store, venue)).version == 1
    assert (await take(engine, venue)).number == 2


async def test_when_the_disk_is_full_nothing_is_lost_and_nothing_is_half_stored(
    small_disk: Path, clock: DrivenClock
) -> None:
    store = SqliteStore(small_disk / "dawr.db", clock=wall_clock)
    await store.migrate()
    engine = Engine(store, clock)
    venue = await create_venue(store, a_venue())
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(200_000))

    given = 0
    while numbers(outcomes := await together(engine.do(venue.id, issue())))[0] == given + 1:
        given += 1
    refused = numbers(outcomes)
    with pytest.raises(StoreAway):
        await store.ping()
    ballast.unlink()
    after = await take(engine, venue)
    await store.ping()
    versions = [event.version for event in await events_of(engine, venue)]
    faults = await store.faults()
    await store.close()

    assert given > 10
    assert refused == ["StoreAway"]
    assert after.number == given + 1
    assert versions == list(range(1, given + 2))
    assert faults == []


async def test_a_store_closes_even_when_the_disk_is_full(small_disk: Path) -> None:
    store = SqliteStore(small_disk / "dawr.db", clock=wall_clock)
    await store.migrate()
    fill(small_disk / "ballast")

    await store.close()

    assert not open_files_in(small_disk) - {"ballast"}


async def test_a_ping_that_fails_half_way_leaves_nothing_open(store: SqliteStore, engine: Engine, venue: Venue) -> None:
    connection = store._connection()
    connection.authorizer = lambda action, *_: apsw.SQLITE_DENY if action == apsw.SQLITE_PRAGMA else apsw.SQLITE_OK
    with pytest.raises(StoreAway):
        await store.ping()
    connection.authorizer = None

    await store.ping()

    assert (await take(engine, venue)).number == 1


async def test_a_removed_log_is_saved_before_anybody_is_told_though_nothing_is_stored(
    store: SqliteStore, engine: Engine, venue: Venue
) -> None:
    for _ in range(3):
        await take(engine, venue)
    await store.check_files()
    store.path.with_name(f"{store.path.name}-wal").unlink()

    with pytest.raises(StoreMissing):
        await store.check_files()
    await store.check_files()

    with contextlib.closing(apsw.Connection(f"file:{store.path}?immutable=1", flags=READING_A_URI)) as alone:
        assert alone.execute("SELECT number FROM tickets ORDER BY number").fetchall() == [(1,), (2,), (3,)]
    with pytest.raises(StoreMissing):
        await take(engine, venue)


async def test_a_file_that_somebody_else_writes_to_is_busy(store: SqliteStore, engine: Engine, venue: Venue) -> None:
    await take(engine, venue)
    in_writer(store, "PRAGMA busy_timeout = 10")
    other = apsw.Connection(str(store.path))
    other.execute("BEGIN IMMEDIATE")

    outcomes = await together(engine.do(venue.id, issue()))
    looked = await engine.read(venue.id, LookAtQueue("lab"))
    with pytest.raises(StoreAway):
        await store.ping()
    other.execute("ROLLBACK")
    other.close()

    assert numbers(outcomes) == ["StoreAway"]
    assert looked.line.last_number == 1
    assert (await take(engine, venue)).number == 2
    await store.ping()


async def test_a_commit_that_fails_without_a_reason_is_unknown_and_a_retry_finds_out(
    store: SqliteStore, engine: Engine, venue: Venue
) -> None:
    refuse = [True]
    writer = store._writer.submit(store._connection).result()
    writer.set_commit_hook(lambda: refuse[0])

    with pytest.raises(OutcomeUnknown):
        await engine.answer(venue.id, issue(), rendered, claim=a_claim())
    refuse[0] = False
    retried = await engine.answer(venue.id, issue(), rendered, claim=a_claim())

    assert not retried.replayed
    assert retried.body.endswith(b"has number 1")


async def test_work_that_fails_in_any_way_is_rolled_back(store: SqliteStore, engine: Engine, venue: Venue) -> None:
    async def work(session: Session) -> None:
        in_thread = store._connection()
        in_thread.execute("DELETE FROM venues")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await store.transact([venue.id], work)

    assert await store.venue_ids() == {venue.slug: venue.id}
    assert (await take(engine, venue)).number == 1


async def test_a_file_that_is_no_database_is_said_to_be_away(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear Sir or Madam, this is not a database at all, and it never was one." * 20)
    store = SqliteStore(path, clock=wall_clock)

    with pytest.raises(StoreAway):
        await store.migrate()

    await store.close()


async def test_damage_stays_known_however_long_nothing_is_asked(tmp_path: Path, clock: DrivenClock) -> None:
    path = tmp_path / "dawr.db"
    venue = await filled(path)
    store = SqliteStore(path, clock=clock)
    await store.ping()
    damage(path)

    outcomes = await together(Engine(store, clock).do(venue.id, issue()))
    clock.now += 60 * 60 * 1000

    assert numbers(outcomes) == ["StoreDamaged"]
    for asked in (store.ping(), store.purge_answers(0, most=1), store.transact([venue.id], nothing)):
        with pytest.raises(StoreDamaged, match=r"dawr\.db is damaged .*`dawr restore --replace --data .* BACKUP`"):
            await asked
    await store.close()


async def test_a_reader_that_meets_damage_tells_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "dawr.db"
    venue = await filled(path)
    store = SqliteStore(path, clock=wall_clock)
    damage(path)

    with pytest.raises(StoreDamaged):
        await Engine(store, wall_clock).read(venue.id, LookAtQueue("lab"))
    with pytest.raises(StoreDamaged):
        await store.ping()
    await store.close()


async def test_damage_is_logged_once(tmp_path: Path) -> None:
    path = tmp_path / "dawr.db"
    await filled(path)
    damage(path)
    store = SqliteStore(path, clock=wall_clock)
    engine = Engine(store, wall_clock)

    with capture_logs() as lines:
        for _ in range(3):
            with pytest.raises(StoreDamaged):
                await engine.ready()
    await store.close()

    assert [(line["event"], line["log_level"]) for line in lines] == [("store.damaged", "error")]


async def test_a_whole_file_is_inspected_to_its_end_and_a_large_one_in_part(tmp_path: Path) -> None:
    await filled(tmp_path / "dawr.db")
    store = SqliteStore(tmp_path / "dawr.db", clock=wall_clock)

    assert await store.inspect(seconds=60)
    assert not await store.inspect(seconds=0)
    await store.ping()
    await store.close()


async def filled(path: Path) -> Venue:
    """Some hundred pages, all of them in the file."""
    store = SqliteStore(path, clock=wall_clock)
    await store.migrate()
    venue = await create_venue(store, a_venue())
    await together(*(Engine(store, wall_clock).do(venue.id, issue(visitor=f"{n:0>100}")) for n in range(200)))
    await store.close()
    return venue


def damage(path: Path) -> None:
    """All but the first page, which has the schema's beginning."""
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))


async def nothing(_: Session) -> None:
    pass


async def test_a_file_that_is_not_there_is_said_to_be_away(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "nowhere" / "dawr.db", clock=wall_clock)

    with pytest.raises(StoreAway):
        await store.ping()
    with pytest.raises(StoreAway):
        await store.venue_ids()

    await store.close()


async def test_whoever_gave_up_waiting_for_the_turn_gives_it_back_without_the_event_loop(store: SqliteStore) -> None:
    """As when several are told to stop while somebody writes, and the store is closed at once."""
    store._turn.acquire()
    waiting = [asyncio.create_task(store.purge_answers(0, most=1)) for _ in range(3)]
    await asyncio.sleep(0)
    for one in waiting:
        one.cancel()
    await asyncio.wait(waiting)

    store._turn.release()
    store._queueing.shutdown()

    assert store._turn.acquire(blocking=False)
    store._turn.release()


async def test_closing_leaves_one_file_with_everything_in_it(tmp_path: Path, clock: DrivenClock) -> None:
    store = SqliteStore(tmp_path / "dawr.db", clock=wall_clock)
    await store.migrate()
    venue = await create_venue(store, a_venue())
    await take(Engine(store, clock), venue)

    await store.close()

    assert names_in(tmp_path) == ["dawr.db"]
    assert await SqliteDatabase(tmp_path / "dawr.db").rows("SELECT count(*) FROM tickets") == [(1,)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is quickly full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mounting, check=False).returncode != 0:
        pytest.skip("Only root may mount a small disk; a file that may not grow is tested for everybody.")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def in_writer(store: SqliteStore, pragma: str) -> object:
    """A pragma on the connection that writes."""

    def run() -> object:
        rows = store._connection().execute(pragma).fetchall()
        return rows[0][0] if rows else None

    return store._writer.submit(run).result()


def names_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def open_files_in(directory: Path) -> set[str]:
    """Names of files there that this process still holds open."""
    held = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            file = descriptor.readlink()
            if file.parent == directory:
                held.add(file.name)
    return held

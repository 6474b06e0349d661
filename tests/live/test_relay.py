"""A change that one process commits reaches who watches through another, by a hint; and no truth hangs on the hint."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from dawr.domain.account import AccountId
from dawr.live import relay as relays
from dawr.operations.people import AddStaff
from tests.builders import call_next
from tests.live.relays import Process, all_hear, process, read_until, until
from tests.live.watching import Watched, events, read, versions
from tests.servers import ValkeyServer, server_directory
from tests.stores.databases import Database, PostgresDatabase


@pytest.fixture
def database(postgres_url: str) -> Database:
    """Several processes share PostgreSQL."""
    return PostgresDatabase(postgres_url)


@pytest.fixture
async def two(watched: Watched, valkey_server: ValkeyServer) -> AsyncIterator[tuple[Process, Process]]:
    async with process(watched, valkey_server.url) as here, process(watched, valkey_server.url) as there:
        await all_hear(here, there)
        yield here, there


async def test_a_change_reaches_who_watches_through_another_process_though_nobody_looks(
    two: tuple[Process, Process],
) -> None:
    here, there = two
    watcher = await there.watched.changes()

    await here.watched.take()

    sent = await read_until(watcher, 1)
    assert versions(sent) == [0, 1]
    assert events(sent) == ["hello", "ticket.issued"]


async def test_changes_of_both_reach_everybody_once_and_in_order(two: tuple[Process, Process]) -> None:
    watchers = [await process.watched.changes() for process in two for _ in range(3)]

    await asyncio.gather(*(process.watched.take() for _ in range(100) for process in two))

    for watcher in watchers:
        assert versions(await read_until(watcher, 200)) == list(range(201))


async def test_a_visit_that_goes_on_in_one_process_is_followed_in_another(two: tuple[Process, Process]) -> None:
    here, there = two
    visit = await here.watched.start()
    watcher = await there.watched.visit(visit.visit_id)
    await read(watcher)

    await here.watched.finish(visit)
    await here.watched.do(call_next("xray"))

    sent = await read_until(watcher, 6)
    assert [(one.event, one.data["clinic"]) for one in sent if one.event in {"YOUR_TURN", "STEP_DONE_NEXT"}] == [
        ("YOUR_TURN", "lab"),
        ("STEP_DONE_NEXT", "lab"),
        ("YOUR_TURN", "xray"),
    ]


async def test_what_is_heard_while_it_reads_is_one_more_read(two: tuple[Process, Process]) -> None:
    here, there = two
    watcher = await there.watched.changes()
    (feed,) = there.watched.hub._feeds.values()
    there.reads.reads, may_read = 0, asyncio.Event()

    async def until_it_may() -> None:
        await may_read.wait()

    there.reads.after = until_it_may
    for _ in range(30):
        await here.watched.take()
    await until(lambda: feed._known == 30)
    may_read.set()

    assert versions(await read_until(watcher, 30)) == list(range(31))
    assert there.reads.reads == 2


async def test_what_happens_at_once_is_one_hint(two: tuple[Process, Process]) -> None:
    here, there = two
    words: list[bytes] = []
    listening = asyncio.create_task(there.relay._channel.listen(words.append, lambda: None))
    watcher = await there.watched.changes(staff=True)
    await all_hear(here, there, there)

    for _ in range(100):
        here.watched.hub.judge_again(here.watched.venue.id)
    await until(lambda: watcher.is_ended and bool(words))
    await here.relay.close()

    assert len(words) == 1
    listening.cancel()
    await asyncio.wait([listening])


async def test_a_hint_costs_no_read_where_nobody_watches_or_it_is_known(two: tuple[Process, Process]) -> None:
    here, there = two
    await here.watched.take()
    nothing_heard = there.reads.reads
    watcher = await there.watched.changes()
    assert versions(await read(watcher)) == [1]
    before = there.reads.reads

    there.watched.hub.hear_of(there.watched.venue.id, 1, 1)
    there.watched.hub.hear_of(there.watched.venue.id, 1, 0)
    await here.watched.take()
    await read_until(watcher, 2)

    assert nothing_heard == 0
    assert there.reads.reads == before + 1


async def test_nobody_hears_their_own_hint(two: tuple[Process, Process]) -> None:
    here, there = two
    watcher, elsewhere = await here.watched.changes(), await there.watched.changes(staff=True)

    here.watched.hub.judge_again(here.watched.venue.id)
    returned = await here.watched.changes(staff=True)
    await until(lambda: elsewhere.is_ended)
    await there.watched.take()
    await read_until(watcher, 1)  # what was said before it was heard before it

    assert not returned.is_ended


async def test_a_hint_that_comes_while_it_reads_is_not_lost(two: tuple[Process, Process]) -> None:
    here, there = two
    watcher = await there.watched.changes()

    async def commit_elsewhere() -> None:
        """After the picture was taken, and heard of before it is looked at."""
        there.reads.after = None
        await here.watched.take()
        await until(lambda: feed._known == 1)

    (feed,) = there.watched.hub._feeds.values()
    there.reads.after = commit_elsewhere
    there.watched.hub.hear_of(there.watched.venue.id, 2, 0)  # of another epoch: it must look

    assert versions(await read_until(watcher, 1)) == [0, 1]


async def test_staff_whose_place_changed_must_show_again_in_every_process(two: tuple[Process, Process]) -> None:
    here, there = two
    staff, visitor = await there.watched.changes(staff=True), await there.watched.changes()

    await here.watched.do(AddStaff(AccountId("a"), "sara", "staff", None))

    await until(lambda: staff.is_ended)
    assert not visitor.is_ended


async def test_who_signed_out_in_one_process_is_judged_again_in_the_others(two: tuple[Process, Process]) -> None:
    """No event tells of it."""
    here, there = two
    staff, visitor = await there.watched.changes(staff=True), await there.watched.changes()
    here_too = await here.watched.changes(staff=True)

    here.watched.hub.judge_again(here.watched.venue.id)

    assert here_too.is_ended
    await until(lambda: staff.is_ended)
    assert not visitor.is_ended


async def test_another_installation_on_the_same_server_hears_nothing(
    two: tuple[Process, Process], watched: Watched, valkey_server: ValkeyServer
) -> None:
    here, there = two
    async with process(watched, valkey_server.url, installation="elsewhere") as stranger:
        await all_hear(stranger)
        watcher, ours = await stranger.watched.changes(), await there.watched.changes()

        await here.watched.take()
        await read_until(ours, 1)

        assert versions(await read(watcher)) == [0]
        await until(lambda: here.relay.processes == 2)
        assert stranger.relay.processes == 1


async def test_what_is_no_hint_is_passed_over(two: tuple[Process, Process], valkey_server: ValkeyServer) -> None:
    here, there = two
    watcher = await there.watched.changes()
    for word in (b"", b"garbage", b"\x93\xa1x\x90", b"\x90"):
        await here.relay._channel.publish(word)

    await here.watched.take()

    assert versions(await read_until(watcher, 1)) == [0, 1]


async def test_without_valkey_nothing_fails_and_its_return_brings_what_was_missed(watched: Watched) -> None:
    with server_directory() as directory, ValkeyServer(directory) as valkey:
        async with process(watched, valkey.url) as here, process(watched, valkey.url) as there:
            await all_hear(here, there)
            watcher = await there.watched.changes()
            await here.watched.take()
            await read_until(watcher, 1)

            valkey.kill()
            async with asyncio.timeout(30):
                for _ in range(20):
                    await here.watched.take()
            await until(lambda: here.shared.is_away)
            await there.watched.hub.poll()
            assert versions(await read(watcher)) == list(range(2, 22))
            await here.watched.take()
            valkey.start()

            assert versions(await read_until(watcher, 22)) == [22]
            await until(lambda: not here.shared.is_away)
            await all_hear(here, there)
            await here.watched.take()
            assert versions(await read_until(watcher, 23)) == [23]
            assert here.relay.processes == 2


async def test_the_last_commit_before_the_end_is_told_too(
    watched: Watched, valkey_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "GATHERING_SECONDS", 0.5)
    async with process(watched, valkey_server.url) as there:
        await all_hear(there)
        watcher = await there.watched.changes()
        async with process(watched, valkey_server.url) as tool:
            await tool.watched.take()
            assert versions(await read_until(watcher, 1)) == [0, 1]
            await tool.watched.take()

        assert versions(await read_until(watcher, 2)) == [2]


async def test_nobody_who_commits_waits_for_a_server_that_hangs(watched: Watched) -> None:
    with server_directory() as directory, ValkeyServer(directory) as valkey:
        async with process(watched, valkey.url) as here:
            await all_hear(here)
            os.kill(valkey.pid, signal.SIGSTOP)
            try:
                await here.watched.take()

                assert here.relay._drain.is_running
                await here.watched.take()
                await until(lambda: here.shared.is_away)
                await here.watched.take()
            finally:
                os.kill(valkey.pid, signal.SIGCONT)
            await until(lambda: not here.shared.is_away)

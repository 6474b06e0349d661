"""Who watches as staff watches no longer than they are signed in, whichever process ended that."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from dawr.bootstrap.installation import MS_PER_HOUR, Dawr
from dawr.domain.venue import Venue, VenueId
from dawr.live.joining import Wish
from dawr.live.watcher import Watcher
from tests.accounts.doing import PASSWORD, add, signed_in
from tests.builders import DrivenClock, a_queue, a_venue, issue
from tests.running import Client
from tests.serving import installed, quiet, served
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.stores.doing import create_venue
from tests.web.streams import Reader

SIGN_OUT: tuple[str, dict[str, str]] = ("/v1/logout", {})
CHANGE_PASSWORD = ("/v1/me/password", {"old": PASSWORD, "new": "a longer walk to the sea"})
CREDENTIALS = ["bearer", "cookie"]


class Process(msgspec.Struct, frozen=True):
    """An installation that hears nothing of what others do, but by looking."""

    dawr: Dawr
    url: str
    readers: AsyncExitStack

    async def watch(self, headers: dict[str, str] | None = None) -> Reader:
        stream = await Reader.open(self.url, "/v1/events?venue=clinic", headers)
        self.readers.push_async_callback(stream.close)
        return stream

    async def post(self, path: str, given: object, bearer: str) -> int:
        def post() -> int:
            with Client(self.url) as client:
                return client.post(path, given, bearer=bearer).status

        return await asyncio.to_thread(post)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return SqliteDatabase(tmp_path / "dawr.db")
    return PostgresDatabase(request.getfixturevalue("postgres_url"))


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
async def processes(database: Database, clock: DrivenClock) -> AsyncIterator[tuple[Process, Process, Venue]]:
    """Two over one database, with Amna and Sara at its venue."""
    store = await database.open()
    await store.migrate()
    venue = await create_venue(store, msgspec.structs.replace(a_venue(a_queue("lab")), slug="clinic"))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        sides = []
        for own in (store, await stack.enter_async_context(database.share(store))):
            dawr = await stack.enter_async_context(installed(own, clock, quiet()))
            url = await stack.enter_async_context(served(dawr))
            sides.append(Process(dawr, url, await stack.enter_async_context(AsyncExitStack())))
        here, there = sides
        await add(here.dawr.accounts, venue, "amna")
        await add(here.dawr.accounts, venue, "sara")
        yield here, there, venue
        here.dawr.hub.close()
        there.dawr.hub.close()


def shown(session: str, how: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {session}"} if how == "bearer" else {"Cookie": f"dawr={session}"}


@pytest.mark.parametrize("how", CREDENTIALS)
@pytest.mark.parametrize("asked", [SIGN_OUT, CHANGE_PASSWORD])
async def test_who_signs_out_in_another_process_is_shown_no_more_after_the_next_poll(
    processes: tuple[Process, Process, Venue], asked: tuple[str, object], how: str
) -> None:
    here, there, _ = processes
    session = await signed_in(here.dawr.accounts, "amna")
    stream = await here.watch(shown(session, how))
    of_others = await here.watch(shown(await signed_in(here.dawr.accounts, "sara"), how)), await here.watch()
    await here.dawr.hub.poll()
    assert here.dawr.hub.streams == 3

    assert await there.post(*asked, bearer=session) == 200
    assert here.dawr.hub.streams == 3
    await here.dawr.hub.poll()

    assert (await stream.rest())[-1].retry
    assert here.dawr.hub.streams == len(of_others)


@pytest.mark.parametrize("hours", [12, 24 * 7], ids=["idle for too long", "at its end"])
async def test_a_session_that_is_over_ends_its_stream_at_the_next_poll(
    processes: tuple[Process, Process, Venue], clock: DrivenClock, hours: int
) -> None:
    here, _, venue = processes
    settings = here.dawr.settings
    assert (settings.session_idle_hours, settings.session_hours) == (12, 24 * 7)
    stream = await here.watch(shown(await signed_in(here.dawr.accounts), "bearer"))
    await here.watch()

    clock.advance(ms=hours * MS_PER_HOUR - 1)
    if hours == settings.session_idle_hours:
        await here.dawr.engine.do(venue.id, issue("lab"))
        assert [one.event for one in await stream.until("ticket.issued")] == ["snapshot", "ticket.issued"]
    clock.advance(ms=1)
    await here.dawr.hub.poll()

    assert (await stream.rest())[-1].retry
    assert here.dawr.hub.streams == 1


@pytest.mark.parametrize("how", CREDENTIALS)
@pytest.mark.parametrize("asked", [SIGN_OUT, CHANGE_PASSWORD])
async def test_who_signs_out_in_the_same_process_is_shown_no_more_at_once(
    processes: tuple[Process, Process, Venue], asked: tuple[str, object], how: str
) -> None:
    here, _, venue = processes
    session = await signed_in(here.dawr.accounts)
    stream, as_anybody = await here.watch(shown(session, how)), await here.watch()

    assert await here.post(*asked, bearer=session) == 200
    assert here.dawr.hub.streams == 1
    await here.dawr.engine.do(venue.id, issue("lab"))

    assert [one.event for one in await stream.rest() if one.event] == ["snapshot"]
    assert (await as_anybody.until("ticket.issued"))[-1].data["number"] == 1


@pytest.mark.parametrize(("how", "status"), [("bearer", 401), ("cookie", 404)])
async def test_who_signs_out_in_another_process_while_they_join_is_not_left_watching(
    processes: tuple[Process, Process, Venue], monkeypatch: pytest.MonkeyPatch, how: str, status: int
) -> None:
    here, there, _ = processes
    session = await signed_in(here.dawr.accounts)
    join = here.dawr.hub.join

    async def join_late(venue_id: VenueId, wish: Wish, *, address: str) -> Watcher:
        await there.dawr.accounts.sign_out(session)
        return await join(venue_id, wish, address=address)

    monkeypatch.setattr(here.dawr.hub, "join", join_late)

    refused = await here.watch(shown(session, how))

    assert refused.status == status
    assert here.dawr.hub.streams == 0


async def test_who_works_elsewhere_watches_as_anybody_does_and_may_sign_out(
    processes: tuple[Process, Process, Venue],
) -> None:
    here, there, venue = processes
    elsewhere = await create_venue(here.dawr.store, a_venue(a_queue("lab")))
    await add(here.dawr.accounts, elsewhere, "omar")
    session = await signed_in(here.dawr.accounts, "omar")
    stream = await here.watch(shown(session, "bearer"))

    await there.dawr.accounts.sign_out(session)
    await here.dawr.hub.poll()
    await here.dawr.engine.do(venue.id, issue("lab"))

    assert "ticket" not in (await stream.until("ticket.issued"))[-1].data

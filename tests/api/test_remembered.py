"""Who asks is remembered for a second: what shuts somebody out, or lets them in, counts from the very next request.

The clock that counts the second stands still here unless a test moves it, so that only what drops what is remembered
can be seen. Another process is a second installation on the same database, asked over HTTP like the first.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.domain.venue import Venue
from dawr.ports import Store
from tests.accounts.doing import PASSWORD, add
from tests.builders import DrivenClock, a_desk, a_queue, a_venue
from tests.doors.restaurant import restaurant_document
from tests.running import Answer, Client
from tests.serving import installed, quiet, served
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.stores.doing import create_venue

ANOTHER_PASSWORD = "another walk to the sea"


class Process(msgspec.Struct, frozen=True):
    url: str
    dawr: Dawr
    venue: Venue
    clock: DrivenClock

    async def post(self, path: str, given: object, *, by: str | None = None, method: str = "POST") -> Answer:
        return await self._ask(lambda client: client.post(path, given, bearer=by, method=method))

    async def get(self, path: str, *, by: str) -> Answer:
        return await self._ask(lambda client: client.get(path, bearer=by))

    async def sign_in(self, name: str) -> str:
        answer = await self.post("/v1/login", {"username": name, "password": PASSWORD})
        return str(answer.json["session"])

    async def list(self, by: str) -> int:
        """What any member of the venue may look at."""
        return (await self.get(f"/v1/queues/{self.venue.slug}:lab/tickets", by=by)).status

    async def call_next(self, by: str) -> int:
        """What staff may."""
        return (await self.post(f"/v1/queues/{self.venue.slug}:lab/call-next", {}, by=by)).status

    async def of_basma(self, what: str, given: object = None) -> None:
        """Something that the owner does to her."""
        owner = await self.sign_in("amna")
        path = f"/v1/venues/{self.venue.slug}/staff/basma/{what}"
        assert (await self.post(path, given or {}, by=owner)).status == 200

    async def token(self, by: str | None = None) -> str:
        owner = by or await self.sign_in("amna")
        given = {"kind": "api", "role": "staff", "name": "A program"}
        made = await self.post(f"/v1/venues/{self.venue.slug}/tokens", given, by=owner)
        return str(made.json["bearer"])

    async def revoke(self, token: str) -> None:
        owner, token_id = await self.sign_in("amna"), token.removeprefix("dwt_").partition(".")[0]
        path = f"/v1/venues/{self.venue.slug}/tokens/{token_id}/revoke"
        assert (await self.post(path, {}, by=owner)).status == 200

    async def _ask(self, question: Callable[[Client], Answer]) -> Answer:
        def ask() -> Answer:
            with Client(self.url) as client:
                return question(client)

        return await asyncio.to_thread(ask)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return SqliteDatabase(tmp_path / "dawr.sqlite")
    return PostgresDatabase(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = await database.open()
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def process(store: Store) -> AsyncIterator[Process]:
    """Where amna is an owner and basma works as staff."""
    venue = await create_venue(store, a_venue(a_queue("lab"), desks=(a_desk("desk-1"),)))
    async with _process(store, venue, DrivenClock()) as process:
        await add(process.dawr.accounts, venue)
        await add(process.dawr.accounts, venue, "basma", "staff")
        yield process


@pytest.fixture
async def other(process: Process, database: Database, store: Store) -> AsyncIterator[Process]:
    async with database.share(store) as own, _process(own, process.venue, process.clock) as other:
        yield other


@asynccontextmanager
async def _process(store: Store, venue: Venue, clock: DrivenClock) -> AsyncIterator[Process]:
    async with installed(store, clock, quiet()) as dawr, served(dawr) as url:
        yield Process(url, dawr, venue, clock)


async def sign_out(process: Process, session: str) -> None:
    assert (await process.post("/v1/logout", {}, by=session)).status in {200, 204}


async def change_password(process: Process, session: str) -> None:
    given = {"old": PASSWORD, "new": ANOTHER_PASSWORD}
    assert (await process.post("/v1/me/password", given, by=session)).status == 200


async def set_password(process: Process, _: str) -> None:
    await process.dawr.accounts.set_password("basma", ANOTHER_PASSWORD)


async def disable(process: Process, _: str) -> None:
    await process.of_basma("disable")


async def disable_account(process: Process, _: str) -> None:
    await process.dawr.accounts.disable("basma", origin=COMMAND_LINE)


SHUTTING_OUT: tuple[Callable[[Process, str], Awaitable[None]], ...] = (
    sign_out,
    change_password,
    set_password,
    disable,
    disable_account,
)


@pytest.mark.parametrize("shut_out", SHUTTING_OUT)
async def test_whoever_is_shut_out_is_refused_with_the_next_request(
    process: Process, shut_out: Callable[[Process, str], Awaitable[None]]
) -> None:
    session = await process.sign_in("basma")
    assert await process.list(session) == 200

    await shut_out(process, session)

    assert await process.list(session) == 401


@pytest.mark.parametrize("shut_out", SHUTTING_OUT)
async def test_another_process_refuses_them_within_a_second(
    process: Process, other: Process, shut_out: Callable[[Process, str], Awaitable[None]]
) -> None:
    session = await process.sign_in("basma")
    assert await other.list(session) == 200

    await shut_out(process, session)

    process.clock.advance(seconds=1)
    assert await other.list(session) == 401


async def test_a_revoked_token_is_refused_with_the_next_request(process: Process) -> None:
    token = await process.token()
    assert await process.list(token) == 200

    await process.revoke(token)

    assert await process.list(token) == 401


async def test_another_process_remembers_a_token_for_less_than_a_second(process: Process, other: Process) -> None:
    token = await process.token()
    assert await other.list(token) == 200

    await process.revoke(token)

    process.clock.advance(ms=999)
    assert await other.list(token) == 200
    process.clock.advance(ms=1)
    assert await other.list(token) == 401


async def test_a_token_ends_with_whoever_answers_for_it_and_elsewhere_within_a_second(
    process: Process, other: Process
) -> None:
    await process.of_basma("role", {"role": "manager"})
    token = await process.token(await process.sign_in("basma"))
    assert (await process.call_next(token), await other.call_next(token)) == (200, 200)

    await process.of_basma("role", {"role": "viewer"})
    assert await process.call_next(token) == 403
    await process.of_basma("disable")

    assert await process.list(token) == 401
    process.clock.advance(seconds=1)
    assert await other.list(token) == 401


async def test_nobody_who_was_shut_out_lets_themselves_in_again_where_they_are_remembered(
    process: Process, other: Process
) -> None:
    await process.of_basma("role", {"role": "manager"})
    session = await process.sign_in("basma")
    assert await other.list(session) == 200

    await process.of_basma("disable")

    assert await other.list(session) == 200
    enabling = await other.post(f"/v1/venues/{process.venue.slug}/staff/basma/enable", {}, by=session)
    assert enabling.status == 401


async def test_a_lower_role_counts_from_the_next_request_and_elsewhere_within_a_second(
    process: Process, other: Process
) -> None:
    session = await process.sign_in("basma")
    assert (await process.call_next(session), await other.call_next(session)) == (200, 200)

    await process.of_basma("role", {"role": "viewer"})

    assert await process.call_next(session) == 403
    process.clock.advance(seconds=1)
    assert await other.call_next(session) == 403


async def test_a_higher_role_counts_at_once_everywhere(process: Process, other: Process) -> None:
    await process.of_basma("role", {"role": "viewer"})
    session = await process.sign_in("basma")
    assert (await process.call_next(session), await other.call_next(session)) == (403, 403)

    await process.of_basma("role", {"role": "staff"})

    assert (await process.call_next(session), await other.call_next(session)) == (200, 200)


async def test_a_new_venue_is_its_owners_at_once_everywhere(process: Process, other: Process) -> None:
    owner = await process.sign_in("amna")
    assert (await process.list(owner), await other.list(owner)) == (200, 200)

    made = await process.post("/v1/venues/bistro/set-up", restaurant_document(), by=owner, method="PUT")

    assert made.status == 201
    for one in (process, other):
        assert (await one.get("/v1/venues/bistro/staff", by=owner)).status == 200


async def test_after_a_slow_body_the_store_is_asked(process: Process, other: Process) -> None:
    """Though the clock stands still, so that the token is still remembered there."""
    token = await process.token()
    assert await other.list(token) == 200
    path, body = f"/v1/queues/{process.venue.slug}:lab/call-next", json.dumps({}).encode()
    address = urlsplit(other.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body[:1])
    await writer.drain()

    await process.revoke(token)
    await asyncio.sleep(0.2)  # longer than a body that comes at once takes
    assert await other.list(token) == 200
    writer.write(body[1:])

    status = (await reader.readline()).split()[1]
    writer.close()
    assert status == b"401"


async def test_whoever_watches_is_judged_by_the_store(process: Process, other: Process) -> None:
    """No event tells of a sign-out."""
    session = await process.sign_in("basma")
    address = urlsplit(other.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    path = f"/v1/events?venue={process.venue.slug}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {session}\r\n\r\n".encode())
    await reader.readuntil(b"event: snapshot")
    assert await other.list(session) == 200

    await sign_out(process, session)
    await other.dawr.hub.poll()

    async with asyncio.timeout(10):
        await reader.read()
    assert await other.list(session) == 200
    writer.close()

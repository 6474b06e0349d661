"""Only a wrong password costs a try, over HTTP: whatever else goes wrong with a right one is given back."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlencode, urlsplit

import msgspec
import pytest

from dawr.accounts.passwords import THREADS, Passwords
from dawr.bootstrap.installation import COMMAND_LINE
from dawr.reliability.rate_limit import LocalLimiter, Policy, Verdict
from dawr.stores.sqlite import SqliteStore
from dawr.web.server import server
from tests.api.building import (
    BOTH_DOORS,
    ELSEWHERE,
    HERE,
    OF_PAIR,
    PASSWORD,
    WRONG,
    Building,
    must_be_held_back,
)
from tests.api.first_start import FORM
from tests.running import Answer, Client, eventually, must_be_problem
from tests.serving import served
from tests.stores.locked import Elsewhere

PAGE = "/sign-in"
NEW = "another walk to the sea"


@contextmanager
def no_writing(building: Building) -> Iterator[None]:
    """Another program writes to the database file, and does not end."""
    assert isinstance(building.dawr.store, SqliteStore)
    elsewhere = Elsewhere(building.dawr.store)
    elsewhere.lock()
    try:
        yield
    finally:
        elsewhere.unlock()
        elsewhere.close()


@contextmanager
def busy(passwords: Passwords) -> Iterator[None]:
    """Every thread that hashes has something to do, and does not end."""
    go_on = threading.Event()
    for _ in range(THREADS):
        passwords._pool.submit(go_on.wait)
    try:
        yield
    finally:
        go_on.set()


@contextmanager
def too_busy(passwords: Passwords) -> Iterator[None]:
    """As many passwords are hashed and wait for it as may."""
    before = passwords._max_waiting
    passwords._running, passwords._max_waiting = THREADS, 0
    try:
        yield
    finally:
        passwords._running, passwords._max_waiting = 0, before


async def enter(building: Building, path: str, password: str = PASSWORD) -> Answer:
    """By one of the doors, or by the form of the page."""
    if path != PAGE:
        return await building.sign_in("amna", password, path=path)
    headers = {"Content-Type": FORM, "Sec-Fetch-Site": "same-origin", "X-Forwarded-For": HERE}
    form = urlencode({"username": "amna", "password": password}).encode()

    def ask() -> Answer:
        with Client(building.url) as client:
            return client.ask(PAGE, method="POST", body=form, headers=headers)

    return await asyncio.to_thread(ask)


def go_away(building: Building, password: str) -> None:
    """Ask to sign in, and do not wait for the answer."""
    address, body = urlsplit(building.url), json.dumps({"username": "amna", "password": password}).encode()
    head = f"POST /v1/login HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: {HERE}\r\nContent-Type: application/json\r\n"
    with closing(socket.create_connection((address.hostname, address.port), timeout=60)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def charged(building: Building, policy: str = "login") -> int:
    """How many tries count now: for an account from one address, unless another policy is asked for."""
    limiter = building.dawr.limiter
    assert isinstance(limiter, LocalLimiter)
    return sum(len(times) for (name, _), _, times in limiter.logs() if name == policy)


@pytest.mark.parametrize("path", [*BOTH_DOORS, PAGE])
async def test_right_passwords_while_the_database_is_away_cost_nothing(building: Building, path: str) -> None:
    await building.hire("amna")

    with no_writing(building):
        away = [(await enter(building, path)).status for _ in range(OF_PAIR + 1)]
    back = await enter(building, path)

    assert away == [503] * (OF_PAIR + 1)
    assert back.status in {200, 303}
    assert await building.fail("amna", OF_PAIR + 1) == [401] * OF_PAIR + [429]


async def test_a_new_password_that_cannot_be_stored_costs_nothing(building: Building) -> None:
    await building.hire("amna")
    session = (await building.sign_in("amna")).json["session"]

    with no_writing(building):
        away = [(await building.change_password(session, PASSWORD, NEW)).status for _ in range(OF_PAIR + 1)]

    assert away == [503] * (OF_PAIR + 1)
    assert (await building.change_password(session, PASSWORD, NEW)).status == 200


async def test_while_too_many_passwords_are_checked_a_try_costs_nothing(building: Building) -> None:
    await building.hire("amna")

    with too_busy(building.dawr.passwords):
        tries = [await building.sign_in("amna", password) for password in [PASSWORD] * OF_PAIR + [WRONG]]

    for answer in tries:
        must_be_problem(answer, 503, "busy")
    assert (await building.sign_in("amna")).status == 200
    assert await building.fail("amna", OF_PAIR + 1) == [401] * OF_PAIR + [429]


async def test_a_try_that_is_cut_off_when_the_server_stops_costs_nothing(
    building: Building, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "GRACE_SECONDS", 0)
    await building.hire("amna")
    await building.fail("amna", OF_PAIR - 1)

    with busy(building.dawr.passwords):
        async with served(building.dawr) as url:
            trying = asyncio.create_task(msgspec.structs.replace(building, url=url).sign_in("amna"))
            await asyncio.to_thread(eventually, lambda: charged(building) == OF_PAIR)
        must_be_problem(await trying, 503, "outcome-unknown")

    assert (await building.sign_in("amna")).status == 200


class Stuck(LocalLimiter):
    """Begins to count a try, and is not done with it."""

    async def charge(self, policy: Policy, key: str) -> Verdict:
        if policy.name == "login-account":
            await asyncio.Event().wait()
        return await super().charge(policy, key)


async def test_a_try_that_is_cut_off_while_it_is_counted_costs_nothing(
    building: Building, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "GRACE_SECONDS", 0)
    await building.hire("amna")
    stuck = msgspec.structs.replace(
        building, dawr=msgspec.structs.replace(building.dawr, limiter=Stuck(building.clock))
    )

    async with served(stuck.dawr) as url:
        trying = asyncio.create_task(msgspec.structs.replace(stuck, url=url).sign_in("amna"))
        await asyncio.to_thread(eventually, lambda: charged(stuck) == 1)
    must_be_problem(await trying, 503, "outcome-unknown")

    assert charged(stuck) == 0


async def test_whoever_does_not_wait_for_the_answer_pays_for_a_wrong_password_and_no_other(building: Building) -> None:
    await building.hire("amna")

    for _ in range(OF_PAIR + 1):
        await asyncio.to_thread(go_away, building, PASSWORD)
    assert (await building.sign_in("amna")).status == 200
    await asyncio.to_thread(eventually, lambda: charged(building) == 0)
    for number in range(OF_PAIR):
        await asyncio.to_thread(go_away, building, WRONG)
        await asyncio.to_thread(eventually, lambda number=number: charged(building) == number + 1)  # type: ignore[misc]

    must_be_held_back(await building.sign_in("amna"), "login")


async def test_a_pin_that_could_not_be_judged_costs_nothing(building: Building) -> None:
    queue = building.venue.queues[0].id

    def leave() -> Answer:
        with Client(building.url) as client:
            return client.post("/api/v1/queue/done", {"clinic": queue, "user": "nobody", "pin": "0000"})

    with no_writing(building):
        away = [await asyncio.to_thread(leave) for _ in range(OF_PAIR)]
    while_away = charged(building, "pin")
    wrong = await asyncio.to_thread(leave)

    for answer in away:
        must_be_problem(answer, 503, "store-away")
    must_be_problem(wrong, 403, "pin-wrong")
    assert (while_away, charged(building, "pin")) == (0, 1)


@pytest.mark.parametrize("where", ["at the venue", "everywhere"])
async def test_the_right_password_of_somebody_disabled_is_like_a_wrong_one(building: Building, where: str) -> None:
    await building.hire("amna", "basma")
    await building.dawr.accounts.disable("amna", origin=COMMAND_LINE)
    if where == "at the venue":
        account = await building.account("amna")
        await building.dawr.store.accounts.set_disabled(account.account_id, None)

    disabled = [await building.sign_in("amna") for _ in range(OF_PAIR + 1)]
    wrong = [await building.sign_in("basma", WRONG, at=ELSEWHERE) for _ in range(OF_PAIR + 1)]

    assert [answer.status for answer in disabled] == [401] * OF_PAIR + [429]
    for one, other in zip(disabled, wrong, strict=True):
        assert {**one.json, "correlation_id": ""} == {**other.json, "correlation_id": ""}
        assert one.headers.keys() == other.headers.keys()

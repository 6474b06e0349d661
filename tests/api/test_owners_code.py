"""The code of the first owner, over HTTP: whatever goes wrong before there is an owner does not use it up."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from dawr.bootstrap.installation import Dawr
from dawr.stores.sqlite import SqliteStore
from tests.api.first_start import FORM, PASSWORD, VENUE, is_done
from tests.api.pages import A_BROWSERS
from tests.api.test_what_a_try_costs import too_busy
from tests.builders import DrivenClock
from tests.running import Answer, Client
from tests.serving import installed, quiet, served
from tests.stores.databases import SqliteDatabase


class Empty(msgspec.Struct, frozen=True):
    """An installation without an owner, and the code that makes one."""

    url: str
    dawr: Dawr
    database: SqliteDatabase
    code: str

    async def fill_in(self, username: str = "amna", password: str = PASSWORD) -> Answer:
        form = urlencode({**VENUE, "code": self.code, "username": username, "password": password}).encode()
        headers = {**A_BROWSERS, "Content-Type": FORM, "Sec-Fetch-Site": "same-origin"}

        def ask() -> Answer:
            with Client(self.url) as client:
                return client.ask("/first-run", method="POST", body=form, headers=headers)

        return await asyncio.to_thread(ask)


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Empty]:
    clock, path = DrivenClock(), tmp_path / "dawr.sqlite"
    store = SqliteStore(path, clock=clock)
    await store.migrate()
    async with installed(store, clock, quiet()) as dawr, served(dawr) as url:
        code = await dawr.accounts.owner_code()
        assert code is not None
        yield Empty(url, dawr, SqliteDatabase(path), code)
    await store.close()


async def test_a_code_outlasts_a_moment_when_too_many_passwords_are_checked(empty: Empty) -> None:
    with too_busy(empty.dawr.passwords):
        busy = await empty.fill_in()

    assert busy.status == 503
    assert is_done(await empty.fill_in())


@pytest.mark.parametrize("table", ["accounts", "venues", "staff"])
async def test_a_code_outlasts_a_database_that_does_not_take_what_it_makes(empty: Empty, table: str) -> None:
    refusing = f"CREATE TRIGGER full BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    await empty.database.rows(refusing)
    refused = await empty.fill_in()
    await empty.database.rows("DROP TRIGGER full")

    assert refused.status >= 400
    assert is_done(await empty.fill_in())


async def test_an_account_that_was_left_of_such_a_try_is_for_whoever_knows_its_password(empty: Empty) -> None:
    await empty.database.rows(
        "CREATE TRIGGER full BEFORE INSERT ON venues BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    )
    await empty.fill_in()
    await empty.database.rows("DROP TRIGGER full")

    another = await empty.fill_in(password="another walk to the sea")

    assert another.status == 422
    assert is_done(await empty.fill_in())

"""A building whose people sign in over HTTP, from several addresses, while a clock of the test's own runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import msgspec

from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.domain import Account, Venue
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_venue
from tests.running import Answer, Client, must_be_problem
from tests.serving import installed, quiet, served
from tests.stores.doing import create_venue

PASSWORD = "a long walk to the sea"
WRONG = "not the password"
OF_PAIR, OF_ACCOUNT, OF_ADDRESS = 5, 12, 9
HERE, ELSEWHERE = "198.51.100.7", "198.51.100.8"
BOTH_DOORS = ("/v1/login", "/api/v1/admin/login")


class Building(msgspec.Struct, frozen=True):
    """A venue in the test's own process, and everybody who tries to sign in there."""

    url: str
    dawr: Dawr
    venue: Venue
    clock: DrivenClock

    async def hire(self, *names: str) -> None:
        for name in names:
            adding = await self.dawr.accounts.add_staff(name, "staff", PASSWORD, by=None, known_to={})
            await self.dawr.engine.do(self.venue.id, adding, origin=COMMAND_LINE)

    async def sign_in(
        self, name: str, password: str = PASSWORD, *, at: str = HERE, cookie: str = "", path: str = "/v1/login"
    ) -> Answer:
        headers = {"X_Forwarded_For": at} | ({"Cookie": cookie} if cookie else {})
        return await self._ask(path, {"username": name, "password": password}, **headers)

    async def fail(self, name: str, times: int, *, at: str = HERE, cookie: str = "") -> list[int]:
        return [(await self.sign_in(name, WRONG, at=at, cookie=cookie)).status for _ in range(times)]

    async def known_browser(self, name: str) -> str:
        """The cookie that is left of a sign-in, when its session is gone."""
        return browser_of(await self.sign_in(name))

    async def change_password(self, session: str, old: str, new: str) -> Answer:
        return await self._ask("/v1/me/password", {"old": old, "new": new}, bearer=session, X_Forwarded_For=HERE)

    async def hold_account_back(self, name: str) -> None:
        """By strangers, each of whom tries once."""
        for address in addresses(OF_ACCOUNT):
            assert await self.fail(name, 1, at=address) == [401]
        must_be_held_back(await self.sign_in(name, at="203.0.113.250"), "login-account")

    async def account(self, name: str) -> Account:
        found = await self.dawr.accounts.find(name)
        assert found is not None
        return found

    async def _ask(self, path: str, given: object, *, bearer: str | None = None, **headers: str) -> Answer:
        def ask() -> Answer:
            with Client(self.url) as client:
                return client.post(path, given, bearer=bearer, **headers)

        return await asyncio.to_thread(ask)


@asynccontextmanager
async def a_building(tmp_path: Path) -> AsyncIterator[Building]:
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    venue = await create_venue(store, a_venue())
    settings = quiet(
        rate_limits="on",
        clinic_venue=venue.slug,
        limit_login=OF_PAIR,
        limit_login_account=OF_ACCOUNT,
        limit_login_address=OF_ADDRESS,
    )
    async with installed(store, clock, settings) as dawr, served(dawr) as url:
        yield Building(url, dawr, venue, clock)
    await store.close()


_addresses = (f"192.0.2.{number}" for number in count(1))


def addresses(number: int) -> list[str]:
    return [next(_addresses) for _ in range(number)]


def browser_of(answer: Answer) -> str:
    assert answer.status == 200, answer
    (cookie,) = (cookie for cookie in answer.cookies if cookie.startswith("dawr-browser="))
    return cookie.partition(";")[0]


def must_be_held_back(answer: Answer, policy: str) -> None:
    must_be_problem(answer, 429, "quota-exceeded")
    assert answer.json["violated-policies"] == [policy]
    assert "wrong passwords" in answer.json["detail"]

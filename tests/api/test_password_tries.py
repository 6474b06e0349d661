"""How often passwords may be tried, over HTTP: whom wrong ones hold back, for how long, and whom never (MISSION B5)."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import msgspec
import pytest

from dawr.accounts.known_browsers import MOST_MARKS, KnownBrowsers
from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.bootstrap.system import SystemIds
from dawr.cli.staff import StaffChange, change
from dawr.domain import Account, Venue
from dawr.reliability.rate_limit import LocalLimiter
from dawr.settings import Settings
from dawr.stores.sqlite import SqliteStore
from dawr.web import limits
from tests.builders import DrivenClock, a_new, a_venue
from tests.running import Answer, Client, must_be_problem
from tests.serving import SECRET, installed, quiet, served
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


@pytest.fixture
async def building(tmp_path: Path) -> AsyncIterator[Building]:
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


def test_unless_somebody_says_otherwise_it_is_five_and_a_hundred_and_fifty() -> None:
    settings = Settings()

    assert (settings.limit_login, settings.limit_login_account, settings.limit_login_address) == (5, 100, 50)


# One account from one address


async def test_five_typos_of_one_hold_no_neighbour_back(building: Building) -> None:
    await building.hire("amna", "basma")

    typos = await building.fail("amna", 6)
    neighbour = await building.sign_in("basma")

    assert typos == [401] * 5 + [429]
    assert neighbour.status == 200


async def test_whoever_is_held_back_is_told_so_in_words_and_for_how_long(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 5)
    building.clock.advance(minutes=3)

    even_right = await building.sign_in("AMNA ")

    must_be_held_back(even_right, "login")
    assert even_right.json["detail"] == (
        "Too many wrong passwords for this account from here. Try again in 12 minutes."
    )
    assert (even_right.json["minutes"], even_right.headers["retry-after"]) == (12, "720")
    assert even_right.headers["ratelimit-policy"] == '"login";q=5;w=900'


async def test_after_fifteen_minutes_they_are_let_in_again(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 5)

    building.clock.advance(minutes=14, seconds=59)
    too_early = await building.sign_in("amna")
    building.clock.advance(seconds=1)
    in_time = await building.sign_in("amna")

    assert (too_early.status, in_time.status) == (429, 200)


async def test_from_another_address_they_are_let_in_at_once(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 5)

    assert (await building.sign_in("amna", at=ELSEWHERE)).status == 200


async def test_both_doors_count_together_and_say_the_same(building: Building) -> None:
    await building.hire("amna")
    for path in (*BOTH_DOORS, *BOTH_DOORS, BOTH_DOORS[0]):
        must_be_problem(await building.sign_in("amna", WRONG, path=path), 401, "wrong-credentials")

    for path in BOTH_DOORS:
        must_be_held_back(await building.sign_in("amna", path=path), "login")


async def test_many_at_once_are_no_way_around(building: Building) -> None:
    await building.hire("amna")

    answers = await asyncio.gather(*(building.sign_in("amna", WRONG) for _ in range(12)))

    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 7


async def test_a_name_that_is_nobodys_is_held_back_alike(building: Building) -> None:
    await building.hire("amna")

    nobody = [await building.sign_in("nobody", WRONG) for _ in range(6)]
    somebody = [await building.sign_in("amna", WRONG, at=ELSEWHERE) for _ in range(6)]

    assert [answer.status for answer in nobody] == [401] * 5 + [429]
    for one, other in zip(nobody, somebody, strict=True):
        assert {**one.json, "correlation_id": ""} == {**other.json, "correlation_id": ""}
        assert one.headers.keys() == other.headers.keys()


# What costs nothing


async def test_the_right_password_costs_nothing(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 4)

    assert {(await building.sign_in("amna")).status for _ in range(OF_ACCOUNT + OF_ADDRESS)} == {200}
    assert await building.fail("amna", 2) == [401, 429]


async def test_right_passwords_that_come_together_are_let_in_all(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 4)

    answers = await asyncio.gather(*(building.sign_in("amna") for _ in range(12)))

    assert {answer.status for answer in answers} == {200}


async def test_a_new_password_that_is_too_weak_costs_nothing(building: Building) -> None:
    await building.hire("amna")
    session = (await building.sign_in("amna")).json["session"]

    weak = [(await building.change_password(session, PASSWORD, "short")).status for _ in range(7)]
    good = await building.change_password(session, PASSWORD, "another walk to the sea")

    assert weak == [422] * 7
    assert good.status == 200


# All addresses together, and all accounts together


async def test_strangers_all_over_the_world_hold_an_account_back_for_a_day(building: Building) -> None:
    await building.hire("amna", "basma")

    await building.hold_account_back("amna")

    told = await building.sign_in("amna")
    assert told.json["detail"].startswith("Too many wrong passwords for this account today. Try again in 24 hours")
    assert (await building.sign_in("basma")).status == 200
    building.clock.advance(hours=24)
    assert (await building.sign_in("amna")).status == 200


async def test_an_address_that_tries_many_names_is_held_back_for_a_day_and_nobody_else_is(building: Building) -> None:
    await building.hire("amna")

    tries = [status for _ in range(OF_ADDRESS + 1) for status in await building.fail(a_new("name"), 1)]
    here = await building.sign_in("amna")
    elsewhere = await building.sign_in("amna", at=ELSEWHERE)

    assert tries == [401] * OF_ADDRESS + [429]
    must_be_held_back(here, "login-address")
    assert "from here today. Try again in 24 hours" in here.json["detail"]
    assert elsewhere.status == 200
    building.clock.advance(hours=24)
    assert (await building.sign_in("amna")).status == 200


async def test_what_is_refused_charges_nobody(building: Building) -> None:
    """The address is used up; the account that it goes on trying is not."""
    await building.hire("amna")
    for _ in range(OF_ADDRESS):
        await building.fail(a_new("name"), 1)

    refused = await building.fail("amna", OF_ACCOUNT + 1)

    assert set(refused) == {429}
    assert await building.fail("amna", 5, at=ELSEWHERE) == [401] * 5


async def test_millions_of_names_and_addresses_take_a_bounded_place(
    building: Building, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MARKS", 8)
    for address in addresses(40):
        await building.fail(a_new("name"), 1, at=address)

    limiter = building.dawr.limiter
    assert isinstance(limiter, LocalLimiter)
    kept = [policy for (policy, _), _, _ in limiter.logs()]

    assert 1 <= kept.count("login-account") <= 8
    assert 1 <= kept.count("login-address") <= 8


# A browser that is known


async def test_a_browser_that_signed_in_before_is_let_in_whatever_strangers_did(building: Building) -> None:
    await building.hire("amna")
    cookie = await building.known_browser("amna")
    await building.hold_account_back("amna")
    for _ in range(OF_ADDRESS):
        await building.fail(a_new("name"), 1)
    must_be_held_back(await building.sign_in("amna"), "login-account")

    for path in BOTH_DOORS:
        assert (await building.sign_in("amna", cookie=cookie, path=path)).status == 200


async def test_a_known_browser_has_five_tries_of_its_own(building: Building) -> None:
    """A neighbour behind the same address uses none of them up, nor does it any of a neighbour's."""
    await building.hire("amna")
    cookie = await building.known_browser("amna")
    await building.fail("amna", 5)

    tries = await building.fail("amna", 6, cookie=cookie)

    assert tries == [401] * 5 + [429]
    must_be_held_back(await building.sign_in("amna", cookie=cookie, at=ELSEWHERE), "login")
    assert (await building.sign_in("amna", at=ELSEWHERE)).status == 200
    building.clock.advance(minutes=15)
    assert (await building.sign_in("amna", cookie=cookie)).status == 200


async def test_the_cookie_is_kept_as_the_session_is_and_says_nobodys_name(building: Building) -> None:
    await building.hire("amna")
    account = await building.account("amna")

    (browser, session) = (await building.sign_in("amna")).cookies

    assert session.startswith("dawr=dws_")
    value, *attributes = browser.split("; ")
    assert set(attributes) == {"Path=/", f"Max-Age={30 * 24 * 60 * 60}", "HttpOnly", "SameSite=Lax"}
    assert "amna" not in value
    assert account.account_id not in value


async def test_over_https_the_cookie_is_of_this_host_alone(building: Building) -> None:
    await building.hire("amna")
    given = {"username": "amna", "password": PASSWORD}

    answer = await building._ask("/v1/login", given, X_Forwarded_Proto="https")

    assert answer.cookies[0].startswith("__Host-dawr-browser=")
    assert "; Secure" in answer.cookies[0]


async def test_after_thirty_days_the_browser_is_not_known_any_more(building: Building) -> None:
    await building.hire("amna")
    cookie = await building.known_browser("amna")

    building.clock.advance(days=30, seconds=-1)
    await building.hold_account_back("amna")
    in_time = await building.sign_in("amna", cookie=cookie)
    building.clock.advance(seconds=1)
    too_late = await building.sign_in("amna", cookie=cookie)

    assert in_time.status == 200
    must_be_held_back(too_late, "login-account")


async def test_the_cookie_of_another_account_is_worth_nothing(building: Building) -> None:
    await building.hire("amna", "basma")
    cookie = await building.known_browser("basma")

    await building.hold_account_back("amna")

    must_be_held_back(await building.sign_in("amna", cookie=cookie), "login-account")


async def test_a_cookie_that_somebody_made_up_is_worth_nothing(building: Building) -> None:
    await building.hire("amna")
    good = await building.known_browser("amna")
    name, _, mark = good.partition("=")
    expires_at, browser, signature = mark.split(".")
    account, ids = await building.account("amna"), SystemIds()
    of_another_installation = KnownBrowsers(f"{SECRET}!", building.clock, ids).remember(account, "")
    made_up = (
        "",
        ".",
        "..",
        "~" * 1000,
        "x" * 4000,
        "\xff.\xff.\xff",
        f"{expires_at}.{browser}.",
        f"{expires_at}.{browser}.{signature[:-1]}",
        f"{expires_at}.{browser}.{signature}x",
        f"{expires_at}0.{browser}.{signature}",
        f"{expires_at}.another.{signature}",
        f"9{'9' * 5000}.{browser}.{signature}",
        of_another_installation,
    )
    await building.hold_account_back("amna")

    for value in made_up:
        must_be_held_back(await building.sign_in("amna", cookie=f"{name}={value}"), "login-account")
    assert (await building.sign_in("amna", cookie=good)).status == 200


async def test_with_a_new_password_every_cookie_from_before_is_worth_nothing(building: Building) -> None:
    await building.hire("amna")
    stolen = await building.known_browser("amna")
    session = (await building.sign_in("amna")).json["session"]
    new = "another walk to the sea"

    changed = await building.change_password(session, PASSWORD, new)

    await building.hold_account_back("amna")
    must_be_held_back(await building.sign_in("amna", new, cookie=stolen), "login-account")
    assert (await building.sign_in("amna", new, cookie=browser_of(changed))).status == 200


async def test_while_strangers_try_whoever_is_signed_in_can_change_their_password(building: Building) -> None:
    await building.hire("amna")
    session = (await building.sign_in("amna")).json["session"]
    await building.hold_account_back("amna")

    changed = await building.change_password(session, PASSWORD, "another walk to the sea")

    assert changed.status == 200


async def test_several_who_share_a_browser_are_all_known_there(building: Building) -> None:
    names = [a_new("person") for _ in range(MOST_MARKS + 1)]
    await building.hire(*names)
    cookie = ""
    for name in names:
        cookie = browser_of(await building.sign_in(name, cookie=cookie))
    cookie = browser_of(await building.sign_in(names[-1], cookie=cookie))

    marks = cookie.partition("=")[2]
    known = [building.dawr.browsers.recognise(await building.account(name), marks) for name in names]

    assert [browser is not None for browser in known] == [False] + [True] * MOST_MARKS
    assert len(cookie) < 1000


# Unlocked


async def test_whoever_is_unlocked_is_let_in_at_once_and_from_everywhere(building: Building) -> None:
    await building.hire("amna", "basma")
    await building.fail("basma", 5, at="192.0.2.253")
    for address in (HERE, ELSEWHERE):
        await building.fail("amna", 5, at=address)
    await building.fail("amna", OF_ACCOUNT - 10, at="192.0.2.250")
    must_be_held_back(await building.sign_in("amna", at="192.0.2.251"), "login-account")

    said = await change(building.dawr, StaffChange("unlock", " Amna "))

    assert said == "amna is unlocked: wrong passwords from before no longer count."
    for address in (HERE, ELSEWHERE, "192.0.2.250", "192.0.2.251"):
        assert (await building.sign_in("amna", at=address)).status == 200
    must_be_held_back(await building.sign_in("basma", at="192.0.2.253"), "login")
    assert await building.fail("amna", 6, at="192.0.2.252") == [401] * 5 + [429]


async def test_whoever_is_unlocked_may_sign_in_for_a_while_where_nobody_else_can(building: Building) -> None:
    await building.hire("amna", "basma")
    for _ in range(OF_ADDRESS):
        await building.fail(a_new("name"), 1)

    await change(building.dawr, StaffChange("unlock", "amna"))

    assert (await building.sign_in("amna")).status == 200
    must_be_held_back(await building.sign_in("basma"), "login-address")
    building.clock.advance(minutes=15)
    must_be_held_back(await building.sign_in("amna"), "login-address")

"""A browser that somebody signed in with before: strangers cannot lock them out of it (MISSION B5)."""

import pytest

from dawr.accounts.known_browsers import MOST_MARKS, KnownBrowsers
from dawr.bootstrap.system import SystemIds
from dawr.domain import Account
from tests.api.building import (
    BOTH_DOORS,
    ELSEWHERE,
    OF_ADDRESS,
    PASSWORD,
    Building,
    browser_of,
    must_be_held_back,
)
from tests.builders import a_new
from tests.serving import SECRET


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


OF_NOBODY = f"9999999999999.{'a' * 22}.{'b' * 22}"


class Signatures:
    """How many are worked out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        sign = KnownBrowsers._signature

        def counted(browsers: KnownBrowsers, account: Account, expires_at: str, browser: str) -> str:
            self.count += 1
            return sign(browsers, account, expires_at, browser)

        monkeypatch.setattr(KnownBrowsers, "_signature", counted)


@pytest.mark.parametrize("marks", [OF_NOBODY, "~".join([OF_NOBODY] * 20), "~".join(["x" * 7000] * 8), ".".join("xyz")])
async def test_a_cookie_makes_no_difference_between_somebody_and_nobody(
    building: Building, monkeypatch: pytest.MonkeyPatch, marks: str
) -> None:
    await building.hire("amna")
    signatures = Signatures(monkeypatch)

    worked_out = []
    for name in ("amna", "nobody"):
        before = signatures.count
        assert await building.fail(name, 1, cookie=f"dawr-browser={marks}") == [401]
        worked_out.append(signatures.count - before)

    assert worked_out[0] == worked_out[1] <= MOST_MARKS
    assert bool(worked_out[0]) == marks.startswith(OF_NOBODY)


@pytest.mark.parametrize(
    "planted",
    [
        f"{'9' * 5000}.{'a' * 22}.{'b' * 22}",
        f"9999999999999.{'a' * 5000}.{'b' * 22}",
        f"9999999999999.{'a' * 22}.{'b' * 5000}",
        "~".join(["x.y.z"] * 7),
        "٩٩٩٩٩٩٩٩٩٩٩٩٩.a.b",
        f"-1.{'a' * 22}.{'b' * 22}",
        f"1.{'a' * 22}.{'b' * 22}",
    ],
)
async def test_what_another_program_left_in_the_cookie_is_not_kept(building: Building, planted: str) -> None:
    """A browser takes no cookie of more than 4,096 bytes, and would never be known again."""
    await building.hire("amna", "basma")
    of_basma = (await building.known_browser("basma")).partition("=")[2]
    sent = f"{planted}~{of_basma}".encode().decode("latin-1")

    kept = browser_of(await building.sign_in("amna", cookie=f"dawr-browser={sent}")).partition("=")[2].split("~")

    assert kept[1:] == [of_basma]


async def test_a_mark_that_has_expired_is_not_kept(building: Building) -> None:
    await building.hire("amna", "basma")
    old = await building.known_browser("basma")

    building.clock.advance(days=30)
    new = browser_of(await building.sign_in("amna", cookie=old))

    assert "~" not in new

"""The browser that the other tests look through is real, and hides nothing that goes wrong."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.accessibility import faults_of
from tests.browser.places import House, Place
from tests.browser.windows import AWAY, DESK, Windows
from tests.running import DawrServer


def test_a_visitor_sees_their_number_on_the_phone(clinic: Place, windows: Windows) -> None:
    taken = clinic.take("lab")

    phone = windows.open(taken.link)

    expect(phone.locator("body")).to_contain_text(taken.label)
    assert faults_of(phone) == []


@pytest.mark.parametrize(("language", "direction"), [("en", "ltr"), ("ar", "rtl"), ("zh", "ltr")])
def test_pages_speak_the_language_of_the_browser(house: House, windows: Windows, language: str, direction: str) -> None:
    start = windows.open("/", language=language)

    assert start.locator("html").get_attribute("lang") == language
    assert start.locator("html").get_attribute("dir") == direction


def test_a_window_without_scripts_runs_none(house: House, windows: Windows) -> None:
    with_scripts = windows.open("/")
    without = windows.open("/", script=False)

    assert with_scripts.evaluate("matchMedia('(scripting: enabled)').matches")
    assert not without.evaluate("matchMedia('(scripting: enabled)').matches")


def test_a_window_has_the_theme_and_the_motion_that_were_asked_for(house: House, windows: Windows) -> None:
    page = windows.open("/", DESK, dark=True, still=True)

    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    assert page.evaluate("[innerWidth, innerHeight]") == [DESK.width, DESK.height]


def test_somebody_signed_in_is_known(clinic: Place, windows: Windows) -> None:
    page = windows.open("/v1/me", DESK, session=clinic.session("manager"))

    expect(page.locator("body")).to_contain_text('"username":"manager"')


def test_each_window_has_an_address_of_its_own_and_limits_are_on(house: House, windows: Windows) -> None:
    left = [
        page.evaluate("fetch('/').then(answer => answer.headers.get('ratelimit'))")
        for page in (windows.open("/"), windows.open("/"))
    ]

    assert [policy.split(";")[:2] for policy in left] == [['"look"', "r=598"]] * 2


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("document.body.append(Object.assign(document.createElement('script'), {textContent: '1'}))", "policy"),
        ("document.body.setAttribute('style', 'color: red')", "policy"),
        ("document.body.append(Object.assign(new Image(), {src: 'https://elsewhere.example/a.png'}))", "policy"),
        ("setTimeout(() => { throw new Error('oh') })", "Error in a script: .*oh"),
        ("console.error('oh')", "On the console: oh"),
        ("void fetch('/no-such-page')", "On the console: .*404"),
        ("void Promise.reject(new Error('unheard'))", "unheard"),
    ],
)
def test_whatever_a_page_complains_about_is_noted(browser: Browser, house: House, script: str, complaint: str) -> None:
    windows = Windows(browser, house.url)
    page = windows.open("/")

    page.evaluate(f"() => {{ {script} }}")
    page.evaluate("fetch('/')")
    windows.close()

    with pytest.raises(AssertionError, match=complaint):
        windows.must_be_quiet()


def test_a_request_to_another_site_is_noted(browser: Browser, house: House) -> None:
    windows = Windows(browser, house.url)
    page = windows.open("/")

    with page.expect_request("http://elsewhere.invalid/"):
        page.evaluate("() => { location.href = 'http://elsewhere.invalid/' }")
    windows.close()

    with pytest.raises(AssertionError, match=r"A request to another site: http://elsewhere\.invalid/"):
        windows.must_be_quiet()


def test_a_server_that_is_killed_can_be_part_of_the_test(
    own_house: House, windows_at: Callable[[str], Windows]
) -> None:
    windows = windows_at(own_house.url)
    page = windows.open(own_house.clinic().take().link)

    own_house.server.kill()
    windows.allow(AWAY)
    away = page.evaluate("fetch('/').then(() => false, () => true)")
    own_house.server.start()

    assert away
    assert page.evaluate("fetch('/').then(answer => answer.status)") == 200


def test_the_demo_can_be_looked_at(demo: DawrServer, windows_at: Callable[[str], Windows]) -> None:
    start = windows_at(demo.url).open("/", DESK, address=None)

    expect(start.locator("h1")).to_be_visible()

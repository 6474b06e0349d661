"""The visitor's page when something is in the way: the network, the server, the store, a limit, another press."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.phones import AHEAD, is_alive, with_a_clock
from tests.browser.places import House, Place
from tests.browser.windows import AWAY, Windows, intercept


def test_a_press_that_comes_too_late_says_why_in_place(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = windows.open(taken.link)
    is_alive(phone)
    windows.allow("409")
    intercept(phone, f"**{taken.link}", lambda route: route.abort())
    windows.allow(AWAY, "ERR_FAILED")
    clinic.call_next()
    clinic.do("start", taken.ticket)

    phone.get_by_role("button", name="Leave the queue").click()

    expect(phone.get_by_role("alert").filter(has_text="cannot leave any more")).to_be_visible()
    phone.unroute(f"**{taken.link}")
    expect(phone.get_by_role("heading", name="It is your turn")).to_be_visible()


def until_told(phone: Page) -> Locator:
    """Its tries are over; not much later, for it is not told for long."""
    told = phone.get_by_role("alert").filter(has_text="We do not know yet whether that reached us")
    for _ in range(20):
        if not told.is_visible():
            phone.clock.fast_forward(500)
    expect(told).to_be_visible()
    return told


def test_a_press_that_does_not_get_through_can_be_pressed_again(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = with_a_clock(windows, taken)
    windows.allow(AWAY, "ERR_FAILED")
    intercept(phone, "**/leave", lambda route: route.abort())

    phone.get_by_role("button", name="Leave the queue").click()
    until_told(phone)
    phone.unroute("**/leave")
    phone.clock.fast_forward(1_000)
    phone.get_by_role("button", name="Leave the queue").click()

    expect(phone.get_by_role("heading", name="You are no longer in the queue")).to_be_visible()


def test_a_press_without_an_answer_is_not_spoken_of_when_the_page_is_new_again(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = with_a_clock(windows, taken)
    windows.allow(AWAY, "ERR_FAILED")
    intercept(phone, "**/leave", lambda route: route.abort())
    phone.get_by_role("button", name="Leave the queue").click()
    told = until_told(phone)

    phone.clock.fast_forward(6_000)
    phone.evaluate("dispatchEvent(new Event('online'))")

    expect(told).to_have_count(0)
    expect(phone.locator(".number")).to_contain_text(taken.label)


@pytest.mark.slow
def test_while_the_server_is_away_the_number_stays_and_it_heals_by_itself(
    own_house: House, windows_at: Callable[[str], Windows]
) -> None:
    clinic = own_house.clinic()
    clinic.take()
    taken = clinic.take()
    windows = windows_at(own_house.url)
    phone = with_a_clock(windows, taken)

    windows.allow(AWAY)
    own_house.server.kill()
    phone.clock.fast_forward(21_000)
    away = phone.locator("[data-away]")
    expect(away).to_have_text(re.compile(r"No connection since \d\d:\d\d\. Your place is safe"))
    expect(phone.locator(".number")).to_contain_text(taken.label)
    expect(phone.locator(AHEAD)).to_have_css("font-weight", "400")
    own_house.server.start()
    own_house.owner = own_house.sign_in("owner")
    clinic.call_next()
    phone.clock.fast_forward(20_000)

    expect(away).to_be_hidden()
    expect(phone.locator(AHEAD)).to_have_text("nobody")


def test_a_phone_that_was_out_of_reach_catches_up_when_it_is_back(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = windows.open(taken.link)
    is_alive(phone)
    windows.allow(AWAY)

    phone.context.set_offline(True)
    clinic.call_next()
    phone.context.set_offline(False)

    expect(phone.locator(".come")).to_be_visible()


@pytest.mark.parametrize(
    "seen_again",
    [
        "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
        "document.dispatchEvent(new Event('visibilitychange'))",
    ],
)
def test_a_page_that_is_seen_again_shows_how_things_are_by_now(
    clinic: Place, windows: Windows, seen_again: str
) -> None:
    taken = clinic.take()
    phone = with_a_clock(windows, taken)
    windows.allow(AWAY, "ERR_FAILED")
    phone.clock.pause_at(phone.evaluate("Date.now()") + 1_000)
    intercept(phone, "**/*", lambda route: route.abort())
    clinic.call_next()

    phone.unroute("**/*")
    phone.evaluate(seen_again)

    expect(phone.locator(".come")).to_be_visible()


def test_while_the_store_is_away_it_says_that_its_figures_are_old(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = windows.open("/favicon.ico")
    phone.clock.install()
    windows.allow(AWAY, "503")
    stale = "event: stale\ndata: {}\n\n"
    phone.route("**/v1/events*", lambda route: route.fulfill(status=200, body=stale, content_type="text/event-stream"))
    phone.goto(taken.link)
    intercept(phone, f"**{taken.link}", lambda route: route.fulfill(status=503, body=""))

    expect(phone.locator("[data-away]")).to_have_text(re.compile(r"No news since \d\d:\d\d"))
    phone.unroute(f"**{taken.link}")
    phone.unroute("**/v1/events*")
    phone.clock.fast_forward(20_000)

    expect(phone.locator("[data-away]")).to_be_hidden()


def test_whoever_is_called_is_not_told_that_their_place_is_safe(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    clinic.call_next()
    phone = windows.open("/favicon.ico")
    stale = "event: stale\ndata: {}\n\n"
    phone.route("**/v1/events*", lambda route: route.fulfill(status=200, body=stale, content_type="text/event-stream"))

    phone.goto(taken.link)

    expect(phone.locator("[data-away]")).to_have_text(
        re.compile(r"No news since \d\d:\d\d\. You were called: please come")
    )
    expect(phone.locator("[data-away]")).not_to_contain_text("safe")


@pytest.mark.slow
def test_whoever_asks_too_often_is_told_in_words(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = windows.open(taken.link)
    windows.allow("429")

    phone.evaluate("link => Promise.all(Array.from({ length: 125 }, () => fetch(link)))", taken.link)
    phone.goto(taken.link)

    expect(phone.get_by_role("heading", name="Too many requests")).to_be_visible()


def test_a_link_that_was_replaced_leads_nowhere_from_then_on(clinic: Place, windows: Windows) -> None:
    taken = clinic.start("cooks", visitor="28763400114")
    phone = windows.open(taken.link)
    is_alive(phone)
    windows.allow("404")

    clinic.post(f"/v1/visits/{taken.link[3:].partition('.')[0]}/renew-link")

    expect(phone.get_by_role("heading", name="This link leads nowhere")).to_be_visible()
    expect(phone.get_by_role("link", name="Take a new number")).to_have_attribute("href", f"/v/{clinic.slug}")

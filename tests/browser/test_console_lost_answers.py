"""The console when answers get lost: what was pressed is asked for again, and done once; a new press is a new one."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.places import Place
from tests.browser.windows import DESK, PAST_THE_GUARD, Windows, intercept

AT_WORK = "[data-live-sign]"
BUSY_FOR_A_WHILE = "() => Date.now() - Number(document.querySelector('form:has(#big)').dataset.busy) > 2000"
"""So long the page keeps what was pressed, whatever the news."""
UNANSWERED = "The server did not answer."


def opened(windows: Windows, place: Place, room: str = "room-101") -> Page:
    page = windows.open(f"/staff/{place.slug}/{room}", DESK, session=place.session("staff"))
    expect(page.locator(AT_WORK)).to_be_visible()
    return page


def big(page: Page) -> Locator:
    return page.locator("form:has(#big)")


def button(page: Page) -> Locator:
    return page.locator("#big")


def told(page: Page) -> Locator:
    return page.locator("main [data-alert]")


def at_desk(place: Place, room: str = "room-101") -> list[str]:
    here = place.get(f"/v1/desks/{place.slug}:{room}/console")["here"]
    return [one["ticket"]["label"] for one in here]


def key_of(route: Route) -> str:
    found = re.search(r"idempotency_key=([^&]+)", route.request.post_data or "")
    assert found
    return found[1]


def lose_answers(page: Page, address: str, most: int = 4) -> list[str]:
    """The first request is done, and so many are not answered. The keys of all that were sent."""
    sent: list[str] = []

    def lose(route: Route) -> None:
        sent.append(key_of(route))
        if len(sent) > most:
            route.continue_()
            return
        if len(sent) == 1:
            route.fetch()
        route.abort()

    intercept(page, address, lose)
    return sent


@pytest.fixture
def two_rooms(clinic: Place) -> Place:
    rooms = [{"id": room, "name": {"en": room}, "queues": ["lab"]} for room in ("room-101", "room-102")]
    clinic.change(desks=rooms)
    return clinic


def test_a_press_that_is_not_answered_is_seen_asked_again_and_told_in_words(two_rooms: Place, windows: Windows) -> None:
    first, second = (two_rooms.take("lab") for _ in range(2))
    page = opened(windows, two_rooms)
    page.clock.install()
    page.reload()
    expect(page.locator(AT_WORK)).to_be_visible()
    hung: list[Route] = []

    def never_answer(route: Route) -> None:
        hung.append(route)

    intercept(page, "**/call-next", never_answer)

    page.keyboard.press("Space")
    expect(big(page)).to_have_attribute("aria-busy", "true")
    page.clock.run_for(2_500)
    two_rooms.do("call", first.ticket, desk="room-102")
    expect(page.locator(".who .number")).to_have_text(second.label)
    expect(big(page)).to_have_attribute("aria-busy", "true")
    page.keyboard.press("Space")
    for _ in range(40):  # and not longer: after 20 s without news nothing could be pressed
        if not told(page).is_visible():
            page.clock.run_for(500)
    expect(told(page)).to_contain_text(UNANSWERED)

    expect(big(page)).not_to_have_attribute("aria-busy", "true")
    expect(page.locator(AT_WORK)).to_be_visible()
    assert len(hung) == 2
    page.unroute_all()
    with page.expect_request("**/call-next") as again:
        page.keyboard.press("Space")
    assert {key_of(route) for route in hung} == set(re.findall(r"idempotency_key=([^&]+)", again.value.post_data or ""))
    expect(page.locator("#big")).to_contain_text("Arrived")


def test_what_the_page_shows_as_done_is_not_waited_for_any_more(clinic: Place, windows: Windows) -> None:
    first, second, *_ = (clinic.take("lab") for _ in range(3))
    windows.allow("ERR_FAILED")
    page = opened(windows, clinic)
    number, button = page.locator(".who .number"), page.locator("#big")
    asked: list[Route] = []

    def lose_the_answer_then_hang(route: Route) -> None:
        asked.append(route)
        if len(asked) == 1:
            route.fetch()
            route.abort()
        elif key_of(route) != key_of(asked[0]):
            route.continue_()

    intercept(page, "**/call-next", lose_the_answer_then_hang)
    page.keyboard.press("Space")
    page.wait_for_function(BUSY_FOR_A_WHILE)
    clinic.take("lab")
    expect(button).to_contain_text("Arrived")
    expect(number).to_have_text(first.label)
    page.keyboard.press("x")
    expect(button).to_contain_text("Call next")
    page.evaluate(PAST_THE_GUARD)
    page.keyboard.press("Space")

    expect(button).to_contain_text("Arrived")
    expect(number).to_have_text(second.label)


def test_what_is_still_under_way_is_asked_for_again_under_the_same_key(clinic: Place, windows: Windows) -> None:
    clinic.take("lab")
    page = opened(windows, clinic)
    windows.allow("409")
    asked: list[str] = []

    def is_under_way(route: Route) -> None:
        asked.append(key_of(route))
        told = {"detail": "Still under way.", "code": "idempotency-in-progress", "retryable": True}
        route.fulfill(status=409, headers={"retry-after": "10"}, json=told)

    intercept(page, "**/call-next", is_under_way)
    page.keyboard.press("Space")
    expect(page.locator("main [data-alert]")).to_contain_text("Still under way.")
    other = clinic.take("lab")
    expect(page.locator("tbody")).to_contain_text(other.label)
    page.locator("#big").click()

    expect(page.locator(".who .number")).to_be_visible()
    page.wait_for_function("() => !document.querySelector('[data-busy]')")
    assert len(asked) == 2
    assert len(set(asked)) == 1


def test_a_press_whose_page_cannot_be_had_calls_nobody_else_when_it_is_pressed_again(
    clinic: Place, windows: Windows
) -> None:
    first, _ = clinic.take("lab"), clinic.take("lab")
    windows.allow("503")
    page = opened(windows, clinic)
    asked: list[str] = []
    page.on("response", lambda answer: asked.append(answer.url) if answer.url.endswith("/call-next") else None)

    def no_page(route: Route) -> None:
        if route.request.method == "GET":
            route.fulfill(status=503, body="")
        else:
            route.continue_()

    intercept(page, f"**/staff/{clinic.slug}/room-101", no_page)
    for presses in (1, 2):
        page.keyboard.press("Space")
        page.wait_for_function("() => !document.querySelector('[data-busy]')")
        page.evaluate(PAST_THE_GUARD)
        assert len(asked) == presses

    assert at_desk(clinic) == [first.label]


def test_a_press_that_the_page_has_gone_on_without_is_given_up(clinic: Place, windows: Windows) -> None:
    first, _ = clinic.take("lab"), clinic.take("lab")
    page = opened(windows, clinic)
    page.clock.install()
    page.reload()
    expect(page.locator(AT_WORK)).to_be_visible()
    hung: list[Route] = []
    intercept(page, "**/call-next", lambda route: hung.append(route))  # noqa: PLW0108 - looked at by Playwright

    page.keyboard.press("Space")
    expect(big(page)).to_have_attribute("aria-busy", "true")
    page.clock.run_for(2_500)
    clinic.call_next("room-101")
    page.clock.run_for(500)
    expect(button(page)).to_contain_text("Arrived")
    for _ in range(15):
        page.clock.run_for(1_000)

    assert len(hung) == 1
    assert at_desk(clinic) == [first.label]
    expect(told(page)).to_be_hidden()


def test_a_host_whose_answer_was_lost_can_call_another_party(restaurant: Place, windows: Windows) -> None:
    first, second, _ = (restaurant.take("waitlist") for _ in range(3))
    windows.allow("ERR_FAILED")
    page = opened(windows, restaurant, "host")
    sent = lose_answers(page, "**/call-next")

    page.keyboard.press("Space")
    expect(button(page)).to_contain_text("Arrived")
    page.keyboard.press("n")

    expect(page.locator(".others")).to_contain_text(first.label)
    assert at_desk(restaurant, "host") == [first.label, second.label]
    assert len(set(sent)) == 2


def test_another_choice_after_a_lost_answer_is_not_told_in_words_of_programs(clinic: Place, windows: Windows) -> None:
    clinic.take("lab")
    windows.allow("ERR_FAILED", "422")
    page = opened(windows, clinic)
    page.keyboard.press("Space")
    expect(button(page)).to_contain_text("Arrived")
    page.keyboard.press("b")
    sheet = page.locator("#sheet")
    lose_answers(page, "**/put-back")

    sheet.get_by_role("button", name="To the front").click()
    expect(sheet.locator("[data-alert]")).to_contain_text(UNANSWERED)
    page.evaluate(PAST_THE_GUARD)
    sheet.get_by_role("button", name="To the end").click()

    expect(page.locator("[data-alert]:visible")).to_contain_text("What you chose before was sent already.")


def test_a_second_press_at_once_is_none_though_the_first_was_answered(clinic: Place, windows: Windows) -> None:
    clinic.take("lab")
    page = opened(windows, clinic)
    page.evaluate("() => { const at = Date.now(); window.passed = 0; Date.now = () => at + window.passed; }")

    button(page).click()
    expect(button(page)).to_contain_text("Arrived")
    button(page).click()
    page.wait_for_function("() => !document.querySelector('[data-busy]')")
    expect(page.locator(".who .state")).to_contain_text("called")
    page.evaluate("window.passed = 700")
    button(page).click()

    expect(button(page)).to_contain_text("Finish")

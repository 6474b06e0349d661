"""A morning at a desk by keyboard alone, and two desks that call at once though answers get lost."""

import random

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.places import Place
from tests.browser.windows import DESK, PAST_THE_GUARD, Windows, intercept

TURNS = 50
LOST = 0.3
PATIENT_MS = 60_000
"""A page whose fetch hangs gives up after 15 s and looks again after 30."""


def console(windows: Windows, clinic: Place, room: str = "room-101") -> Page:
    page = windows.open(f"/staff/{clinic.slug}/{room}", DESK, session=clinic.session("staff"))
    expect(page.locator("[data-live-sign]")).to_be_visible()
    return page


def number(page: Page) -> Locator:
    return page.locator(".who .number")


def state(page: Page) -> Locator:
    return page.locator(".who .state")


def big(page: Page) -> Locator:
    return page.locator("#big")


def test_a_morning_by_keyboard_alone(clinic: Place, windows: Windows) -> None:
    labels = [clinic.take("lab").label for _ in range(6)]
    page = console(windows, clinic)
    last = page.locator(".did")

    page.keyboard.press("Space")
    expect(state(page)).to_contain_text("called")
    page.keyboard.press("r")
    expect(page.locator(".facts")).to_contain_text("called 2 times")
    page.keyboard.press("a")
    expect(big(page)).to_contain_text("Finish")
    page.keyboard.press("Enter")
    expect(number(page)).to_have_text(labels[1])
    expect(big(page)).to_contain_text("Call next")

    page.keyboard.press("n")
    expect(big(page)).to_contain_text("Arrived")
    page.keyboard.press("x")
    expect(page.locator(".aside")).to_contain_text(labels[1])
    page.keyboard.press("u")
    expect(last).not_to_contain_text("missed")
    expect(number(page)).to_have_text(labels[1])
    expect(state(page)).to_contain_text("called")
    page.keyboard.press("h")
    expect(page.locator(".aside")).to_contain_text("Held")

    page.keyboard.press("Space")
    expect(number(page)).to_have_text(labels[2])
    expect(big(page)).to_contain_text("Arrived")
    page.keyboard.press("t")
    page.get_by_role("button", name="X-ray").focus()
    page.keyboard.press("Enter")
    expect(last).to_contain_text(f"{labels[2]} transferred")

    page.keyboard.press("Space")
    expect(number(page)).to_have_text(labels[3])
    expect(big(page)).to_contain_text("Arrived")
    page.keyboard.press("b")
    page.get_by_role("button", name="To the end").focus()
    page.keyboard.press("Enter")
    expect(last).to_contain_text(f"{labels[3]} put back")
    expect(number(page)).to_have_text(labels[4])

    page.keyboard.press("2")
    page.get_by_role("button", name="Urgent").press("Enter")
    expect(number(page)).to_have_text(labels[5])
    expect(state(page)).to_contain_text("called")
    page.keyboard.press("/")
    page.keyboard.type(labels[3])
    expect(page.locator("tbody tr")).to_have_count(1)
    assert number(page).inner_text() == labels[5], "keys are silent inside a field"


@pytest.mark.slow
def test_two_desks_press_together_though_answers_get_lost(clinic: Place, windows: Windows) -> None:
    rooms = ("room-101", "room-102")
    clinic.change(desks=[{"id": room, "name": {"en": room}, "queues": ["lab"]} for room in rooms])
    everybody = [clinic.take("lab").label for _ in range(2 * TURNS)]
    windows.allow("ERR_FAILED")
    pages = [console(windows, clinic, room) for room in rooms]
    chance = random.Random(13)
    lost: list[str] = []

    def lose_some(route: Route) -> None:
        """The server has done it by then."""
        if chance.random() < LOST:
            route.fetch()
            lost.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    called: list[str] = []
    for page in pages:
        intercept(page, "**/call-next", lose_some)
    for _ in range(TURNS):
        for page in pages:
            page.keyboard.press("Space")
        for page in pages:
            expect(big(page)).to_contain_text("Arrived", timeout=PATIENT_MS)
            called.append(number(page).inner_text())
            page.keyboard.press("x")
        for page in pages:
            expect(big(page)).to_contain_text("Call next", timeout=PATIENT_MS)
            page.evaluate(PAST_THE_GUARD)

    assert sorted(called) == everybody
    assert len(lost) > TURNS * LOST

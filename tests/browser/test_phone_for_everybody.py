"""The visitor's page for everybody: without script, without motion, with long names, and by the rules of WCAG."""

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import faults_of
from tests.browser.phones import AHEAD, SAFFRON, is_alive
from tests.browser.places import House, Place
from tests.browser.windows import Size, Windows

SMALL = Size(195, 422, touch=True)
"""A phone of 390 pixels at 200 %."""


def test_without_script_a_reload_and_forms_do_the_same(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = windows.open(taken.link, script=False)

    clinic.call_next()
    phone.get_by_role("link", name="Look again").click()
    expect(phone.locator("body")).to_have_css("background-color", SAFFRON)
    phone.get_by_role("button", name="Leave the queue").click()
    expect(phone.get_by_role("heading", name="You are no longer in the queue")).to_be_visible()
    phone.get_by_role("button", name="Undo").click()

    expect(phone.locator(".come")).to_be_visible()


def test_with_reduced_motion_nothing_moves(clinic: Place, windows: Windows) -> None:
    *_, taken = [clinic.take() for _ in range(6)]
    phone = windows.open(taken.link, still=True)
    is_alive(phone)

    clinic.call_next()
    expect(phone.locator(AHEAD)).to_have_text("4 people")

    assert phone.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("size", [SMALL, pytest.param(Size(320, 640), marks=pytest.mark.slow)])
@pytest.mark.parametrize("language", ["en", "ar"])
def test_long_names_keep_the_layout_whole(house: House, windows: Windows, language: str, size: Size) -> None:
    name = {"en": "宽" * 128}
    clinic = house.clinic(desks=[{"id": "room-101", "name": name, "queues": ["lab"]}])
    clinic.change_queue("lab", name=name, floor="W" * 60, room="x" * 60, prefix="WWWW")
    taken = clinic.start("cooks", visitor="28763400115")
    phone = windows.open(taken.link, size, language=language)

    for verb in (None, "call", "start"):
        if verb is not None:
            clinic.do(verb, taken.ticket) if verb == "start" else clinic.call_next()
            expect(phone.locator(".come" if verb == "call" else ".message")).to_be_visible()
        assert phone.evaluate("document.documentElement.scrollWidth") == size.width


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "theme"), [("en", "light"), ("en", "dark"), ("ar", "light"), ("ar", "dark"), ("zh", "light")]
)
def test_no_state_has_a_fault_that_axe_can_find(clinic: Place, windows: Windows, language: str, theme: str) -> None:
    dark = theme == "dark"
    taken, journey = clinic.take(), clinic.start("cooks", visitor="28763400116")
    single = windows.open(taken.link, language=language, dark=dark, still=True)
    planned = windows.open(journey.link, language=language, dark=dark, still=True)
    is_alive(single)
    is_alive(planned)
    faults = faults_of(single) + faults_of(planned)

    for verb, state in (
        ("call", "called"),
        ("miss", "missed"),
        ("rejoin", "near"),
        ("hold", "held"),
        ("leave", "left"),
    ):
        clinic.do(verb, taken.ticket)
        expect(single.locator("main")).to_have_attribute("data-state", state)
        faults += faults_of(single)
    for verb, state in (("call", "called"), ("start", "serving"), ("finish", "near")):
        clinic.do(verb, journey.ticket)
        expect(planned.locator("main")).to_have_attribute("data-state", state)
        faults += faults_of(planned)

    assert faults == []

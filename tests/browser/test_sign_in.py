"""Signing in, in a real browser: with and without scripts, by keyboard, in three languages and both themes."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import faults_of
from tests.browser.places import PASSWORD, House, Place
from tests.browser.windows import DESK, PHONE, Size, Windows

REFUSED = r"401 \(Unauthorized\)"


def fill_in(page: Page, username: str, password: str = PASSWORD) -> None:
    page.locator("#username").fill(username)
    page.locator("#password").fill(password)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("script", [True, False])
def test_staff_sign_in_and_come_to_the_desk_they_asked_for(clinic: Place, windows: Windows, *, script: bool) -> None:
    clinic.session("staff")

    page = windows.open(f"/staff/{clinic.slug}/room-101", DESK, script=script)
    expect(page.locator(".plate")).to_have_text("Room 101")
    fill_in(page, "staff")

    expect(page).to_have_url(f"{windows.url}/staff/{clinic.slug}/room-101")
    expect(page.locator("body")).to_contain_text("Room 101")


def test_a_wrong_password_is_said_and_the_second_try_needs_the_password_alone(clinic: Place, windows: Windows) -> None:
    windows.allow(REFUSED)
    clinic.session("staff")
    page = windows.open(f"/sign-in?then=/staff/{clinic.slug}/room-101", DESK)

    fill_in(page, "staff", "wrong")
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is not right.")
    assert faults_of(page) == []
    expect(page.locator("#username")).to_have_value("staff")
    expect(page.locator("#password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")

    expect(page).to_have_url(f"{windows.url}/staff/{clinic.slug}/room-101")


def test_a_shared_tablet_changes_hands(clinic: Place, windows: Windows) -> None:
    clinic.session("staff")
    page = windows.open(f"/sign-in?switch=1&then=/staff/{clinic.slug}", DESK, session=clinic.session("manager"))

    expect(page.locator("h1")).to_have_text("Switch person")
    fill_in(page, "staff")

    expect(page).to_have_url(f"{windows.url}/staff/{clinic.slug}")
    assert page.evaluate("fetch('/v1/me').then(answer => answer.json()).then(me => me.username)") == "staff"


@pytest.mark.parametrize(("language", "size", "dark"), [("ar", PHONE, True), ("zh", DESK, False)], ids=["ar", "zh"])
def test_the_form_is_accessible_and_nothing_leaves_the_screen(
    clinic: Place, windows: Windows, language: str, size: Size, *, dark: bool
) -> None:
    page = windows.open(f"/sign-in?then=/staff/{clinic.slug}/room-101", size, language=language, dark=dark)

    assert faults_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_at_two_hundred_percent_everything_is_still_there(house: House, windows: Windows) -> None:
    page = windows.open("/sign-in", Size(195, 422), language="ar")

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("button")).to_be_visible()


def test_names_of_places_stay_plain_text(house: House, windows: Windows) -> None:
    name = "<script>alert(1)</script>" + "宽" * 100
    desks = [{"id": "wide", "name": {"en": name}, "queues": ["lab"]}]
    place = house.clinic(desks=desks)

    page = windows.open(f"/sign-in?then=/staff/{place.slug}/wide")

    expect(page.locator(".plate")).to_have_text(name)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

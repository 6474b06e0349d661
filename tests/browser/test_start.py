"""The start page, and the demo's: one page, press Space, the phone turns saffron and the display calls."""

from collections.abc import Callable

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.browser.accessibility import faults_of
from tests.browser.places import Place
from tests.browser.windows import DESK, PHONE, TABLET, Size, Windows
from tests.running import DawrServer

NARROW = Size(320, 640)


@pytest.fixture
def shown(demo: DawrServer, windows_at: Callable[[str], Windows]) -> Windows:
    return windows_at(demo.url)


def begin(windows: Windows, path: str = "/", size: Size = DESK, **look: str | bool) -> Page:
    """Open the page, and press Space for the first time."""
    page = windows.open(path, size, address=None, **look)  # type: ignore[arg-type]
    page.keyboard.press("Space")
    expect(staff(page).locator("body")).to_be_visible()
    return page


def phone(page: Page) -> FrameLocator:
    return page.frame_locator(".handset iframe")


def display(page: Page) -> FrameLocator:
    return page.frame_locator(".screen iframe")


def staff(page: Page) -> FrameLocator:
    return page.frame_locator(".tablet iframe")


def waiting(page: Page, count: int) -> Locator:
    return staff(page).get_by_role("heading", name=f"Waiting {count}")


def number_on(screen: FrameLocator) -> str:
    return screen.locator(".number").first.inner_text().splitlines()[-1]


def test_two_presses_of_space_and_the_phone_turns_saffron_and_the_display_calls(shown: Windows) -> None:
    page = begin(shown)
    expect(waiting(page, 4)).to_be_visible()
    label = number_on(phone(page))

    page.keyboard.press("Space")

    expect(phone(page).locator("body")).to_have_class("called")
    expect(display(page).locator(".call")).to_contain_text(label)
    expect(display(page).locator(".call")).to_contain_text("Room 102")
    expect(waiting(page, 3)).to_be_visible()
    page.keyboard.press("a")
    expect(phone(page).locator("body")).not_to_have_class("called")


def test_the_guide_names_the_phones_number_until_it_is_served(shown: Windows) -> None:
    page = begin(shown)
    expect(waiting(page, 4)).to_be_visible()
    label = number_on(phone(page))
    expect(page.locator(".guide ol")).to_contain_text(f"the display calls {label} to Room 102")

    page.keyboard.press("Space")
    expect(waiting(page, 3)).to_be_visible()
    page.keyboard.press("a")
    expect(phone(page).locator("body")).not_to_have_class("called")

    expect(page.locator(".guide ol")).to_contain_text("The display calls the next number to Room 102.")
    expect(page.locator(".guide ol")).not_to_contain_text(label)


@pytest.mark.parametrize("screen", [phone, display])
def test_space_reaches_the_console_wherever_one_clicked_before(
    shown: Windows, screen: Callable[[Page], FrameLocator]
) -> None:
    page = begin(shown)
    expect(waiting(page, 4)).to_be_visible()
    label = number_on(phone(page))

    screen(page).locator("main").click(position={"x": 2, "y": 2})
    page.keyboard.press("Space")

    expect(waiting(page, 3)).to_be_visible()
    expect(display(page).locator(".call")).to_contain_text(label)


def test_space_on_a_button_of_the_page_is_the_buttons_own(shown: Windows) -> None:
    page = begin(shown)
    expect(waiting(page, 4)).to_be_visible()
    first = page.locator(".handset iframe").get_attribute("src")

    page.get_by_role("button", name="A new visitor").focus()
    page.keyboard.press("Space")

    expect(page.locator(".handset iframe")).not_to_have_attribute("src", str(first))
    expect(waiting(page, 4)).to_be_visible()


def test_the_restaurant_is_called_the_same_way(shown: Windows) -> None:
    page = begin(shown, "/demo/demo-restaurant")
    expect(waiting(page, 4)).to_be_visible()

    page.keyboard.press("Space")

    expect(phone(page).locator("body")).to_have_class("called")


def test_without_scripts_the_press_is_a_button_and_the_three_screens_are_there(shown: Windows) -> None:
    page = shown.open("/", DESK, script=False, address=None)

    page.get_by_role("button", name="Sign in and begin").click()

    assert page.locator("iframe").count() == 3
    expect(phone(page).locator(".number")).to_be_visible()


@pytest.mark.parametrize(("language", "dark"), [("en", False), ("ar", True)])
def test_the_demos_page_is_accessible(shown: Windows, language: str, *, dark: bool) -> None:
    page = shown.open("/", DESK, language=language, dark=dark, address=None)

    assert faults_of(page) == []


@pytest.mark.parametrize(
    ("size", "language"),
    [(DESK, "ar"), (TABLET, "en"), (PHONE, "zh"), (NARROW, "ar")],
    ids=["desk", "tablet", "phone", "narrow"],
)
def test_the_three_screens_fit_whatever_the_width(shown: Windows, language: str, size: Size) -> None:
    page = shown.open("/", size, language=language, address=None)

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = [page.locator(frame).bounding_box() for frame in (".handset", ".screen", ".tablet")]
    assert all(box is not None and 0 <= box["x"] <= box["x"] + box["width"] <= size.width for box in boxes)


def test_staff_find_their_pages_on_the_start_page_and_sign_out_there(clinic: Place, windows: Windows) -> None:
    page = windows.open("/", DESK, session=clinic.session("staff"))

    expect(page.locator(f'a[href="/staff/{clinic.slug}"]')).to_be_visible()
    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_role("link", name="Staff: sign in")).to_be_visible()
    expect(page.locator(f'a[href="/staff/{clinic.slug}"]')).to_have_count(0)


def test_an_owner_finds_the_three_addresses(clinic: Place, windows: Windows) -> None:
    page = windows.open("/", PHONE, session=clinic.session("owner"), language="ar", dark=True)

    expect(page.locator(".steps dd a")).to_have_count(3)
    assert faults_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

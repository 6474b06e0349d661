"""A minute without the server: every page says since when, greys what may be old, and is right again by itself."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.places import House
from tests.browser.windows import AWAY, DESK, TV, Windows


def pass_seconds(page: Page, seconds: int) -> None:
    for _ in range(seconds):
        page.clock.run_for(1000)


def test_killed_for_a_minute_everything_heals_by_itself(own_house: House, windows_at: Callable[[str], Windows]) -> None:
    clinic = own_house.clinic()
    windows = windows_at(own_house.url)
    first, second = clinic.take("lab"), clinic.take("lab")
    phone = windows.open(second.link)
    display = windows.open(f"/d/{clinic.slug}", TV)
    console = windows.open(f"/staff/{clinic.slug}/room-101", DESK, session=clinic.session("staff"))
    pages = (phone, display, console)
    for page in pages:
        page.clock.install()
        page.reload()
        expect(page.locator("body:not(.old):not(.stale)")).to_be_visible()
    windows.allow(AWAY, "503")

    own_house.server.kill()
    for page in pages:
        pass_seconds(page, 60)

    expect(phone.locator(".old")).to_be_visible()
    expect(phone.locator("main")).to_contain_text(second.label)
    expect(display.locator(".stale")).to_be_visible()
    expect(console.locator(".old, .stale").first).to_be_visible()

    own_house.server.start()
    assert clinic.call_next("room-101") == first.label
    for page in pages:
        page.clock.resume()
    expect(phone.locator(".old")).to_have_count(0, timeout=60_000)
    expect(display.locator(".stale")).to_have_count(0, timeout=60_000)
    expect(console.locator(".old, .stale")).to_have_count(0, timeout=60_000)
    expect(display.locator("main")).to_contain_text(first.label)
    expect(console.locator("main")).to_contain_text(first.label)

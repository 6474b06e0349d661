"""How the tests of the visitor's page look at it."""

from playwright.sync_api import Page, Request, expect

from tests.browser.places import Taken
from tests.browser.windows import Windows

AHEAD = '[data-figure="ahead"]'
SAFFRON = "rgb(243, 176, 29)"


def is_alive(page: Page) -> None:
    """Until its script is at work."""
    expect(page.locator("[data-alert]")).to_be_visible()


def fetches_of(page: Page, link: str) -> list[str]:
    """How often the page is fetched again, from now on."""
    fetched: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith(link):
            fetched.append(request.url)

    page.on("request", note)
    return fetched


def with_a_clock(windows: Windows, taken: Taken) -> Page:
    """A page whose time can be moved on."""
    page = windows.open("/favicon.ico")
    page.clock.install()
    page.goto(taken.link)
    is_alive(page)
    return page


def prepared(windows: Windows, taken: Taken, script: str) -> Page:
    """A page whose browser was changed before it was opened."""
    page = windows.open("/favicon.ico")
    page.add_init_script(script)
    page.goto(taken.link)
    expect(page.locator("[data-alert]")).to_be_attached()
    return page

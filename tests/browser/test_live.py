"""How a page follows what happens: it resumes, it never gives up, and it knows when its news is old."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route

from dawr.web.pages.assets import address_of
from tests.browser.places import Place
from tests.browser.windows import AWAY, DESK, Windows, intercept

FOLLOW = """async ([module, stream]) => {
  const { follow } = await import(module);
  window.seen = { events: [], refreshed: 0, connected: [], isThere: true };
  const refresh = async () => {
    if (!window.seen.isThere) throw new Error("away");
    window.seen.refreshed += 1;
  };
  const happened = (name, data) => window.seen.events.push([name, data.label || null]);
  const connected = (isLive) => window.seen.connected.push(isLive);
  window.following = follow({ stream, refresh, happened, connected });
}"""


def followed(windows: Windows, clinic: Place, *, ahead_of: Callable[[Route], None] | None = None) -> Page:
    """A page that has no script of its own, and follows the clinic's laboratory by the module that all pages use."""
    page = windows.open("/docs", DESK)
    page.clock.install()
    if ahead_of is not None:
        intercept(page, "**/v1/events*", ahead_of)
    page.evaluate(FOLLOW, [address_of("live.js"), f"/v1/events?queue={clinic.slug}:lab"])
    return page


def pass_until(page: Page, condition: str) -> None:
    """Let the page's time pass, a second at a time: it is much quicker than the time of this world."""
    for _ in range(300):
        if page.evaluate(condition):
            return
        page.clock.run_for(1000)
        page.evaluate("async () => { await fetch('/health/live') }")
    pytest.fail(f"{condition}: {page.evaluate('window.seen')}")


def pass_offline_until(page: Page, condition: str) -> None:
    """Let the page's time pass without a request. A heartbeat that is still on its way may prolong the wait."""
    for _ in range(120):
        if page.evaluate(condition):
            return
        page.clock.run_for(1000)
    pytest.fail(f"{condition}: {page.evaluate('window.seen')}")


def test_a_page_hears_of_everything_once_and_in_order(windows: Windows, clinic: Place) -> None:
    page = followed(windows, clinic)
    pass_until(page, "seen.events.length >= 1")

    labels = [clinic.take("lab").label for _ in range(5)]
    pass_until(page, "seen.events.length >= 6")

    assert page.evaluate("seen.events") == [["snapshot", None], *(["ticket.issued", label] for label in labels)]
    assert page.evaluate("seen.connected") == []


@pytest.mark.parametrize("status", [502, 503, 429])
def test_a_stream_that_is_refused_is_opened_anew(windows: Windows, clinic: Place, status: int) -> None:
    windows.allow(f"{status}")
    refusals = [status, status]

    def refuse(route: Route) -> None:
        if refusals:
            route.fulfill(status=refusals.pop(), headers={"Retry-After": "1"}, body="no")
        else:
            route.continue_()

    page = followed(windows, clinic, ahead_of=refuse)

    pass_until(page, "seen.events.length >= 1")
    assert refusals == []
    assert page.evaluate("seen.refreshed") >= 1


def test_where_no_stream_passes_the_page_asks_again_and_again(windows: Windows, clinic: Place) -> None:
    windows.allow(r"net::ERR_FAILED")
    asked: list[str] = []

    def hold_back(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page = followed(windows, clinic, ahead_of=hold_back)

    pass_until(page, "seen.refreshed >= 14")
    assert len(asked) < 12
    assert page.evaluate("seen.connected") == []


def test_news_that_stops_is_known_to_be_old_and_heals_by_itself(windows: Windows, clinic: Place) -> None:
    windows.allow(AWAY, r"net::ERR_FAILED")
    page = followed(windows, clinic)
    pass_until(page, "seen.events.length >= 1")

    page.evaluate("seen.isThere = false")
    page.context.set_offline(True)
    pass_offline_until(page, "seen.connected.length >= 1")
    assert page.evaluate("seen.connected") == [False]
    label = clinic.take("lab").label
    page.context.set_offline(False)
    page.evaluate("seen.isThere = true")

    pass_until(page, f"seen.events.some(([name, label]) => label === '{label}')")
    assert page.evaluate("seen.connected") == [False, True]
    assert page.evaluate("seen.events.filter(([name]) => name === 'ticket.issued').length") == 1


def test_a_page_that_is_looked_at_again_shows_a_snapshot_at_once(windows: Windows, clinic: Place) -> None:
    page = followed(windows, clinic)
    pass_until(page, "seen.events.length >= 1")
    before = page.evaluate("seen.refreshed")

    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    page.evaluate("dispatchEvent(new Event('online'))")

    pass_until(page, f"seen.refreshed >= {before + 1}")
    label = clinic.take("lab").label
    pass_until(page, f"seen.events.some(([name, label]) => label === '{label}')")

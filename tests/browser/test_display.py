"""The screen in the hall: who is called stands there at once and can be read, and it says when its news is old."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.accessibility import faults_of
from tests.browser.places import House, Place
from tests.browser.windows import AWAY, TV, Size, Windows, intercept

SAFFRON = "rgb(243, 176, 29)"


def hall(windows: Windows, place: Place, query: str = "", size: Size = TV, **look: object) -> Page:
    page = windows.open(f"/d/{place.slug}{query}", size, **look)  # type: ignore[arg-type]
    expect(page.locator("html[data-alive]")).to_be_attached()
    return page


def live(page: Page) -> Locator:
    """The numbers in saffron."""
    return page.locator(".hall:not(.stale) .call:not(.last):not(.idle) .number")


def latest(page: Page) -> Locator:
    return page.locator(".latest .number")


def test_a_call_stands_there_with_its_room_in_saffron(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    expect(page.locator(".idle")).to_contain_text("Your number appears here")
    taken, _ = clinic.take("lab"), clinic.take("lab")

    clinic.call_next("room-101")

    expect(live(page)).to_have_text([taken.label])
    expect(page.locator(".call .plate")).to_have_text("Room 101")
    expect(page.locator(".call .come")).to_have_text("تفضّلPlease come请前往")
    expect(page.locator(".call")).to_have_css("background-color", SAFFRON)
    expect(page.locator(".strip")).to_contain_text("1 waiting")
    expect(page.locator(".strip")).to_contain_text("up to 5 min")


def test_calls_in_a_rush_stand_side_by_side(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    desks = {"lab": "room-101", "xray": "room-102", "bio": "room-103", "eye": "room-302", "int": "room-301"}
    labels = [clinic.take(queue).label for queue in desks]

    for desk in desks.values():
        clinic.call_next(desk)

    expect(live(page)).to_have_text(labels)
    expect(page.locator(".calls")).to_have_class("calls six")


def test_a_call_that_is_undone_or_missed_is_taken_away(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    undone, missed, put_back = clinic.take("lab"), clinic.take("xray"), clinic.take("bio")
    for desk in ("room-101", "room-102", "room-103"):
        clinic.call_next(desk)
    expect(live(page)).to_have_text([undone.label, missed.label, put_back.label])

    clinic.do("undo", undone.ticket, version=clinic.look(undone.ticket)["version"])
    clinic.do("miss", missed.ticket)
    clinic.do("put-back", put_back.ticket, where="last")

    expect(live(page)).to_have_count(0)
    expect(page.locator(".call.last .number")).to_have_text(missed.label)
    expect(latest(page)).to_have_count(0)


def test_somebody_called_again_is_shown_again(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    taken = clinic.take("lab")
    clinic.call_next("room-101")
    expect(live(page)).to_have_text([taken.label])
    page.locator(".call").evaluate("(shown) => { shown.dataset.first = '' }")

    clinic.do("recall", taken.ticket)

    expect(page.locator(".call[data-first]")).to_have_count(0)
    expect(live(page)).to_have_text([taken.label])


def test_whoever_is_finished_without_a_call_is_not_shown(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    unannounced, announced = clinic.start(visitor="One"), clinic.take("eye")
    pin = clinic.post(f"/v1/queues/{clinic.slug}:lab/pin")["pin"]

    clinic.post(f"/v1/visits/{unannounced.link.removeprefix('/t/')}/finish-stage", {"queue": "lab", "pin": pin})
    clinic.call_next("room-302")

    expect(live(page)).to_have_text([announced.label])
    expect(page.locator("main")).not_to_contain_text(unannounced.label)


def test_calls_line_up_and_older_ones_go_to_the_latest(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    page.clock.install()
    page.reload()
    labels = [clinic.take("lab").label for _ in range(9)]
    for label in labels:
        assert clinic.call_next("room-101") == label
        expect(page.locator("main")).to_contain_text(label)
        page.clock.run_for(9_000)

    expect(live(page)).to_have_text([labels[-1]])
    expect(latest(page)).to_have_text(labels[-2:-8:-1])
    page.clock.run_for(60_000)
    expect(page.locator(".call.last")).to_contain_text("Called last")
    expect(page.locator(".call.last .number")).to_have_text(labels[-1])
    expect(page.locator(".call.last")).not_to_have_css("background-color", SAFFRON)
    expect(latest(page)).to_have_text(labels[-2:-8:-1])


def test_who_has_come_stays_without_colour_while_the_next_is_read(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    page.clock.install()
    page.reload()
    first, second = clinic.take("lab"), clinic.take("lab")
    clinic.call_next("room-101")
    expect(live(page)).to_have_text([first.label])
    clinic.do("start", first.ticket)
    clinic.do("finish", first.ticket)
    page.clock.run_for(3_000)
    clinic.call_next("room-101")
    expect(live(page)).to_have_text([first.label, second.label])

    page.clock.run_for(5_500)

    expect(live(page)).to_have_text([second.label])
    expect(page.locator(".calls.two .call.last .number")).to_have_text(first.label)
    expect(page.locator(".call.last")).not_to_have_css("background-color", SAFFRON)
    page.clock.run_for(4_000)
    expect(page.locator(".calls.one .call .come")).to_be_visible()
    expect(latest(page)).to_have_text([first.label])


def test_how_many_wait_is_said_without_fetching_the_page(clinic: Place, windows: Windows) -> None:
    clinic.take("lab")
    page = hall(windows, clinic, "?queues=lab,xray")
    intercept(page, f"**/d/{clinic.slug}*", lambda route: route.abort())
    windows.allow(AWAY, "ERR_FAILED")

    clinic.take("xray")
    clinic.take("eye")

    expect(page.locator("[data-part=waiting]")).to_have_text("2 waiting")
    clinic.call_next("room-101")
    clinic.call_next("room-102")
    expect(page.locator("[data-part=waiting]")).to_have_text("Nobody waiting")
    expect(page.locator("[data-part=wait]")).to_be_empty()


NOTE_WHAT_IS_SHOWN = """() => {
  window.shown = {};
  setInterval(() => {
    for (const number of document.querySelectorAll(".call:not(.last):not(.idle) .number")) {
      const [first] = window.shown[number.textContent] || [performance.now()];
      window.shown[number.textContent] = [first, performance.now()];
    }
  }, 100);
}"""


@pytest.mark.slow
def test_five_calls_in_a_second_and_then_thirty_a_minute_can_all_be_read(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    page.clock.install()
    page.reload()
    page.evaluate(NOTE_WHAT_IS_SHOWN)
    labels = [clinic.take("lab").label for _ in range(35)]

    for number, label in enumerate(labels):
        assert clinic.call_next("room-101") == label
        expect(page.locator("main")).to_contain_text(label)
        page.clock.run_for(200 if number < 4 else 2_000)
    page.clock.run_for(70_000)

    shown = page.evaluate("window.shown")
    assert list(shown) == labels
    assert min(last - first for first, last in shown.values()) >= 7_500


def test_a_screen_for_some_queues_shows_no_other(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic, "?queues=LAB,xr,nothing")
    lab, eye, xray = clinic.take("lab"), clinic.take("eye"), clinic.take("xray")

    for desk in ("room-101", "room-302", "room-102"):
        clinic.call_next(desk)

    expect(live(page)).to_have_text([lab.label, xray.label])
    expect(page.locator("main")).not_to_contain_text(eye.label)
    expect(page.locator(".notice")).to_contain_text("No queue here is called nothing.")


def test_without_news_the_strip_becomes_a_band_and_nothing_moves(
    own_house: House, windows_at: Callable[[str], Windows]
) -> None:
    windows, clinic = windows_at(own_house.url), own_house.clinic()
    first, second = clinic.take("lab"), clinic.take("lab")
    clinic.call_next("room-101")
    page = hall(windows, clinic)
    page.clock.install()
    page.reload()
    expect(live(page)).to_have_text([first.label])
    at = page.locator(".call .number").bounding_box()
    windows.allow(AWAY)

    own_house.server.kill()
    for _ in range(25):
        page.clock.run_for(1_000)

    expect(page.locator(".hall.stale .band")).to_contain_text(re.compile(r"No news since \d\d:\d\d"))
    expect(page.locator(".band")).to_contain_text("Please listen to the staff.")
    expect(page.locator(".call .known")).to_contain_text("The last call we know of")
    assert page.locator(".call .number").bounding_box() == at
    expect(page.locator(".call")).not_to_have_css("background-color", SAFFRON)
    assert faults_of(page) == []

    own_house.server.start()
    clinic.call_next("room-101")
    page.clock.resume()

    expect(page.locator(".hall.stale")).to_have_count(0, timeout=60_000)
    expect(page.locator(".band")).to_be_hidden()
    expect(live(page)).to_have_text([second.label])


def test_when_the_store_is_away_the_band_says_so_too(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    windows.allow("503")
    away, came = [True], [False]

    def stream(route: Route) -> None:
        if away:
            route.fulfill(content_type="text/event-stream", body="event: stale\ndata: {}\n\n")
        else:
            route.continue_()

    def snapshot(route: Route) -> None:
        """One still comes, then none while the store is away."""
        if away and came.pop():
            route.fulfill(status=503)
        else:
            route.continue_()
        came.append(True)

    intercept(page, "**/v1/events*", stream)
    intercept(page, f"**/d/{clinic.slug}", snapshot)
    page.evaluate("dispatchEvent(new Event('online'))")

    expect(page.locator(".hall.stale .band")).to_contain_text("No news since")
    away.clear()
    expect(page.locator(".hall.stale")).to_have_count(0)


def test_a_screen_that_hears_no_stream_looks_again_and_plays_what_it_finds(clinic: Place, windows: Windows) -> None:
    windows.allow("502")
    page = windows.open("/docs", TV)
    intercept(page, "**/v1/events*", lambda route: route.fulfill(status=502))
    page.goto(f"/d/{clinic.slug}")
    page.clock.install()
    page.reload()
    taken = clinic.take("lab")

    clinic.call_next("room-101")
    for _ in range(30):
        page.clock.run_for(1_000)

    expect(page.locator(".call .number")).to_have_text(taken.label)


def test_a_new_version_of_the_page_is_loaded_when_nobody_is_called(clinic: Place, windows: Windows) -> None:
    def newer(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r'data-version="[^"]*"', 'data-version="newer"', answer.text()))

    page = hall(windows, clinic)
    taken = clinic.take("lab")
    clinic.call_next("room-101")
    expect(live(page)).to_have_text([taken.label])
    page.evaluate("window.isOld = true")
    intercept(page, f"**/d/{clinic.slug}", newer)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("template[data-version=newer]")).to_be_attached()
    assert page.evaluate("window.isOld")
    page.unroute(f"**/d/{clinic.slug}")

    clinic.do("miss", taken.ticket)

    page.wait_for_function("() => !window.isOld")
    expect(page.locator(".call.last .number")).to_have_text(taken.label)


def test_a_mute_screen_says_so_and_one_press_lets_it_sound(clinic: Place, windows: Windows) -> None:
    page = hall(windows, clinic)
    expect(page.get_by_role("button", name="Press for sound")).to_be_visible()

    page.get_by_role("button").click()

    expect(page.locator(".hint")).to_be_hidden()
    page.evaluate("""() => {
      window.tones = 0;
      const start = OscillatorNode.prototype.start;
      OscillatorNode.prototype.start = function (at) { window.tones += 1; return start.call(this, at); };
    }""")
    clinic.take("lab")
    clinic.call_next("room-101")
    page.wait_for_function("() => window.tones === 2")


def test_it_stays_awake(clinic: Place, windows: Windows) -> None:
    page = windows.open("/docs", TV)
    page.add_init_script(
        "Object.defineProperty(navigator, 'wakeLock', { value: { request: async (kind) => { window.awake = kind; } } })"
    )

    page.goto(f"/d/{clinic.slug}")

    page.wait_for_function("() => window.awake === 'screen'")


def test_a_screen_that_may_not_see_the_display_any_more_asks_who_it_is(house: House, windows: Windows) -> None:
    clinic = house.clinic(display="staff")
    page = hall(windows, clinic, session=clinic.session("viewer"))

    page.context.clear_cookies()
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.get_by_role("heading", name="A display for staff")).to_be_visible()
    assert faults_of(page) == []
    made = clinic.post(f"/v1/venues/{clinic.slug}/tokens", {"kind": "display", "name": "Hall"})
    page.get_by_label("The token of this screen").fill(made["bearer"])
    page.get_by_role("button", name="Show the display").click()

    expect(page.locator("html[data-alive] .idle")).to_be_visible()

"""The console when something is in the way: a server that hangs, a session that ends, names and notes that are long."""

from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.places import Place
from tests.browser.windows import DESK, PHONE, TABLET, Size, Windows, intercept

AT_WORK = "[data-live-sign]"
LATIN = "Reads lips: face him when you speak, and say every name twice, slowly and clearly, from the front"
ARABIC = "يقرأ الشفاه: واجهه عندما تتكلم، وانطق كل اسم مرتين، ببطء ووضوح، من الأمام وليس من الخلف أو الجانب"
BEGINNING_IS_SEEN = """() => {
  const note = document.querySelector("td .cut bdi");
  const start = document.createRange();
  start.setStart(note.firstChild, 0);
  start.setEnd(note.firstChild, 4);
  const text = start.getBoundingClientRect(), cell = note.closest("td").getBoundingClientRect();
  return text.left >= cell.left - 1 && text.right <= cell.right + 1 && note.scrollWidth > note.clientWidth;
}"""
IN_THE_BAR = """() => [...document.querySelectorAll(".bar > *, .bar .plate, .bar .switch .button")]
  .map(one => one.getBoundingClientRect()).filter(box => box.width > 1)
  .map(box => [box.left, box.right, box.top, box.bottom])"""
NEIGHBOURS = """() => [...document.querySelectorAll(".bar > *")].map(one => one.getBoundingClientRect())
  .filter(box => box.width > 1).map(box => [box.left, box.right]).sort((a, b) => a[0] - b[0])"""


def opened(windows: Windows, place: Place, size: Size = DESK, *, language: str = "en", room: str = "room-101") -> Page:
    page = windows.open(f"/staff/{place.slug}/{room}", size, language=language, session=place.session("staff"))
    expect(page.locator(AT_WORK)).to_be_visible()
    return page


def big(page: Page) -> Locator:
    return page.locator("form:has(#big)")


def box_of(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Left, top, right, bottom; in one step, for what is looked at may be replaced at any moment."""
    script = "at => { const box = document.querySelector(at).getBoundingClientRect(); "
    left, top, right, bottom = page.evaluate(script + "return [box.left, box.top, box.right, box.bottom]; }", selector)
    return left, top, right, bottom


@pytest.fixture
def two_rooms(clinic: Place) -> Place:
    rooms = [{"id": room, "name": {"en": room}, "queues": ["lab"]} for room in ("room-101", "room-102")]
    clinic.change(desks=rooms)
    return clinic


def test_a_session_that_ends_while_nothing_is_pressed_says_nothing_of_a_press(clinic: Place, windows: Windows) -> None:
    page = opened(windows, clinic)
    page.context.clear_cookies()

    clinic.take("lab")

    asked = page.locator("#signed-out")
    expect(asked).to_contain_text("Your session has ended. Sign in to go on.")
    expect(asked.get_by_text("What you pressed last was not done.")).to_be_hidden()


@pytest.mark.parametrize("size", [PHONE, Size(800, 900), TABLET], ids=["390", "800", "1024"])
@pytest.mark.parametrize("language", ["ar", "zh"])
def test_a_long_name_of_a_desk_pushes_nothing_out_of_the_bar(
    clinic: Place, windows: Windows, size: Size, language: str
) -> None:
    name = {"en": "Dr. Noura bint Abdulaziz's consultation room", "ar": "غرفة استشارات الطبيبة نورة بنت عبدالعزيز"}
    clinic.change(desks=[{"id": "long", "name": name, "queues": ["lab"]}])
    page = opened(windows, clinic, size, language=language, room="long")

    boxes, neighbours = page.evaluate(IN_THE_BAR), page.evaluate(NEIGHBOURS)

    assert all(left >= 0 and right <= size.width and bottom - top <= 65 for left, right, top, bottom in boxes), boxes
    assert all(one[1] <= after[0] for one, after in pairwise(neighbours)), neighbours


@pytest.mark.parametrize(("language", "note"), [("ar", LATIN), ("en", ARABIC)], ids=["ar", "en"])
def test_a_long_note_is_cut_at_its_end_in_whichever_script_it_is_written(
    clinic: Place, windows: Windows, language: str, note: str
) -> None:
    clinic.take("lab", note=note)

    page = opened(windows, clinic, language=language)

    assert page.evaluate(BEGINNING_IS_SEEN)


def test_what_is_said_covers_no_number_moves_nothing_and_can_be_put_away(two_rooms: Place, windows: Windows) -> None:
    first = two_rooms.take("lab")
    two_rooms.take("lab")
    page = opened(windows, two_rooms)
    windows.allow("409")
    page.keyboard.press("Space")
    expect(page.locator("#big")).to_contain_text("Arrived")
    kept = ("#big", ".who .number", "tbody tr:first-child a.number")
    before = [box_of(page, one) for one in kept]

    two_rooms.switch("pause")
    expect(page.locator("[data-part=notices]")).to_contain_text("is paused")
    with_band = [box_of(page, one) for one in kept]
    intercept(page, "**/recall", lambda route: route.continue_(url=route.request.url.replace("/recall", "/resume")))
    page.keyboard.press("r")
    alert = page.locator("main [data-alert]")
    expect(alert).to_contain_text(first.label)

    _, top, _, bottom = box_of(page, "main [data-alert]")
    assert with_band == before
    assert (box_of(page, ".who .number")[3] <= top, bottom <= box_of(page, ".acts")[1]) == (True, True)
    alert.get_by_role("button", name="Close").click()
    expect(alert).to_be_hidden()


def test_on_a_slow_line_a_hurried_second_press_calls_nobody_else(clinic: Place, windows: Windows) -> None:
    """The panel says "Call next" until the page was fetched: what is pressed till then means the same press."""
    for _ in range(4):
        clinic.take("lab")
    console = windows.open(f"/staff/{clinic.slug}/room-101", DESK, session=clinic.session("staff"))
    expect(console.locator("html[data-ready]")).to_be_attached()
    line = console.context.new_cdp_session(console)
    line.send("Network.enable")
    slow = {"offline": False, "latency": 700, "downloadThroughput": -1, "uploadThroughput": -1}
    line.send("Network.emulateNetworkConditions", slow)

    for _ in range(9):
        console.keyboard.press("Space")
        console.evaluate("() => new Promise((done) => setTimeout(done, 350))")

    expect(console.locator("[data-part=turn] .big")).to_contain_text("Arrived")
    assert clinic.get(f"/v1/desks/{clinic.slug}:room-101")["waiting"] == 3


def test_enter_after_a_search_is_never_that_of_the_big_button(clinic: Place, windows: Windows) -> None:
    taken = [clinic.take("lab") for _ in range(5)]
    clinic.call_next("room-101")
    clinic.do("start", taken[0].ticket)
    console = windows.open(f"/staff/{clinic.slug}/room-101", DESK, session=clinic.session("staff"))
    expect(console.locator("html[data-ready]")).to_be_attached()

    console.keyboard.press("/")
    console.keyboard.type(taken[3].label)
    console.keyboard.press("Enter")
    console.keyboard.press("Enter")
    console.keyboard.press("Enter")

    # The third is the first reason's in the dialog, if that is open by then: the one who was found is called.
    expect(console.locator(".rows").get_by_text(taken[1].label)).to_have_count(0)
    console.wait_for_function("() => !document.querySelector('[data-busy]')")
    assert clinic.look(taken[0].ticket)["state"] == "serving"
    assert clinic.look(taken[1].ticket)["state"] == "waiting"


def test_space_and_long_lists_leave_the_page_where_it_is(clinic: Place, windows: Windows) -> None:
    for _ in range(40):
        clinic.take("lab", priority=1)
    clinic.switch("pause")
    console = windows.open(f"/staff/{clinic.slug}/room-101", DESK, session=clinic.session("staff"))
    expect(console.locator("html[data-ready]")).to_be_attached()

    console.keyboard.press("Space")

    assert console.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert console.evaluate("scrollY") == 0

"""The screen in the hall on any screen: in every size and language, on an old browser, without script."""

import re

import pytest
from playwright.sync_api import expect

from dawr.web.pages.assets import address_of
from tests.browser.accessibility import faults_of
from tests.browser.places import House, Place
from tests.browser.test_display import hall, latest, live
from tests.browser.windows import PORTRAIT, TV, Size, Windows, intercept

HD, FOUR_K = Size(1280, 720), Size(3840, 2160)
IS_CUT_OFF = """(cells) => cells
  .filter((it) => it.scrollWidth > it.clientWidth + 1 || it.scrollHeight > it.clientHeight * 1.05 + 1)
  .map((it) => it.outerHTML)"""
ROOM_BELOW_THE_LETTERS = """(names) => names.map((name) => {
  const baseline = document.createElement("i");
  baseline.style.display = "inline-block";
  name.append(baseline);
  const { bottom } = baseline.getBoundingClientRect();
  baseline.remove();
  const pen = document.createElement("canvas").getContext("2d");
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(name);
  pen.font = `${fontWeight} ${fontSize} ${fontFamily}`;
  return name.getBoundingClientRect().bottom - bottom - pen.measureText(name.textContent).actualBoundingBoxDescent;
})"""
LEAVES_THE_SCREEN = """() => [...document.querySelectorAll("main *")].filter((it) => it.checkVisibility())
  .map((it) => [it, it.getBoundingClientRect()])
  .filter(([it, box]) => box.width && !it.matches(".unseen") && (box.left < -1 || box.top < -1 ||
    box.right > innerWidth + 1 || box.bottom > innerHeight + 1))
  .map(([it]) => it.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize(
    ("language", "size"),
    [
        ("ar", TV),
        ("en", PORTRAIT),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("en", TV), ("zh", TV), ("ar", PORTRAIT), ("zh", HD))
        ),
    ],
)
def test_nothing_is_cut_off_in_any_language(house: House, windows: Windows, language: str, size: Size) -> None:
    clinic = house.clinic(language=language, digits="arabic")
    clinic.switch("pause", "eye")
    for number, desk in enumerate(["room-101", "room-102", "room-103", "room-101", "room-102", "room-103"]):
        clinic.take(("lab", "xray", "bio")[number % 3])
        clinic.call_next(desk)
    for _ in range(12):
        clinic.take("lab")

    page = hall(windows, clinic, size=size, language="en")

    expect(live(page)).to_have_count(6)
    assert page.locator("html").get_attribute("lang") == language
    assert page.evaluate(LEAVES_THE_SCREEN) == []
    assert page.locator(".plate bdi").evaluate_all(IS_CUT_OFF) == []
    assert page.locator(".notice").evaluate_all(IS_CUT_OFF) == []
    assert faults_of(page) == []


@pytest.mark.parametrize("size", [HD, pytest.param(FOUR_K, marks=pytest.mark.slow)], ids=["720p", "4K"])
def test_every_screen_shows_the_same_drawing(clinic: Place, windows: Windows, size: Size) -> None:
    clinic.take("lab")
    clinic.call_next("room-101")

    number = hall(windows, clinic, size=size).locator(".call .number").bounding_box()

    assert number is not None
    assert number["height"] / size.height == pytest.approx(0.344, abs=0.01)


def test_arabic_is_mirrored_and_numbers_are_not(house: House, windows: Windows) -> None:
    clinic = house.clinic(language="ar", digits="arabic")
    taken = [clinic.take("lab") for _ in range(4)]
    clinic.call_next("room-101")

    page = hall(windows, clinic)

    expect(live(page)).to_have_text([taken[0].label])
    expect(page.locator(".call .number")).to_have_css("direction", "ltr")
    expect(page.locator(".strip")).to_contain_text("٣ في الانتظار")
    expect(page.locator(".clock")).to_have_text(re.compile("[٠-٩]{2}:[٠-٩]{2}"))
    calls, list_of_latest = page.locator(".calls").bounding_box(), page.locator(".latest").bounding_box()
    assert calls is not None
    assert list_of_latest is not None
    assert list_of_latest["x"] < calls["x"]


@pytest.mark.parametrize(
    "name",
    ["Everything (gypsy)", "غرفة الطبيبة ليلي ج ع ي", pytest.param("Lab: jpgqy", marks=pytest.mark.slow)],
    ids=["two lines", "arabic", "one line"],
)
def test_no_letter_of_a_place_is_cut_off(house: House, windows: Windows, name: str) -> None:
    desks = [{"id": f"d{number}", "name": {"en": name}, "queues": ["lab"]} for number in range(5)]
    clinic = house.clinic(desks=desks)
    for desk in desks:
        clinic.take("lab")
        clinic.call_next(str(desk["id"]))
    page = hall(windows, clinic, still=True)

    expect(page.locator(".calls.six .call")).to_have_count(5)
    assert min(page.locator(".call .plate bdi").evaluate_all(ROOM_BELOW_THE_LETTERS)) >= 0


@pytest.mark.parametrize("language", ["ar", "en"])
def test_the_dots_of_the_venues_name_are_within_its_line(house: House, windows: Windows, language: str) -> None:
    page = hall(windows, house.clinic(language=language))

    name, line = page.locator(".idle h2 bdi").bounding_box(), page.locator(".idle h2").bounding_box()

    assert name is not None
    assert line is not None
    assert line["y"] <= name["y"] < name["y"] + name["height"] <= line["y"] + line["height"]


def test_names_of_any_length_stay_plain_text_in_their_place(house: House, windows: Windows) -> None:
    desks = [{"id": "wide", "name": {"en": "宽" * 128}, "queues": ["a"]}]
    desks += [{"id": "code", "name": {"en": "<script>alert(1)</script>"}, "queues": ["a"]}]
    desks += [{"id": "mixed", "name": {"en": "شباك (A1) on the second floor"}, "queues": ["a"]}]
    queues = [{"id": "a", "name": {"en": "<b>" + "W" * 120}, "prefix": "WWWW", "state": "open"}]
    place = house.clinic(queues=queues, desks=desks, journeys=[])
    labels = [place.take("a").label for _ in range(3)]

    page = hall(windows, place)
    for desk in ("wide", "code", "mixed"):
        place.call_next(desk)

    expect(live(page)).to_have_text(labels)
    expect(page.locator("main")).to_contain_text("<script>alert(1)</script>")
    assert page.evaluate(LEAVES_THE_SCREEN) == []
    numbers = page.locator(".call .number").evaluate_all(
        "(them) => them.map((it) => it.scrollWidth - it.parentElement.clientWidth)"
    )
    assert max(numbers) <= 0


def test_a_language_that_the_screen_has_no_letters_for_is_left_out(clinic: Place, windows: Windows) -> None:
    page = windows.open("/docs", TV)
    can_draw = "async ([module, letters]) => (await import(module)).canDraw(letters)"

    drawn = [page.evaluate(can_draw, [address_of("glyphs.js"), letters]) for letters in ("AB", "تض", "请前")]
    not_drawn = page.evaluate(can_draw, [address_of("glyphs.js"), "\U0010fffd\U0010fffc"])

    assert drawn == [True, True, True]
    assert not not_drawn


def test_a_screen_without_letters_for_its_language_says_so_in_english(house: House, windows: Windows) -> None:
    clinic = house.clinic(language="zh")
    page = windows.open("/docs", TV)
    page.add_init_script("CanvasRenderingContext2D.prototype.fillText = () => {}")

    page.goto(f"/d/{clinic.slug}")
    clinic.take("lab")
    clinic.call_next("room-101")

    expect(page.locator(".no-letters")).to_contain_text("This screen has no font for the language of this page.")
    expect(page.locator(".call .come")).to_have_text("Please come")


def test_a_browser_that_cannot_run_our_modules_loads_the_page_again(clinic: Place, windows: Windows) -> None:
    page = windows.open("/docs", TV)
    intercept(
        page, "**/static/display.*.js", lambda route: route.fulfill(content_type="text/javascript", body="let = ;")
    )
    windows.allow("SyntaxError|Unexpected")
    page.goto(f"/d/{clinic.slug}")
    page.clock.install()
    page.reload()
    taken = clinic.take("lab")
    clinic.call_next("room-101")

    page.clock.run_for(11_000)

    expect(live(page)).to_have_text([taken.label])


def test_without_script_a_reload_shows_the_same(clinic: Place, windows: Windows) -> None:
    first, second = clinic.take("lab"), clinic.take("lab")
    clinic.call_next("room-101")
    page = windows.open(f"/d/{clinic.slug}", TV, script=False)
    expect(live(page)).to_have_text([first.label])

    clinic.do("start", first.ticket)
    clinic.call_next("room-101")
    page.reload()

    expect(live(page)).to_have_text([second.label])
    expect(latest(page)).to_have_text([first.label])

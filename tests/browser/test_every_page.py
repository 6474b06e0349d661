"""What holds for every page: anybody can read and use it, in every language and theme, however it is enlarged."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import faults_of
from tests.browser.places import Place
from tests.browser.windows import DESK, PHONE, TV, Size, Windows

LANGUAGES = ("en", "ar", "zh")
PAGES = ("join", "phone", "called", "message", "display", "sign-in", "desks", "console", "start")
OF_VISITORS = ("join", "phone", "called", "message")
OF_STAFF = ("sign-in", "desks", "console", "start")
NARROW = Size(320, 640)
ENLARGED = Size(195, 422)
"""A phone of 390 pixels at 200 %."""
HOSTILE = ("<script>alert(1)</script>", "宽" * 128, "نور\u200cالدين (A1) abc", '"><img src=x onerror=alert(1)>')
SMALL_TARGETS = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")]
  .filter((it) => it.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter((it) => !it.closest("p, li > span, dd, label, .quiet"))
  .filter((it) => !it.matches("input[type=checkbox], input[type=radio]"))
  .map((it) => [it, it.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && (box.height < 43.5 || box.width < 43.5))
  .map(([it, box]) => `${it.outerHTML.slice(0, 120)} ${Math.round(box.width)} x ${Math.round(box.height)}`)"""
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
CONTRAST = """() => {
  const luminance = (text) => {
    const [red, green, blue] = text.match(/[\\d.]+/g).map(Number).slice(0, 3)
      .map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (it) => {
    const colour = getComputedStyle(it).backgroundColor;
    return /, 0\\)$/.test(colour) ? ground(it.parentElement) : colour;
  };
  return [...document.querySelectorAll(".number")].map((it) => {
    const pair = [luminance(getComputedStyle(it).color), luminance(ground(it))].sort((one, other) => other - one);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  });
}"""


def opened(windows: Windows, clinic: Place, page: str, **look: object) -> Page:
    """One of the pages, as somebody finds it in the middle of a day."""
    waiting = [clinic.take("lab", name=name) for name in HOSTILE]
    size = PHONE if page in OF_VISITORS else TV if page == "display" else DESK
    session = clinic.session("staff") if page in {"desks", "console"} else None
    if page in {"called", "display", "console"}:
        clinic.call_next("room-101")
    path = {
        "join": f"/v/{clinic.slug}",
        "phone": waiting[-1].link,
        "called": waiting[0].link,
        "message": f"{waiting[0].link}x",
        "display": f"/d/{clinic.slug}",
        "sign-in": "/sign-in",
        "desks": f"/staff/{clinic.slug}",
        "console": f"/staff/{clinic.slug}/room-101",
        "start": "/",
    }[page]
    if page == "message":
        windows.allow("404")
    shown = windows.open(path, **{"size": size, "session": session, **look})  # type: ignore[arg-type]
    expect(shown.locator("main")).to_be_visible()
    return shown


@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_a_fault_that_axe_can_find(windows: Windows, clinic: Place, page: str) -> None:
    assert faults_of(opened(windows, clinic, page)) == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", PAGES)
def test_nor_in_any_language_and_theme(windows: Windows, clinic: Place, page: str, language: str, theme: str) -> None:
    shown = opened(windows, clinic, page, language=language, dark=theme == "dark", still=True)

    assert shown.locator("html").get_attribute("lang") == ("en" if page == "display" else language)
    assert faults_of(shown) == []


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", OF_VISITORS)
@pytest.mark.parametrize("size", [NARROW, ENLARGED], ids=["narrow", "enlarged"])
def test_nothing_leaves_a_small_screen(windows: Windows, clinic: Place, page: str, language: str, size: Size) -> None:
    shown = opened(windows, clinic, page, language=language, size=size)

    assert shown.evaluate(SIDEWAYS) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page != "display"])
def test_everything_that_is_pressed_is_large_enough_for_a_finger(windows: Windows, clinic: Place, page: str) -> None:
    shown = opened(windows, clinic, page, size=PHONE)

    assert shown.evaluate(SMALL_TARGETS) == []
    assert shown.evaluate(SIDEWAYS) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["phone", "called", "display", "console"])
def test_a_number_stands_out_from_its_ground(windows: Windows, clinic: Place, page: str, theme: str) -> None:
    ratios = opened(windows, clinic, page, dark=theme == "dark").evaluate(CONTRAST)

    assert ratios
    assert min(ratios) >= 7


@pytest.mark.parametrize("page", ["console"])
def test_names_stay_plain_text_in_a_whole_layout(windows: Windows, clinic: Place, page: str) -> None:
    shown = opened(windows, clinic, page)

    assert shown.locator("img[src=x]").count() == 0
    assert shown.evaluate(SIDEWAYS) <= 0
    expect(shown.locator("main")).to_contain_text("宽宽宽")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_walked_by_keyboard_alone(windows: Windows, clinic: Place, page: str) -> None:
    """Each thing that can be pressed is reached, in order, with a ring around it that can be seen."""
    shown = opened(windows, clinic, page)
    wanted = shown.locator("main a[href]:visible, main button:enabled:visible, main input:visible").count()

    reached: set[str] = set()
    for _ in range(min(wanted, 40)):
        shown.keyboard.press("Tab")
        reached.add(shown.evaluate("document.activeElement.outerHTML.slice(0, 300)"))
        if shown.evaluate("document.activeElement !== document.body"):
            ring = shown.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert ring != "none", shown.evaluate("document.activeElement.outerHTML.slice(0, 200)")

    assert len(reached) >= min(wanted, 40) * 0.8


@pytest.mark.slow
@pytest.mark.parametrize("page", ["called", "display", "console"])
def test_whoever_wants_no_motion_has_none(windows: Windows, clinic: Place, page: str) -> None:
    shown = opened(windows, clinic, page, still=True)

    assert shown.evaluate("document.getAnimations().filter((it) => it.playState === 'running').length") == 0

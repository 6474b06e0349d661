"""Joining on a phone: one press, one number, whatever the network and the thumb do."""

import re

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.accessibility import faults_of
from tests.browser.places import House, Place
from tests.browser.windows import Size, Windows, intercept

NUMBER = re.compile(r"/t/")
REFUSED = r"the server responded with a status of 4\d\d"
LOST = r"net::ERR_FAILED"
MOBILE = "+97455512345"
NARROW = Size(195, 422, touch=True)
"""A phone at 200 %."""


def take(page: Page) -> None:
    page.get_by_role("button", name="Take a number").click()


def waiting(place: Place, queue: str = "lab") -> int:
    return int(place.get(f"/v1/queues/{place.slug}:{queue}")["waiting"])


def fill_in(page: Page, mobile: str = MOBILE) -> None:
    page.get_by_label("Name").fill("Sara")
    page.get_by_label("Mobile number").fill(mobile)
    page.get_by_label("How many people").fill("4")
    page.get_by_label("Outside").check()


@pytest.mark.parametrize("script", [True, False])
def test_a_visitor_chooses_a_line_and_has_a_number(clinic: Place, windows: Windows, *, script: bool) -> None:
    clinic.take("lab")

    page = windows.open(f"/v/{clinic.slug}", script=script)
    page.get_by_role("link", name="Laboratory").click()
    expect(page.locator(".pair")).to_contain_text("1 person")
    take(page)

    expect(page).to_have_url(NUMBER)
    expect(page.locator(".number")).to_contain_text("A002")
    page.reload()
    assert waiting(clinic) == 2


@pytest.mark.parametrize("script", [True, False])
def test_two_taps_take_one_number(clinic: Place, windows: Windows, *, script: bool) -> None:
    page = windows.open(f"/v/{clinic.slug}?queue=lab", script=script)

    page.get_by_role("button", name="Take a number").dblclick(no_wait_after=True)

    expect(page).to_have_url(NUMBER)
    assert waiting(clinic) == 1


def test_an_answer_that_is_lost_is_asked_for_again_and_no_number_is_taken_twice(
    clinic: Place, windows: Windows
) -> None:
    windows.allow(LOST)
    page = windows.open(f"/v/{clinic.slug}?queue=lab")
    lost: list[APIResponse] = []

    def lose(route: Route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.continue_()

    intercept(page, "**/v/**", lose)
    take(page)

    expect(page).to_have_url(NUMBER)
    expect(page.locator(".number")).to_contain_text("A001")
    assert (len(lost), waiting(clinic)) == (1, 1)


def test_without_a_connection_the_form_says_so_and_keeps_what_was_typed(restaurant: Place, windows: Windows) -> None:
    windows.allow(LOST)
    page = windows.open(f"/v/{restaurant.slug}")
    fill_in(page)

    intercept(page, "**/v/**", lambda route: route.abort())
    page.get_by_role("button", name="Join the waitlist").click()
    expect(page.get_by_role("alert")).to_contain_text("We do not know yet whether that reached us.")
    page.unroute("**/v/**")
    page.get_by_role("button", name="Join the waitlist").click()

    expect(page).to_have_url(NUMBER)
    assert waiting(restaurant, "waitlist") == 1


def test_figures_are_renewed_by_themselves_while_somebody_types(restaurant: Place, windows: Windows) -> None:
    page = windows.open("/")
    page.clock.install()
    page.goto(f"/v/{restaurant.slug}")
    expect(page.locator(".pair")).to_contain_text("nobody")
    page.get_by_label("Name").fill("Sara")
    page.get_by_label("Mobile number").press_sequentially("+974")

    restaurant.take("waitlist")
    restaurant.take("waitlist")
    page.clock.fast_forward(21_000)

    expect(page.locator(".pair")).to_contain_text("2 parties")
    expect(page.get_by_label("Name")).to_have_value("Sara")
    expect(page.get_by_label("Mobile number")).to_have_value("+974")
    expect(page.get_by_label("Mobile number")).to_be_focused()


def test_old_figures_are_said_to_be_old_until_there_are_new_ones(clinic: Place, windows: Windows) -> None:
    windows.allow(LOST)
    page = windows.open(f"/v/{clinic.slug}")
    intercept(page, "**/v/**", lambda route: route.abort())

    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.get_by_text("These figures may be old.")).to_be_visible()
    page.unroute("**/v/**")
    clinic.take("lab")
    page.evaluate("dispatchEvent(new Event('online'))")

    expect(page.get_by_role("link", name="Laboratory")).to_contain_text("1 waiting")
    expect(page.get_by_text("These figures may be old.")).to_be_hidden()


def test_the_button_goes_when_the_line_closes_and_comes_when_it_opens(clinic: Place, windows: Windows) -> None:
    page = windows.open(f"/v/{clinic.slug}?queue=lab")
    button = page.get_by_role("button", name="Take a number")
    expect(button).to_be_visible()

    clinic.switch("close")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(button).to_be_hidden()
    expect(page.locator(".off")).to_contain_text("Closed")
    clinic.switch("open")
    page.evaluate("dispatchEvent(new Event('online'))")

    expect(button).to_be_visible()


def test_a_press_on_a_line_that_has_just_closed_is_told_so(clinic: Place, windows: Windows) -> None:
    windows.allow(REFUSED)
    page = windows.open(f"/v/{clinic.slug}?queue=lab")
    clinic.switch("close")

    take(page)

    expect(page.get_by_role("alert")).to_contain_text("You have no number")
    expect(page.locator(".off")).to_contain_text("Closed")
    expect(page.get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize("script", [True, False])
def test_what_is_wrong_is_said_beside_its_field_where_one_goes_on(
    restaurant: Place, windows: Windows, *, script: bool
) -> None:
    windows.allow(REFUSED)
    page = windows.open(f"/v/{restaurant.slug}", script=script)
    fill_in(page, "5551 2345")

    page.get_by_role("button", name="Join the waitlist").click()

    mobile = page.get_by_label("Mobile number")
    expect(mobile).to_have_accessible_description("Write the number with its country code, like +97455512345.")
    expect(mobile).to_be_focused()
    expect(page.get_by_label("Name")).to_have_value("Sara")
    expect(page.get_by_label("Outside")).to_be_checked()
    mobile.fill("+974 5551 2345")
    page.get_by_role("button", name="Join the waitlist").click()
    expect(page).to_have_url(NUMBER)
    assert waiting(restaurant, "waitlist") == 1


def test_who_is_in_line_already_is_told_what_to_do_and_no_number(clinic: Place, windows: Windows) -> None:
    clinic.start(visitor="28412345678")
    page = windows.open(f"/v/{clinic.slug}")

    page.get_by_role("link", name="Several rooms today").click()
    page.get_by_label("ID number").fill("284 1234 5678")
    page.get_by_label("What you came for").select_option("recruitment")
    page.get_by_label("a man").check()
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_role("heading", name="You are in line already")).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("A001")
    expect(page).to_have_url(re.compile(r"/in-line$"))


def test_who_presses_too_often_is_told_when_to_try_again(clinic: Place, windows: Windows) -> None:
    windows.allow(REFUSED)
    page = windows.open(f"/v/{clinic.slug}?queue=lab")
    pressed = f"fetch('/v1/queues/{clinic.slug}:xray/tickets', {{method: 'POST'}}).then(answer => answer.status)"
    assert {page.evaluate(pressed) for _ in range(20)} == {201}

    take(page)

    expect(page.get_by_role("alert")).to_contain_text(
        re.compile(r"Many numbers were taken from here just now\. Try again in \d+ seconds\.")
    )
    assert waiting(clinic) == 0


def test_by_keyboard_alone(clinic: Place, windows: Windows) -> None:
    page = windows.open(f"/v/{clinic.slug}")

    for _ in range(5):
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Laboratory")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".pair")).to_be_visible()
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page).to_have_url(NUMBER)


def test_the_language_is_switched_where_one_is(clinic: Place, windows: Windows) -> None:
    page = windows.open(f"/v/{clinic.slug}?queue=lab")

    page.get_by_role("link", name="العربية").click()

    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.get_by_role("heading", name="المختبر")).to_be_visible()
    expect(page.get_by_role("button", name="خذ رقمًا")).to_be_visible()


@pytest.mark.parametrize(
    ("language", "dark"),
    [
        ("en", False),
        ("ar", True),
        pytest.param("en", True, marks=pytest.mark.slow),
        pytest.param("ar", False, marks=pytest.mark.slow),
        pytest.param("zh", False, marks=pytest.mark.slow),
        pytest.param("zh", True, marks=pytest.mark.slow),
    ],
)
def test_every_step_can_be_read_and_pressed_by_everybody(
    house: House, windows: Windows, language: str, *, dark: bool
) -> None:
    clinic, restaurant = house.clinic(hue=300), house.restaurant()
    clinic.take("lab")
    clinic.switch("close", "dnt")
    clinic.switch("pause", "ecg")
    windows.allow(REFUSED)
    page = windows.open(f"/v/{clinic.slug}", language=language, dark=dark)
    faults = {"choices": faults_of(page)}

    steps = ("?queue=lab", "?queue=ecg", "?queue=dnt", "?queue=gone", "?journey=", "/in-line")
    for step in steps:
        page.goto(f"/v/{clinic.slug}{step}")
        faults[step] = faults_of(page)
    page.goto(f"/v/{restaurant.slug}")
    page.locator("form button").click()
    expect(page.locator("[aria-invalid]").first).to_be_visible()
    faults["party"] = faults_of(page)

    assert {step: found for step, found in faults.items() if found} == {}


BROKEN_WORDS = """(names) => names.flatMap(({ firstChild: text }) => [...text.data.matchAll(/\\S+/g)].filter((word) => {
  const range = document.createRange();
  range.setStart(text, word.index);
  range.setEnd(text, word.index + word[0].length);
  return range.getClientRects().length > 1;
}).map(String))"""


@pytest.mark.parametrize("width", [300, 360])
def test_no_word_of_a_name_is_broken_on_a_small_phone(clinic: Place, windows: Windows, width: int) -> None:
    clinic.change_queue("lab", name={"en": "Reception and registration"})
    clinic.change_queue("xray", name={"en": "Psychiatry", "ar": "الطب النفسي"})
    for _ in range(12):
        clinic.take("lab")
        clinic.take("xray")

    page = windows.open(f"/v/{clinic.slug}", Size(width, 740, touch=True))

    assert page.locator(".choice strong bdi").evaluate_all(BROKEN_WORDS) == []
    assert page.locator(".choice .end > .icon").evaluate_all("(all) => all.every((one) => one.checkVisibility())")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("language", ["en", "ar", "zh"])
def test_nothing_is_cut_off_on_a_small_phone_at_double_size(house: House, windows: Windows, language: str) -> None:
    clinic, restaurant = house.clinic(), house.restaurant()
    clinic.change_queue("lab", name=dict.fromkeys(("en", "ar", "zh"), "宽" * 128))
    clinic.change_queue("xray", name=dict.fromkeys(("en", "ar", "zh"), "W" * 128))
    page = windows.open("/", NARROW, language=language)

    for path in (clinic.slug, f"{clinic.slug}?queue=lab", f"{clinic.slug}?journey=", restaurant.slug):
        page.goto(f"/v/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW.width, path

"""The console in a real browser: it follows what happens, does once what is pressed, and says what is in the way."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect

from tests.browser.accessibility import faults_of
from tests.browser.places import PASSWORD, House, Place
from tests.browser.windows import DESK, PAST_THE_GUARD, PHONE, Windows, intercept

AT_WORK = "[data-live-sign]"
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def open_console(clinic: Place, windows: Windows) -> Callable[..., Page]:
    def open_it(room: str = "room-101", *, by: str = "staff", **look: object) -> Page:
        given = {"size": DESK, "session": clinic.session(by), **look}
        page = windows.open(f"/staff/{clinic.slug}/{room}", **given)  # type: ignore[arg-type]
        if look.get("script", True):
            expect(page.locator(AT_WORK)).to_be_attached()
            expect(page.locator(AT_WORK)).not_to_have_attribute("hidden", "")
        return page

    return open_it


def big(page: Page) -> Locator:
    return page.locator("#big")


def place_of(page: Page, selector: str) -> tuple[float, ...]:
    """In one step: what is looked at may be replaced at any moment."""
    box = "selector => { const it = document.querySelector(selector).getBoundingClientRect(); "
    return tuple(page.evaluate(box + "return [it.x, it.y, it.width, it.height]; }", selector))


def test_whoever_joins_appears_by_themselves_and_the_focus_stays(
    clinic: Place, open_console: Callable[..., Page]
) -> None:
    first = clinic.take("lab")
    page = open_console()
    page.locator(".rows a.button").focus()

    second = clinic.take("lab")

    expect(page.locator("tbody")).to_contain_text(second.label)
    expect(page).to_have_title("(2) Room 101")
    assert first.ticket in page.evaluate("document.activeElement.href")


def test_the_big_button_and_the_number_keep_their_place(clinic: Place, open_console: Callable[..., Page]) -> None:
    clinic.take("lab")
    page = open_console()

    places = {place_of(page, "#big")}
    numbers = {place_of(page, ".who .number")}
    for words in ("Arrived", "Finish"):
        big(page).click()
        expect(big(page)).to_contain_text(words)
        places.add(place_of(page, "#big"))
        numbers.add(place_of(page, ".who .number"))
        page.wait_for_function("at => performance.now() > at + 600", arg=page.evaluate("performance.now()"))
    big(page).click()
    expect(big(page)).to_contain_text("Call next")

    assert places == {place_of(page, "#big")}
    assert len(numbers) == 1


def test_a_double_click_calls_once_and_says_nothing_of_arriving(
    clinic: Place, open_console: Callable[..., Page]
) -> None:
    taken = [clinic.take("lab") for _ in range(2)]
    page = open_console()

    big(page).dblclick()
    expect(big(page)).to_contain_text("Arrived")
    page.keyboard.press("r")

    expect(page.locator(".facts")).to_contain_text("called 2 times")
    assert clinic.look(taken[1].ticket)["state"] == "waiting"


def test_what_is_being_pressed_is_not_replaced_under_the_finger(
    clinic: Place, open_console: Callable[..., Page]
) -> None:
    first = clinic.take("lab")
    page = open_console()
    box = big(page).bounding_box()
    assert box

    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    clinic.take("lab")
    expect(page.locator("[data-waiting]")).to_have_attribute("data-waiting", "2")
    page.mouse.up()

    expect(big(page)).to_contain_text("Arrived")
    expect(page.locator(".who .number")).to_have_text(first.label)


def test_a_conflict_is_said_in_place_and_in_words(
    clinic: Place, windows: Windows, open_console: Callable[..., Page]
) -> None:
    clinic.change(
        desks=[
            {"id": "room-101", "name": {"en": "Room 1"}, "queues": ["lab"]},
            {"id": "room-102", "name": {"en": "Room 2"}, "queues": ["lab"]},
        ],
    )
    taken = clinic.take("lab")
    windows.allow("409")
    page = open_console()
    page.keyboard.press("1")
    call = page.get_by_role("button", name="Call now")
    expect(call).to_be_focused()

    clinic.do("call", taken.ticket, desk="room-102")
    page.keyboard.press("Enter")

    expect(page.locator("#sheet [data-alert]")).to_contain_text(f"{taken.label} was called by Room 2 just now.")
    expect(call).to_have_count(0)
    expect(page.locator("#sheet")).to_contain_text("This cannot be done any more")
    assert faults_of(page) == []


def test_an_answer_that_is_lost_is_asked_for_again_and_not_done_again(
    clinic: Place, windows: Windows, open_console: Callable[..., Page]
) -> None:
    taken = [clinic.take("lab") for _ in range(2)]
    page = open_console()
    windows.allow("ERR_FAILED")
    lost: list[str] = []

    def lose_the_first(route: Route) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.request.url)
            route.fetch()
            route.abort()

    intercept(page, "**/call-next", lose_the_first)
    page.keyboard.press("Space")

    expect(big(page)).to_contain_text("Arrived")
    assert lost
    assert clinic.look(taken[1].ticket)["state"] == "waiting"


def test_a_session_that_ends_asks_in_place_and_repeats_nothing(
    clinic: Place, windows: Windows, open_console: Callable[..., Page]
) -> None:
    taken = clinic.take("lab")
    windows.allow("401")
    page = open_console()
    page.context.clear_cookies()

    page.keyboard.press("Space")
    asked = page.locator("#signed-out")
    expect(asked).to_contain_text("You are signed out")
    expect(asked.get_by_text("What you pressed last was not done.")).to_be_visible()
    faults = faults_of(page)
    asked.get_by_label("Password").fill("not this one")
    page.keyboard.press("Enter")
    expect(asked).to_contain_text("The name or the password is not right.")
    asked.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")

    expect(asked).to_be_hidden()
    assert faults == []
    assert clinic.look(taken.ticket)["state"] == "waiting"
    page.evaluate(PAST_THE_GUARD)
    page.keyboard.press("Space")
    expect(big(page)).to_contain_text("Arrived")


def test_whoever_loses_their_role_is_told_in_words(
    clinic: Place, windows: Windows, open_console: Callable[..., Page]
) -> None:
    windows.allow("403")
    page = open_console()

    clinic.post(f"/v1/venues/{clinic.slug}/staff/staff/role", {"role": "viewer"})
    clinic.take("lab")

    expect(page.locator("main")).to_contain_text("This needs the role staff; yours here is viewer.")


def test_while_nobody_answers_nothing_can_be_pressed_and_it_heals(
    clinic: Place, windows: Windows, open_console: Callable[..., Page]
) -> None:
    clinic.take("lab")
    page = open_console()
    page.clock.install()
    page.reload()
    expect(page.locator(AT_WORK)).to_be_visible()
    windows.allow("ERR_FAILED")

    intercept(page, "**/*", lambda route: route.abort())
    for _ in range(45):
        page.clock.run_for(1000)
    expect(page.locator("[data-away]")).to_contain_text("No news since")
    expect(big(page)).to_be_disabled()
    faults = faults_of(page)

    page.unroute_all()
    for _ in range(20):
        page.clock.run_for(1000)
    expect(page.locator("[data-away]")).to_be_hidden()
    expect(big(page)).to_be_enabled()
    assert faults == []


def test_a_walk_in_gets_a_number_in_a_dialog(clinic: Place, open_console: Callable[..., Page]) -> None:
    page = open_console()

    page.get_by_role("link", name="Walk-in").click()
    page.locator("#sheet").get_by_label("Name").fill("Noor")
    page.get_by_role("button", name="Give a number").click()

    sheet = page.locator("#sheet")
    expect(sheet.locator(".taken")).to_have_text("A001")
    assert faults_of(page) == []
    sheet.get_by_text("Back").click()
    expect(sheet).to_be_hidden()
    expect(page.locator("tbody")).to_contain_text("Noor")


def test_the_pin_is_hidden_shown_on_press_and_hidden_again(clinic: Place, open_console: Callable[..., Page]) -> None:
    page = open_console()
    page.clock.install()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("button", name="Open", exact=True)).to_have_attribute("aria-pressed", "true")
    pin = page.locator("[data-pin-shown]")

    hidden = pin.inner_text()
    page.get_by_role("button", name="Show the PIN").click()
    expect(pin).to_have_text(re.compile(r"^\d\d$"))
    page.clock.run_for(16_000)

    expect(pin).to_contain_text("••")
    assert "••" in hidden


def test_the_pin_is_shown_though_the_page_has_changed(clinic: Place, open_console: Callable[..., Page]) -> None:
    page = open_console()
    page.get_by_role("button", name="Open", exact=True).click()
    hung: list[Route] = []

    intercept(page, re.compile(r"/pin\b"), lambda route: hung.append(route))  # noqa: PLW0108 - looked at by Playwright
    page.get_by_role("button", name="Show the PIN").click()
    clinic.take("lab")
    expect(page.locator("[data-waiting]")).to_have_attribute("data-waiting", "1")
    hung[0].continue_()

    expect(page.locator("[data-pin-shown]")).to_have_text(re.compile(r"^\d\d$"))


def test_many_changes_at_once_are_fetched_a_few_times(clinic: Place, open_console: Callable[..., Page]) -> None:
    page = open_console()
    fetched: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/room-101"):
            fetched.append(request.url)

    page.on("request", note)
    *_, last = [clinic.take("lab") for _ in range(30)]
    expect(page.locator("tbody")).to_contain_text(last.label)
    seconds = page.evaluate("performance.now()") / 1000

    assert len(fetched) <= 5 * seconds + 1


def test_keys_are_found_by_their_place_on_a_keyboard_with_other_letters(
    clinic: Place, open_console: Callable[..., Page]
) -> None:
    clinic.take("lab")
    page = open_console()
    page.keyboard.press("Space")
    expect(big(page)).to_contain_text("Arrived")

    typed = "typed => document.body.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, ...typed}))"
    page.evaluate(typed, {"key": "ق", "code": "KeyR"})
    expect(page.locator(".facts")).to_contain_text("called 2 times")
    page.evaluate(typed, {"key": "لا", "code": "KeyB"})

    expect(page.get_by_role("button", name="To the end")).to_be_visible()


def test_the_desk_is_worked_by_thumb(clinic: Place, open_console: Callable[..., Page]) -> None:
    for _ in range(3):
        clinic.take("lab")
    page = open_console(size=PHONE)

    big(page).tap()
    expect(big(page)).to_contain_text("Arrived")
    page.locator(".acts").get_by_text("More…").tap()
    page.get_by_role("button", name="To the end").tap()
    expect(page.locator(".did")).to_contain_text("A001 put back")
    page.locator(".thumb.push").tap()
    page.get_by_role("button", name=re.compile("15 min")).tap()
    expect(page.locator(".thumb.push")).to_have_text("Break…")

    assert page.evaluate(SIDEWAYS) <= 0


def test_a_turn_without_script(clinic: Place, open_console: Callable[..., Page]) -> None:
    for _ in range(2):
        clinic.take("lab")
    page = open_console(script=False)

    for words in ("Call next", "Arrived", "Finish"):
        expect(big(page)).to_contain_text(words)
        big(page).click()
    page.locator(".rows a.button").first.click()
    page.get_by_role("button", name="Hold").click()

    expect(page.locator(".aside")).to_contain_text("A002")
    expect(page.locator(".did")).to_contain_text("A001 finished")


def test_the_first_one_who_joins_is_heard(clinic: Place, open_console: Callable[..., Page]) -> None:
    page = open_console()
    page.evaluate("""() => {
      window.tones = 0;
      const start = OscillatorNode.prototype.start;
      OscillatorNode.prototype.start = function (...when) { window.tones += 1; return start.apply(this, when); };
    }""")
    page.locator("h2").click()

    clinic.take("lab")
    page.wait_for_function("() => window.tones === 2")
    second = clinic.take("lab")
    expect(page.locator("tbody")).to_contain_text(second.label)

    assert page.evaluate("window.tones") == 2


@pytest.mark.slow
def test_five_thousand_waiting_are_a_hundred_rows_and_a_search(
    tmp_path: Path, windows_at: Callable[[str], Windows]
) -> None:
    with House(tmp_path, DAWR_RATE_LIMITS="off") as house:
        clinic = house.clinic()
        for number in range(5_000):
            clinic.take("lab", name="Needle" if number == 4_321 else None)
        page = windows_at(house.url).open(f"/staff/{clinic.slug}/room-101", DESK, session=clinic.session("staff"))

        expect(page.locator(AT_WORK)).to_be_visible()
        expect(page.locator("tbody tr")).to_have_count(100)
        expect(page.locator("main")).to_contain_text("and 4900 more: use search")
        page.keyboard.press("/")
        page.keyboard.type("needle")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator("tbody tr")).to_have_count(100)
        page.close()


def test_whoever_wants_no_sound_turns_it_off_at_their_machine(clinic: Place, open_console: Callable[..., Page]) -> None:
    page = open_console()
    hint = page.get_by_text("You will hear a sound when somebody joins.")
    expect(hint).to_be_visible()

    page.get_by_role("link", name="Break…").click()
    sound = page.get_by_role("button", name="Sound")
    expect(sound).to_have_attribute("aria-pressed", "true")
    sound.click()
    expect(sound).to_have_attribute("aria-pressed", "false")
    page.reload()

    expect(page.locator(AT_WORK)).to_be_visible()
    expect(hint).to_be_hidden()


def test_keys_are_told_and_do_nothing_behind_a_dialog(clinic: Place, open_console: Callable[..., Page]) -> None:
    taken = clinic.take("lab")
    page = open_console()

    page.keyboard.press("?")
    keys = page.locator("#keys")
    expect(keys).to_contain_text("Call this row of the list")
    page.keyboard.press("n")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()

    assert clinic.look(taken.ticket)["state"] == "waiting"


def test_somebody_who_is_gone_is_said_to_be_in_the_dialog(
    clinic: Place, windows: Windows, open_console: Callable[..., Page]
) -> None:
    taken = clinic.take("lab")
    windows.allow("404")
    page = open_console()

    page.evaluate(
        """known => {
          const link = document.querySelector(".rows a.number");
          link.href = link.href.replace(known, "x");
          link.click();
        }""",
        taken.ticket,
    )

    expect(page.locator("#sheet")).to_contain_text("There is no such ticket.")
    page.locator("#sheet").get_by_role("button", name="Close").click()
    expect(page.locator("#sheet")).to_be_hidden()

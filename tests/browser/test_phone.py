"""The visitor's page in a real browser: what others do is counted in place, their own call turns the whole page."""

import pytest
from playwright.sync_api import expect

from tests.browser.phones import AHEAD, SAFFRON, fetches_of, is_alive, prepared, with_a_clock
from tests.browser.places import House, Place, Taken
from tests.browser.windows import Windows, intercept


def test_what_others_do_is_counted_in_place_and_fetches_nothing(clinic: Place, windows: Windows) -> None:
    *_, taken = [clinic.take() for _ in range(13)]
    phone = windows.open(taken.link)
    expect(phone.locator(AHEAD)).to_have_text("12 people")
    expect(phone.locator(".line i")).to_have_count(0)
    fetched = fetches_of(phone, taken.link)

    for ahead in (11, 10, 9):
        clinic.call_next()
        expect(phone.locator(AHEAD)).to_have_text(f"{ahead} people")

    expect(phone.locator(".line i")).to_have_count(10)
    expect(phone).to_have_title(f"{taken.label} · 9 ahead")
    assert fetched == []


def test_the_wait_is_told_to_five_minutes_by_page_and_script(clinic: Place, windows: Windows) -> None:
    clinic.change_queue("lab", mean_service_seconds=60)
    *_, taken = [clinic.take() for _ in range(14)]
    phone = windows.open(taken.link)
    is_alive(phone)
    wait = phone.locator('[data-figure="wait"]')
    expect(wait).to_have_text("15 min")

    clinic.call_next()

    expect(wait).to_have_text("10 min")
    expect(phone.locator(AHEAD)).to_have_text("12 people")


def test_in_arabic_counts_change_in_right_grammar(house: House, windows: Windows) -> None:
    clinic = house.clinic(digits="arabic")
    clinic.change_queue("lab", near_turn=0)
    tickets = [clinic.take() for _ in range(13)]
    phone = windows.open(tickets[-1].link, language="ar")
    said = ["١٢ شخصًا", "١١ شخصًا", "١٠ أشخاص", "٣ أشخاص", "شخصان", "شخص واحد", "لا أحد"]

    for before, words in zip((0, 1, 1, 7, 1, 1, 1), said, strict=True):
        for _ in range(before):
            clinic.call_next()
        expect(phone.locator(AHEAD)).to_have_text(words)

    number = phone.locator(".number")
    expect(number).to_contain_text("A013")
    assert number.evaluate("element => getComputedStyle(element).direction") == "ltr"


def test_whoever_is_called_sees_the_whole_screen_turn_and_where_to_go(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = windows.open(taken.link)
    is_alive(phone)

    clinic.call_next()

    expect(phone.locator("body")).to_have_css("background-color", SAFFRON)
    expect(phone.locator(".come")).to_have_text("Come now")
    expect(phone.locator(".door")).to_contain_text("Room 101")
    expect(phone.get_by_role("status")).to_have_text("Come now Room 101 mezzanine")
    clinic.do("recall", taken.ticket)
    expect(phone.locator(".after")).to_contain_text("Called again at")


def test_whoever_waits_learns_at_once_that_the_queue_is_paused_and_goes_on(clinic: Place, windows: Windows) -> None:
    _, taken = clinic.take(), clinic.take()
    phone = windows.open(taken.link)
    is_alive(phone)

    clinic.switch("pause")
    expect(phone.locator("main")).to_contain_text("This queue is paused. You keep your place")
    clinic.switch("resume")

    expect(phone.locator("main")).not_to_contain_text("paused")
    expect(phone.locator(AHEAD)).to_have_text("1 person")


def test_the_title_flashes_while_somebody_is_called(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = windows.open(taken.link)
    is_alive(phone)

    clinic.call_next()

    expect(phone).to_have_title(f"● {taken.label}")
    expect(phone).to_have_title(f"Come now · {taken.label}")
    clinic.do("start", taken.ticket)
    expect(phone).to_have_title(f"{taken.label} · your turn")


LISTENING = """
    window.heard = { tones: 0, shakes: 0 };
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...at) { window.heard.tones += 1; return start.apply(this, at); };
    Navigator.prototype.vibrate = () => { window.heard.shakes += 1; return true; };
"""


SILENT = """
    AudioContext.prototype.resume = () => new Promise(() => {});
    Object.defineProperty(BaseAudioContext.prototype, "state", { value: "suspended" });
"""


WITHOUT = "delete window.AudioContext; delete window.webkitAudioContext; delete Navigator.prototype.vibrate;"


def test_after_one_tap_a_call_is_heard_and_felt(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = prepared(windows, taken, LISTENING)

    phone.get_by_role("button", name="Alert me").tap()
    expect(phone.get_by_role("button", name="Alerts are on")).to_have_attribute("aria-pressed", "true")
    before = phone.evaluate("({...heard})")
    clinic.call_next()

    expect(phone.locator(".come")).to_be_visible()
    assert phone.evaluate("heard.tones") > before["tones"]
    assert phone.evaluate("heard.shakes") > before["shakes"]


def test_after_a_reload_the_next_tap_anywhere_brings_the_sound_back(clinic: Place, windows: Windows) -> None:
    phone = prepared(windows, clinic.take(), LISTENING)
    phone.get_by_role("button", name="Alert me").tap()
    expect(phone.get_by_role("button", name="Alerts are on")).to_be_visible()

    phone.reload()
    expect(phone.get_by_role("button", name="Tap to allow the sound")).to_be_visible()
    phone.locator(".number").tap()

    expect(phone.get_by_role("button", name="Alerts are on")).to_be_visible()
    phone.get_by_role("button", name="Alerts are on").tap()
    expect(phone.get_by_role("button", name="Alert me")).to_be_visible()


@pytest.mark.parametrize(
    ("browser_without", "words"),
    [(SILENT, "does not let this page make a sound"), (WITHOUT, "This browser cannot make a sound")],
)
def test_where_nothing_can_be_heard_it_says_so(
    clinic: Place, windows: Windows, browser_without: str, words: str
) -> None:
    phone = prepared(windows, clinic.take(), browser_without)

    button = phone.get_by_role("button", name="Alert me")
    if browser_without == SILENT:
        button.tap()

    expect(phone.locator("[data-alert-help]")).to_contain_text(words)


def test_leaving_is_done_at_once_and_a_second_tap_undoes_nothing(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone, other = with_a_clock(windows, taken), windows.open(taken.link)
    is_alive(other)
    phone.clock.pause_at(phone.evaluate("Date.now()") + 1_000)

    phone.get_by_role("button", name="Leave the queue").dblclick()
    phone.get_by_role("button", name="Undo").click()

    expect(other.get_by_role("heading", name="You are no longer in the queue")).to_be_visible()
    assert clinic.look(taken.ticket)["state"] == "left"
    phone.clock.run_for(1_000)
    phone.get_by_role("button", name="Undo").click()
    expect(phone.locator(AHEAD)).to_have_text("nobody")
    expect(other.locator(AHEAD)).to_have_text("nobody")


def test_the_undo_goes_away_by_itself(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    phone = with_a_clock(windows, taken)
    phone.get_by_role("button", name="Leave the queue").click()
    expect(phone.get_by_role("button", name="Undo")).to_be_visible()

    intercept(phone, f"**{taken.link}", lambda route: route.fulfill(status=200, body=ENDED, content_type="text/html"))
    phone.clock.fast_forward(11_000)

    expect(phone.get_by_role("button", name="Undo")).to_have_count(0)


ENDED = '<main class="phone" data-part="phone" data-as="left" data-stream="/v1/events"><h1>You left</h1></main>'


def test_whoever_missed_a_call_rejoins(clinic: Place, windows: Windows) -> None:
    taken = clinic.take()
    clinic.take()
    phone = windows.open(taken.link)
    is_alive(phone)
    clinic.call_next()
    clinic.do("miss", taken.ticket)

    phone.get_by_role("button", name="Rejoin the queue").click()

    expect(phone.locator(AHEAD)).to_have_text("1 person")


@pytest.fixture
def in_the_room(clinic: Place) -> Taken:
    taken = clinic.start("cooks", visitor="28763400112")
    clinic.call_next()
    clinic.do("start", taken.ticket)
    return taken


def test_a_wrong_pin_is_said_beside_its_field_and_the_right_one_leads_on(
    clinic: Place, windows: Windows, in_the_room: Taken
) -> None:
    pin = clinic.post(f"/v1/queues/{clinic.slug}:lab/pin")["pin"]
    phone = windows.open(in_the_room.link)
    windows.allow("403")
    field = phone.get_by_label("It opens your next room")
    expect(phone.locator("[data-look-again]")).to_be_hidden()

    field.fill("00" if pin != "00" else "11")
    field.press("Enter")
    expect(phone.get_by_role("alert")).to_contain_text("4 more tries")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.press_sequentially(pin, delay=400)
    phone.get_by_role("button", name="Continue").click()

    expect(phone.locator("h2")).to_contain_text("2 of 4")
    expect(phone.locator(".journey .done")).to_contain_text("Laboratory")


def test_what_is_typed_stays_until_the_visitor_is_elsewhere(
    clinic: Place, windows: Windows, in_the_room: Taken
) -> None:
    phone = windows.open(in_the_room.link)
    field = phone.get_by_label("It opens your next room")
    expect(phone.locator("[data-look-again]")).to_be_hidden()
    field.press_sequentially("4")

    with phone.expect_response(f"**{in_the_room.link}"):
        phone.evaluate("dispatchEvent(new Event('online'))")
    expect(field).to_have_value("4")
    expect(field).to_be_focused()

    clinic.do("finish", in_the_room.ticket)
    expect(phone.locator("h2")).to_contain_text("2 of 4")


def test_whoever_is_called_and_inside_already_types_the_pin(clinic: Place, windows: Windows) -> None:
    taken = clinic.start("cooks", visitor="28763400113")
    phone = windows.open(taken.link)
    is_alive(phone)
    clinic.call_next()
    pin = clinic.post(f"/v1/queues/{clinic.slug}:lab/pin")["pin"]

    phone.get_by_text("Already inside?").click()
    clinic.do("recall", taken.ticket)
    expect(phone.locator(".after")).to_contain_text("Called again")
    phone.get_by_label("It opens your next room").fill(pin)
    phone.get_by_role("button", name="Continue").click()

    expect(phone.locator("h2")).to_contain_text("2 of 4")

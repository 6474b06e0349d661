"""The screen in the hall as the server draws it: all of one moment, numbers only, for whoever may see it."""

import re
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.api.pages import A_BROWSERS, Page
from tests.api.world import Api
from tests.builders import a_new
from tests.running import Answer, eventually, must_be_problem

OWNER = "owner@clinic"
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}


class Hall:
    """A venue of the test's own, and its screen."""

    def __init__(self, api: Api, **set_up: object) -> None:
        self.api = api
        self.slug = a_new("hall")
        self.set_up: dict[str, Any] = {
            "name": {"en": "The hall", "ar": "القاعة", "zh": "大厅"},
            "kind": "office",
            "zone": "UTC",
            "queues": [
                {"id": "lab", "name": {"en": "Laboratory"}, "prefix": "A"},
                {"id": "eye", "name": {"en": "Eyes"}, "prefix": "B", "room": "7"},
            ],
            "desks": [
                {"id": "one", "name": {"en": "Desk One", "ar": "المكتب الأول"}, "queues": ["lab"]},
                {"id": "two", "name": {"en": "Desk Two"}, "queues": ["eye"]},
            ],
        }
        self.change(**set_up)

    def change(self, **changes: object) -> None:
        self.set_up |= changes
        assert self.api.ask("PUT", f"/v1/venues/{self.slug}/set-up", self.set_up, by=OWNER).status in {200, 201}

    def open(self, query: str = "", *, by: str | None = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.api.get(f"/d/{self.slug}{query}", by=by, headers={**A_BROWSERS, **named})

    def page(self, query: str = "", **headers: str) -> Page:
        return Page(self.open(query, **headers).body)

    def take(self, queue: str = "lab", **given: object) -> dict[str, Any]:
        return self.api.take(f"{self.slug}:{queue}", by=OWNER, **given)

    def call(self, desk: str = "one") -> None:
        assert self.api.post(f"/v1/desks/{self.slug}:{desk}/call-next", {}, by=OWNER).status == 200

    def do(self, verb: str, taken: dict[str, Any], **given: object) -> None:
        assert self.api.post(f"/v1/tickets/{taken['ticket']}/{verb}", given, by=OWNER).status == 200

    def token(self, kind: str = "display", **given: object) -> dict[str, Any]:
        body = {"kind": kind, "name": "On the wall", **given}
        return self.api.post(f"/v1/venues/{self.slug}/tokens", body, by=OWNER).json


@pytest.fixture
def hall(api: Api) -> Hall:
    return Hall(api)


def calls_of(page: bytes) -> str:
    """The part of the page that is large."""
    return page.decode().partition('<section class="calls')[2].partition("</section>")[0]


def test_who_is_called_is_shown_with_the_desk_and_nobody_by_name(hall: Hall) -> None:
    taken = [hall.take(visitor=f"Nobody's business {number}", name="Nobody's name") for number in range(2)]
    hall.call()

    answer = hall.open()

    assert answer.status == 200
    assert taken[0]["place"]["label"] in calls_of(answer.body)
    assert "Desk One" in calls_of(answer.body)
    assert "Nobody" not in answer.body.decode().replace("Nobody waiting", "")
    assert "1 waiting" in Page(answer.body).text
    assert Page(answer.body).inline == []


def test_please_come_is_said_in_three_languages_and_the_rest_in_the_venues(api: Api) -> None:
    hall = Hall(api, language="ar", digits="arabic")
    for _ in range(4):
        hall.take()
    hall.call()

    page, switched = hall.page(Accept_Language="zh"), hall.page("?lang=en", Accept_Language="zh")

    assert (page.language, page.direction) == ("ar", "rtl")
    assert all(come in page.text for come in ("تفضّل", "Please come", "请前往"))
    assert "٣ في الانتظار" in page.text
    assert "المكتب الأول" in page.text
    assert "A001" in page.text
    assert (switched.language, switched.direction) == ("en", "ltr")


def test_without_script_it_looks_again_by_itself(hall: Hall) -> None:
    assert b'<noscript><meta http-equiv="refresh" content="10"></noscript>' in hall.open().body


def test_an_empty_hall_says_where_one_is(hall: Hall) -> None:
    page = hall.page()

    assert "The hall" in page.text
    assert "Your number appears here when it is your turn." in page.text
    assert "Nobody waiting" in page.text


def test_the_wait_of_one_queue_is_about_and_of_several_up_to(hall: Hall) -> None:
    for _ in range(3):
        hall.take()
    hall.take("eye")

    assert "4 waiting" in hall.page().text
    assert "up to 15 min" in hall.page().text
    assert "3 waiting" in hall.page("?queues=lab").text
    assert "about 15 min" in hall.page("?queues=lab").text


def test_a_screen_for_some_queues_knows_no_others(hall: Hall) -> None:
    lab, eye = hall.take("lab"), hall.take("eye")
    hall.call("one")
    hall.call("two")

    page = hall.page("?queues=%20EYE%20,")

    assert eye["place"]["label"] in page.text
    assert lab["place"]["label"] not in page.text


def test_names_that_no_queue_has_are_said_in_words(hall: Hall) -> None:
    one, none = hall.open("?queues=lab,<b>nothing"), hall.open("?queues=nothing,nobody")

    assert one.status == 200
    assert "No queue here is called <b>nothing." in Page(one.body).text
    assert none.status == 404
    assert "No queue here is called nothing, nobody." in Page(none.body).text
    assert "The queues here are lab, eye." in Page(none.body).text


def test_a_call_that_is_over_is_not_shown_as_one(hall: Hall) -> None:
    taken = [hall.take() for _ in range(4)]
    undone, missed, held, put_back = taken
    for _ in taken:
        hall.call()

    hall.do("undo", undone, version=hall.api.look(undone["ticket"])["version"])
    hall.do("miss", missed)
    hall.do("hold", held)
    hall.do("put-back", put_back, where="last")
    page = hall.open()

    assert "call last" in calls_of(page.body)
    assert "Called last" in Page(page.body).text
    assert missed["place"]["label"] in calls_of(page.body)
    for other in (undone, held, put_back):
        assert other["place"]["label"] not in page.body.decode()


def test_without_a_desk_the_room_of_the_queue_is_shown(hall: Hall) -> None:
    hall.take("lab")
    hall.take("eye")
    for queue in ("lab", "eye"):
        hall.api.post(f"/v1/queues/{hall.slug}:{queue}/call-next", {}, by=OWNER)

    shown = calls_of(hall.open().body)

    assert "Room 7" in shown
    assert "Laboratory" in shown
    assert "Eyes" not in shown


def test_notices_say_what_is_paused_full_or_opens_later(api: Api) -> None:
    hall = Hall(
        api,
        queues=[
            {"id": "lab", "name": {"en": "Laboratory"}, "state": "paused"},
            {"id": "eye", "name": {"en": "Eyes"}, "capacity": 0},
            {"id": "ecg", "name": {"en": "Heart"}},
        ],
    )

    notices = notices_of(hall)

    assert "Laboratory is paused. Your place is kept." in notices
    assert "Eyes has no numbers left today." in notices
    assert "Heart" not in notices


def notices_of(hall: Hall) -> str:
    return hall.open().body.decode().partition('class="notice"')[2].partition("</p>")[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"active": False}, "No new numbers are given here. Whoever has one is still called."),
        (
            {"queues": [{"id": code, "name": {"en": code}, "state": "closed"} for code in ("lab", "eye")]},
            "No numbers are given at the moment.",
        ),
    ],
)
def test_a_hall_that_takes_nobody_says_so(api: Api, changes: dict[str, object], words: str) -> None:
    assert words in Hall(api, **changes).page().text


def test_an_unknown_venue_is_said_in_words(api: Api) -> None:
    answer = api.get("/d/nowhere", headers=A_BROWSERS)

    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    must_be_problem(api.get("/d/nowhere"), 404, "unknown-venue")


def test_the_stream_goes_on_from_the_moment_of_the_page(hall: Hall) -> None:
    body = hall.open().body.decode()
    (since,) = re.findall(r'data-event="(\d+\.\d+)"', body)
    taken = hall.take()

    with urlopen(f"{hall.api.url}/v1/events?venue={hall.slug}&last_event_id={since}", timeout=20) as events:
        first = next(line for line in events if line.startswith(b"event:"))
        data = next(line for line in events if line.startswith(b"data:"))

    assert first == b"event: ticket.issued\n"
    assert taken["place"]["label"].encode() in data


@pytest.fixture
def guarded(api: Api) -> Hall:
    return Hall(api, display="staff")


def test_a_display_for_staff_asks_who_it_is(guarded: Hall) -> None:
    browser, program = guarded.open("?queues=lab"), guarded.api.get(f"/d/{guarded.slug}")
    form = guarded.api.get(browser.headers["location"], headers=A_BROWSERS)

    assert browser.status == 303
    must_be_problem(program, 401, "not-signed-in")
    assert form.status == 200
    assert "The display of The hall is not open to everybody." in Page(form.body).text
    assert Page(form.body).typed["then"] == f"/d/{guarded.slug}?queues=lab"


def test_staff_and_displays_with_a_token_see_it(guarded: Hall) -> None:
    bearer = {"Authorization": f"Bearer {guarded.token()['bearer']}"}

    assert guarded.open(by=OWNER).status == 200
    assert guarded.open(**bearer).status == 200
    assert guarded.open(by="owner@bistro").status == 303
    assert guarded.api.get(f"/d/{guarded.slug}", by="owner@bistro").status == 404


def give(hall: Hall, token: str, then: str = "", **headers: str) -> Answer:
    body = urlencode({"token": token, "then": then}).encode()
    return hall.api.post(f"/d/{hall.slug}/token", body, headers={**A_BROWSERS, **FORM, **headers})


def test_a_screen_shows_its_token_once_and_is_known_until_it_is_revoked(guarded: Hall) -> None:
    made = guarded.token()

    entered = give(guarded, made["bearer"], f"/d/{guarded.slug}?queues=lab")
    cookie = entered.headers["set-cookie"].partition(";")[0]
    shown = guarded.open(Cookie=cookie)
    guarded.api.post(f"/v1/venues/{guarded.slug}/tokens/{made['token']['token']}/revoke", {}, by=OWNER)

    assert (entered.status, entered.headers["location"]) == (303, f"/d/{guarded.slug}?queues=lab")
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert shown.status == 200
    assert "The hall" in Page(shown.body).text
    eventually(lambda: guarded.open(Cookie=cookie).status == 303)


def test_a_displays_cookie_lets_it_do_nothing_else(guarded: Hall) -> None:
    taken = guarded.take()
    cookie = give(guarded, guarded.token()["bearer"]).headers["set-cookie"].partition(";")[0]

    answer = guarded.api.ask(
        "POST", f"/v1/tickets/{taken['ticket']}/call", {}, headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
    )

    assert answer.status == 401


def test_on_a_screen_with_a_token_staff_can_still_sign_in(guarded: Hall) -> None:
    cookie = give(guarded, guarded.token()["bearer"]).headers["set-cookie"].partition(";")[0]

    answer = guarded.api.get(f"/staff/{guarded.slug}", headers={**A_BROWSERS, "Cookie": cookie})

    assert (answer.status, answer.headers["location"]) == (303, f"/sign-in?then=/staff/{guarded.slug}")


@pytest.mark.parametrize("kind", ["api", "kiosk", "elsewhere", "nonsense"])
def test_no_other_token_is_kept(guarded: Hall, kind: str) -> None:
    if kind == "nonsense":
        bearer = "dwt_nonsense.nonsense"
    elif kind == "elsewhere":
        bearer = Hall(guarded.api).token()["bearer"]
    else:
        bearer = guarded.token(kind, role="staff" if kind == "api" else None)["bearer"]

    answer = give(guarded, bearer)

    assert answer.status == 422
    assert "set-cookie" not in answer.headers
    assert "This is no token of a display here, or it was revoked." in Page(answer.body).text
    assert bearer not in answer.body.decode()


def test_another_language_of_the_form_leads_to_the_same_display(guarded: Hall) -> None:
    form = guarded.api.get(guarded.open("?queues=lab").headers["location"], headers=A_BROWSERS)
    (arabic,) = [address for address in Page(form.body).links if address.endswith("lang=ar")]

    again = guarded.api.get(f"/d/{guarded.slug}/token{arabic}", headers=A_BROWSERS)

    assert Page(again.body).typed["then"] == f"/d/{guarded.slug}?queues=lab"


@pytest.mark.parametrize("then", ["https://elsewhere.example/", "//elsewhere.example", "/staff", "/d/other"])
def test_the_form_leads_to_this_display_and_nowhere_else(guarded: Hall, then: str) -> None:
    assert give(guarded, guarded.token()["bearer"], then).headers["location"] == f"/d/{guarded.slug}"

"""Joining by a page: people and wait before the choice, one number per form, and in words why there is none."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.api.joining import OWNER, Door, is_in, new_place
from tests.api.journeys import new_clinic
from tests.api.pages import A_BROWSERS, Page
from tests.api.world import Api
from tests.running import at_once, must_be_problem, zone_where_it_is_noon

PRESSED = 6


@pytest.fixture
def clinic(api: Api) -> Door:
    return Door(api, new_clinic(api).slug)


def test_people_and_wait_are_seen_before_the_choice(clinic: Door) -> None:
    for _ in range(7):
        clinic.api.take(f"{clinic.slug}:lab")

    page = clinic.see()

    assert is_in("Lab 7 waiting about 35 min", page)
    assert f"/v/{clinic.slug}?queue=lab" in page.links
    assert f"/v/{clinic.slug}?journey=" in page.links
    assert page.inline == ["svg"] * len(page.inline)


def test_nobody_is_promised_a_turn_now_while_no_desk_is_open(clinic: Door) -> None:
    set_up = clinic.api.get(f"/v1/venues/{clinic.slug}/set-up", by=OWNER).json
    desk = next(desk["id"] for desk in set_up["desks"] if "eye" in desk["queues"])

    shut = clinic.see()
    assert clinic.api.post(f"/v1/desks/{clinic.slug}:{desk}/open", {}, by=OWNER).status == 200
    opened = clinic.see()

    assert is_in("Eye nobody waiting", shut)
    assert not is_in("Eye nobody waiting now", shut)
    assert is_in("Eye nobody waiting now", opened)


def test_one_press_takes_a_number_and_needs_no_name(clinic: Door) -> None:
    page = clinic.see("?queue=lab")
    answer = clinic.send(page.typed)

    assert is_in("Lab", page)
    assert (answer.status, answer.headers["location"][:3]) == (303, "/t/")
    assert "L001" in Page(clinic.api.get(answer.headers["location"], headers=A_BROWSERS).body).text
    assert clinic.waiting() == 1


def test_a_form_that_is_pressed_many_times_takes_one_number(clinic: Door) -> None:
    form = clinic.see("?queue=lab").typed
    alone = [Door(Api(clinic.api.url, clinic.api.world), clinic.slug) for _ in range(PRESSED)]

    together = at_once(lambda door: door.send(form), alone)
    later = clinic.send(form)

    assert {answer.headers["location"] for answer in together} == {later.headers["location"]}
    assert clinic.waiting() == 1


def test_every_form_that_is_opened_is_one_of_its_own(clinic: Door) -> None:
    first, second = (clinic.press({}, "?queue=lab") for _ in range(2))

    assert first.headers["location"] != second.headers["location"]
    assert clinic.waiting() == 2


def test_a_script_is_told_the_link(clinic: Door) -> None:
    answer = clinic.press({}, "?queue=lab", Accept="application/json")

    assert answer.status == 201
    assert answer.json["link"].startswith("/t/")


@pytest.mark.parametrize("code", ["lab", "LAB"])
def test_the_address_may_name_the_queue(clinic: Door, code: str) -> None:
    assert clinic.see(f"?queue={code}&utm_source=poster&utm_source=x").typed["queue"] == "lab"


@pytest.mark.parametrize("query", ["?%ff", "?x=%E9&queue=lab", "?queue=lab&queue=xray", "?" + "x=1&" * 30])
def test_whatever_a_messenger_makes_of_the_address_the_page_opens(clinic: Door, query: str) -> None:
    assert clinic.open(query).status == 200


def test_a_queue_that_is_gone_leads_to_those_that_are_there(clinic: Door) -> None:
    shown, sent = clinic.open("?queue=dental"), clinic.send({"queue": "dental"})

    assert (shown.status, sent.status) == (404, 404)
    for page in (Page(shown.body), Page(sent.body)):
        assert is_in("That line is no longer here. Choose another.", page)
        assert f"/v/{clinic.slug}?queue=lab" in page.links


def test_an_office_with_one_queue_asks_for_nothing(api: Api) -> None:
    office = new_place(api, "office", {})

    answer = office.press({})

    assert (answer.status, office.waiting("main")) == (303, 1)


@pytest.mark.parametrize(
    ("language", "closed", "full", "paused"),
    [
        ("en", "Closed", "Full for today", "paused"),
        ("ar", "مغلق", "اكتملت أرقام اليوم", "متوقف مؤقتًا"),
        ("zh", "已关闭", "今日号码已发完", "已暂停"),
    ],
)
def test_closed_full_and_paused_are_said_and_only_a_paused_one_can_be_pressed(
    clinic: Door, language: str, closed: str, full: str, paused: str
) -> None:
    set_up = clinic.api.get(f"/v1/venues/{clinic.slug}/set-up", by=OWNER).json
    set_up["queues"][1]["capacity"] = 0
    assert clinic.api.ask("PUT", f"/v1/venues/{clinic.slug}/set-up", set_up, by=OWNER).status == 200
    clinic.change("close", "lab")
    clinic.change("pause", "int")

    page = clinic.see(language=language)

    for word in (closed, full, paused):
        assert is_in(word, page)
    assert [link for link in page.links if "queue=" in link] == [f"/v/{clinic.slug}?queue=int"]
    assert clinic.press({}, "?queue=int").status == 303


@pytest.mark.parametrize("queue", ["lab", "eye"])
def test_a_line_that_closes_meanwhile_gives_no_number_and_says_so(clinic: Door, queue: str) -> None:
    form = clinic.see(f"?queue={queue}").typed
    clinic.change("close", queue)

    answer = clinic.send(form)

    page = Page(answer.body)
    assert answer.status == 409
    assert is_in("You have no number: nobody is taken in this line now.", page)
    assert is_in("Closed", page)
    assert clinic.waiting(queue) == 0


@pytest.mark.parametrize(
    ("days", "language", "said"),
    [
        (0, "en", "Closed, opens at {time}"),
        (1, "en", "Closed, opens tomorrow at {time}"),
        (3, "en", "Closed, opens on {weekday} at {time}"),
        (0, "ar", "مغلق، يفتح \u2068الساعة {time}"),
        (1, "ar", "مغلق، يفتح \u2068غدًا الساعة {time}"),
        (1, "zh", "已关闭，明天 {time} 开放"),
    ],
)
def test_a_closed_line_says_when_it_opens(api: Api, days: int, language: str, said: str) -> None:
    """It is noon, so that 23:00 is today."""
    zone = zone_where_it_is_noon()
    opens = datetime.now(UTC).astimezone(ZoneInfo(zone)) + timedelta(days=days)
    week = [["23:00-23:30"] if day == opens.weekday() else [] for day in range(7)]
    office = new_place(api, "office", {"hours": {"week": week}}, {"id": "other"}, zone=zone)

    page = office.see(language=language)

    assert is_in(said.format(time="23:00", weekday=f"{opens:%A}"), page)
    assert f"/v/{office.slug}?queue=main" not in page.links


def test_a_line_that_opens_in_more_than_a_week_says_the_date(api: Api) -> None:
    zone = zone_where_it_is_noon()
    opens = datetime.now(UTC).astimezone(ZoneInfo(zone)) + timedelta(days=9)
    hours = {"week": [[]] * 7, "exceptions": {f"{opens:%Y-%m-%d}": ["08:00-09:00"]}}
    office = new_place(api, "office", {"hours": hours}, {"id": "other"}, zone=zone)

    assert is_in(f"Closed, opens on {opens.day} {opens:%B} at 08:00", office.see())


def test_it_says_until_when_the_place_is_open(api: Api) -> None:
    office = new_place(api, "office", {"hours": {"week": [["00:00-23:00"]] * 7}})

    assert is_in("Our place · open until 23:00", office.see())


def test_when_every_room_is_closed_no_journey_can_be_begun(clinic: Door) -> None:
    for queue in ("lab", "eye", "int"):
        clinic.change("close", queue)

    page = clinic.see()

    assert [link for link in page.links if link.startswith("/v/")] == []
    assert is_in("Several rooms today Closed", page)


@pytest.mark.parametrize(("changed", "words"), [({"active": False}, "Nobody is taken here"), ({}, "no line here yet")])
def test_a_place_that_takes_nobody_says_so(api: Api, changed: dict[str, object], words: str) -> None:
    queues = [{}, {"id": "other"}] if changed else []
    place = new_place(api, "office", *queues, **changed)

    page = place.see()

    assert is_in(words, page)
    assert is_in("Please ask at the desk.", page)
    assert [link for link in page.links if "queue=" in link] == []


def test_nobody_joins_a_place_that_takes_nobody(api: Api) -> None:
    place = new_place(api, "office", {}, active=False)

    answer = place.send({"queue": "main"})

    assert answer.status == 409
    assert is_in("Nobody is taken here at present", Page(answer.body))


def test_a_venue_that_there_is_not_is_a_page_in_words(api: Api) -> None:
    page = Door(api, "nowhere").open(Accept_Language="ar")

    assert (page.status, Page(page.body).language) == (404, "ar")
    must_be_problem(api.get("/v/nowhere"), 404, "unknown-venue")


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        (0, "لا أحد ينتظر الآن"),
        (1, "شخص واحد ينتظر نحو دقيقة واحدة"),
        (2, "شخصان ينتظران نحو دقيقتين"),
        (3, "3 أشخاص ينتظرون نحو 3 دقائق"),
        (13, "13 شخصًا ينتظرون نحو 15 دقيقة"),
    ],
)
def test_counts_have_the_right_grammar_in_arabic(api: Api, waiting: int, said: str) -> None:
    office = new_place(api, "office", {"mean_service_seconds": 60}, {"id": "other"})
    for _ in range(waiting):
        api.take(f"{office.slug}:main")

    page = office.see(language="ar")

    assert (page.language, page.direction) == ("ar", "rtl")
    assert is_in(said, page)


def test_a_venue_may_want_arabic_digits(api: Api) -> None:
    office = new_place(api, "office", {}, {"id": "other"}, digits="arabic", language="ar")
    for _ in range(3):
        api.take(f"{office.slug}:main")

    page = Page(api.get(f"/v/{office.slug}", headers=A_BROWSERS).body)

    assert is_in("٣ أشخاص ينتظرون نحو ١٥ دقيقة", page)


def test_the_language_switch_keeps_the_queue(clinic: Door) -> None:
    assert "?queue=lab&lang=ar" in clinic.see("?queue=lab").links


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "宽" * 128, "a & b"])
def test_names_stay_plain_text(api: Api, name: str) -> None:
    office = new_place(api, "office", {"name": {"en": name}}, {"id": "other"}, name={"en": name})

    for query in ("", "?queue=main"):
        page = office.see(query)
        assert name in page.text
        assert "script" not in page.inline


def test_a_form_of_another_site_takes_no_number(clinic: Door) -> None:
    answer = clinic.send({"queue": "lab"}, Sec_Fetch_Site="cross-site", Accept="application/json")

    must_be_problem(answer, 403, "cross-site")
    assert clinic.waiting() == 0

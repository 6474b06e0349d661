"""What a visitor's link shows in a browser: number, queue and how many are ahead; in words when it has ended."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.pages import A_BROWSERS, Page, open_link
from tests.api.world import Api
from tests.builders import a_new
from tests.running import must_be_problem, zone_where_it_is_noon

STAFF, OWNER = "staff@clinic", "owner@clinic"


def change(api: Api, taken: dict[str, Any], verb: str) -> None:
    assert api.post(f"/v1/tickets/{taken['ticket']}/{verb}", {}, by=STAFF).status == 200


def test_whoever_waits_sees_their_number_who_is_ahead_and_how_long_it_takes(api: Api, queue: str) -> None:
    taken = [api.take(queue, visitor=f"Nobody's business {number}") for number in range(6)]

    first, last = (Page(open_link(api, taken[number]["link"]).body) for number in (0, 5))

    assert taken[5]["place"]["label"] in last.text
    assert "ahead of you5 people" in last.text
    assert "about25 min" in last.text
    assert "You may walk around" in last.text
    assert "ahead of younobody" in first.text
    assert "waita moment" in first.text
    assert "It is nearly your turn" in first.text
    assert "business" not in first.text + last.text
    assert first.inline == last.inline == []


@pytest.mark.parametrize(
    ("language", "direction", "ahead"), [("en", "ltr", "2 people"), ("ar", "rtl", "شخصان"), ("zh", "ltr", "2 人")]
)
def test_it_speaks_the_visitors_language(api: Api, queue: str, language: str, direction: str, ahead: str) -> None:
    *_, taken = [api.take(queue) for _ in range(3)]

    page = Page(open_link(api, taken["link"], Accept_Language=language).body)

    assert (page.language, page.direction) == (language, direction)
    assert ahead in page.text


@pytest.mark.parametrize(
    ("ahead", "said"),
    [(0, "لا أحد"), (1, "شخص واحد"), (2, "شخصان"), (3, "3 أشخاص"), (11, "11 شخصًا"), (100, "100 شخص")],
)
def test_in_arabic_who_is_ahead_is_counted_in_right_grammar(api: Api, crowd: list[str], ahead: int, said: str) -> None:
    page = Page(open_link(api, crowd[ahead], Accept_Language="ar").body)

    assert f"أمامك{said}" in page.text


@pytest.fixture(scope="module")
def crowd(everybody: Api, fresh_codes: Iterator[str]) -> list[str]:
    """The links of a hundred and one people, in the order of calling."""
    queue = f"clinic:{next(fresh_codes)}"
    return [everybody.take(queue)["link"] for _ in range(101)]


def test_where_a_place_counts_in_arabic_digits_the_number_stays_as_it_is_printed(api: Api) -> None:
    slug = a_place(api, digits="arabic")
    *_, taken = [api.take(f"{slug}:main") for _ in range(4)]

    page = Page(open_link(api, taken["link"], Accept_Language="ar").body)

    assert "أمامك٣ أشخاص" in page.text
    assert "A004" in page.text


def test_whoever_waits_in_a_queue_that_is_paused_is_told_so(api: Api, queue: str) -> None:
    taken = api.take(queue)
    assert api.post(f"/v1/queues/{queue}/pause", {}, by=OWNER).status == 200

    told = Page(open_link(api, taken["link"]).body).text
    assert "This queue is paused. You keep your place" in told
    assert "waitpaused" in told, "no minutes are promised"


def test_a_party_at_a_restaurant_is_called_to_its_table(api: Api) -> None:
    slug = a_place(api, kind="restaurant")
    taken = api.take(f"{slug}:main")
    api.post(f"/v1/desks/{slug}:desk/call-next", {}, by=OWNER)

    assert "Your table is ready" in Page(open_link(api, taken["link"]).body).text


def test_a_party_that_was_seated_is_not_told_that_its_meal_is_over(api: Api) -> None:
    slug = a_place(api, kind="restaurant")
    taken = api.take(f"{slug}:main")
    api.post(f"/v1/desks/{slug}:desk/call-next", {}, by=OWNER)

    said = {}
    for verb in ("start", "finish"):
        assert api.post(f"/v1/tickets/{taken['ticket']}/{verb}", {}, by=OWNER).status == 200
        said[verb] = Page(open_link(api, taken["link"]).body).text

    assert "You will be shown to your table" in said["start"]
    assert "Enjoy your meal" in said["finish"]
    assert "You were seated at" in said["finish"]


@pytest.mark.parametrize("state", ["waiting", "called", "serving", "finished"])
@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "宽" * 128, "غرفة (١) b", '"><img src=x onerror=1>'])
def test_names_stay_text(api: Api, name: str, state: str) -> None:
    slug = a_place(api, name=name)
    taken = api.take(f"{slug}:main", visitor=a_new("visitor"))
    for verb in ("call", "start", "finish")[: ["waiting", "called", "serving", "finished"].index(state)]:
        path = f"/v1/desks/{slug}:desk/call-next" if verb == "call" else f"/v1/tickets/{taken['ticket']}/{verb}"
        assert api.post(path, {}, by=OWNER).status == 200

    page = Page(open_link(api, taken["link"]).body)

    assert name in page.text
    assert page.inline == []


@pytest.mark.parametrize(
    ("floor", "room", "said"),
    [
        ("1", "3", "Room 3 · 1st floor"),
        ("0", None, "ground floor"),
        ("12", None, "floor 12"),
        ("M", "Blue & green", "Blue & green · mezzanine"),
        ("Behind the garden", None, "Behind the garden"),
        ("<b>3", None, "<b>3"),
    ],
)
def test_where_to_go_is_said_as_people_say_it(api: Api, floor: str, room: str | None, said: str) -> None:
    slug = a_place(api, floor=floor, room=room)

    assert said in Page(open_link(api, api.take(f"{slug}:main")["link"]).body).text


def test_it_is_kept_by_nobody_and_found_by_no_search_engine(api: Api, queue: str) -> None:
    answer = open_link(api, api.take(queue)["link"])

    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-robots-tag"] == "noindex"
    assert "accept-language" in answer.headers["vary"]
    assert b'<meta name="robots" content="noindex">' in answer.body


@pytest.mark.parametrize(
    ("verbs", "words"),
    [
        (("call",), "Come now"),
        (("call", "recall"), "Called again at"),
        (("call", "start"), "It is your turn"),
        (("hold",), "Your place is kept"),
        (("call", "miss"), "You can rejoin at the end of the line"),
        (("call", "start", "finish"), "Each link is for one visit"),
        (("leave",), "You are no longer in the queue"),
    ],
)
def test_it_says_in_words_how_it_stands(api: Api, queue: str, verbs: tuple[str, ...], words: str) -> None:
    taken = api.take(queue)
    for verb in verbs:
        change(api, taken, verb)

    answer = open_link(api, taken["link"])

    assert answer.status == 200
    assert words in Page(answer.body).text
    assert taken["place"]["label"] in Page(answer.body).text
    assert Page(answer.body).inline == []


def test_a_number_of_an_earlier_round_has_ended(api: Api, queue: str) -> None:
    taken = api.take(queue)
    assert api.post(f"/v1/queues/{queue}/reset", {}, by="manager@clinic").status == 200

    assert "of an earlier day or round" in Page(open_link(api, taken["link"]).body).text


def test_whoever_is_called_to_a_desk_is_told_which(api: Api) -> None:
    taken = api.take("clinic:lab")
    while (called := api.post("/v1/desks/clinic:room/call-next", {}, by=STAFF).json)["ticket"] is not None:
        if called["ticket"]["ticket"] == taken["ticket"]:
            break

    page = Page(open_link(api, taken["link"]).body)

    desk = next(desk for desk in api.get("/v1/venues/clinic").json["desks"] if desk["desk"] == "clinic:room")
    assert "Come now" in page.text
    assert desk["name"]["en"] in page.text


@pytest.mark.parametrize("desk", ["by", "none", "other", "one"])
def test_a_desk_may_have_any_code(api: Api, desk: str) -> None:
    slug = a_place(api, desk=desk, name="The blue door")
    taken = api.take(f"{slug}:main")
    assert api.post(f"/v1/desks/{slug}:{desk}/call-next", {}, by=OWNER).status == 200

    page = Page(open_link(api, taken["link"]).body)

    assert "Come now" in page.text
    assert "The blue door" in page.text


def a_place(
    api: Api,
    *,
    desk: str = "desk",
    name: str = "Main",
    floor: str | None = None,
    room: str | None = None,
    **more: object,
) -> str:
    """A venue with one queue and one desk, both of this name."""
    slug = a_new("place")
    set_up = {
        "name": {"en": "A place"},
        "kind": "office",
        "zone": zone_where_it_is_noon(),
        "queues": [{"id": "main", "name": {"en": name}, "prefix": "A", "floor": floor, "room": room}],
        "desks": [{"id": desk, "name": {"en": name}, "queues": ["main"]}],
        **more,
    }
    made = api.ask("PUT", f"/v1/venues/{slug}/set-up", set_up, by=OWNER)
    assert made.status == 201, made
    return slug


@pytest.mark.parametrize("path", ["/t/x", "/t/x.y", "/t/%00", "/t/" + "x" * 5000, "/t/%D9%86%D9%88%D8%B1"])
def test_a_link_that_leads_nowhere_says_so(api: Api, path: str) -> None:
    page, data = open_link(api, path, Accept_Language="zh"), api.get(path)

    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert Page(page.body).language == "zh"
    assert data.headers["content-type"] == "application/problem+json"


def test_a_link_with_another_secret_shows_nothing_of_the_visit(api: Api, queue: str) -> None:
    link = api.take(queue)["link"]
    wrong = f"{link.partition('.')[0]}.{'x' * 22}"

    answer = open_link(api, wrong)

    assert answer.status == 404
    must_be_problem(api.get(wrong), 404, "unknown-visit")
    assert "This link leads nowhere" in Page(answer.body).text
    assert "/v/clinic" in Page(answer.body).links


def test_what_messengers_add_to_a_link_does_not_matter(api: Api, queue: str) -> None:
    assert open_link(api, f"{api.take(queue)['link']}?fbclid=1&fbclid=2&x=%00").status == 200


def test_somebody_on_a_journey_sees_the_queue_that_they_stand_in(api: Api) -> None:
    begun = api.post("/v1/venues/clinic/journeys", {"journey": "recruitment", "visitor": "On a journey"}).json

    page = Page(open_link(api, begun["link"]).body)

    assert begun["place"]["label"] in page.text
    assert "On a journey" not in page.text


@pytest.mark.parametrize("path", ["/nothing", "/t/", "/static/nothing.css/x"])
def test_a_browser_that_finds_nothing_gets_a_page_and_a_program_a_problem(api: Api, path: str) -> None:
    page, problem = open_link(api, path), api.get(path)

    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is nothing at this address." in Page(page.body).text
    must_be_problem(problem, 404, "no-such-path")


@pytest.mark.parametrize("path", ["/v1/venues/nowhere", "/api/v1/queue/status?clinic=nowhere", "/static/nothing.css"])
def test_what_programs_ask_for_is_never_refused_by_a_page(api: Api, path: str) -> None:
    assert api.get(path, headers=A_BROWSERS).headers["content-type"] == "application/problem+json"

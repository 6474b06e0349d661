"""What a visitor presses on the page of their link, as a browser without script sends it, and what they see then."""

import re
from html import unescape

import pytest

from tests.api.journeys import OWNER, Clinic, new_clinic
from tests.api.pages import Page, open_link
from tests.api.test_forms import send
from tests.api.world import Api, secret_of
from tests.running import Answer

FORMS = re.compile(r'<form[^>]* action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


@pytest.fixture
def clinic(api: Api) -> Clinic:
    return new_clinic(api)


@pytest.fixture
def lab(clinic: Clinic) -> str:
    return f"{clinic.slug}:lab"


def forms_of(answer: Answer) -> dict[str, tuple[str, dict[str, str]]]:
    """What can be pressed: the verb, where it is sent, and what goes along."""
    found = FORMS.findall(answer.body.decode())
    return {path.rpartition("/")[2]: (path, _hidden(inner)) for path, inner in found}


def _hidden(inner: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in HIDDEN.findall(inner)}


def press(api: Api, link: str, verb: str, **typed: str) -> Answer:
    path, fields = forms_of(open_link(api, link))[verb]
    return send(api, path, {**fields, **typed}, Referer=f"{api.url}{link}", Host=api.url.partition("//")[2])


def seen(api: Api, link: str) -> str:
    return Page(open_link(api, link).body).text


def test_whoever_leaves_may_take_it_back_for_a_moment_and_has_their_place(api: Api, lab: str) -> None:
    before, taken = api.take(lab), api.take(lab)

    left = press(api, taken["link"], "leave")
    told = open_link(api, taken["link"])
    back = press(api, taken["link"], "undo-leave")

    assert (left.status, left.headers["location"]) == (303, taken["link"])
    assert "You can take it back within 10 seconds" in Page(told.body).text
    assert forms_of(told).keys() == {"undo-leave"}
    assert back.status == 303
    assert "ahead of you1 person" in seen(api, taken["link"])
    assert api.look(before["ticket"])["state"] == "waiting"


def test_a_page_that_is_sent_twice_leaves_once(api: Api, lab: str) -> None:
    taken = api.take(lab)
    path, fields = forms_of(open_link(api, taken["link"]))["leave"]

    first, again = (send(api, path, fields) for _ in range(2))

    assert (first.status, again.status) == (303, 303)
    assert again.headers["idempotency-replayed"] == "true"


def test_who_was_taken_out_by_staff_has_nothing_to_undo(api: Api, lab: str) -> None:
    taken = api.take(lab)
    assert api.post(f"/v1/tickets/{taken['ticket']}/leave", {}, by=OWNER).status == 200

    assert forms_of(open_link(api, taken["link"])) == {}


def test_whoever_missed_a_call_rejoins_at_the_end(api: Api, lab: str) -> None:
    taken, other = api.take(lab), api.take(lab)
    for verb in ("call", "miss"):
        assert api.post(f"/v1/tickets/{taken['ticket']}/{verb}", {}, by=OWNER).status == 200

    answer = press(api, taken["link"], "rejoin")

    assert (answer.status, answer.headers["location"]) == (303, taken["link"])
    assert "ahead of you1 person" in seen(api, taken["link"])
    assert api.look(other["ticket"])["state"] == "waiting"


def test_what_cannot_be_done_any_more_is_said_in_words_with_the_way_back(api: Api, lab: str) -> None:
    taken = api.take(lab)
    path, fields = forms_of(open_link(api, taken["link"]))["leave"]
    for verb in ("call", "start"):
        assert api.post(f"/v1/tickets/{taken['ticket']}/{verb}", {}, by=OWNER).status == 200

    referrer = {"Referer": f"{api.url}{taken['link']}", "Host": api.url.partition("//")[2]}
    answer = send(api, path, fields, **referrer)

    assert answer.status == 409
    assert "cannot leave any more" in Page(answer.body).text
    assert taken["link"] in Page(answer.body).links


def test_a_journey_is_shown_from_what_is_done_to_what_is_next(clinic: Clinic) -> None:
    begun = clinic.begin()

    first = seen(clinic.api, begun["link"])
    clinic.finish(begun, "lab", clinic.pin("lab"))
    second = seen(clinic.api, begun["link"])

    assert "Your visit today1 of 3" in first
    assert "2nd floor" in first
    assert "Your visit today2 of 3" in second
    assert re.search(r"Lab: done\s*1[12]:\d\d", second)


def test_the_pin_of_the_room_leads_on_to_the_next(clinic: Clinic) -> None:
    begun = clinic.begin()
    for verb in ("call", "start"):
        clinic.post(f"/v1/tickets/{begun['ticket']}/{verb}")

    asked = seen(clinic.api, begun["link"])
    answer = press(clinic.api, begun["link"], "finish-stage", pin=clinic.pin("lab"))

    assert "Before you leave, ask for the PIN" in asked
    assert (answer.status, answer.headers["location"]) == (303, begun["link"])
    assert "Your visit today2 of 3" in seen(clinic.api, begun["link"])


def test_a_wrong_pin_is_told_and_the_fifth_locks_the_visit_in_words(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.post(f"/v1/tickets/{begun['ticket']}/call")

    answers = [press(clinic.api, begun["link"], "finish-stage", pin=clinic.wrong_pin()) for _ in range(5)]
    page = open_link(clinic.api, begun["link"])

    assert [answer.status for answer in answers] == [403] * 5
    assert "4 more tries" in Page(answers[0].body).text
    assert begun["link"] in Page(answers[0].body).links
    assert "Ask the staff to unlock your visit" in Page(page.body).text
    assert "finish-stage" not in forms_of(page)


def test_a_room_without_a_pin_is_left_by_one_press(clinic: Clinic) -> None:
    begun = clinic.begin()
    for room in ("lab", "eye"):
        clinic.finish(begun, room, clinic.pin(room))
    called = clinic.post(f"/v1/queues/{clinic.slug}:int/call-next").json["ticket"]
    clinic.post(f"/v1/tickets/{called['ticket']}/start")

    answer = press(clinic.api, begun["link"], "finish-stage")

    assert answer.status == 303
    finished = seen(clinic.api, begun["link"])
    assert "Your visit is finished" in finished
    assert "3 of 3" in finished


def test_between_two_rooms_it_says_what_is_waited_for(clinic: Clinic) -> None:
    begun = clinic.begin()
    for room in ("eye", "int"):
        clinic.post(f"/v1/queues/{clinic.slug}:{room}/close")

    clinic.finish(begun, "lab", clinic.pin("lab"))
    closed = seen(clinic.api, begun["link"])
    clinic.post(f"/v1/queues/{clinic.slug}:eye/open")
    entered = press(clinic.api, begun["link"], "enter")

    assert "Your next room takes nobody just now" in closed
    assert entered.status == 303
    assert "Your visit today2 of 3" in seen(clinic.api, begun["link"])


def test_a_room_that_opens_later_is_named_with_its_hour(api: Api) -> None:
    queues = [
        {"id": "lab", "name": {"en": "Lab"}},
        {"id": "eye", "name": {"en": "Eyes & ears"}, "hours": {"week": [["16:30-17:00"]] * 7}},
    ]
    journeys = [{"id": "recruitment", "name": {"en": "Both"}, "fixed": [{"queue": "lab"}, {"queue": "eye"}]}]
    clinic = new_clinic(api, queues=queues, desks=[], journeys=journeys)
    begun = clinic.begin()

    clinic.finish(begun, "lab", clinic.pin("lab"))

    assert "Eyes & ears opens at 16:30" in seen(api, begun["link"])


def test_a_visit_that_ends_in_no_queue_can_be_taken_back_too(clinic: Clinic) -> None:
    begun = clinic.begin()
    for room in ("eye", "int"):
        clinic.post(f"/v1/queues/{clinic.slug}:{room}/close")
    clinic.finish(begun, "lab", clinic.pin("lab"))

    press(clinic.api, begun["link"], "leave")
    left = seen(clinic.api, begun["link"])
    press(clinic.api, begun["link"], "undo-leave")

    assert "You are no longer in the queue" in left
    assert clinic.seen(begun)["state"] == "open"


def test_no_form_is_taken_from_another_site(api: Api, lab: str) -> None:
    taken = api.take(lab)

    answer = send(api, f"/v1/visits/{secret_of(taken['link'])}/leave", {}, Sec_Fetch_Site="cross-site")

    assert answer.status == 403
    assert "nothing was done. Open our own page and try again." in Page(answer.body).text
    assert api.look(taken["ticket"])["state"] == "waiting"

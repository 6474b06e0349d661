"""The console in a browser without script: a whole turn by forms, and every bad state in words."""

import pytest

from tests.api.journeys import OWNER, Clinic, new_clinic
from tests.api.pages import A_BROWSERS, Page
from tests.api.pressing import Desk
from tests.api.world import Api

STAFF = "staff@clinic"


@pytest.fixture
def clinic(api: Api) -> Clinic:
    made = new_clinic(api)
    for name, role in ((STAFF, "staff"), ("viewer@clinic", "viewer"), ("manager@clinic", "manager")):
        made.post(f"/v1/venues/{made.slug}/staff", {"username": name, "role": role})
    return made


@pytest.fixture
def desk(clinic: Clinic) -> Desk:
    return Desk(clinic.api, clinic.slug, "room-101")


def test_a_turn_is_called_arrived_and_finished_by_one_button(desk: Desk) -> None:
    for _ in range(2):
        desk.take("lab")

    seen = [desk.text()]
    for words in ("Call next", "Arrived", "Finish"):
        desk.must_press(words)
        seen.append(desk.text())

    assert "L001 next in line" in seen[0]
    assert "L001 called 0:00 ago" in seen[1]
    assert "L001 here for 0:0" in seen[2]
    assert "L002 next in line" in seen[3]
    assert "L001 finished" in seen[3]


def test_a_button_that_is_pressed_twice_calls_once(desk: Desk) -> None:
    for _ in range(3):
        desk.take("lab")
    button = desk.buttons()["Call next"]

    first, again = (desk.send(button) for _ in range(2))

    assert (first.status, again.status) == (303, 303)
    assert "Waiting2" in desk.text()


def test_whoever_was_called_is_recalled_missed_let_back_held_and_resumed(desk: Desk) -> None:
    desk.take("lab")
    desk.must_press("Call next")

    desk.must_press("Recall R")
    recalled = desk.text()
    desk.must_press("Missed X")
    missed = desk.text()
    desk.must_press("Let back in")
    desk.must_press("Call next")
    desk.must_press("Hold H")
    held = desk.text()
    desk.must_press("Resume")

    assert "called 2 times" in recalled
    assert "L001 Missed" in missed
    assert "L001 Held since" in held
    assert "L001 next in line" in desk.text()


def test_what_was_done_last_is_undone_and_what_was_done_before_from_its_list(desk: Desk) -> None:
    for _ in range(2):
        desk.take("lab")
    for words in ("Call next", "Missed X", "Call next"):
        desk.must_press(words)

    listed = desk.text("/latest")
    desk.must_press("Undo L001", "/latest")
    desk.must_press("Undo U")

    assert "L002 called" in listed
    assert "L001 missed" in listed
    assert "L001 called" in desk.text()
    assert "Waiting1" in desk.text()


def test_where_nothing_was_done_yet_the_list_says_so(desk: Desk) -> None:
    assert "Nothing was done here yet." in desk.text("/latest")


def test_whoever_was_called_goes_back_first_or_last_or_to_another_queue(desk: Desk) -> None:
    taken = [desk.take("lab") for _ in range(3)]
    first = f"/tickets/{taken[0]['ticket']}"

    desk.must_press("Call next")
    desk.must_press("To the end", f"{first}?do=put-back")
    behind = desk.text()
    desk.must_press("Call next")
    desk.must_press("To the front", f"/tickets/{taken[1]['ticket']}?do=put-back")
    before = desk.text()
    desk.must_press("Eye", f"{first}?do=transfer")

    assert "L002 next in line" in behind
    assert "L002 next in line" in before
    assert "Waiting2" in desk.text()
    assert desk.api.get(f"/v1/queues/{desk.venue}:eye").json["waiting"] == 1


def test_somebody_further_back_is_called_with_a_reason_that_is_counted(desk: Desk) -> None:
    *_, last = [desk.take("lab") for _ in range(3)]
    path = f"/tickets/{last['ticket']}?do=call"

    asked = desk.text(path)
    desk.must_press("Pregnant", path)

    assert "2 people are ahead. Why is this number called first?" in asked
    assert "L003 called" in desk.text()
    fairness = desk.api.get(f"/v1/venues/{desk.venue}/fairness", by=OWNER).json["overtakings"]
    assert [(one["why"], one["overtaken"]) for one in fairness] == [("pregnant", 2)]


def test_whoever_is_first_is_called_without_a_reason(desk: Desk) -> None:
    path = f"/tickets/{desk.take('lab')['ticket']}?do=call"

    assert "Why" not in desk.text(path)
    desk.must_press("Call now", path)
    assert "L001 called" in desk.text()


def test_a_row_has_more_hold_priority_note_and_leaving(desk: Desk) -> None:
    path = [f"/tickets/{desk.take('lab')['ticket']}" for _ in range(3)]

    desk.must_press("Save", path[2], at="prioritize", priority="1", why="elderly")
    desk.must_press("Save", path[1], at="note", note="Speaks <b>Chinese</b>")
    seen = desk.text()
    desk.must_press("Save", path[1], at="note", note="")
    desk.must_press("Hold", path[1])
    desk.must_press("Take out of the line", path[0])

    assert "L003 next in line" in seen
    assert "Priority" in seen
    assert "Speaks <b>Chinese</b>" in seen
    assert "Speaks" not in desk.text()
    assert "Waiting1" in desk.text()
    assert "L002 Held since" in desk.text()


def test_a_journey_shows_its_stage_and_where_it_leads(clinic: Clinic, desk: Desk) -> None:
    clinic.begin(by=OWNER, note="Wave as well")

    seen = desk.text()

    assert "1 of 3" in seen
    assert "Wave as well" in seen


def test_a_refusal_says_what_happened_and_leads_back(desk: Desk) -> None:
    taken = desk.take("lab")
    desk.must_press("Call next")
    recall = desk.buttons()["Recall R"]
    desk.post(f"/v1/tickets/{taken['ticket']}/miss")

    answer = desk.send(recall)

    assert answer.status == 409
    assert "L001 cannot be called again" in Page(answer.body).text
    assert desk.address in Page(answer.body).links


def test_the_first_hundred_are_listed_and_search_finds_the_rest(desk: Desk) -> None:
    for number in range(103):
        desk.take("lab", name="The last one" if number == 102 else None)

    listed, found, nobody = desk.text(), desk.text("?find=last+one"), desk.text("?find=zebra")

    assert "Waiting103" in listed
    assert "L100" in listed
    assert "L101" not in listed
    assert "and 3 more: use search" in listed
    assert "L103" in found
    assert "L002" not in found
    assert "L001 next in line" in found
    assert "Nobody fits “zebra”." in nobody


def test_nobody_waiting_is_said_and_nothing_can_be_called(desk: Desk) -> None:
    seen = desk.text()

    assert "Nobody is waiting" in seen
    assert "People who join appear here." in seen
    assert not desk.buttons()["Call next"].enabled


def test_a_desk_is_opened_on_a_break_until_and_closed(desk: Desk) -> None:
    desk.must_press("Open")
    opened = desk.text("/desk")
    until = next(button for words, button in desk.buttons("/desk").items() if "(15 min)" in words)
    desk.send(until)
    on_break = desk.text()
    desk.must_press("Closed")

    assert "101 is open" in opened
    assert "Break until" in on_break
    assert "101 is closed" in desk.text("/desk")


def test_a_desk_that_nobody_opened_says_that_it_can_call(desk: Desk) -> None:
    desk.take("lab")

    before = desk.text()
    desk.must_press("Open")

    assert "L001 next in line The desk is closed; you can still call." in before
    assert "you can still call" not in desk.text()


def test_queues_are_listed_as_the_language_lists_them(desk: Desk) -> None:
    several = new_clinic(desk.api, desks=[{"id": "all", "name": {"en": "All"}, "queues": ["lab", "eye", "int"]}])
    several.post(f"/v1/venues/{several.slug}/staff", {"username": STAFF, "role": "staff"})
    consoles = [Desk(desk.api, several.slug, "all", language=language) for language in ("en", "ar", "zh")]
    consoles[0].take("eye")

    english, arabic, chinese = (console.text() for console in consoles)

    assert "Lab, Eye +1" in english
    assert "Lab، Eye +1" in arabic
    assert "Lab、Eye +1" in chinese
    assert "WaitedQueueName, note" in english


def test_a_column_of_stages_is_there_for_those_who_are_on_a_journey(clinic: Clinic, desk: Desk) -> None:
    desk.take("lab")
    single = desk.text()
    clinic.begin(by=OWNER)

    assert "Stage" not in single
    assert "WaitedStageName, note" in desk.text()


def test_nobody_is_transferred_to_a_queue_that_takes_nobody(desk: Desk) -> None:
    shut: dict[str, object] = {"hours": {"week": [[]] * 7}}
    queues: dict[str, dict[str, object]] = {"lab": {}, "few": {"capacity": 1}, "shut": shut, "free": {}}
    rooms = [{"id": "room", "name": {"en": "Room"}, "queues": ["lab"]}]
    named = [{"id": code, "name": {"en": code}, **rules} for code, rules in queues.items()]
    made = new_clinic(desk.api, queues=named, desks=rooms, journeys=[])
    made.post(f"/v1/venues/{made.slug}/staff", {"username": STAFF, "role": "staff"})
    there = Desk(desk.api, made.slug, "room")
    taken = there.take("lab")
    there.take("few")

    offered = there.buttons(f"/tickets/{taken['ticket']}?do=transfer")

    assert [words.partition(" ")[0] for words, button in offered.items() if button.enabled] == ["free"]
    assert any(words.startswith("few full, opens tomorrow") for words in offered)
    assert "shut closed" in offered


def test_a_desk_that_somebody_else_sits_at_can_be_taken_over(desk: Desk) -> None:
    desk.take("lab")
    desk.post(f"/v1/desks/{desk.venue}:{desk.desk}/open")

    seen = desk.text()
    blocked = desk.buttons()
    desk.must_press("Take over")

    assert "owner@clinic sits here since" in seen
    assert not blocked["Call next"].enabled
    assert "sits here" not in desk.text()
    assert desk.buttons()["Call next"].enabled


def test_which_desks_there_are_and_who_sits_where(desk: Desk) -> None:
    desk.take("eye")
    desk.post(f"/v1/desks/{desk.venue}:room-202/open")
    desk.must_press("Open")

    answer = desk.api.get(f"/staff/{desk.venue}", headers={**A_BROWSERS, "Cookie": f"dawr={desk.api.bearer(STAFF)}"})

    page = Page(answer.body)
    assert "You sit here since" in page.text
    assert "owner@clinic sits here since" in page.text
    assert {f"/staff/{desk.venue}/room-{room}" for room in ("101", "201", "202")} <= set(page.links)


def test_paused_and_closed_queues_are_said_and_a_manager_opens_them(clinic: Clinic, desk: Desk) -> None:
    desk.take("lab")
    manager = Desk(desk.api, desk.venue, desk.desk, by="manager@clinic")
    clinic.post(f"/v1/queues/{clinic.slug}:lab/pause")

    paused = desk.text()
    for_staff = desk.buttons()
    manager.must_press("Resume")
    manager.must_press("Stop new joins", "/desk")

    assert "Lab is paused: nobody is called from it." in paused
    assert "Nobody is called: paused" in paused
    assert "Resume" not in for_staff
    assert "Lab is closed: nobody new can join it." in desk.text()
    assert desk.buttons()["Call next"].enabled


def test_an_inactive_venue_still_serves(api: Api) -> None:
    clinic = new_clinic(api, active=False)
    clinic.post(f"/v1/venues/{clinic.slug}/staff", {"username": STAFF, "role": "staff"})

    assert "This place takes nobody at the moment." in Desk(api, clinic.slug, "room-101").text()


def test_the_pin_is_shown_when_it_is_asked_for_by_whoever_sits_there(clinic: Clinic, desk: Desk) -> None:
    desk.take("lab")
    desk.must_press("Call next")
    nobody_sits_there = desk.buttons()
    desk.must_press("Open this desk")
    hidden, shown = desk.open(), desk.press("Show")

    pin = clinic.pin("lab")
    assert "Show" not in nobody_sits_there
    assert f">{pin}<" not in hidden.body.decode()
    assert f">{pin}<" in shown.body.decode()


def test_whoever_is_not_signed_in_signs_in_first_and_comes_back(desk: Desk) -> None:
    answer = desk.api.get(desk.address, headers=A_BROWSERS)

    assert (answer.status, answer.headers["location"]) == (303, f"/sign-in?then={desk.address}")


def test_a_role_that_is_too_low_is_told_so_in_words(desk: Desk) -> None:
    answer = Desk(desk.api, desk.venue, desk.desk, by="viewer@clinic").open()

    assert answer.status == 403
    page = Page(answer.body)
    assert "This needs the role staff; yours here is viewer." in page.text
    assert f"/sign-in?then=/staff/{desk.venue}/{desk.desk}&switch=1" in page.links


def test_a_desk_that_is_not_there_is_told_in_words(desk: Desk) -> None:
    answer = Desk(desk.api, desk.venue, "no-such-desk").open()

    assert answer.status == 404
    assert "There is no desk “no-such-desk” here." in Page(answer.body).text


def test_somebody_of_another_venue_finds_nothing(desk: Desk) -> None:
    assert Desk(desk.api, desk.venue, desk.desk, by="staff@bistro").open().status == 404


@pytest.mark.parametrize(("language", "direction"), [("en", "ltr"), ("ar", "rtl"), ("zh", "ltr")])
def test_every_page_of_the_console_speaks_the_language(desk: Desk, language: str, direction: str) -> None:
    taken = [desk.take("lab") for _ in range(4)]
    for verb in ("Call next", "Missed X", "Call next", "Hold H", "Call next"):
        desk.must_press(verb)
    theirs = Desk(desk.api, desk.venue, desk.desk, language=language)
    paths = ("", "/desk", "/latest", "/walk-in", "?find=L", *(f"/tickets/{one['ticket']}" for one in taken))

    for path in paths:
        page = Page(theirs.open(path).body)

        assert (page.language, page.direction) == (language, direction)
        assert page.inline == []
        assert "…{" not in page.text


def test_whoever_typed_too_many_wrong_pins_is_unlocked_at_the_desk(clinic: Clinic, desk: Desk) -> None:
    begun = clinic.begin()
    desk.must_press("Call next")
    desk.must_press("Arrived")
    for _ in range(5):
        clinic.finish(begun, "lab", clinic.wrong_pin())
    locked = desk.text()

    desk.must_press("Unlock")

    assert "Too many PINs were wrong." in locked
    assert "Too many PINs were wrong." not in desk.text()
    assert clinic.finish(begun, "lab", clinic.pin("lab")).status == 200

"""Journeys over HTTP: one link for the whole stay, from queue to queue (MISSION A9, A11, A12)."""

import pytest

from tests.api.journeys import Clinic, new_clinic
from tests.api.world import Api, secret_of
from tests.builders import a_new
from tests.running import at_once, must_be_problem


@pytest.fixture
def clinic(api: Api) -> Clinic:
    return new_clinic(api)


def test_a_journey_begins_in_its_first_queue_with_a_link_for_the_whole_stay(clinic: Clinic) -> None:
    begun = clinic.begin()

    assert begun["already"] is False
    assert (begun["place"]["queue"], begun["place"]["number"]) == (f"{clinic.slug}:lab", 1)
    assert begun["session_code"].startswith(f"{clinic.slug.upper()}-LAB-01-")
    assert [(stage["queue"], stage["state"]) for stage in begun["stages"]] == [
        (f"{clinic.slug}:lab", "in_queue"),
        (f"{clinic.slug}:eye", "locked"),
        (f"{clinic.slug}:int", "locked"),
    ]
    seen = clinic.seen(begun)
    assert (seen["state"], seen["journey"], seen["locked"]) == ("open", "recruitment", False)


def test_an_arabic_word_leads_to_the_same_journey(clinic: Clinic) -> None:
    assert clinic.seen(clinic.begin(journey=" تجنيد "))["journey"] == "recruitment"


def test_the_right_pin_finishes_a_stage_and_the_same_link_goes_on(clinic: Clinic) -> None:
    begun = clinic.begin()

    went = clinic.finish(begun, "lab", clinic.pin("lab"))

    assert went.status == 200, went
    assert (went.json["queue"], went.json["number"]) == (f"{clinic.slug}:lab", 1)
    assert went.json["visit"]["tickets"][0]["queue"] == f"{clinic.slug}:eye"
    assert clinic.states(begun) == ["completed", "in_queue", "locked"]


def test_a_whole_journey_ends_and_stays_ended(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.finish(begun, "lab", clinic.pin("lab"))
    clinic.finish(begun, "eye", clinic.pin("eye"))
    clinic.post(f"/v1/queues/{clinic.slug}:int/call-next")

    last = clinic.finish(begun, "int", None)

    assert (last.status, last.json["visit"]["state"]) == (200, "finished")
    assert clinic.states(begun) == ["completed"] * 3
    must_be_problem(clinic.finish(begun, "int", None), 409, "visit-in-wrong-state")
    assert clinic.begin(visitor=clinic.api.look(begun["ticket"])["visitor"])["already"] is False


def test_a_room_without_a_pin_is_not_left_before_one_was_called(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.finish(begun, "lab", clinic.pin("lab"))
    clinic.finish(begun, "eye", clinic.pin("eye"))

    must_be_problem(clinic.finish(begun, "int", None), 409, "ticket-in-wrong-state")


def test_whoever_has_a_journey_under_way_begins_no_other_and_learns_nothing_of_it(clinic: Clinic) -> None:
    visitor = a_new("person")
    clinic.begin(visitor)

    again = clinic.begin(visitor)

    assert again == {
        "visit": None,
        "ticket": None,
        "place": None,
        "already": True,
        "link": None,
        "session_code": None,
        "stages": [],
        "awaited": [],
    }
    assert clinic.begin(visitor, by="owner@clinic")["visit"] is not None


def test_fifty_who_begin_at_once_under_one_name_begin_one_journey(clinic: Clinic) -> None:
    visitor = a_new("person")

    begun = at_once(lambda _: clinic.alone().begin(visitor), range(50))

    assert sum(not one["already"] for one in begun) == 1
    assert len(clinic.events("visit.started")) == 1


def test_entering_a_queue_by_name_gives_the_journeys_number_and_neither_link_nor_ticket(clinic: Clinic) -> None:
    visitor = a_new("person")
    begun = clinic.begin(visitor)

    taken = clinic.api.take(f"{clinic.slug}:lab", visitor=visitor)

    assert (taken["already"], taken["link"], taken["ticket"]) == (True, None, None)
    assert (taken["place"]["number"], begun["place"]["number"]) == (1, 1)


def test_a_ticket_that_the_visitor_has_already_is_the_stages_and_its_own_link_ends(clinic: Clinic) -> None:
    visitor = a_new("person")
    taken = clinic.api.take(f"{clinic.slug}:lab", visitor=visitor)

    begun = clinic.begin(visitor)

    assert (begun["ticket"], begun["place"]["number"]) == (taken["ticket"], 1)
    must_be_problem(clinic.api.get(f"/v1/visits/{secret_of(taken['link'])}"), 404, "unknown-visit")


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"journey": "nothing"}, 404, "unknown-journey"),
        ({"journey": "women", "audience": "men"}, 403, "not-for-this-audience"),
        ({"visitor": ""}, 422, "invalid-value"),
        ({"audience": "children"}, 422, "invalid-body"),
        ({"priority": 2}, 403, "role-too-low"),
        ({"priority": 9}, 422, "invalid-body"),
        ({"gender": "male"}, 422, "invalid-body"),
    ],
)
def test_a_journey_that_cannot_begin_is_refused_and_nothing_happens(
    clinic: Clinic, given: dict[str, object], status: int, code: str
) -> None:
    body = {"journey": "recruitment", "visitor": a_new("person"), **given}

    must_be_problem(clinic.api.post(f"/v1/venues/{clinic.slug}/journeys", body), status, code)

    assert clinic.events("visit.started") == []


def test_pins_are_refused_each_for_its_own_reason(clinic: Clinic) -> None:
    begun, wrong = clinic.begin(), clinic.wrong_pin()

    must_be_problem(clinic.finish(begun, "nowhere", wrong), 404, "unknown-queue")
    must_be_problem(clinic.finish(begun, "eye", wrong), 409, "not-its-turn")
    must_be_problem(clinic.finish(begun, "lab", None), 403, "pin-needed")
    must_be_problem(clinic.finish(begun, "lab", wrong), 403, "pin-wrong")
    foreign = clinic.finish(begun, "lab", clinic.pin("eye"))
    must_be_problem(foreign, 403, "pin-of-another-clinic")
    assert (foreign.json["tries_left"], "eye" in foreign.json["detail"]) == (3, False)
    clinic.edit(begun, "remove")
    must_be_problem(clinic.finish(begun, "lab", wrong), 409, "not-entered")


@pytest.mark.parametrize("pin", ["", "1", "1234567", "1a", "1٢"])
def test_what_is_no_pin_is_refused_and_not_counted(clinic: Clinic, pin: str) -> None:
    begun = clinic.begin()

    assert clinic.finish(begun, "lab", pin).status == 422

    assert clinic.events("pin.failed") == []


def test_a_pin_in_arabic_digits_is_the_same_pin(clinic: Clinic) -> None:
    begun, pin = clinic.begin(), clinic.pin("lab")

    assert clinic.finish(begun, "lab", pin.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))).status == 200


def test_fifty_wrong_pins_at_once_are_counted_five_times_and_lock_the_visit_until_staff_unlock_it(
    clinic: Clinic,
) -> None:
    begun, wrong = clinic.begin(), clinic.wrong_pin()

    answers = at_once(lambda _: clinic.alone().finish(begun, "lab", wrong), range(50))

    codes = sorted(answer.json["code"] for answer in answers)
    assert codes == ["pin-wrong"] * 5 + ["visit-locked"] * 45
    assert len(clinic.events("pin.failed")) == 5
    assert clinic.seen(begun)["locked"] is True
    must_be_problem(clinic.finish(begun, "lab", clinic.pin("lab")), 403, "visit-locked")
    assert clinic.edit(begun, "unlock").status == 200
    assert clinic.finish(begun, "lab", clinic.pin("lab")).status == 200


def test_fifty_right_pins_at_once_under_one_key_are_one_advance_and_fifty_equal_answers(clinic: Clinic) -> None:
    begun, pin = clinic.begin(), clinic.pin("lab")

    answers = at_once(lambda _: clinic.alone().finish(begun, "lab", pin, key="once"), range(50))

    assert len({(answer.status, answer.body) for answer in answers}) == 1
    assert answers[0].status == 200
    assert len(clinic.events("ticket.finished")) == 1


def test_a_failure_is_counted_once_under_its_key_and_the_corrected_pin_may_come_under_the_same(clinic: Clinic) -> None:
    begun, wrong = clinic.begin(), clinic.wrong_pin()
    other = next(
        f"{pin:02}" for pin in range(100) if f"{pin:02}" not in {wrong, *map(clinic.pin, ("lab", "eye", "int"))}
    )

    for _ in range(4):
        must_be_problem(clinic.finish(begun, "lab", wrong, key="typed"), 403, "pin-wrong")
    assert len(clinic.events("pin.failed")) == 1
    must_be_problem(clinic.finish(begun, "lab", other, key="typed"), 403, "pin-wrong")

    assert len(clinic.events("pin.failed")) == 2
    assert clinic.finish(begun, "lab", clinic.pin("lab"), key="typed").status == 200


def test_a_pin_that_was_changed_a_moment_ago_neither_opens_nor_counts(clinic: Clinic) -> None:
    begun, pin = clinic.begin(), clinic.pin("lab")
    clinic.post(f"/v1/queues/{clinic.slug}:lab/pin/rotate")

    must_be_problem(clinic.finish(begun, "lab", pin), 403, "pin-rotated")

    assert clinic.events("pin.failed") == []
    assert clinic.finish(begun, "lab", clinic.pin("lab")).status == 200


def test_no_pin_is_in_the_audit_trail(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.finish(begun, "lab", clinic.pin("eye"))
    clinic.finish(begun, "lab", clinic.pin("lab"))
    clinic.post(f"/v1/venues/{clinic.slug}/pins/renew")

    for event in clinic.api.audit(clinic.slug, by="owner@clinic"):
        if event["kind"].startswith("pin."):
            assert set(event["facts"]) <= {"visit", "tries_left"}


def test_the_choice_is_explained(clinic: Clinic) -> None:
    clinic.post(f"/v1/queues/{clinic.slug}:lab/close")

    choice = clinic.api.get(f"/v1/venues/{clinic.slug}/choice?journey=recruitment").json

    assert choice["queue"] is None
    assert [(one["queue"], one["left_out"]) for one in choice["candidates"]] == [(f"{clinic.slug}:lab", "closed")]


def test_where_nothing_takes_them_the_stage_stays_ready_and_says_what_it_waits_for(clinic: Clinic) -> None:
    clinic.post(f"/v1/queues/{clinic.slug}:lab/close")

    begun = clinic.begin()

    assert (begun["ticket"], begun["place"]) == (None, None)
    assert begun["stages"][0]["state"] == "ready"
    assert [(one["queue"], one["left_out"]) for one in begun["awaited"]] == [(f"{clinic.slug}:lab", "closed")]
    clinic.post(f"/v1/queues/{clinic.slug}:lab/open")
    entered = clinic.api.post(f"/v1/visits/{secret_of(begun['link'])}/enter", {})
    assert (entered.status, entered.json["tickets"][0]["number"]) == (200, 1)
    must_be_problem(clinic.api.post(f"/v1/visits/{secret_of(begun['link'])}/enter", {}), 409, "nothing-to-enter")


def test_a_finish_is_not_refused_because_the_next_queue_is_full(api: Api) -> None:
    full = new_clinic(api)
    set_up = api.get(f"/v1/venues/{full.slug}/set-up", by="owner@clinic").json
    for queue in set_up["queues"][1:]:
        queue["capacity"] = 0
    api.ask("PUT", f"/v1/venues/{full.slug}/set-up", set_up, by="owner@clinic")
    begun = full.begin()

    went = full.finish(begun, "lab", full.pin("lab"))

    assert went.status == 200
    assert [one["left_out"] for one in went.json["visit"]["awaited"]] == ["full", "full"]
    assert full.states(begun) == ["completed", "ready", "ready"]


def test_leaving_by_the_link_ends_the_whole_journey(clinic: Clinic) -> None:
    begun = clinic.begin()

    left = clinic.api.post(f"/v1/visits/{secret_of(begun['link'])}/leave", {})

    assert (left.status, left.json["state"]) == (200, "left")
    assert clinic.api.look(begun["ticket"])["state"] == "left"
    must_be_problem(clinic.api.post(f"/v1/visits/{secret_of(begun['link'])}/leave", {}), 409, "visit-in-wrong-state")


def test_a_reset_makes_the_stage_ready_again(clinic: Clinic) -> None:
    begun = clinic.begin()

    clinic.post(f"/v1/queues/{clinic.slug}:lab/reset")

    assert clinic.states(begun) == ["ready", "locked", "locked"]
    entered = clinic.api.post(f"/v1/visits/{secret_of(begun['link'])}/enter", {})
    assert (entered.json["tickets"][0]["number"], entered.json["stages"][0]["state"]) == (1, "in_queue")

"""Reception over HTTP: staff find visitors, change their paths, undo; whom they prefer is counted (A16, E5)."""

from typing import Any

import pytest

from tests.api.journeys import OWNER, Clinic, new_clinic
from tests.api.world import Api, secret_of
from tests.builders import a_new
from tests.running import must_be_problem


@pytest.fixture
def clinic(api: Api) -> Clinic:
    return new_clinic(api)


def found(clinic: Clinic, text: str) -> list[str]:
    answer = clinic.api.get(f"/v1/venues/{clinic.slug}/visitors?find={text}", by=OWNER)
    assert answer.status == 200, answer
    return [one["ticket"] for one in answer.json["found"]]


def test_a_visitor_is_found_by_id_name_label_and_session_code(clinic: Clinic) -> None:
    visitor = a_new("person")
    begun = clinic.begin(visitor, name="Noor Al-Ali", by=OWNER)
    clinic.begin(name="Somebody else", by=OWNER)

    for text in (visitor, "noor", "Al-Ali", "L001", "l001", begun["session_code"], begun["session_code"].lower()):
        assert found(clinic, text) == [begun["ticket"]], text
    assert found(clinic, "nobody") == []


def test_a_session_code_that_was_not_given_out_finds_nobody(clinic: Clinic) -> None:
    code = clinic.begin()["session_code"]
    forged = code[:-4] + ("0000" if not code.endswith("0000") else "1111")

    assert found(clinic, forged) == []
    assert found(clinic, code.replace("-LAB-", "-EYE-")) == []


def test_a_new_link_ends_the_old_one(clinic: Clinic) -> None:
    begun = clinic.begin()

    renewed = clinic.edit(begun, "renew-link")

    assert renewed.status == 200
    must_be_problem(clinic.api.get(f"/v1/visits/{secret_of(begun['link'])}"), 404, "unknown-visit")
    assert clinic.api.get(f"/v1/visits/{secret_of(renewed.json['link'])}").json["visit"] == begun["visit"]


def test_a_slip_says_where_to_go_and_has_the_code(clinic: Clinic) -> None:
    begun = clinic.begin()

    slip = clinic.api.get(f"/v1/tickets/{begun['ticket']}/slip", by=OWNER).json

    assert (slip["label"], slip["floor"], slip["room"], slip["ahead"]) == ("L001", "M", "101", 0)
    assert slip["session_code"] == begun["session_code"]


def test_a_transfer_sends_a_visitor_to_the_end_of_another_line_and_they_come_back_later(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.api.take(f"{clinic.slug}:int")

    moved = clinic.post(f"/v1/tickets/{begun['ticket']}/transfer", {"queue": "int"})

    assert (moved.json["queue"], moved.json["number"], moved.json["state"]) == (f"{clinic.slug}:int", 2, "waiting")
    assert clinic.states(begun) == ["locked", "locked", "in_queue"]
    clinic.post(f"/v1/tickets/{moved.json['ticket']}/call", {})
    clinic.post(f"/v1/tickets/{moved.json['ticket']}/finish", {})
    assert clinic.states(begun) == ["in_queue", "locked", "completed"]


def test_a_single_ticket_is_transferred_with_its_link(clinic: Clinic) -> None:
    taken = clinic.api.take(f"{clinic.slug}:lab")

    clinic.post(f"/v1/tickets/{taken['ticket']}/transfer", {"queue": "eye"})

    (place,) = clinic.api.get(f"/v1/visits/{secret_of(taken['link'])}").json["tickets"]
    assert (place["queue"], place["state"]) == (f"{clinic.slug}:eye", "waiting")


def test_a_transfer_to_a_closed_queue_is_refused_and_nothing_changes(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.post(f"/v1/queues/{clinic.slug}:int/close")

    refused = clinic.api.post(f"/v1/tickets/{begun['ticket']}/transfer", {"queue": "int"}, by=OWNER)

    must_be_problem(refused, 409, "queue-closed")
    assert clinic.states(begun) == ["in_queue", "locked", "locked"]


@pytest.mark.parametrize(
    ("verb", "body", "states"),
    [
        ("skip-stage", {"queue": "lab"}, ["skipped", "in_queue", "locked"]),
        ("skip-stage", {"queue": "int"}, ["in_queue", "locked", "skipped"]),
        ("complete-stage", {"queue": "lab"}, ["completed", "in_queue", "locked"]),
        ("complete-stage", {"queue": "eye"}, ["in_queue", "completed", "locked"]),
        ("remove", {}, ["ready", "locked", "locked"]),
        ("reset-path", {}, ["in_queue", "locked", "locked"]),
        ("change-path", {"journey": "women", "audience": "women"}, ["in_queue"]),
        ("end", {}, ["locked", "locked", "locked"]),
    ],
)
def test_staff_change_a_path(clinic: Clinic, verb: str, body: dict[str, Any], states: list[str]) -> None:
    begun = clinic.begin()

    answer = clinic.edit(begun, verb, **body)

    assert answer.status == 200, answer
    assert [stage["state"] for stage in answer.json["visit"]["stages"]] == states == clinic.states(begun)


def test_a_stage_is_added_behind_the_others_but_not_twice(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.edit(begun, "complete-stage", queue="eye")

    added = clinic.edit(begun, "add-stage", queue="eye")

    assert added.status == 200
    assert clinic.states(begun) == ["in_queue", "completed", "locked", "locked"]
    must_be_problem(clinic.edit(begun, "add-stage", queue="eye"), 409, "stage-in-wrong-state")


def test_what_is_wrong_with_a_change_of_path_is_said(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.edit(begun, "complete-stage", queue="eye")

    must_be_problem(clinic.edit(begun, "skip-stage", queue="eye"), 409, "stage-in-wrong-state")
    must_be_problem(clinic.edit(begun, "skip-stage", queue="nowhere"), 404, "unknown-queue")
    must_be_problem(clinic.edit(begun, "change-path", journey="nothing"), 404, "unknown-journey")
    clinic.edit(begun, "end")
    must_be_problem(clinic.edit(begun, "reset-path"), 409, "visit-in-wrong-state")


def test_todays_ended_tickets_are_listed_page_by_page(clinic: Clinic) -> None:
    tickets = [clinic.api.take(f"{clinic.slug}:lab")["ticket"] for _ in range(3)]
    for ticket in tickets[:2]:
        clinic.post(f"/v1/tickets/{ticket}/leave")

    first = clinic.api.get(f"/v1/queues/{clinic.slug}:lab/done?limit=1", by=OWNER).json
    second = clinic.api.get(f"/v1/queues/{clinic.slug}:lab/done?limit=1&cursor={first['next']}", by=OWNER).json

    assert [one["ticket"] for one in first["items"] + second["items"]] == [tickets[1], tickets[0]]
    assert second["next"] is None


def undo(clinic: Clinic, ticket: str, version: int) -> Any:  # noqa: ANN401 - an answer
    return clinic.api.post(f"/v1/tickets/{ticket}/undo", {"version": version}, by=OWNER)


def test_a_call_that_was_a_slip_is_undone_with_all_that_it_changed(clinic: Clinic) -> None:
    ticket = clinic.api.take(f"{clinic.slug}:lab")["ticket"]
    before = clinic.api.get(f"/v1/queues/{clinic.slug}:lab").json
    called = clinic.post(f"/v1/queues/{clinic.slug}:lab/call-next").json["ticket"]

    undone = undo(clinic, ticket, called["version"])

    assert (undone.status, undone.json["state"], undone.json["can_undo"]) == (200, "waiting", False)
    assert clinic.api.get(f"/v1/queues/{clinic.slug}:lab").json == before
    must_be_problem(undo(clinic, ticket, undone.json["version"]), 409, "cannot-undo")
    must_be_problem(undo(clinic, ticket, called["version"]), 409, "changed-since")


def test_an_advance_is_undone_while_the_next_ticket_waits_and_not_after(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.post(f"/v1/tickets/{begun['ticket']}/call")
    finished = clinic.post(f"/v1/tickets/{begun['ticket']}/finish").json

    undone = undo(clinic, begun["ticket"], finished["version"])

    assert (undone.status, undone.json["state"]) == (200, "called")
    assert clinic.states(begun) == ["in_queue", "locked", "locked"]
    again = clinic.post(f"/v1/tickets/{begun['ticket']}/finish").json
    assert clinic.seen(begun)["tickets"][0]["number"] == 2
    clinic.post(f"/v1/queues/{clinic.slug}:eye/call-next")
    must_be_problem(undo(clinic, begun["ticket"], again["version"]), 409, "place-taken")


def test_what_is_undone_is_refused_in_words_when_the_place_was_taken_since(clinic: Clinic) -> None:
    visitor = a_new("person")
    taken = clinic.api.take(f"{clinic.slug}:lab", visitor=visitor)
    left = clinic.post(f"/v1/tickets/{taken['ticket']}/leave").json
    clinic.api.take(f"{clinic.slug}:lab", visitor=visitor)

    refused = undo(clinic, taken["ticket"], left["version"])

    must_be_problem(refused, 409, "place-taken")
    assert "L002" in refused.json["detail"]


def test_whoever_overtakes_has_a_coded_reason_and_is_counted_with_whom_they_passed(clinic: Clinic) -> None:
    tickets = [clinic.api.take(f"{clinic.slug}:lab")["ticket"] for _ in range(4)]

    clinic.post(f"/v1/tickets/{tickets[3]}/call", {"why": "urgent"})
    clinic.post(f"/v1/tickets/{tickets[2]}/prioritize", {"priority": 2, "why": "elderly"})
    clinic.post(f"/v1/tickets/{tickets[0]}/call", {})

    fairness = clinic.api.get(f"/v1/venues/{clinic.slug}/fairness", by=OWNER).json["overtakings"]
    assert [(one["why"], one["times"], one["overtaken"]) for one in fairness] == [
        ("elderly", 1, 2),
        ("other", 1, 1),
        ("urgent", 1, 3),
    ]
    assert {one["actor"] for one in fairness} == {"staff:owner@clinic"}
    (event,) = clinic.events("ticket.prioritized")
    assert (event["facts"]["why"], event["facts"]["overtaken"]) == ("elderly", 2)


def test_priority_goes_along_to_the_next_queue(clinic: Clinic) -> None:
    begun = clinic.begin()
    clinic.api.take(f"{clinic.slug}:eye")
    clinic.post(f"/v1/tickets/{begun['ticket']}/prioritize", {"priority": 1, "why": "pregnant"})

    clinic.finish(begun, "lab", clinic.pin("lab"))

    assert clinic.seen(begun)["tickets"][0]["ahead"] == 0


@pytest.mark.parametrize(
    "body", [{"priority": 1}, {"priority": 4, "why": "urgent"}, {"priority": 1, "why": "a friend"}]
)
def test_priority_without_a_coded_reason_is_refused(clinic: Clinic, body: dict[str, object]) -> None:
    ticket = clinic.api.take(f"{clinic.slug}:lab")["ticket"]

    must_be_problem(clinic.api.post(f"/v1/tickets/{ticket}/prioritize", body, by=OWNER), 422, "invalid-body")

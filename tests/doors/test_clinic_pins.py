"""PINs at the clinic's door: patients learn how long one is, and only that clinic's staff what it is (MISSION A9)."""

from typing import Any

import pytest

from dawr.domain.staff import Role
from tests.doors.exams import Exam
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC, a_token
from tests.doors.trail import whole_trail
from tests.running import Answer, Client, must_be_problem

ASSIGN = "/api/v1/pin/assign"
ROTATE = "/api/v1/pin/rotate"
RENEW = "/api/v1/pin/renew"


def pin_status(exam: Exam, clinic: str, bearer: str | None) -> Answer:
    return exam.client.get(f"/api/v1/pin/{clinic}/status", bearer=bearer)


def desk_verb(exam: Exam, verb: str, bearer: str, **given: object) -> None:
    answer = exam.client.post(f"/v1/desks/{CLINIC}:{exam.id}-desk/{verb}", given, bearer=bearer)
    assert answer.status == 200, answer


def test_a_patient_learns_whether_there_is_a_pin_and_how_long_it_is(exam: Exam) -> None:
    exam.pin()

    told = pin_status(exam, exam.first.upper(), None)

    assert told.json == {"success": True, "clinic": exam.first, "required": True, "length": 6}
    assert pin_status(exam, exam.third, None).json["required"] is False


def test_no_pin_is_shown_to_who_does_not_sit_there(
    exam: Exam, bearers: dict[Role, str], restaurant: Restaurant, owner: str
) -> None:
    exam.pin()
    devices = [a_token(exam.client, CLINIC, owner, None, kind) for kind in ("kiosk", "display")]

    for bearer in (None, bearers["viewer"], bearers["staff"], restaurant.bearers["owner"], *devices):
        told = pin_status(exam, exam.first, bearer)
        assert (told.status, "pin" in told.json) == (200, False)


@pytest.mark.parametrize("role", ["manager", "owner"])
def test_managers_see_the_pin_of_today_which_is_made_when_it_is_first_needed(
    exam: Exam, bearers: dict[Role, str], role: Role
) -> None:
    first = pin_status(exam, exam.first, bearers[role]).json["pin"]

    assert (len(first), first.isdigit()) == (6, True)
    assert pin_status(exam, exam.first, bearers["owner"]).json["pin"] == first
    assert pin_status(exam, exam.second, bearers["owner"]).json["pin"] != first


def test_staff_see_the_pin_while_they_sit_at_a_desk_of_that_queue(exam: Exam, owner: str) -> None:
    nurse, other = (a_token(exam.client, CLINIC, owner, "staff") for _ in range(2))
    desk_verb(exam, "open", nurse)

    assert pin_status(exam, exam.first, nurse).json["pin"] == exam.pin()
    assert "pin" not in pin_status(exam, exam.second, nurse).json
    assert "pin" not in pin_status(exam, exam.first, other).json

    desk_verb(exam, "close", nurse)
    assert "pin" not in pin_status(exam, exam.first, nurse).json


def test_who_lost_their_role_while_they_sat_there_sees_nothing(exam: Exam, owner: str) -> None:
    staff, password = f"nurse-{exam.id}", "a long walk to the sea"
    members = f"/v1/venues/{CLINIC}/staff"
    exam.client.post(members, {"username": staff, "role": "staff", "password": password}, bearer=owner)
    nurse = exam.client.post("/v1/login", {"username": staff, "password": password}).json["session"]
    desk_verb(exam, "open", nurse)
    assert "pin" in pin_status(exam, exam.first, nurse).json

    exam.client.post(f"{members}/{staff}/role", {"role": "viewer"}, bearer=owner)

    assert "pin" not in pin_status(exam, exam.first, nurse).json
    must_be_problem(exam.client.post(ROTATE, {"clinic": exam.first}, bearer=nurse), 403, "role-too-low")


def test_staff_change_the_pin_where_they_sit_and_nowhere_else(exam: Exam, owner: str) -> None:
    nurse, before = a_token(exam.client, CLINIC, owner, "staff"), exam.pin()
    must_be_problem(exam.client.post(ROTATE, {"clinic": exam.first}, bearer=nurse), 403, "not-at-this-desk")
    assert exam.pin() == before
    desk_verb(exam, "open", nurse)

    changed = exam.client.post(ROTATE, {"clinic": exam.first}, bearer=nurse)

    assert changed.json == {"success": True, "clinic": exam.first, "pin": exam.pin()}
    assert changed.json["pin"] != before
    must_be_problem(exam.client.post(ROTATE, {"clinic": exam.second}, bearer=nurse), 403, "not-at-this-desk")


def test_a_manager_assigns_a_pin_or_sees_to_it_that_there_is_one(exam: Exam, bearers: dict[Role, str]) -> None:
    manager = bearers["manager"]
    kept = exam.client.post(ASSIGN, {"clinic": exam.first}, bearer=manager)
    again = exam.client.post(ASSIGN, {"clinic": exam.first}, bearer=manager)
    freed = exam.pin(exam.second)
    exam.client.post(ROTATE, {"clinic": exam.second}, bearer=manager)

    given = exam.client.post(ASSIGN, {"clinic": exam.first, "pin": freed}, bearer=manager)

    assert kept.json == again.json
    assert given.json == {"success": True, "clinic": exam.first, "pin": freed}
    assert exam.verify(exam.patient(), pin=freed).status == 200


def test_a_pin_that_another_queue_has_is_taken(exam: Exam, bearers: dict[Role, str]) -> None:
    given = {"clinic": exam.first, "pin": exam.pin(exam.second)}

    refused = exam.client.post(ASSIGN, given, bearer=bearers["manager"])

    must_be_problem(refused, 409, "pin-taken")
    assert given["pin"] not in refused.numbers


def test_all_pins_are_made_anew_and_all_differ(exam: Exam, bearers: dict[Role, str]) -> None:
    before = {clinic: exam.pin(clinic) for clinic in (exam.first, exam.second)}

    renewed = exam.client.post(RENEW, {}, bearer=bearers["manager"]).json["pins"]

    pins = {shown["clinic"]: shown["pin"] for shown in renewed}
    assert len(set(pins.values())) == len(pins) > 500
    assert {clinic: pins[clinic] for clinic in before} == {clinic: exam.pin(clinic) for clinic in before}
    assert not before.items() & pins.items()


@pytest.mark.parametrize("path", [ASSIGN, ROTATE, RENEW])
@pytest.mark.parametrize(("role", "status"), [(None, 401), ("viewer", 403)])
def test_pins_are_changed_by_staff(
    client: Client, bearers: dict[Role, str], path: str, role: Role | None, status: int
) -> None:
    answer = client.post(path, {"clinic": "xray"}, bearer=None if role is None else bearers[role])

    assert answer.status == status


@pytest.mark.parametrize("path", [ASSIGN, RENEW])
def test_assigning_and_making_all_anew_is_for_managers(client: Client, staff: str, path: str) -> None:
    must_be_problem(client.post(path, {"clinic": "xray"}, bearer=staff), 403, "role-too-low")


@pytest.mark.parametrize(
    ("path", "given", "status", "code"),
    [
        (ASSIGN, {}, 422, "invalid-body"),
        (ASSIGN, {"clinic": "nowhere"}, 404, "unknown-queue"),
        (ASSIGN, {"clinic": "nowhere", "pin": "123456"}, 404, "unknown-queue"),
        (ASSIGN, {"clinic": "xray", "pin": 123456}, 422, "invalid-body"),
        (ASSIGN, {"clinic": "xray", "pin": ""}, 422, "invalid-value"),
        (ASSIGN, {"clinic": "xray", "pin": "1234567"}, 422, "invalid-body"),
        (ASSIGN, {"clinic": "xray", "pin": "12345"}, 422, "invalid-value"),
        (ASSIGN, {"clinic": "xray", "pin": "12345x"}, 422, "invalid-value"),
        (ASSIGN, {"clinic": "xray", "pin": "12345٦"}, 422, "invalid-value"),
        (ROTATE, {}, 422, "invalid-body"),
        (ROTATE, {"clinic": "nowhere"}, 404, "unknown-queue"),
        (ROTATE, {"clinic": 7}, 422, "invalid-body"),
    ],
)
def test_what_makes_no_sense_is_refused_and_no_pin_changes(
    exam: Exam, path: str, given: dict[str, Any], status: int, code: str
) -> None:
    before = exam.pin("xray")

    refused = exam.client.post(path, given, bearer=exam.bearers["manager"])

    must_be_problem(refused, status, code)
    if code == "invalid-value":
        assert refused.json["field"] == "pin"
    assert exam.pin("xray") == before


@pytest.mark.parametrize("code", ["nowhere", "x" * 300, "%00", "%E2%80%AE"])
def test_a_clinic_that_there_is_not_has_no_pin(client: Client, code: str) -> None:
    must_be_problem(client.ask(f"/api/v1/pin/{code}/status"), 404, "unknown-queue")


def test_no_event_has_a_pin(exam: Exam, bearers: dict[Role, str]) -> None:
    patient, seen = exam.patient(), {exam.pin()}
    for given in ({"clinic": exam.first}, {"clinic": exam.second}):
        seen.add(exam.client.post(ROTATE, given, bearer=bearers["manager"]).json["pin"])
    exam.verify(patient, pin="271828")
    exam.verify(patient)

    told = [event["facts"] for event in whole_trail(exam.client, CLINIC, None, bearers["manager"])]

    assert any("tries_left" in facts for facts in told)
    for facts in told:
        assert not {*seen, "271828"} & {str(value) for value in facts.values()}

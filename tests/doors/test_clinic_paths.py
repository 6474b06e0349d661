"""Which clinic is next at the clinic's door, and why: `path/choose` (MISSION A11)."""

from typing import Any

import pytest

from dawr.operations.admin import ChangeQueue
from tests.doors.exams import CHOOSE, Exam, Patient, a_patient_id
from tests.doors.here import Here
from tests.doors.roles import CLINIC
from tests.running import Client, must_be_problem


def candidates(answer: dict[str, Any]) -> dict[str, Any]:
    return {candidate["clinic"]: candidate for candidate in answer["candidates"]}


def in_queue(exam: Exam, clinic: str, people: int) -> None:
    for number in range(people):
        exam.client.enter(clinic, f"somebody {number}")


def test_what_would_be_first_is_told_with_its_score(exam: Exam) -> None:
    in_queue(exam, exam.first, 2)

    answer = exam.client.get(CHOOSE, examType=exam.id, gender="female")

    assert answer.json == {
        "success": True,
        "clinic": exam.first,
        "candidates": [
            {
                "clinic": exam.first,
                "score": 10,
                "walk_minutes": 0,
                "wait_minutes": 10,
                "waiting": 2,
                "left_out": None,
                "opens_at": None,
            }
        ],
    }
    assert exam.kinds(exam.first) == ["ticket.issued"] * 2


def test_the_next_is_where_walk_and_wait_are_shortest(exam: Exam) -> None:
    """Two minutes' walk and nobody there, against four minutes' walk; then five minutes' wait against that."""
    first, second = exam.patient(), exam.patient()

    assert exam.verify(first).json["next"]["clinic"] == exam.second
    assert exam.verify(second).json["next"]["clinic"] == exam.third


def test_the_choice_stands_until_the_stage_ends(exam: Exam) -> None:
    """Although others were let in before the patient, and elsewhere it would be quicker by now."""
    patient = exam.patient()
    exam.verify(patient)
    for _ in range(3):
        urgent = {"priority": 3, "why": "urgent"}
        path = f"/v1/queues/{CLINIC}:{exam.second}/tickets"
        assert exam.client.post(path, urgent, bearer=exam.bearers["staff"]).status == 201

    seen = exam.client.get(CHOOSE, ticket=patient.link).json

    assert seen["clinic"] == exam.second
    scores = {clinic: (weighed["score"], weighed["waiting"]) for clinic, weighed in candidates(seen).items()}
    assert scores == {exam.second: (15, 3), exam.third: (0, 0)}


def test_whoever_was_taken_out_of_a_queue_enters_it_again(exam: Exam) -> None:
    patient = exam.patient()
    exam.edit(patient, "remove-from-queue")
    assert exam.states(patient)[0] == "READY_TO_ENTER"

    entered = exam.client.post(CHOOSE, {"ticket": patient.link})

    assert (entered.status, entered.json["clinic"]) == (200, exam.first)
    assert candidates(entered.json)[exam.first]["waiting"] == 0
    assert exam.status(ticket=patient.link).json["queueNumber"] == 2


def test_the_link_the_number_and_staff_let_a_patient_enter_and_an_id_alone_does_not(exam: Exam) -> None:
    patient, staff = exam.patient(), exam.bearers["staff"]
    exam.edit(patient, "remove-from-queue")
    refused = exam.client.post(CHOOSE, {"patientId": patient.id})
    nobody = exam.client.post(CHOOSE, {"patientId": a_patient_id()})
    must_be_problem(refused, 404, "unknown-visit")
    assert refused.json | {"correlation_id": ""} == nobody.json | {"correlation_id": ""}
    must_be_problem(exam.client.post(CHOOSE, {"patientId": patient.id, "queueNumber": 9}), 404, "unknown-visit")

    assert exam.client.post(CHOOSE, {"patientId": patient.id, "queueNumber": "1"}).json["clinic"] == exam.first

    exam.edit(patient, "remove-from-queue")
    assert exam.client.post(CHOOSE, {"patientId": patient.id}, bearer=staff).json["clinic"] == exam.first


def test_whoever_stands_in_a_queue_has_nothing_to_enter(exam: Exam) -> None:
    must_be_problem(exam.client.post(CHOOSE, {"ticket": exam.patient().link}), 409, "nothing-to-enter")


def test_while_nothing_takes_the_patient_they_are_told_why(exam: Exam) -> None:
    exam.queue_verb(exam.first, "close")
    link = exam.login().json["ticket"]

    for told in (exam.client.get(CHOOSE, ticket=link), exam.client.post(CHOOSE, {"ticket": link})):
        assert (told.status, told.json["clinic"]) == (200, None)
        assert candidates(told.json)[exam.first]["left_out"] == "closed"

    exam.queue_verb(exam.first, "open")
    assert exam.client.get(CHOOSE, ticket=link).json["clinic"] == exam.first


def test_the_visit_that_ended_enters_nothing(exam: Exam) -> None:
    patient = exam.patient()
    exam.edit(patient, "end")

    must_be_problem(exam.client.post(CHOOSE, {"ticket": patient.link}), 409, "visit-in-wrong-state")
    assert exam.client.get(CHOOSE, ticket=patient.link).json["candidates"] == []
    must_be_problem(exam.client.post(CHOOSE, {"patientId": patient.id, "queueNumber": 1}), 409, "visit-in-wrong-state")


@pytest.mark.parametrize(
    ("query", "status", "code", "field"),
    [
        ({}, 422, "invalid-value", "examType"),
        ({"gender": "male"}, 422, "invalid-value", "examType"),
        ({"examType": "astronaut"}, 404, "unknown-journey", None),
        ({"examType": "women", "gender": "male"}, 403, "not-for-this-audience", None),
        ({"examType": "women", "gender": "both"}, 422, "invalid-value", "gender"),
        ({"patientId": "1"}, 422, "invalid-value", "patientId"),
        ({"patientId": "12٣٤"}, 422, "invalid-value", "patientId"),
        ({"patientId": "1234", "queueNumber": "x"}, 422, "invalid-value", "queueNumber"),
        ({"clinic": "xray"}, 422, "invalid-value", "examType"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(
    client: Client, query: dict[str, str], status: int, code: str, field: str | None
) -> None:
    refused = client.get(CHOOSE, **query)

    must_be_problem(refused, status, code)
    assert refused.json.get("field") == field


@pytest.mark.parametrize(
    ("given", "code"),
    [({}, "invalid-value"), ({"patientId": "1"}, "invalid-value"), ({"patientId": 12}, "invalid-body")],
)
def test_whose_choice_it_is_must_be_said(client: Client, given: dict[str, object], code: str) -> None:
    must_be_problem(client.post(CHOOSE, given), 422, code)


async def test_each_that_is_left_out_says_why(hospital: Here) -> None:
    told = await hospital.ask(lambda client: client.get(CHOOSE, examType="everything", gender="male"))

    left_out = {clinic: seen["left_out"] for clinic, seen in candidates(told.json).items()}
    assert left_out == {
        "closed": "closed",
        "full": "full",
        "later": "outside-hours",
        "ladies": "audience",
        "far": None,
        "near": None,
    }
    assert candidates(told.json)["later"]["opens_at"] == "2026-03-02 18:00"
    assert told.json["clinic"] == "far"


async def test_a_choice_that_is_left_with_nothing_is_none(hospital: Here) -> None:
    for queue in ("far", "near"):
        await hospital.do(ChangeQueue(queue, "close"))

    told = await hospital.ask(lambda client: client.get(CHOOSE, examType="everything", gender="male"))
    begun = await hospital.ask(
        lambda client: client.post(
            "/api/v1/patient/login", {"patientId": "42", "gender": "male", "examType": "everything"}
        )
    )

    assert told.json["clinic"] is begun.json["clinic"] is None
    assert {stage["state"] for stage in begun.json["stages"]} == {"READY_TO_ENTER"}
    assert "ladies" not in [stage["clinic"] for stage in begun.json["stages"]]


async def test_yesterdays_pin_counts_as_a_wrong_one(hospital: Here) -> None:
    manager = await hospital.bearer("manager")
    yesterdays = await assigned(hospital, manager, "near", "41")
    hospital.clock.advance(days=1)
    await assigned(hospital, manager, "near", "42")
    patient = await logged_in(hospital, "quick")

    given = {"patientId": patient.id, "clinic": "near", "queueNumber": patient.number, "pin": yesterdays}
    refused = await hospital.ask(lambda client: client.post("/api/v1/patient/verify-pin", given))

    must_be_problem(refused, 403, "pin-wrong")


async def test_with_the_day_a_visit_ends_and_its_link_names_no_clinic(hospital: Here) -> None:
    patient = await logged_in(hospital, "quick")
    hospital.clock.advance(days=1)
    again = await logged_in(hospital, "quick", patient.id)

    seen = await hospital.ask(lambda client: client.get("/api/v1/patient/status", ticket=patient.link))

    assert again.link != patient.link
    assert (seen.json["status"], seen.json["clinic"]) == ("LEFT", None)


async def assigned(hospital: Here, manager: str, clinic: str, pin: str) -> str:
    given = {"clinic": clinic, "pin": pin}
    answer = await hospital.ask(lambda client: client.post("/api/v1/pin/assign", given, bearer=manager))
    assert answer.json["pin"] == pin
    return pin


async def logged_in(hospital: Here, exam_type: str, patient: str | None = None) -> Patient:
    given = {"patientId": patient or a_patient_id(), "gender": "male", "examType": exam_type}
    entered = (await hospital.ask(lambda client: client.post("/api/v1/patient/login", given))).json
    return Patient(given["patientId"], entered["ticket"], entered["queueNumber"])

"""POST /api/v1/admin/edit-patient: what staff change of a patient's path (MISSION A16)."""

from typing import Any

import pytest

from dawr.domain.staff import Role
from tests.doors.exams import EDIT, Exam, Patient, a_patient_id
from tests.doors.roles import CLINIC
from tests.doors.trail import trail
from tests.running import Client, must_be_problem


@pytest.fixture
def patient(exam: Exam) -> Patient:
    return exam.patient()


def test_a_patient_is_taken_out_of_the_queue(exam: Exam, patient: Patient) -> None:
    answer = exam.edit(patient, "remove-from-queue", reason="Went to pray.")

    assert answer.json == {
        "success": True,
        "status": "READY_TO_ENTER",
        "clinic": None,
        "queueNumber": None,
        "ahead": None,
        "stages": [
            {"clinic": exam.first, "state": "READY_TO_ENTER", "number": 1},
            {"clinic": exam.second, "state": "LOCKED", "number": None},
            {"clinic": exam.third, "state": "LOCKED", "number": None},
        ],
    }
    left = trail(exam.client, CLINIC, exam.first, exam.bearers["manager"])[-1]
    assert (left["kind"], left["reason"]) == ("ticket.left", "Went to pray.")


def test_the_stage_that_the_patient_is_at_is_completed_and_they_go_on(exam: Exam, patient: Patient) -> None:
    behind = exam.patient()

    done = exam.edit(behind, "force-complete", clinic=exam.first.upper(), why="mistake").json

    assert (done["clinic"], done["stages"][0]["state"]) == (exam.second, "COMPLETED")
    called = [e["facts"] for e in trail(exam.client, CLINIC, exam.first, exam.bearers["manager"])][-3]
    assert (called["why"], called["overtaken"]) == ("mistake", 1)
    assert exam.status(ticket=patient.link).json["ahead"] == 0


def test_a_stage_that_comes_later_is_completed_and_the_patient_stays(exam: Exam, patient: Patient) -> None:
    done = exam.edit(patient, "force-complete", clinic=exam.third).json

    assert (done["clinic"], [stage["state"] for stage in done["stages"]]) == (
        exam.first,
        ["IN_QUEUE", "LOCKED", "COMPLETED"],
    )


def test_a_stage_that_is_skipped_is_no_stage_any_more(exam: Exam, patient: Patient) -> None:
    done = exam.edit(patient, "skip", clinic=exam.first).json

    assert (done["clinic"], [stage["clinic"] for stage in done["stages"]]) == (exam.second, [exam.second, exam.third])
    must_be_problem(exam.edit(patient, "skip", clinic=exam.first), 409, "stage-in-wrong-state")


def test_a_stage_is_added_behind_the_others(exam: Exam, patient: Patient) -> None:
    done = exam.edit(patient, "add", clinic="XR").json

    assert done["stages"][-1] == {"clinic": "xray", "state": "LOCKED", "number": None}
    must_be_problem(exam.edit(patient, "add", clinic="xray"), 409, "stage-in-wrong-state")


def test_the_path_is_changed_and_the_patient_goes_where_it_leads(exam: Exam, patient: Patient, queue: str) -> None:
    must_be_problem(exam.edit(patient, "change-path", examType="women"), 403, "not-for-this-audience")

    changed = exam.edit(patient, "change-path", examType=f"only-{queue}").json

    assert changed["stages"] == [{"clinic": queue, "state": "IN_QUEUE", "number": 1}]
    assert (changed["clinic"], exam.kinds(exam.first)) == (queue, ["ticket.issued", "ticket.left"])


def test_what_was_done_before_the_path_was_changed_stays_done(exam: Exam, patient: Patient) -> None:
    exam.verify(patient)

    changed = exam.edit(patient, "change-path", examType=exam.id).json

    assert [stage["state"] for stage in changed["stages"]] == ["COMPLETED", "IN_QUEUE", "LOCKED"]


def test_a_patient_is_sent_to_another_clinic_and_their_link_goes_along(exam: Exam, patient: Patient) -> None:
    moved = exam.edit(patient, "transfer", clinic=exam.third).json

    assert (moved["clinic"], moved["queueNumber"]) == (exam.third, 1)
    assert exam.states(patient) == ["LOCKED", "LOCKED", "IN_QUEUE"]


def test_whoever_stands_nowhere_is_not_sent_elsewhere(exam: Exam, patient: Patient) -> None:
    exam.edit(patient, "remove-from-queue")

    must_be_problem(exam.edit(patient, "transfer", clinic=exam.third), 409, "stage-in-wrong-state")


@pytest.mark.parametrize(("code", "problem"), [("closed", "queue-closed"), ("never", "outside-hours")])
def test_nobody_is_sent_to_a_clinic_that_takes_nobody(exam: Exam, patient: Patient, code: str, problem: str) -> None:
    must_be_problem(exam.edit(patient, "transfer", clinic=code), 409, problem)

    assert exam.states(patient) == ["IN_QUEUE", "LOCKED", "LOCKED"]


def test_the_path_begins_again(exam: Exam, patient: Patient) -> None:
    exam.verify(patient)

    reset = exam.edit(patient, "reset-path").json

    assert (reset["clinic"], reset["queueNumber"]) == (exam.first, 2)
    assert [stage["state"] for stage in reset["stages"]] == ["IN_QUEUE", "LOCKED", "LOCKED"]


def test_a_new_link_ends_the_old_one_and_a_retry_gets_no_other(exam: Exam, patient: Patient) -> None:
    key = f"link-{exam.id}"

    given = exam.edit(patient, "new-link", key=key)

    assert given.json["ticket"].startswith("/t/")
    must_be_problem(exam.status(ticket=patient.link), 404, "unknown-visit")
    assert exam.status(ticket=given.json["ticket"]).json["clinic"] == exam.first
    assert exam.edit(patient, "new-link", key=key).body == given.body
    assert exam.status(ticket=given.json["ticket"]).status == 200


@pytest.mark.parametrize("action", ["unlock", "reset-path", "remove-from-queue", "end"])
def test_no_other_change_tells_a_link(exam: Exam, patient: Patient, action: str) -> None:
    answer = exam.edit(patient, action)

    assert (answer.status, "ticket" in answer.json) == (200, False)
    assert b"/t/" not in answer.body


def test_a_patient_who_went_home_has_no_visit_any_more(exam: Exam, patient: Patient) -> None:
    key = f"end-{exam.id}"
    ended = exam.edit(patient, "end", key=key)

    assert (ended.json["status"], ended.json["clinic"]) == ("LEFT", None)
    assert exam.status(ticket=patient.link).json["status"] == "LEFT"
    assert exam.edit(patient, "end", key=key).body == ended.body
    must_be_problem(exam.edit(patient, "end"), 404, "unknown-visit")


@pytest.mark.parametrize(
    ("given", "status", "code", "field"),
    [
        ({"action": "delete"}, 422, "invalid-body", "action"),
        ({"action": "force-complete"}, 422, "invalid-value", "clinic"),
        ({"action": "skip"}, 422, "invalid-value", "clinic"),
        ({"action": "add"}, 422, "invalid-value", "clinic"),
        ({"action": "transfer"}, 422, "invalid-value", "clinic"),
        ({"action": "change-path"}, 422, "invalid-value", "examType"),
        ({"action": "skip", "clinic": "nowhere"}, 404, "unknown-queue", None),
        ({"action": "skip", "clinic": "xray"}, 404, "not-in-plan", None),
        ({"action": "change-path", "examType": "astronaut"}, 404, "unknown-journey", None),
        ({"action": "force-complete", "clinic": "xray", "why": "bribe"}, 422, "invalid-body", "why"),
        ({"action": "unlock", "reason": "x" * 501}, 422, "invalid-body", "reason"),
        ({"action": "unlock", "reason": "\u0000"}, 422, "invalid-value", "reason"),
        ({"action": "unlock", "patientId": "1"}, 422, "invalid-value", "patientId"),
        ({"action": "unlock", "patientId": "12٣٤"}, 422, "invalid-value", "patientId"),
        ({"action": "unlock", "patientId": "99"}, 404, "unknown-visit", None),
        ({}, 422, "invalid-body", "action"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    exam: Exam, given: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    patient = exam.patient()

    refused = exam.client.post(EDIT, {"patientId": patient.id, **given}, bearer=exam.bearers["staff"])

    must_be_problem(refused, status, code)
    assert refused.json.get("field") == field
    assert exam.states(patient) == ["IN_QUEUE", "LOCKED", "LOCKED"]


@pytest.mark.parametrize(("role", "status"), [(None, 401), ("viewer", 403), ("staff", 404), ("owner", 404)])
def test_patients_are_edited_by_staff(client: Client, bearers: dict[Role, str], role: Role | None, status: int) -> None:
    given = {"patientId": a_patient_id(), "action": "end"}

    assert client.post(EDIT, given, bearer=None if role is None else bearers[role]).status == status

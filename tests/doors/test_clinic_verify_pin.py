"""POST /api/v1/patient/verify-pin: who leaves a clinic types the PIN that is shown there (MISSION A9, A12)."""

from typing import Any

import pytest

from tests.doors.exams import CHOOSE, VERIFY, Exam, Patient, in_arabic
from tests.running import Answer, Client, DawrServer, at_once, must_be_problem

NOBODY = Patient("99", "", 1)


def test_the_right_pin_finishes_the_stage_and_enters_the_next(exam: Exam) -> None:
    exam.patient()
    patient = exam.patient()

    answer = exam.verify(patient)

    assert answer.status == 200
    assert answer.json == {
        "success": True,
        "clinic": exam.first,
        "status": "DONE",
        "next": {"clinic": exam.second, "queueNumber": 1, "ahead": 0, "floor": "2", "room": "201"},
        "stages": [
            {"clinic": exam.first, "state": "COMPLETED", "number": 2},
            {"clinic": exam.second, "state": "IN_QUEUE", "number": 1},
            {"clinic": exam.third, "state": "LOCKED", "number": None},
        ],
    }


def test_a_journey_ends_with_its_last_stage_and_its_link_names_no_clinic_then(exam: Exam) -> None:
    patient = exam.patient()
    exam.verify(patient)
    exam.verify(patient, clinic=exam.second, queueNumber=1)
    exam.client.post("/api/v1/queue/call", {"clinic": exam.third}, bearer=exam.bearers["staff"])

    last = exam.verify(patient, clinic=exam.third, queueNumber="1", pin=None, ticket=patient.link)

    assert (last.status, last.json["next"]) == (200, None)
    assert {stage["state"] for stage in last.json["stages"]} == {"COMPLETED"}
    seen = exam.status(ticket=patient.link).json
    assert (seen["status"], seen["clinic"], seen["queueNumber"], seen["ahead"]) == ("DONE", None, None, None)
    must_be_problem(exam.verify(patient, clinic=exam.third), 403, "number-wrong")
    assert exam.login(patient.id).json["queueNumber"] is not None


@pytest.mark.parametrize("number", ["1", "٠٠١", 1], ids=["text", "arabic", "number"])
def test_id_number_and_pin_are_read_in_any_digits(exam: Exam, number: int | str) -> None:
    patient = exam.patient()

    done = exam.verify(patient, patientId=in_arabic(patient.id), queueNumber=number, pin=in_arabic(exam.pin()))

    assert done.json["next"]["clinic"] == exam.second


def test_until_id_and_number_fit_there_is_one_refusal_whatever_else_is_wrong(exam: Exam) -> None:
    patient, wrong = exam.patient(), exam.wrong_pin()
    guesses = [
        exam.verify(NOBODY, clinic="xray", pin=wrong),
        exam.verify(NOBODY, pin=None),
        exam.verify(patient, clinic="xray", queueNumber=9, pin=wrong),
        exam.verify(patient, clinic=exam.second, queueNumber=9, pin=None),
        exam.verify(patient, queueNumber=9, pin=wrong),
        exam.verify(patient, queueNumber=9),
    ]

    for refused in guesses:
        must_be_problem(refused, 403, "number-wrong")
    assert len({str({**refused.json, "correlation_id": ""}) for refused in guesses}) == 1


def test_with_the_right_number_what_is_checked_first_is_told_first(exam: Exam) -> None:
    """Plan, turn, queue, PIN: each row is wrong in this and all that follow."""
    patient, wrong = exam.patient(), exam.wrong_pin()
    must_be_problem(exam.verify(patient, clinic="xray", pin=wrong), 404, "not-in-plan")
    must_be_problem(exam.verify(patient, clinic=exam.second, pin=wrong), 409, "not-its-turn")
    exam.edit(patient, "remove-from-queue")
    must_be_problem(exam.verify(patient, pin=wrong), 409, "not-entered")
    exam.client.post(CHOOSE, {"ticket": patient.link})
    must_be_problem(exam.verify(patient, queueNumber=2, pin=None), 403, "pin-needed")
    for _ in range(5):
        refused = exam.verify(patient, queueNumber=2, pin=wrong)
        must_be_problem(refused, 403, "pin-wrong")
        assert refused.json["tries_left"] is None
    assert exam.kinds(exam.first).count("pin.failed") == 5


def test_with_id_and_number_nobody_locks_a_visit(exam: Exam) -> None:
    patient, pin = exam.patient(), exam.pin()
    for _ in range(5):
        must_be_problem(exam.verify(patient, pin=exam.wrong_pin()), 403, "pin-wrong")

    shut = exam.verify(patient)

    must_be_problem(shut, 429, "pin-tries-used-up")
    assert 0 < int(shut.headers["retry-after"]) <= 15 * 60
    by_link = f"/v1/visits/{patient.link.removeprefix('/t/')}/finish-stage"
    assert exam.client.post(by_link, {"queue": exam.first, "pin": pin}).status == 200


def test_staff_unlock_a_visit_and_then_the_right_pin_is_right(exam: Exam) -> None:
    patient = exam.patient()
    for _ in range(6):
        exam.verify(patient, pin=exam.wrong_pin())

    assert exam.edit(patient, "unlock").status == 200

    assert exam.verify(patient).status == 200


def test_another_clinics_pin_counts_and_the_clinic_is_not_named(exam: Exam) -> None:
    patient = exam.patient()

    refused = exam.verify(patient, pin=exam.pin(exam.second))

    must_be_problem(refused, 403, "pin-of-another-clinic")
    assert refused.json["tries_left"] is None
    assert exam.second.encode() not in refused.body


def test_a_pin_that_was_changed_a_moment_ago_neither_opens_nor_counts(exam: Exam) -> None:
    patient, before = exam.patient(), exam.pin()
    exam.client.post("/api/v1/pin/rotate", {"clinic": exam.first}, bearer=exam.bearers["manager"])

    must_be_problem(exam.verify(patient, pin=before), 403, "pin-rotated")

    assert "pin.failed" not in exam.kinds(exam.first)
    assert exam.verify(patient).status == 200


def test_a_failure_counts_once_under_its_key_and_the_corrected_pin_is_judged_anew(exam: Exam) -> None:
    patient, key = exam.patient(), f"form-{exam.id}"

    codes = [exam.verify(patient, key=key, pin=exam.wrong_pin()).json["code"] for _ in range(7)]
    right = exam.verify(patient, key=key)

    assert (codes, right.status) == (["pin-wrong"] * 7, 200)
    assert exam.kinds(exam.first).count("pin.failed") == 1
    assert exam.verify(patient, key=key, pin=exam.pin()).body == right.body


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"pin": 1234}, "invalid-body", "pin"),
        ({"pin": ""}, "invalid-value", "pin"),
        ({"pin": "1234567"}, "invalid-body", "pin"),
        ({"pin": "1"}, "invalid-value", "pin"),
        ({"pin": "1٢"}, "invalid-value", "pin"),
        ({"pin": "abcd"}, "invalid-value", "pin"),
        ({"queueNumber": ""}, "invalid-value", "queueNumber"),
        ({"queueNumber": "one"}, "invalid-value", "queueNumber"),
        ({"queueNumber": -1}, "invalid-value", "queueNumber"),
        ({"queueNumber": 10**10}, "invalid-value", "queueNumber"),
        ({"queueNumber": None}, "invalid-body", "queueNumber"),
        ({"queueNumber": 1.5}, "invalid-body", "queueNumber"),
        ({"patientId": "1"}, "invalid-value", "patientId"),
        ({"patientId": "1234567890123"}, "invalid-value", "patientId"),
        ({"patientId": "1234x"}, "invalid-value", "patientId"),
        ({"patientId": "12٣٤"}, "invalid-value", "patientId"),
    ],
)
def test_what_is_no_pin_number_or_id_is_refused_and_nothing_counts(
    exam: Exam, given: dict[str, Any], code: str, field: str | None
) -> None:
    patient = exam.patient()

    refused = exam.verify(patient, **given)

    must_be_problem(refused, 422, code)
    assert refused.json.get("field") == field
    assert exam.kinds(exam.first) == ["ticket.issued"]


def test_a_clinic_that_there_is_not_is_not_found(exam: Exam) -> None:
    must_be_problem(exam.verify(exam.patient(), clinic="nowhere", pin="00"), 404, "unknown-queue")


def test_fifty_right_pins_at_once_under_one_key_are_one_advance_and_fifty_equal_answers(
    clinic: DawrServer, exam: Exam
) -> None:
    patient, pin = exam.patient(), exam.pin()

    answers = verified_at_once(clinic, exam, patient, pin, key=f"fifty-{exam.id}")

    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert (exam.kinds(exam.first).count("ticket.finished"), exam.kinds(exam.second)) == (1, ["ticket.issued"])


def test_fifty_right_pins_at_once_without_a_key_are_one_advance(clinic: DawrServer, exam: Exam) -> None:
    patient, pin = exam.patient(), exam.pin()

    answers = verified_at_once(clinic, exam, patient, pin)

    assert sorted(answer.status for answer in answers) == [200] + [409] * 49
    assert {answer.json["code"] for answer in answers if answer.status == 409} == {"not-its-turn"}
    assert (exam.kinds(exam.first).count("ticket.finished"), exam.kinds(exam.second)) == (1, ["ticket.issued"])


def test_of_fifty_wrong_pins_at_once_five_are_counted(clinic: DawrServer, exam: Exam) -> None:
    patient = exam.patient()

    answers = verified_at_once(clinic, exam, patient, exam.wrong_pin())

    codes = sorted(answer.json["code"] for answer in answers)
    assert codes == ["pin-tries-used-up"] * 45 + ["pin-wrong"] * 5
    assert exam.kinds(exam.first).count("pin.failed") == 5


def verified_at_once(
    clinic: DawrServer, exam: Exam, patient: Patient, pin: str, *, key: str | None = None
) -> list[Answer]:
    given = {"patientId": patient.id, "clinic": exam.first, "queueNumber": patient.number, "pin": pin}

    def verify(_: int) -> Answer:
        with Client(clinic.url) as client:
            return client.post(VERIFY, given, key=key)

    return at_once(verify, range(50))

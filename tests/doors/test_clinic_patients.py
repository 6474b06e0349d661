"""Patients at the clinic's door: they log in, and see where they stand (MISSION A12)."""

from typing import Any

import pytest

from dawr.domain.staff import Role
from tests.doors.exams import CHOOSE, LOGIN, STATUS, Exam, a_patient_id, in_arabic
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC, a_token
from tests.running import Answer, Client, must_be_problem

MY_POSITION = ("/api/v1/my-position", "/api/v1/patient/my-position")


def without_its_id(answer: Answer) -> dict[str, Any]:
    return {name: value for name, value in answer.json.items() if name != "correlation_id"}


def test_a_login_gives_the_link_the_first_number_and_all_stages(exam: Exam) -> None:
    patient = a_patient_id()

    answer = exam.login(patient)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    told = answer.json
    assert told.pop("ticket").startswith("/t/")
    assert told == {
        "success": True,
        "data": {"patientId": patient, "gender": "male", "examType": exam.id},
        "clinic": exam.first,
        "queueNumber": 1,
        "ahead": 0,
        "stages": [
            {"clinic": exam.first, "state": "IN_QUEUE", "number": 1},
            {"clinic": exam.second, "state": "LOCKED", "number": None},
            {"clinic": exam.third, "state": "LOCKED", "number": None},
        ],
    }
    assert exam.login().json["ahead"] == 1


@pytest.mark.parametrize(
    ("said", "gender"),
    [("male", "male"), (" Female ", "female"), ("ذكر", "male"), ("أنثى", "female"), ("انثى", "female")],
)
def test_a_login_is_read_in_arabic_too(exam: Exam, said: str, gender: str) -> None:
    patient = a_patient_id()

    entered = exam.login(in_arabic(patient), gender=said, examType=f"فحص {exam.id.removeprefix('exam')}")

    assert entered.json["data"] == {"patientId": patient, "gender": gender, "examType": exam.id}
    assert entered.json["clinic"] == exam.first


def test_leading_zeros_of_an_id_stay(exam: Exam) -> None:
    patient = f"00{a_patient_id()}"

    assert exam.login(patient).json["data"]["patientId"] == patient
    assert exam.login(patient[1:]).json["ticket"] is not None


def test_a_second_login_tells_nothing_of_the_visit_under_way(exam: Exam) -> None:
    patient = exam.patient()
    happened = exam.kinds(exam.first)

    again = exam.login(patient.id, gender="female", examType="women")

    assert again.status == 200
    assert again.json == {
        "success": True,
        "data": {"patientId": patient.id, "gender": "female", "examType": "women"},
        "ticket": None,
        "clinic": None,
        "queueNumber": None,
        "ahead": None,
        "stages": [],
        "message": "visit under way",
    }
    assert exam.kinds(exam.first) == happened


def test_a_retry_of_the_login_gets_its_link_again_and_a_second_login_never_does(exam: Exam) -> None:
    patient, key = a_patient_id(), f"login-{exam.id}"
    first = exam.login(patient, key=key)

    assert exam.login(patient, key=key).body == first.body
    assert exam.login(in_arabic(patient), key=key).body == first.body
    assert exam.login(patient, key=f"another-{key}").json["ticket"] is None


def test_whom_no_clinic_takes_yet_stands_nowhere_and_is_ready_to_enter(exam: Exam) -> None:
    exam.queue_verb(exam.first, "close")

    entered = exam.login().json

    assert (entered["clinic"], entered["queueNumber"], entered["ahead"]) == (None, None, None)
    assert [stage["state"] for stage in entered["stages"]] == ["READY_TO_ENTER", "LOCKED", "LOCKED"]
    seen = exam.status(ticket=entered["ticket"]).json
    assert (seen["status"], seen["clinic"]) == ("READY_TO_ENTER", None)


@pytest.mark.parametrize(
    ("given", "status", "code", "field"),
    [
        ({"patientId": "1"}, 422, "invalid-value", "patientId"),
        ({"patientId": "1234567890123"}, 422, "invalid-value", "patientId"),
        ({"patientId": "12a4"}, 422, "invalid-value", "patientId"),
        ({"patientId": ""}, 422, "invalid-value", "patientId"),
        ({"patientId": "12٣٤"}, 422, "invalid-value", "patientId"),
        ({"patientId": "١٢۳۴"}, 422, "invalid-value", "patientId"),
        ({"patientId": "²³"}, 422, "invalid-value", "patientId"),
        ({"patientId": 1234}, 422, "invalid-body", "patientId"),
        ({"gender": "other"}, 422, "invalid-value", "gender"),
        ({"gender": ""}, 422, "invalid-value", "gender"),
        ({"gender": "x" * 17}, 422, "invalid-body", "gender"),
        ({"examType": "astronaut"}, 404, "unknown-journey", None),
        ({"examType": ""}, 404, "unknown-journey", None),
        ({"examType": "women"}, 403, "not-for-this-audience", None),
        ({"examType": "x" * 65}, 422, "invalid-body", "examType"),
    ],
)
def test_a_login_that_makes_no_sense_is_refused(
    exam: Exam, given: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    refused = exam.login(**given)

    must_be_problem(refused, status, code)
    assert refused.json.get("field") == field
    assert exam.kinds(exam.first) == []


@pytest.mark.parametrize("missing", ["patientId", "gender", "examType"])
def test_a_login_says_who_and_what_for(client: Client, missing: str) -> None:
    given = {"patientId": a_patient_id(), "gender": "male", "examType": "exam0"}

    must_be_problem(client.post(LOGIN, {k: v for k, v in given.items() if k != missing}), 422, "invalid-body")


def test_status_is_told_to_who_has_the_link_or_the_number_and_to_staff(exam: Exam) -> None:
    patient = exam.patient()

    by_link = exam.status(ticket=patient.link)
    others = [
        exam.status(ticket=patient.link.removeprefix("/t/")),
        exam.status(ticket=f"http://127.0.0.1{patient.link}"),
        exam.status(patientId=patient.id, queueNumber=patient.number),
        exam.status(patientId=in_arabic(patient.id), queueNumber=in_arabic(str(patient.number))),
        exam.status(patientId=patient.id, bearer=exam.bearers["staff"]),
    ]

    assert by_link.json == {
        "success": True,
        "status": "NEAR_TURN",
        "clinic": exam.first,
        "queueNumber": 1,
        "ahead": 0,
        "stages": [
            {"clinic": exam.first, "state": "IN_QUEUE", "number": 1},
            {"clinic": exam.second, "state": "LOCKED", "number": None},
            {"clinic": exam.third, "state": "LOCKED", "number": None},
        ],
    }
    assert [answer.json for answer in others] == [by_link.json] * len(others)


@pytest.mark.parametrize("path", [STATUS, *MY_POSITION, CHOOSE])
def test_an_id_alone_says_as_little_as_an_id_that_nobody_has(
    exam: Exam, bearers: dict[Role, str], restaurant: Restaurant, owner: str, path: str
) -> None:
    patient = exam.patient()
    kiosk = a_token(exam.client, CLINIC, owner, None, "kiosk")

    for bearer in (None, bearers["viewer"], kiosk, restaurant.bearers["owner"]):
        known = exam.client.get(path, bearer=bearer, patientId=patient.id)
        unknown = exam.client.get(path, bearer=bearer, patientId=a_patient_id())
        must_be_problem(known, 404, "unknown-visit")
        assert without_its_id(known) == without_its_id(unknown)


@pytest.mark.parametrize("path", [STATUS, *MY_POSITION, CHOOSE])
def test_a_wrong_number_or_secret_is_as_if_there_were_nobody(exam: Exam, path: str) -> None:
    patient = exam.patient()
    nobody = exam.client.get(path, patientId=a_patient_id(), queueNumber=1)
    secret = f"{patient.link.partition('.')[0]}.{'x' * 22}"

    for query in ({"patientId": patient.id, "queueNumber": 2}, {"ticket": secret}, {"ticket": "nothing"}):
        refused = exam.client.get(path, **query)
        must_be_problem(refused, 404, "unknown-visit")
        assert without_its_id(refused) == without_its_id(nobody)


@pytest.mark.parametrize("path", [STATUS, *MY_POSITION])
@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("", "invalid-value", "patientId"),
        ("?queueNumber=1", "invalid-value", "patientId"),
        ("?patientId=1", "invalid-value", "patientId"),
        ("?patientId=1234567890123&queueNumber=1", "invalid-value", "patientId"),
        ("?patientId=12ab&queueNumber=1", "invalid-value", "patientId"),
        ("?patientId=1%D9%A2&queueNumber=1", "invalid-value", "patientId"),
        ("?patientId=1234&queueNumber=x", "invalid-value", "queueNumber"),
        ("?patientId=1234&queueNumber=", "invalid-value", "queueNumber"),
        ("?patientId=1234&patientId=1234", "invalid-query", None),
        (f"?ticket={'x' * 201}", "invalid-query", "ticket"),
    ],
)
def test_whom_nobody_can_be_is_refused(client: Client, path: str, query: str, code: str, field: str | None) -> None:
    refused = client.ask(path + query)

    must_be_problem(refused, 422, code)
    assert refused.json.get("field") == field


@pytest.mark.parametrize("path", MY_POSITION)
def test_a_patient_is_told_their_place_and_wait(exam: Exam, path: str) -> None:
    exam.patient()
    patient = exam.patient()

    assert exam.client.get(path, ticket=patient.link).json == {
        "success": True,
        "patientId": patient.id,
        "status": "NEAR_TURN",
        "clinic": exam.first,
        "queueNumber": 2,
        "display_number": "002",
        "ahead": 1,
        "position": 2,
        "total_waiting": 2,
        "estimated_wait_minutes": 5,
        "floor": "M",
        "room": "101",
    }


@pytest.mark.parametrize("path", MY_POSITION)
def test_who_stands_nowhere_has_no_place(exam: Exam, path: str) -> None:
    patient = exam.patient()
    exam.edit(patient, "remove-from-queue")

    seen = exam.client.get(path, ticket=patient.link).json

    assert (seen["status"], seen["clinic"], seen["position"]) == ("READY_TO_ENTER", None, None)
    assert seen["total_waiting"] is seen["estimated_wait_minutes"] is seen["display_number"] is None


@pytest.mark.parametrize(
    ("steps", "word"), [((), "NEAR_TURN"), (("call",), "CALLED"), (("call", "miss"), "MISSED"), (("hold",), "WAITING")]
)
def test_the_word_follows_the_patient(exam: Exam, steps: tuple[str, ...], word: str) -> None:
    patient = exam.patient()
    found = exam.client.get(f"/v1/queues/{CLINIC}:{exam.first}/tickets", bearer=exam.bearers["staff"]).json
    for step in steps:
        ticket = found["items"][0]["ticket"]
        assert exam.client.post(f"/v1/tickets/{ticket}/{step}", {}, bearer=exam.bearers["staff"]).status == 200

    assert exam.status(ticket=patient.link).json["status"] == word


def test_whoever_entered_one_queue_without_a_journey_is_found_by_their_link_too(client: Client, queue: str) -> None:
    link = client.enter(queue, "Amna").json["ticket"]

    seen = client.get(STATUS, ticket=link).json

    assert (seen["clinic"], seen["queueNumber"], seen["stages"]) == (queue, 1, [])

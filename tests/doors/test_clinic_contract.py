"""What the clinic's own programs send and read, recorded (MISSION A19).

The requests are those of the programs that were there before. Each row names every field
that they read and its type: a field that is renamed, removed or of another type fails here,
one that is new does not.
"""

from typing import Any, Literal

import msgspec
import pytest

from tests.doors.exams import a_patient_id
from tests.doors.roles import OWNER, PASSWORD
from tests.running import Client

Fields = dict[str, Any]

NUMBER_OR_NOTHING = (int, type(None))
TEXT_OR_NOTHING = (str, type(None))
MINUTES = (int, float)


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    method: Literal["GET", "POST"]
    path: str
    sent: dict[str, str] = {}
    staff: bool = False
    status: int = 200
    read: Fields
    """Field → its type, or types."""
    words: dict[str, set[str]] = {}
    """Field → what it may say."""


RECORDED: dict[str, Exchange] = {
    "enter": Exchange(
        method="POST",
        path="/api/v1/queue/enter",
        sent={"clinic": "QUEUE", "user": "TEST_1"},
        read={
            "success": bool,
            "number": int,
            "status": str,
            "user": str,
            "clinic": str,
            "ahead": int,
            "position": int,
            "estimated_wait_minutes": int,
            "ticket": str,
        },
        words={"status": {"WAITING"}, "user": {"TEST_1"}},
    ),
    "a client that says more than is known": Exchange(
        method="POST",
        path="/api/v1/queue/enter",
        sent={"clinic": "QUEUE", "user": "TEST_1", "gender": "male", "isAutoEntry": "true"},
        read={"success": bool, "number": int, "yourNumber": int, "current": NUMBER_OR_NOTHING},
    ),
    "enter again": Exchange(
        method="POST",
        path="/api/v1/queue/enter",
        sent={"clinic": "QUEUE", "user": "TEST_1"},
        read={"success": bool, "number": int, "status": str, "message": str},
        words={"message": {"already in queue"}},
    ),
    "somebody else enters": Exchange(
        method="POST",
        path="/api/v1/queue/enter",
        sent={"clinic": "QUEUE", "user": "TEST_2"},
        read={"number": int},
    ),
    "status": Exchange(
        method="GET",
        path="/api/v1/queue/status",
        sent={"clinic": "QUEUE"},
        read={
            "success": bool,
            "clinic": str,
            "current": NUMBER_OR_NOTHING,
            "length": int,
            "waiting": int,
            "next": NUMBER_OR_NOTHING,
            "state": str,
            "avg_wait_minutes": MINUTES,
        },
        words={"state": {"OPEN"}},
    ),
    "status, by staff": Exchange(
        method="GET",
        path="/api/v1/queue/status",
        sent={"clinic": "QUEUE"},
        staff=True,
        read={"success": bool, "current": NUMBER_OR_NOTHING, "length": int, "waiting": int, "list": list},
    ),
    "position": Exchange(
        method="GET",
        path="/api/v1/queue/position",
        sent={"clinic": "QUEUE", "user": "TEST_2"},
        read={
            "status": str,
            "display_number": str,
            "ahead": int,
            "total_waiting": int,
            "estimated_wait_minutes": int,
        },
        words={"status": {"NEAR_TURN"}},
    ),
    "call": Exchange(
        method="POST",
        path="/api/v1/queue/call",
        sent={"clinic": "QUEUE"},
        staff=True,
        read={"current": int, "next": int, "queue_length": int},
    ),
    "pin, by staff": Exchange(
        method="GET", path="/api/v1/pin/QUEUE/status", sent={}, staff=True, read={"pin": str, "required": bool}
    ),
    "done": Exchange(
        method="POST",
        path="/api/v1/queue/done",
        sent={"clinic": "QUEUE", "user": "TEST_1", "pin": "PIN"},
        read={
            "number": int,
            "status": str,
            "wait_time_minutes": MINUTES,
            "service_time_minutes": MINUTES,
            "next_clinic": TEXT_OR_NOTHING,
        },
        words={"status": {"DONE"}},
    ),
    "done, with a pin": Exchange(
        method="POST",
        path="/api/v1/queue/done",
        sent={"clinic": "QUEUE", "user": "TEST_2", "pin": "42"},
        staff=True,
        read={"number": int, "status": str},
        words={"status": {"DONE"}},
    ),
    "call, when nobody waits": Exchange(
        method="POST",
        path="/api/v1/queue/call",
        sent={"clinic": "QUEUE"},
        staff=True,
        read={"current": type(None), "next": type(None), "queue_length": int},
    ),
    "reset": Exchange(
        method="POST",
        path="/api/v1/queue/reset",
        sent={"clinic": "QUEUE"},
        staff=True,
        read={"success": bool},
    ),
    "a patient logs in": Exchange(
        method="POST",
        path="/api/v1/patient/login",
        sent={"patientId": "PATIENT", "gender": "male", "examType": "only-QUEUE"},
        read={
            "success": bool,
            "data": dict,
            "ticket": str,
            "clinic": str,
            "queueNumber": int,
            "ahead": int,
            "stages": list,
        },
    ),
    "where the patient is": Exchange(
        method="GET",
        path="/api/v1/patient/status",
        sent={"patientId": "PATIENT", "queueNumber": "1"},
        read={"success": bool, "status": str, "clinic": str, "queueNumber": int, "ahead": int, "stages": list},
        words={"status": {"NEAR_TURN"}},
    ),
    "the patient's position": Exchange(
        method="GET",
        path="/api/v1/my-position",
        sent={"patientId": "PATIENT", "queueNumber": "1"},
        read={"display_number": str, "ahead": int, "total_waiting": int, "estimated_wait_minutes": int},
    ),
    "the patient's path": Exchange(
        method="GET",
        path="/api/v1/path/choose",
        sent={"patientId": "PATIENT", "queueNumber": "1"},
        read={"success": bool, "clinic": str, "candidates": list},
    ),
    "the pin, by a patient": Exchange(
        method="GET",
        path="/api/v1/pin/QUEUE/status",
        read={"success": bool, "clinic": str, "required": bool, "length": int},
    ),
    "the pin": Exchange(
        method="GET",
        path="/api/v1/pin/QUEUE/status",
        staff=True,
        read={"success": bool, "clinic": str, "required": bool, "length": int, "pin": str},
    ),
    "the patient leaves": Exchange(
        method="POST",
        path="/api/v1/patient/verify-pin",
        sent={"patientId": "PATIENT", "clinic": "QUEUE", "pin": "PIN", "queueNumber": "1"},
        read={"success": bool, "clinic": str, "status": str, "next": type(None), "stages": list},
        words={"status": {"DONE"}},
    ),
    "health": Exchange(
        method="GET",
        path="/api/v1/health/status",
        read={"success": bool, "status": str},
        words={"status": {"HEALTHY", "DEGRADED"}},
    ),
    "backend": Exchange(
        method="GET",
        path="/api/v1/status",
        read={"success": bool, "status": str, "backend": str, "version": str},
        words={"status": {"healthy"}, "backend": {"up"}},
    ),
    "a clinic that there is not": Exchange(
        method="POST",
        path="/api/v1/queue/enter",
        sent={"clinic": "nowhere", "user": "TEST_1"},
        status=404,
        read={"code": str, "detail": str, "status": int},
        words={"code": {"unknown-queue"}},
    ),
}


@pytest.fixture
def token(client: Client) -> str:
    """As the clinic's programs get one."""
    answer = client.post("/api/v1/admin/login", {"username": OWNER, "password": PASSWORD})
    must_be_read(answer.json, {"success": bool, "token": str, "user": dict})
    must_be_read(answer.json["user"], {"username": str, "role": str})
    return str(answer.json["token"])


def test_the_programs_of_the_clinic_find_everything_that_they_read(client: Client, queue: str, token: str) -> None:
    """One after the other, as on a morning."""
    known = {"QUEUE": queue, "PATIENT": a_patient_id()}
    for name, exchange in RECORDED.items():
        sent = {field: filled_in(value, known) for field, value in exchange.sent.items()}
        path, bearer = filled_in(exchange.path, known), token if exchange.staff else None

        if exchange.method == "GET":
            answer = client.get(path, bearer=bearer, **sent)
        else:
            answer = client.post(path, sent, bearer=bearer)
        known["PIN"] = answer.json.get("pin", "")

        assert answer.status == exchange.status, (name, answer)
        must_be_read(answer.json, exchange.read)
        for field, words in exchange.words.items():
            assert answer.json[field] in words, name
        if exchange.status == 200 and "success" in answer.json:
            assert answer.json["success"] is True


def filled_in(text: str, known: dict[str, str]) -> str:
    for word, meant in known.items():
        text = text.replace(word, meant)
    return text


def must_be_read(answer: Fields, expected: Fields) -> None:
    """Exactly these types: a bool is no number here."""
    assert answer.keys() >= expected.keys(), expected.keys() - answer.keys()
    for field, kinds in expected.items():
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        assert type(answer[field]) in allowed, (field, answer[field])


@pytest.mark.parametrize("spoiled", [{}, {"number": "1"}, {"number": True}, {"number": None}, {"nummer": 1}], ids=str)
def test_a_field_that_is_gone_or_of_another_type_would_be_noticed(spoiled: Fields) -> None:
    with pytest.raises(AssertionError):
        must_be_read(spoiled, {"number": int})

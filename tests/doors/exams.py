"""Exam types at the clinic that nobody has come for yet, and patients who do."""

import itertools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dawr.domain.staff import Role
from tests.doors.roles import CLINIC
from tests.doors.trail import trail
from tests.running import Answer, Client

EXAMS: Final = [f"exam{number}" for number in range(200)]
LOGIN: Final = "/api/v1/patient/login"
VERIFY: Final = "/api/v1/patient/verify-pin"
STATUS: Final = "/api/v1/patient/status"
CHOOSE: Final = "/api/v1/path/choose"
EDIT: Final = "/api/v1/admin/edit-patient"

_ids = itertools.count(10_000_000)


def queues_of(exam: str) -> tuple[str, str, str]:
    return (f"{exam}-lab", f"{exam}-eye", f"{exam}-psy")


def queue_documents() -> list[dict[str, Any]]:
    """Three for each exam type."""
    places = (("M", "101"), ("2", "201"), ("3", "301"))
    return [
        {"id": code, "floor": floor, "room": room}
        for exam in EXAMS
        for code, (floor, room) in zip(queues_of(exam), places, strict=True)
    ]


def journey_documents(single: list[str]) -> list[dict[str, Any]]:
    """Each exam type has a first stage, one more with a PIN and one without; of these queues each has its own."""
    return [
        *(journey(exam, *queues_of(exam)) for exam in EXAMS),
        *({"id": f"only-{code}", "name": {"en": code}, "free": [{"queue": code}]} for code in single),
        {"id": "women", "name": {"en": "Women"}, "audience": "women", "free": [{"queue": "xray"}]},
    ]


def journey(exam: str, first: str, second: str, third: str) -> dict[str, Any]:
    return {
        "id": exam,
        "name": {"en": exam},
        "aliases": [f"فحص {exam.removeprefix('exam')}"],
        "fixed": [{"queue": first}],
        "free": [{"queue": second}, {"queue": third, "pin": False}],
    }


def a_patient_id() -> str:
    return str(next(_ids))


def in_arabic(digits: str) -> str:
    return digits.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))


class Patient(msgspec.Struct, frozen=True):
    """Somebody who logged in: what they know."""

    id: str
    link: str
    number: int


class Exam(msgspec.Struct, frozen=True):
    """One exam type, and everybody who has to do with it."""

    client: Client
    id: str
    bearers: Mapping[Role, str]

    @property
    def first(self) -> str:
        return queues_of(self.id)[0]

    @property
    def second(self) -> str:
        return queues_of(self.id)[1]

    @property
    def third(self) -> str:
        return queues_of(self.id)[2]

    def login(self, patient: str | None = None, *, key: str | None = None, **other: Any) -> Answer:  # noqa: ANN401 - as the test sends it
        given = {"patientId": patient or a_patient_id(), "gender": "male", "examType": self.id, **other}
        return self.client.post(LOGIN, given, key=key)

    def patient(self) -> Patient:
        """Somebody new, who is in the first queue."""
        entered = self.login().json
        return Patient(entered["data"]["patientId"], entered["ticket"], entered["queueNumber"])

    def pin(self, clinic: str | None = None) -> str:
        """Today's, as a manager sees it."""
        seen = self.client.get(f"/api/v1/pin/{clinic or self.first}/status", bearer=self.bearers["manager"])
        assert seen.status == 200, seen
        return str(seen.json["pin"])

    def wrong_pin(self) -> str:
        """One that no queue has: those of the clinic are of another length."""
        return "00"

    def verify(self, patient: Patient, *, key: str | None = None, **other: Any) -> Answer:  # noqa: ANN401 - as the test sends it
        """Leave the first queue, unless the test says otherwise; with the PIN that is shown there."""
        given: dict[str, object] = {"patientId": patient.id, "clinic": self.first, "queueNumber": patient.number}
        if "pin" not in other:
            given["pin"] = self.pin(str(other.get("clinic", self.first)))
        return self.client.post(VERIFY, {**given, **other}, key=key)

    def status(self, *, bearer: str | None = None, **query: Any) -> Answer:  # noqa: ANN401 - as the test sends it
        return self.client.get(STATUS, bearer=bearer, **query)

    def edit(self, patient: Patient, action: str, *, key: str | None = None, **other: Any) -> Answer:  # noqa: ANN401 - as the test sends it
        given = {"patientId": patient.id, "action": action, **other}
        return self.client.post(EDIT, given, key=key, bearer=self.bearers["staff"])

    def queue_verb(self, clinic: str, verb: str) -> None:
        done = self.client.post(f"/v1/queues/{CLINIC}:{clinic}/{verb}", {}, bearer=self.bearers["manager"])
        assert done.status == 200, done

    def states(self, patient: Patient) -> list[str]:
        return [stage["state"] for stage in self.status(ticket=patient.link).json["stages"]]

    def kinds(self, clinic: str) -> list[str]:
        """What happened there."""
        return [event["kind"] for event in trail(self.client, CLINIC, clinic, self.bearers["manager"])]

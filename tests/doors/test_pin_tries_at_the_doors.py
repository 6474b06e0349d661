"""How often one address may try PINs: only failures count, and only PINs are held back (MISSION A9)."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.doors.exams import LOGIN, STATUS, VERIFY, a_patient_id
from tests.doors.roles import OWNER, PASSWORD, signed_in
from tests.doors.test_limits_at_the_doors import must_be_told_to_wait
from tests.running import Answer, Client, DawrServer, at_once, must_be_problem, set_up, venue_document

MOST = 100
QUARTER_SECONDS = 15 * 60
DONE = "/api/v1/queue/done"
MANY = {"DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_CLINIC_JOIN": "100000", "DAWR_LIMIT_LOOK": "100000"}

_addresses = (f"198.51.100.{number}" for number in itertools.count(1))


class Phone(msgspec.Struct, frozen=True):
    """Whoever comes from one address."""

    client: Client
    address: str
    owner: str

    def post(self, path: str, given: object, *, key: str | None = None, bearer: str | None = None) -> Answer:
        return self.client.post(path, given, key=key, bearer=bearer, X_Forwarded_For=self.address)

    def login(self) -> tuple[str, int]:
        given = {"patientId": a_patient_id(), "gender": "male", "examType": "lab"}
        entered = self.post(LOGIN, given)
        return given["patientId"], entered.json["queueNumber"]

    def verify(self, patient: str, number: int, pin: str | None = "0000", *, key: str | None = None) -> Answer:
        given = {"patientId": patient, "clinic": "lab", "queueNumber": number, "pin": pin}
        return self.post(VERIFY, given, key=key)

    def pin(self) -> str:
        return str(self.client.get("/api/v1/pin/lab/status", bearer=self.owner).json["pin"])

    def fail(self, times: int = MOST) -> None:
        """So often; half of the tries are at the other address where PINs are taken."""
        patients = [self.login() for _ in range(times // 10)]
        statuses = [self.verify(*patient).status for patient in patients for _ in range(5)]
        for number in range(times // 2):
            given = {"clinic": "lab", "user": f"nobody {number}", "pin": "0000"}
            statuses.append(self.post(DONE, given).status)
        assert statuses == [403] * times


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    directory = tmp_path_factory.mktemp("pins")
    venue = json.loads(venue_document({"id": "lab"}))
    venue["journeys"] = [{"id": "lab", "name": {"en": "Lab"}, "free": [{"queue": "lab"}]}]
    settings: dict[str, str | Path] = {**MANY, "DAWR_DATA": directory / "data"}
    set_up("venue", "apply", "-", stdin=json.dumps(venue), **settings)
    set_up("staff", "add", OWNER, "--role", "owner", "--password-stdin", stdin=PASSWORD, **settings)
    with DawrServer(directory, "serve", **settings) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: DawrServer) -> str:
    with Client(server.url) as client:
        return signed_in(client)


@pytest.fixture
def phone(server: DawrServer, session: str) -> Iterator[Phone]:
    with Client(server.url) as client:
        yield Phone(client, next(_addresses), session)


@pytest.fixture
def another(server: DawrServer, session: str) -> Iterator[Phone]:
    with Client(server.url) as client:
        yield Phone(client, next(_addresses), session)


def test_after_a_hundred_failures_an_address_is_held_back_from_pins_and_from_nothing_else(
    phone: Phone, another: Phone
) -> None:
    patient, number = phone.login()
    phone.post("/api/v1/queue/enter", {"clinic": "lab", "user": patient})
    phone.fail()

    held_back = [
        phone.verify(patient, number, phone.pin()),
        phone.post(DONE, {"clinic": "lab", "user": patient, "pin": phone.pin()}),
    ]

    for refused in held_back:
        must_be_told_to_wait(refused, "pin", seconds=QUARTER_SECONDS)
        assert phone.pin() not in refused.numbers
        minutes = refused.json["minutes"]
        assert 60 * (minutes - 1) < int(refused.headers["retry-after"]) <= 60 * minutes
        assert refused.json["detail"] == (
            f"Too many wrong PINs from here. Try again in {minutes} minutes, or ask the staff."
        )
    must_be_problem(phone.verify(patient, number, None), 403, "pin-needed")
    query, headers = f"?patientId={patient}&queueNumber={number}", {"X-Forwarded-For": phone.address}
    assert phone.client.ask(STATUS + query, headers=headers).status == 200
    assert phone.login()[1] > number
    finished = phone.post(DONE, {"clinic": "lab", "user": patient, "pin": "0000"}, bearer=phone.owner)
    assert finished.json["status"] == "DONE"
    assert another.verify(patient, number, another.pin()).json["status"] == "DONE"


def test_only_a_wrong_pin_is_a_failure(phone: Phone) -> None:
    phone.fail(MOST - 10)
    patient, number = phone.login()

    for _ in range(15):
        must_be_problem(phone.verify(a_patient_id(), number), 404, "unknown-visit")
        must_be_problem(phone.verify(patient, number, "1"), 422, "invalid-value")

    assert phone.verify(patient, number, phone.pin()).status == 200
    for _ in range(15):
        assert phone.verify(*phone.login(), phone.pin()).status == 200


def test_a_number_that_was_guessed_wrong_is_a_failure_too(phone: Phone) -> None:
    phone.fail(MOST - 10)
    patient, number = phone.login()

    for _ in range(10):
        must_be_problem(phone.verify(patient, number + 1), 403, "number-wrong")

    must_be_told_to_wait(phone.verify(patient, number + 1), "pin", seconds=QUARTER_SECONDS)


def test_a_hall_that_types_the_right_pin_at_once_is_held_back_by_nothing(server: DawrServer, phone: Phone) -> None:
    patients, pin = [phone.login() for _ in range(MOST + 20)], phone.pin()

    def leave(patient: tuple[str, int]) -> int:
        with Client(server.url) as client:
            return Phone(client, phone.address, phone.owner).verify(*patient, pin).status

    assert set(at_once(leave, patients)) == {200}


def test_a_retry_of_what_was_done_is_answered_although_the_address_is_held_back(phone: Phone) -> None:
    patient, number = phone.login()
    pin, key = phone.pin(), f"kept-{phone.address}"
    first = phone.verify(patient, number, pin, key=key)
    phone.fail()

    again = phone.verify(patient, number, pin, key=key)

    assert (again.status, again.body, again.headers["idempotency-replayed"]) == (200, first.body, "true")
    must_be_told_to_wait(phone.verify(patient, number, pin, key=f"other-{key}"), "pin", seconds=QUARTER_SECONDS)


def test_where_nothing_is_limited_nobody_is_held_back(client: Client) -> None:
    given = {"clinic": "xray", "user": "nobody at all", "pin": "0000"}

    assert {client.post(DONE, given).json["code"] for _ in range(MOST + 5)} == {"pin-wrong"}

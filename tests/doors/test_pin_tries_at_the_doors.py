"""How often one address may try PINs: only failures count, and only PINs are held back (MISSION A9)."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from tests.doors.exams import LOGIN, STATUS, VERIFY, a_patient_id
from tests.doors.roles import OWNER, PASSWORD, signed_in
from tests.doors.test_limits_at_the_doors import must_be_told_to_wait
from tests.doors.trail import trail
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

    def begin(self) -> str:
        """Somebody who logs in; their link's secret."""
        given = {"patientId": a_patient_id(), "gender": "male", "examType": "lab"}
        return str(self.post(LOGIN, given).json["ticket"]).removeprefix("/t/")

    def finish(self, link: str, *, queue: str = "lab", pin: str | None = None) -> Answer:
        return self.post(f"/v1/visits/{link}/finish-stage", {"queue": queue, "pin": pin})

    def events(self) -> list[str]:
        return [event["kind"] for event in trail(self.client, "clinic", "lab", self.owner)]

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
    venue = json.loads(venue_document({"id": "lab"}, {"id": "eye"}))
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
    phone.fail()

    held_back = [
        phone.verify(patient, number, phone.pin()),
        phone.post(DONE, {"clinic": "lab", "user": patient, "pin": phone.pin()}),
    ]

    for refused in held_back:
        must_be_told_to_wait(refused, "pin", seconds=QUARTER_SECONDS)
        minutes = refused.json["minutes"]
        assert phone.pin() not in refused.numbers - {str(minutes), refused.headers["retry-after"], "429", str(MOST)}
        assert 60 * (minutes - 1) < int(refused.headers["retry-after"]) <= 60 * minutes
        assert refused.json["detail"] == (
            f"Too many wrong PINs or numbers from here. Try again in {minutes} minutes, or ask the staff."
        )
    must_be_told_to_wait(phone.verify(patient, number, None), "pin", seconds=QUARTER_SECONDS)
    somebody, later = phone.login()
    assert later > number
    finished = phone.post(DONE, {"clinic": "lab", "user": somebody, "pin": "0000"}, bearer=phone.owner)
    assert finished.json["status"] == "DONE"
    assert another.verify(patient, number, another.pin()).json["status"] == "DONE"


def test_what_is_no_guess_is_no_failure(phone: Phone) -> None:
    phone.fail(MOST - 10)
    patient, number = phone.login()

    for _ in range(15):
        must_be_problem(phone.verify(patient, number, "1"), 422, "invalid-value")
        must_be_problem(phone.verify(patient, number, None), 403, "pin-needed")

    assert phone.verify(patient, number, phone.pin()).status == 200
    for _ in range(15):
        assert phone.verify(*phone.login(), phone.pin()).status == 200


@pytest.mark.parametrize("path", [STATUS, "/api/v1/my-position", "/api/v1/path/choose", VERIFY])
def test_whoever_tries_one_number_after_the_other_is_held_back(phone: Phone, path: str) -> None:
    patient, number = phone.login()
    others = [guess for guess in range(1, MOST + 50) if guess != number]

    def guess(guessed: int) -> tuple[int, str]:
        given = {"patientId": patient, "queueNumber": guessed}
        headers = {"X-Forwarded-For": phone.address}
        if path == VERIFY:
            answer = phone.post(VERIFY, {**given, "clinic": "lab"})
        else:
            answer = phone.client.ask(f"{path}?{urlencode(given)}", headers=headers)
        return answer.status, answer.json["code"]

    told = [guess(guessed) for guessed in others]

    refusal = (403, "number-wrong") if path == VERIFY else (404, "unknown-visit")
    assert told == [refusal] * MOST + [(429, "quota-exceeded")] * (len(others) - MOST)


def test_one_visitors_failures_hold_back_nobody_else_who_has_a_link(phone: Phone) -> None:
    """With a link of their own, somebody tries what cannot be, and then what is wrong; others go on by their links."""
    guesser, victim = phone.begin(), phone.begin()
    elsewhere = [phone.finish(guesser, queue="eye").json["code"] for _ in range(MOST + 5)]
    wrong = [phone.finish(guesser, pin="0000").json["code"] for _ in range(6)]

    assert elsewhere == ["not-in-plan"] * (MOST + 5)
    assert wrong == ["pin-wrong"] * 5 + ["visit-locked"]
    assert phone.finish(victim, pin=phone.pin()).status == 200
    phone.fail()
    assert phone.finish(phone.begin(), pin=phone.pin()).status == 200


def test_staff_see_that_pins_are_guessed(phone: Phone) -> None:
    phone.pin()
    for number in range(31):
        phone.post(DONE, {"clinic": "lab", "user": f"nobody {number}", "pin": "0000"})

    assert "pin.warned" in phone.events()


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


def test_a_retry_costs_no_join_while_the_address_is_held_back(phone: Phone) -> None:
    patient, number = phone.login()
    pin, key = phone.pin(), f"free-{phone.address}"
    phone.verify(patient, number, pin, key=key)
    phone.fail()
    left = joins_left(phone)

    again = [phone.verify(patient, number, pin, key=key).status for _ in range(3)]

    assert again == [200] * 3
    assert joins_left(phone) == left - 1


def joins_left(phone: Phone) -> int:
    """Join once, and return how many more joins the answer's header promises."""
    entered = phone.post("/api/v1/queue/enter", {"clinic": "lab", "user": a_patient_id()})
    return int(entered.headers["ratelimit"].split(";")[1].removeprefix("r="))


def test_where_nothing_is_limited_nobody_is_held_back(client: Client) -> None:
    given = {"clinic": "xray", "user": "nobody at all", "pin": "0000"}

    assert {client.post(DONE, given).json["code"] for _ in range(MOST + 5)} == {"pin-wrong"}

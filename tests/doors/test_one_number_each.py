"""A patient has one number in a line, whichever way they come, and a stranger learns no more by asking (MISSION A1)."""

import hmac
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from dawr.domain.session_code import LETTERS
from dawr.domain.staff import Role
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Ringer
from dawr.operations.admin import ChangeQueue, Reset, SetUp
from dawr.operations.staff import Miss
from tests.builders import call_next
from tests.doors.exams import LOGIN, STATUS, Exam, a_patient_id
from tests.doors.here import Here
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC
from tests.running import Client, DawrServer, at_once, must_be_problem


def test_a_patient_who_logged_in_and_enters_the_same_clinic_keeps_the_number(exam: Exam) -> None:
    exam.patient()
    patient = exam.patient()

    entered = exam.client.enter(exam.first, patient.id)

    assert (entered.status, entered.json["number"], entered.json["message"]) == (200, 2, "already in queue")
    assert (entered.json["user"], entered.json["clinic"], entered.json["ahead"]) == (patient.id, exam.first, 1)
    assert "ticket" not in entered.json
    assert exam.kinds(exam.first) == ["ticket.issued"] * 2


def test_who_logs_in_and_enters_at_once_has_one_number(clinic: DawrServer, exam: Exam) -> None:
    patient = a_patient_id()

    def come(way: int) -> int:
        with Client(clinic.url) as client:
            if way % 2:
                return int(client.enter(exam.first, patient).json["number"])
            given = {"patientId": patient, "gender": "male", "examType": exam.id}
            return int(client.post(LOGIN, given).json["queueNumber"] or 1)

    assert set(at_once(come, range(20))) == {1}
    assert exam.kinds(exam.first).count("ticket.issued") == 1


def test_no_door_tells_the_id_of_a_ticket_to_a_caller_who_only_knows_a_name(
    exam: Exam, restaurant: Restaurant, bearers: dict[Role, str]
) -> None:
    patient = exam.patient()
    (ticket,) = exam.client.get(f"/v1/queues/{CLINIC}:{exam.first}/tickets", bearer=bearers["staff"]).json["items"]
    party = restaurant.join(1).json["data"]["id"]

    told = [
        exam.client.enter(exam.first, patient.id),
        exam.client.post(f"/v1/queues/{CLINIC}:{exam.first}/tickets", {"visitor": patient.id}),
        exam.client.post(f"/v1/venues/{CLINIC}/visits", {"visitor": patient.id, "queue": exam.first}),
        restaurant.join(1),
    ]

    assert {answer.status for answer in told} == {200, 201}
    for answer in told:
        assert not {ticket["ticket"].encode(), party.encode()} & set(answer.body.split(b'"'))


def test_staff_find_a_visit_that_is_finished_and_so_does_the_patient_by_their_number(exam: Exam) -> None:
    patient = exam.patient()
    exam.verify(patient)
    exam.verify(patient, clinic=exam.second, queueNumber=1)
    exam.edit(patient, "force-complete", clinic=exam.third)

    def status(bearer: str | None = None, **query: Any) -> dict[str, Any]:  # noqa: ANN401 - as the test sends it
        return exam.client.get(STATUS, bearer=bearer, patientId=patient.id, **query).json

    assert status(exam.bearers["staff"])["status"] == "DONE"
    assert status(queueNumber=1)["status"] == "DONE"
    assert status(queueNumber=2)["code"] == "unknown-visit"
    assert status()["code"] == "unknown-visit"


async def test_a_visitor_who_missed_their_call_comes_back_last_by_entering(here: Here) -> None:
    first = (await here.enter("lab", "Amna")).json
    await here.enter("lab", "Basma")
    called = (await here.do(call_next())).ticket
    assert called is not None
    await here.do(Miss(called.ticket_id))
    assert (await here.position("lab", "Amna")).json["status"] == "MISSED"

    back = await here.enter("lab", "Amna")

    assert (back.json["number"], back.json["ahead"], back.json["message"]) == (first["number"], 1, "already in queue")
    assert (await here.position("lab", "Amna")).json["status"] == "NEAR_TURN"
    assert [(await here.do(call_next())).ticket.visitor for _ in range(2)] == ["Basma", "Amna"]  # type: ignore[union-attr]


@pytest.mark.parametrize("path", ["/api/v1/patient/status", "/api/v1/my-position"])
async def test_a_visit_of_yesterday_is_over_though_the_clock_has_yet_to_end_it(hospital: Here, path: str) -> None:
    given = {"patientId": a_patient_id(), "gender": "male", "examType": "quick"}
    link = (await hospital.ask(lambda client: client.post(LOGIN, given))).json["ticket"]
    single = (await hospital.enter("near", "Amna")).json["ticket"]
    before = await hospital.ask(lambda client: client.get(path, ticket=link))
    hospital.clock.advance(days=1)

    seen = await hospital.ask(lambda client: client.get(path, ticket=link))
    alone = await hospital.ask(lambda client: client.get(path, ticket=single))

    assert before.json["status"] == "NEAR_TURN"
    assert [(told.json["status"], told.json["clinic"]) for told in (seen, alone)] == [("LEFT", None)] * 2
    must_be_problem(await hospital.position("near", "Amna"), 404, "not-in-queue")


@pytest.mark.parametrize("how", ["open", "set up"])
async def test_a_queue_that_opens_again_or_has_room_again_takes_who_waits_to_enter_at_once(
    hospital: Here, how: str
) -> None:
    ringer = Ringer(hospital.engine, hospital.dawr.store, hospital.clock)
    if how == "set up":
        await hospital.do(SetUp(_with_room(hospital, 0)))
    else:
        await hospital.do(ChangeQueue("near", "close"))
    await hospital.do(ChangeQueue("far", "close"))
    given = {"patientId": a_patient_id(), "gender": "male", "examType": "quick"}
    begun = await hospital.ask(lambda client: client.post(LOGIN, given))
    await ringer.ring_due()
    assert begun.json["queueNumber"] is None

    if how == "set up":
        await hospital.do(SetUp(_with_room(hospital, None)))
    else:
        await hospital.do(ChangeQueue("near", "open"))
    await ringer.ring_due()

    seen = await hospital.ask(lambda client: client.get(STATUS, ticket=begun.json["ticket"]))
    assert (seen.json["status"], seen.json["clinic"]) == ("NEAR_TURN", "near")


async def test_a_reset_that_gives_room_back_takes_who_waits_to_enter_at_once(hospital: Here) -> None:
    ringer = Ringer(hospital.engine, hospital.dawr.store, hospital.clock)
    await hospital.do(SetUp(_with_room(hospital, 1)))
    await hospital.do(ChangeQueue("far", "close"))
    await hospital.enter("near", "Amna")
    given = {"patientId": a_patient_id(), "gender": "male", "examType": "quick"}
    begun = await hospital.ask(lambda client: client.post(LOGIN, given))
    assert begun.json["queueNumber"] is None

    await hospital.do(Reset("near"))
    await ringer.ring_due()

    seen = await hospital.ask(lambda client: client.get(STATUS, ticket=begun.json["ticket"]))
    assert (seen.json["status"], seen.json["clinic"]) == ("NEAR_TURN", "near")


def test_a_finished_patient_is_not_shown_to_a_caller_who_only_knows_a_name(exam: Exam) -> None:
    patient = exam.patient()
    exam.verify(patient)
    query = {"clinic": exam.first, "user": patient.id}

    must_be_problem(exam.client.get("/api/v1/queue/position", **query), 404, "not-in-queue")
    to_staff = exam.client.get("/api/v1/queue/position", bearer=exam.bearers["staff"], **query)
    assert to_staff.json["status"] == "DONE"


def _with_room(hospital: Here, capacity: int | None) -> Venue:
    """The hospital with a limit at the near queue."""
    venue = hospital.venue
    queues = tuple(
        msgspec.structs.replace(queue, capacity=capacity) if queue.id == "near" else queue for queue in venue.queues
    )
    return msgspec.structs.replace(venue, queues=queues)


def test_nobody_makes_a_session_code_of_what_they_are_told(exam: Exam) -> None:
    """Not of the ticket's id, which once was the key, nor of anything else about the ticket."""
    staff, patient = exam.bearers["staff"], exam.patient()
    (ticket,) = exam.client.get(f"/v1/queues/{CLINIC}:{exam.first}/tickets", bearer=staff).json["items"]
    slip = exam.client.get(f"/v1/tickets/{ticket['ticket']}/slip", bearer=staff).json
    code, venue_id = slip["session_code"], ticket["ticket"].partition("-")[0]
    text = f"{venue_id}:{exam.first}:{ticket['day']}:{ticket['round']}:{patient.number}"
    bits = int.from_bytes(hmac.digest(ticket["ticket"].encode(), text.encode(), sha256)[:3])
    forged = code[:-4] + "".join(LETTERS[bits >> shift & 31] for shift in (15, 10, 5, 0))

    def found(text: str) -> list[str]:
        answer = exam.client.get(f"/v1/venues/{CLINIC}/visitors", find=text, bearer=staff)
        return [each["ticket"] for each in answer.json["found"]]

    assert found(code) == [ticket["ticket"]]
    assert found(forged) == []

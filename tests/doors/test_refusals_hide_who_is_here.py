"""A caller who guesses a name is refused alike whether its visitor is here or not (MISSION A1, A12, P8)."""

from collections.abc import Callable

import msgspec
import pytest

from dawr.domain.staff import Role
from dawr.operations.admin import ChangeQueue, SetUp
from tests.doors.exams import LOGIN, Exam, Patient, a_patient_id, in_arabic
from tests.doors.here import Here
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC
from tests.running import Answer, Client, must_be_problem

NOBODY = "9999"
UNSEEN = "\u200e"
"""A name that cannot be shown."""


def enter(exam: Exam, visitor: str) -> Answer:
    return exam.client.enter(exam.first, visitor)


def take(exam: Exam, visitor: str, name: str | None = None) -> Answer:
    return exam.client.post(f"/v1/queues/{CLINIC}:{exam.first}/tickets", {"visitor": visitor, "name": name})


def visit(exam: Exam, visitor: str, name: str | None = None) -> Answer:
    given = {"visitor": visitor, "queue": exam.first, "name": name}
    return exam.client.post(f"/v1/venues/{CLINIC}/visits", given)


def begin(exam: Exam, visitor: str, name: str | None = None) -> Answer:
    given = {"visitor": visitor, "journey": exam.id, "name": name}
    return exam.client.post(f"/v1/venues/{CLINIC}/journeys", given)


@pytest.mark.parametrize("ask", [take, visit, begin], ids=lambda way: way.__name__)
def test_a_name_that_cannot_be_shown_is_refused_before_anybody_is_looked_for(
    exam: Exam, ask: Callable[[Exam, str, str], Answer]
) -> None:
    patient = exam.patient()

    refused = [ask(exam, visitor, UNSEEN) for visitor in (patient.id, NOBODY)]

    for answer in refused:
        must_be_problem(answer, 422, "invalid-value")


@pytest.mark.parametrize("ask", [enter, take, visit], ids=lambda way: way.__name__)
def test_a_closed_queue_does_not_tell_that_a_patient_with_a_journey_stands_in_it(
    exam: Exam, bearers: dict[Role, str], ask: Callable[[Exam, str], Answer]
) -> None:
    patient = exam.patient()
    exam.queue_verb(exam.first, "close")

    refused = [ask(exam, visitor) for visitor in (patient.id, NOBODY)]

    for answer in refused:
        must_be_problem(answer, 409, "queue-closed")
    held = exam.client.post(
        f"/v1/queues/{CLINIC}:{exam.first}/tickets", {"visitor": patient.id}, bearer=bearers["staff"]
    )
    assert (held.json["already"], held.json["place"]["number"]) == (True, patient.number)


async def test_a_full_queue_does_not_tell_it_either_and_lets_a_visitor_without_a_journey_keep_their_number(
    hospital: Here,
) -> None:
    patient = a_patient_id()
    given = {"patientId": patient, "gender": "male", "examType": "quick"}
    await hospital.ask(lambda client: client.post(LOGIN, given))
    single = (await hospital.enter("near", "Amna")).json["number"]
    queues = [
        msgspec.structs.replace(queue, capacity=2) if queue.id == "near" else queue for queue in hospital.venue.queues
    ]
    await hospital.do(SetUp(msgspec.structs.replace(hospital.venue, queues=tuple(queues))))

    for visitor in (patient, NOBODY):
        must_be_problem(await hospital.enter("near", visitor), 503, "queue-full")
    assert (await hospital.enter("near", "Amna")).json["number"] == single
    await hospital.do(ChangeQueue("near", "close"))
    assert (await hospital.enter("near", "Amna")).json["number"] == single


def test_a_restaurant_does_not_tell_whose_mobile_number_is_on_its_list(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]

    unseen = [restaurant.join(number, name=UNSEEN) for number in (1, 2)]
    restaurant.client.post(f"/v1/queues/{restaurant.slug}:waitlist/close", {}, bearer=restaurant.owner)
    closed = [restaurant.join(number) for number in (1, 2)]

    assert [(answer.status, answer.json["code"]) for answer in unseen] == [(422, "invalid-value")] * 2
    assert [(answer.status, answer.json["code"]) for answer in closed] == [(409, "queue-closed")] * 2
    assert restaurant.status(entry).json["data"]["status"] == "WAITING"


def test_where_no_pin_is_asked_for_a_name_and_a_number_finish_nobody(exam: Exam) -> None:
    patient, at_last = at_last_stage(exam)

    refused = [exam.verify(at_last, clinic=exam.third, pin=pin) for pin in (None, "0000")]
    elsewhere = exam.verify(at_last, clinic=exam.third, pin=None, ticket=exam.patient().link)

    assert [(answer.status, answer.json["code"]) for answer in refused] == [(403, "pin-needed"), (403, "pin-wrong")]
    must_be_problem(elsewhere, 404, "unknown-visit")
    assert exam.status(ticket=patient.link).json["status"] == "CALLED"
    assert exam.verify(at_last, clinic=exam.third, pin=None, ticket=patient.link).json["status"] == "DONE"


def at_last_stage(exam: Exam) -> tuple[Patient, Patient]:
    """A patient, and what they know once they are called at the stage that asks for no PIN."""
    patient = exam.patient()
    exam.verify(patient)
    exam.verify(patient, clinic=exam.second, queueNumber=1)
    exam.client.post("/api/v1/queue/call", {"clinic": exam.third}, bearer=exam.bearers["staff"])
    return patient, msgspec.structs.replace(patient, number=1)


@pytest.mark.parametrize("typed", [in_arabic, lambda digits: "".join(chr(ord(d) + 0xFEE0) for d in digits)])
def test_an_id_is_one_id_in_whichever_digits_it_is_typed(exam: Exam, typed: Callable[[str], str]) -> None:
    patient = exam.patient()

    entered = [exam.client.enter(exam.first, text) for text in (typed(patient.id), f"{typed(patient.id)}\u200d")]

    assert [answer.json["number"] for answer in entered] == [patient.number] * 2
    assert exam.kinds(exam.first).count("ticket.issued") == 1


def test_staff_find_a_visit_that_ended_before_anything_was_finished(exam: Exam) -> None:
    patient = exam.patient()
    exam.edit(patient, "end")

    seen = exam.status(patientId=patient.id, bearer=exam.bearers["staff"])

    assert seen.json["status"] == "LEFT"
    assert exam.status(patientId=patient.id, queueNumber=patient.number).json["status"] == "LEFT"
    must_be_problem(exam.status(patientId=patient.id), 404, "unknown-visit")


def test_a_stranger_hides_an_ended_visit_from_nobody(exam: Exam) -> None:
    patient, other = exam.patient(), exam.second
    exam.edit(patient, "end")

    for _ in range(101):
        link = exam.client.enter(other, patient.id).json["ticket"].removeprefix("/t/")
        assert exam.client.post(f"/v1/visits/{link}/leave", {}).status == 200

    seen = exam.status(patientId=patient.id, bearer=exam.bearers["staff"])
    assert (seen.status, seen.json["status"]) == (200, "LEFT")


async def test_a_visitor_who_waited_yesterday_is_told_so_by_their_link(here: Here) -> None:
    link = (await here.enter("lab", "Amna")).json["ticket"]
    here.clock.advance(days=1)

    def leave(client: Client) -> Answer:
        return client.post("/api/v1/queue/done", {"clinic": "lab", "user": "Amna", "ticket": link})

    must_be_problem(await here.ask(leave), 409, "line-ended")

"""POST /api/v1/queue/done, when an examination is over (MISSION A4)."""

import pytest

from dawr.domain.staff import Role
from dawr.operations.staff import Hold, Miss, Start
from tests.builders import call_next, issue
from tests.doors.exams import Exam, a_patient_id
from tests.doors.here import Here
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC
from tests.doors.trail import trail
from tests.running import Client, DawrServer, at_once, must_be_problem

CALL = "/api/v1/queue/call"
DONE = "/api/v1/queue/done"


@pytest.fixture
def queue(exam: Exam) -> str:
    """A queue that nobody has used yet, where no journey asks for the PIN."""
    return exam.third


def called(client: Client, queue: str, staff: str, user: str = "Amna") -> str:
    """Enter, and be called; the visitor's link."""
    link = str(client.enter(queue, user).json["ticket"])
    client.post(CALL, {"clinic": queue}, bearer=staff)
    return link


def test_a_called_visitor_is_finished_by_their_link_where_no_pin_is_asked_for(
    client: Client, queue: str, staff: str
) -> None:
    link = called(client, queue, staff)

    answer = client.post(DONE, {"clinic": queue, "user": "Amna", "ticket": link})

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {
        "success": True,
        "clinic": queue,
        "user": "Amna",
        "number": 1,
        "status": "DONE",
        "wait_time_minutes": 0.0,
        "service_time_minutes": 0.0,
        "next_clinic": None,
    }
    assert client.status(queue).json["length"] == 0


@pytest.mark.parametrize("verb", ["call", "start"])
def test_nobody_finishes_a_called_or_served_visitor_by_their_name_or_by_a_wrong_pin(
    client: Client, queue: str, bearers: dict[Role, str], verb: str
) -> None:
    called(client, queue, bearers["staff"])
    if verb == "start":
        (ticket,) = client.get(f"/v1/queues/{CLINIC}:{queue}/tickets", bearer=bearers["staff"]).json["items"]
        client.post(f"/v1/tickets/{ticket['ticket']}/start", {}, bearer=bearers["staff"])
    pin = client.get(f"/api/v1/pin/{queue}/status", bearer=bearers["manager"]).json["pin"]

    must_be_problem(client.post(DONE, {"clinic": queue, "user": "Amna"}), 403, "pin-needed")
    must_be_problem(client.post(DONE, {"clinic": queue, "user": "Amna", "pin": "00"}), 403, "pin-wrong")

    kinds = [event["kind"] for event in trail(client, CLINIC, queue, bearers["manager"])]
    assert (kinds.count("pin.failed"), kinds.count("ticket.finished")) == (1, 0)
    assert client.post(DONE, {"clinic": queue, "user": "Amna", "pin": pin}).json["status"] == "DONE"


def test_a_pin_that_comes_with_the_link_is_not_minded_where_none_is_asked_for(
    client: Client, queue: str, staff: str
) -> None:
    link = called(client, queue, staff)

    done = client.post(DONE, {"clinic": queue, "user": "Amna", "pin": "42", "ticket": link})

    assert done.json["status"] == "DONE"


def test_where_a_journey_asks_for_the_pin_the_link_alone_is_not_enough(exam: Exam) -> None:
    patient = exam.patient()
    exam.client.post(CALL, {"clinic": exam.first}, bearer=exam.bearers["staff"])
    given = {"clinic": exam.first, "user": patient.id, "ticket": patient.link}

    must_be_problem(exam.client.post(DONE, given), 403, "pin-needed")
    refused = exam.client.post(DONE, {**given, "pin": exam.wrong_pin()})
    must_be_problem(refused, 403, "pin-wrong")
    assert refused.json["tries_left"] == 4
    assert exam.client.post(DONE, {**given, "pin": exam.pin()}).json["next_clinic"] == exam.second


def test_somebody_elses_link_finishes_nobody(client: Client, queue: str, staff: str) -> None:
    called(client, queue, staff)
    link = client.enter(queue, "Basma").json["ticket"]

    must_be_problem(client.post(DONE, {"clinic": queue, "user": "Amna", "ticket": link}), 404, "not-in-queue")
    forged = {"clinic": queue, "user": "Amna", "ticket": f"{link}x"}
    must_be_problem(client.post(DONE, forged), 404, "unknown-visit")

    assert client.status(queue).json["length"] == 2


def test_a_link_that_opens_nothing_does_not_show_who_is_here(exam: Exam) -> None:
    patient = exam.patient()

    def told(user: str, link: str, **pin: str) -> dict[str, object]:
        given = {"clinic": exam.first, "user": user, "ticket": link, **pin}
        return {**exam.client.post(DONE, given).json, "correlation_id": ""}

    for link in ("x", f"{patient.link}x", exam.patient().link):
        for pin in ({}, {"pin": exam.wrong_pin()}, {"pin": exam.pin()}):
            assert told(patient.id, link, **pin) == told(a_patient_id(), link, **pin)
    staffs = {"clinic": exam.first, "user": patient.id, "ticket": "x"}
    assert exam.client.post(DONE, staffs, bearer=exam.bearers["staff"]).status == 200


def test_with_link_and_pin_a_visitor_who_waits_is_finished_where_none_is_asked_for(
    client: Client, queue: str, bearers: dict[Role, str]
) -> None:
    link = client.enter(queue, "Amna").json["ticket"]
    pin = client.get(f"/api/v1/pin/{queue}/status", bearer=bearers["manager"]).json["pin"]

    done = client.post(DONE, {"clinic": queue, "user": "Amna", "ticket": link, "pin": pin})

    assert (done.status, done.json["status"]) == (200, "DONE")


def test_wrong_pins_by_name_alone_do_not_shut_who_knows_the_number(exam: Exam) -> None:
    patient = exam.patient()
    for _ in range(6):
        exam.client.post(DONE, {"clinic": exam.first, "user": patient.id, "pin": exam.wrong_pin()})

    assert exam.verify(patient).status == 200


def test_a_visitor_who_waits_is_not_finished_by_their_link(client: Client, queue: str) -> None:
    link = client.enter(queue, "Amna").json["ticket"]

    refused = client.post(DONE, {"clinic": queue, "user": "Amna", "ticket": link})

    must_be_problem(refused, 409, "ticket-in-wrong-state")


def test_the_clinic_and_the_user_are_found_however_they_are_written(client: Client, queue: str, staff: str) -> None:
    link = called(client, queue, staff, "Zoe\u0308")

    done = client.post(DONE, {"clinic": queue.upper(), "user": " Zo\u00eb ", "ticket": link}).json

    assert (done["clinic"], done["user"], done["status"]) == (queue, "Zo\u00eb", "DONE")


def test_a_visitor_who_waits_is_not_finished_by_just_anybody(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")

    refused = client.post(DONE, {"clinic": queue, "user": "Amna"})

    must_be_problem(refused, 409, "ticket-in-wrong-state")
    assert (refused.json["state"], refused.json["verb"]) == ("waiting", "finish")
    assert client.status(queue).json["waiting"] == 1


def test_a_viewer_is_just_anybody(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    client.enter(queue, "Amna")

    refused = client.post(DONE, {"clinic": queue, "user": "Amna"}, bearer=bearers["viewer"])

    must_be_problem(refused, 409, "ticket-in-wrong-state")


def test_staff_of_another_venue_are_just_anybody(client: Client, queue: str, restaurant: Restaurant) -> None:
    client.enter(queue, "Amna")

    refused = client.post(DONE, {"clinic": queue, "user": "Amna"}, bearer=restaurant.bearers["owner"])

    must_be_problem(refused, 409, "ticket-in-wrong-state")


@pytest.mark.parametrize("role", ["staff", "manager", "owner"])
def test_staff_finish_whoever_waits_in_one_step_that_is_called_started_and_finished(
    client: Client, queue: str, bearers: dict[Role, str], role: Role
) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)

    done = client.post(DONE, {"clinic": queue, "user": "Basma"}, bearer=bearers[role], X_Correlation_Id=f"done-{queue}")

    assert (done.json["number"], done.json["status"]) == (2, "DONE")
    events = trail(client, CLINIC, queue, bearers["manager"])[2:]
    assert [event["kind"] for event in events] == ["ticket.called", "ticket.started", "ticket.finished"]
    assert {event["correlation_id"] for event in events} == {f"done-{queue}"}
    assert len({(event["ticket"], event["actor"], event["at"]) for event in events}) == 1
    assert [event["version"] - events[0]["version"] for event in events] == [0, 1, 2]
    assert (events[0]["facts"]["out_of_order"], events[0]["facts"]["unannounced"]) == (True, True)
    seen = client.status(queue).json
    assert (seen["next"], seen["waiting"], seen["length"], seen["current"]) == (1, 1, 1, None)


def test_staff_who_finish_the_first_of_the_line_pass_nobody_over(
    client: Client, queue: str, bearers: dict[Role, str]
) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)

    client.post(DONE, {"clinic": queue, "user": "Amna"}, bearer=bearers["staff"])

    called = trail(client, CLINIC, queue, bearers["manager"])[2]
    assert called["kind"] == "ticket.called"
    assert "out_of_order" not in called["facts"]


def test_many_who_say_done_at_once_finish_one_visitor_once(
    clinic: DawrServer, client: Client, queue: str, bearers: dict[Role, str]
) -> None:
    link = called(client, queue, bearers["staff"])

    def done(_: int) -> int:
        with Client(clinic.url) as visitor:
            return visitor.post(DONE, {"clinic": queue, "user": "Amna", "ticket": link}).status

    assert sorted(at_once(done, range(10))) == [200] + [404] * 9
    kinds = [event["kind"] for event in trail(client, CLINIC, queue, bearers["manager"])]
    assert kinds == ["ticket.issued", "ticket.called", "ticket.finished"]


def test_whoever_is_done_is_not_done_again(client: Client, queue: str, staff: str) -> None:
    given = {"clinic": queue, "user": "Amna", "ticket": called(client, queue, staff)}
    client.post(DONE, given)

    must_be_problem(client.post(DONE, given), 404, "not-in-queue")


def test_a_retry_of_done_is_done_and_no_second_effect(client: Client, queue: str, staff: str) -> None:
    given = {"clinic": queue, "user": "Amna", "ticket": called(client, queue, staff)}
    first = client.post(DONE, given, key=f"done-{queue}")

    again = client.post(DONE, given, key=f"done-{queue}")

    assert (again.status, again.body, again.headers["idempotency-replayed"]) == (200, first.body, "true")


def test_the_right_pin_finishes_somebody_who_waits(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    client.enter(queue, "Amna")
    pin = client.get(f"/api/v1/pin/{queue}/status", bearer=bearers["manager"]).json["pin"]

    done = client.post(DONE, {"clinic": queue, "user": "Amna", "pin": pin})

    assert (done.status, done.json["status"], done.json["next_clinic"]) == (200, "DONE", None)


def test_by_name_wrong_pins_lock_nobody_and_the_link_still_counts(
    client: Client, queue: str, bearers: dict[Role, str]
) -> None:
    link = client.enter(queue, "Amna").json["ticket"]
    pin = client.get(f"/api/v1/pin/{queue}/status", bearer=bearers["manager"]).json["pin"]
    by_name = {"clinic": queue, "user": "Amna"}

    refused = [client.post(DONE, {**by_name, "pin": "00"}).json["code"] for _ in range(5)]

    assert refused == ["pin-wrong"] * 5
    must_be_problem(client.post(DONE, {**by_name, "pin": pin}), 429, "pin-tries-used-up")
    client.post(CALL, {"clinic": queue}, bearer=bearers["staff"])
    assert client.post(DONE, {**by_name, "ticket": link}).json["status"] == "DONE"


@pytest.mark.parametrize("pin", [42, "", "1234567", "1", "1٢", "pin"])
def test_what_is_no_pin_is_refused_and_nothing_changes(client: Client, queue: str, staff: str, pin: object) -> None:
    client.enter(queue, "Amna")
    client.post(CALL, {"clinic": queue}, bearer=staff)

    for bearer in (None, staff):
        refused = client.post(DONE, {"clinic": queue, "user": "Amna", "pin": pin}, bearer=bearer)
        assert (refused.status, refused.json["code"]) in {(422, "invalid-body"), (422, "invalid-value")}

    assert client.status(queue).json["length"] == 1


def test_a_patient_who_has_a_journey_goes_on_to_the_next_clinic(exam: Exam) -> None:
    by_pin, by_staff = exam.patient(), exam.patient()
    pin, staff = exam.pin(), exam.bearers["staff"]

    answers = [
        exam.client.post(DONE, {"clinic": exam.first, "user": by_pin.id, "pin": pin}),
        exam.client.post(DONE, {"clinic": exam.first, "user": by_staff.id}, bearer=staff),
    ]

    assert [answer.json["next_clinic"] for answer in answers] == [exam.second, exam.third]
    assert [exam.states(patient)[0] for patient in (by_pin, by_staff)] == ["COMPLETED"] * 2


def test_without_the_pin_nobody_learns_who_is_in_a_clinic_on_their_journey(exam: Exam) -> None:
    patient, wrong = exam.patient(), exam.wrong_pin()

    def told(user: str, clinic: str, **pin: str) -> dict[str, object]:
        answer = exam.client.post(DONE, {"clinic": clinic, "user": user, **pin})
        return {**answer.json, "correlation_id": ""}

    assert told(patient.id, exam.first) == told(a_patient_id(), exam.first)
    assert told(patient.id, exam.first, pin=wrong) == told(a_patient_id(), exam.first, pin=wrong)
    assert told(patient.id, exam.first, pin=wrong)["code"] == "pin-wrong"
    assert exam.kinds(exam.first).count("pin.failed") == 3
    for _ in range(3):
        told(patient.id, exam.first, pin=wrong)
    assert told(patient.id, exam.first, pin=exam.pin()) == told(a_patient_id(), exam.first, pin=wrong)


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({}, 422, "invalid-body"),
        ({"clinic": "xray"}, 422, "invalid-body"),
        ({"user": "Amna"}, 422, "invalid-body"),
        ({"clinic": "xray", "user": 42}, 422, "invalid-body"),
        ({"clinic": "xray", "user": "Amna", "pin": 42}, 422, "invalid-body"),
        ({"clinic": "xray", "user": "Amna", "pin": "1234567"}, 422, "invalid-body"),
        ({"clinic": "xray", "user": " "}, 422, "invalid-value"),
        ({"clinic": "xray", "user": "A\nmna"}, 422, "invalid-value"),
        ({"clinic": "nowhere", "user": "Amna"}, 404, "unknown-queue"),
        ({"clinic": "xray", "user": "somebody who never came"}, 404, "not-in-queue"),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, given: object, status: int, code: str) -> None:
    answer = client.post(DONE, given)

    must_be_problem(answer, status, code)
    if code == "invalid-value":
        assert answer.json["field"] == "user"


def test_staff_do_not_take_somebody_out_of_a_paused_queue_who_was_never_called(
    client: Client, queue: str, bearers: dict[Role, str]
) -> None:
    client.enter(queue, "Amna")
    client.post(f"/v1/queues/{CLINIC}:{queue}/pause", {}, bearer=bearers["manager"])

    refused = client.post(DONE, {"clinic": queue, "user": "Amna"}, bearer=bearers["staff"])

    must_be_problem(refused, 409, "queue-paused")


async def test_the_minutes_are_those_that_were_waited_and_served(here: Here) -> None:
    link = (await here.enter("lab", "Amna")).json["ticket"]
    here.clock.advance(minutes=12, seconds=30)
    called = (await here.do(call_next())).ticket
    assert called is not None
    here.clock.advance(minutes=2)
    await here.do(Start(called.ticket_id))
    here.clock.advance(minutes=7)

    done = (await here.post("done", {"clinic": "lab", "user": "Amna", "ticket": link})).json

    assert (done["wait_time_minutes"], done["service_time_minutes"]) == (12.5, 7.0)


async def test_whoever_was_never_started_is_served_from_the_call_on(here: Here) -> None:
    link = (await here.enter("lab", "Amna")).json["ticket"]
    here.clock.advance(minutes=3)
    await here.do(call_next())
    here.clock.advance(minutes=4)

    done = (await here.post("done", {"clinic": "lab", "user": "Amna", "ticket": link})).json

    assert (done["wait_time_minutes"], done["service_time_minutes"]) == (3.0, 4.0)


async def test_whom_staff_finish_out_of_the_line_waited_until_then_and_was_served_at_once(here: Here) -> None:
    await here.enter("lab", "Amna")
    here.clock.advance(minutes=9)

    done = (await here.post("done", {"clinic": "lab", "user": "Amna"}, bearer=await here.bearer())).json

    assert (done["wait_time_minutes"], done["service_time_minutes"]) == (9.0, 0.0)


@pytest.mark.parametrize(("operation", "state"), [(Hold, "held"), (Miss, "missed")])
async def test_even_staff_do_not_finish_somebody_who_is_on_hold_or_was_missed(
    here: Here, operation: type[Hold | Miss], state: str
) -> None:
    ticket = (await here.do(issue("lab", "Amna"))).ticket
    if operation is Miss:
        await here.do(call_next())
    await here.do(operation(ticket.ticket_id))

    refused = await here.post("done", {"clinic": "lab", "user": "Amna"}, bearer=await here.bearer())

    must_be_problem(refused, 409, "ticket-in-wrong-state")
    assert refused.json["state"] == state


async def test_somebody_who_waited_yesterday_is_not_finished_today(here: Here) -> None:
    await here.enter("lab", "Amna")
    here.clock.advance(days=1)

    refused = await here.post("done", {"clinic": "lab", "user": "Amna"}, bearer=await here.bearer())

    must_be_problem(refused, 409, "line-ended")

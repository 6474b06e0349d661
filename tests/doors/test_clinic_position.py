"""GET /api/v1/queue/position: where a visitor stands, in the words of a visitor (MISSION A6, A8)."""

from typing import Any

import pytest

from dawr.operations.operation import Operation
from dawr.operations.staff import Finish, Hold, Miss, Start
from dawr.operations.visitor import Leave
from tests.builders import call_next, issue, rejoin
from tests.doors.exams import Exam
from tests.doors.here import Here
from tests.running import Client, must_be_problem

POSITION = "/api/v1/queue/position"


def test_a_visitor_is_told_number_place_and_wait(client: Client, queue: str) -> None:
    for number in range(6):
        client.enter(queue, f"visitor {number}")

    answer = client.get(POSITION, clinic=queue.upper(), user="visitor 4")

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {
        "success": True,
        "clinic": queue,
        "user": "visitor 4",
        "status": "WAITING",
        "number": 5,
        "display_number": "005",
        "ahead": 4,
        "position": 5,
        "total_waiting": 6,
        "estimated_wait_minutes": 20,
    }


def test_with_three_or_fewer_ahead_the_turn_is_near(client: Client, queue: str) -> None:
    for number in range(6):
        client.enter(queue, f"visitor {number}")

    words = [client.get(POSITION, clinic=queue, user=f"visitor {number}").json["status"] for number in range(6)]

    assert words == ["NEAR_TURN"] * 4 + ["WAITING"] * 2


def test_those_ahead_grow_fewer_as_the_line_moves(client: Client, queue: str, staff: str) -> None:
    for number in range(5):
        client.enter(queue, f"visitor {number}")
    before = client.get(POSITION, clinic=queue, user="visitor 4").json

    for _ in range(2):
        client.post("/api/v1/queue/call", {"clinic": queue}, bearer=staff)

    after = client.get(POSITION, clinic=queue, user="visitor 4").json
    assert (before["ahead"], before["status"], before["total_waiting"]) == (4, "WAITING", 5)
    assert (after["ahead"], after["status"], after["total_waiting"]) == (2, "NEAR_TURN", 3)


def test_looking_changes_nothing(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")

    seen = {client.get(POSITION, clinic=queue, user="Amna").body for _ in range(5)}

    assert len(seen) == 1
    assert client.status(queue).json["length"] == 1


def test_the_secret_link_is_not_told_to_whoever_knows_a_name(client: Client, queue: str) -> None:
    secret = client.enter(queue, "Amna").json["ticket"]

    seen = client.get(POSITION, clinic=queue, user="Amna")

    assert secret.encode() not in seen.body
    assert b"/t/" not in seen.body


def test_somebody_who_never_came_is_not_in_the_queue(client: Client, queue: str) -> None:
    must_be_problem(client.get(POSITION, clinic=queue, user="nobody"), 404, "not-in-queue")


def test_a_patient_on_a_journey_is_found_by_staff_only(exam: Exam) -> None:
    exam.patient()
    patient = exam.patient()

    by_staff = exam.client.get(POSITION, bearer=exam.bearers["staff"], clinic=exam.first, user=patient.id)

    assert (by_staff.json["number"], by_staff.json["ahead"], by_staff.json["total_waiting"]) == (2, 1, 2)
    for bearer in (None, exam.bearers["viewer"]):
        seen = exam.client.get(POSITION, bearer=bearer, clinic=exam.first, user=patient.id)
        must_be_problem(seen, 404, "not-in-queue")


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "invalid-query"),
        ("?clinic=xray", 422, "invalid-query"),
        ("?user=Amna", 422, "invalid-query"),
        ("?clinic=xray&user=", 422, "invalid-query"),
        ("?clinic=&user=Amna", 422, "invalid-query"),
        ("?clinic=xray&user=Amna&user=Basma", 422, "invalid-query"),
        ("?clinic=xray&user=%ff", 422, "invalid-query"),
        ("?clinic=xray&user=%20", 422, "invalid-value"),
        ("?clinic=xray&user=A%0Amna", 422, "invalid-value"),
        ("?clinic=xray&user=" + "x" * 129, 422, "invalid-value"),
        ("?clinic=nowhere&user=Amna", 404, "unknown-queue"),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, query: str, status: int, code: str) -> None:
    answer = client.ask(POSITION + query)

    must_be_problem(answer, status, code)
    if code == "invalid-value":
        assert answer.json["field"] == "user"


def test_a_position_is_read_and_not_posted_to(client: Client) -> None:
    must_be_problem(client.post(POSITION, {"clinic": "xray", "user": "Amna"}), 405, "method-not-allowed")


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        ((), "NEAR_TURN"),
        (("hold",), "WAITING"),
        (("call",), "CALLED"),
        (("call", "start"), "IN_SERVICE"),
        (("call", "miss"), "MISSED"),
        (("call", "miss", "rejoin"), "NEAR_TURN"),
    ],
)
async def test_the_word_follows_the_visitor(here: Here, steps: tuple[str, ...], word: str) -> None:
    ticket = (await here.do(issue("lab", "Amna"))).ticket.ticket_id
    verbs: dict[str, Operation[Any]] = {
        "hold": Hold(ticket),
        "call": call_next(),
        "start": Start(ticket),
        "miss": Miss(ticket),
        "rejoin": rejoin(ticket),
    }

    for step in steps:
        await here.do(verbs[step])

    seen = (await here.position("lab", "Amna")).json
    waits = word == "NEAR_TURN"
    assert (seen["status"], seen["number"], seen["display_number"]) == (word, 1, "A001")
    assert (seen["position"], seen["ahead"]) == ((1, 0) if waits else (0, 0))


async def test_whoever_left_is_not_in_the_queue_any_more(here: Here) -> None:
    ticket = (await here.do(issue("lab", "Amna"))).ticket.ticket_id
    await here.do(call_next())

    await here.do(Leave(ticket))

    must_be_problem(await here.position("lab", "Amna"), 404, "not-in-queue")


async def test_whoever_was_finished_is_done_for_the_rest_of_the_day(here: Here) -> None:
    ticket = (await here.do(issue("lab", "Amna"))).ticket
    await here.do(call_next())
    await here.do(Finish(ticket.ticket_id))
    await here.enter("lab", "Basma")

    done = await here.position("lab", "Amna")

    assert (done.status, done.json["status"], done.json["number"]) == (200, "DONE", 1)
    assert (done.json["ahead"], done.json["position"], done.json["total_waiting"]) == (0, 0, 1)
    must_be_problem(await here.position("eye", "Amna"), 404, "not-in-queue")
    assert (await here.enter("lab", "Amna")).json["number"] == 3
    assert (await here.position("lab", "Amna")).json["status"] != "DONE"
    here.clock.advance(days=1)
    must_be_problem(await here.position("lab", "Amna"), 404, "not-in-queue")


async def test_yesterdays_place_is_no_place(here: Here) -> None:
    await here.enter("lab", "Amna")
    here.clock.advance(days=1)

    must_be_problem(await here.position("lab", "Amna"), 404, "not-in-queue")

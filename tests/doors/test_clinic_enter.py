"""POST /api/v1/queue/enter, as the clinic's own programs use it (MISSION A1, A10, A18, A20)."""

import re
import time

import pytest

from dawr.engine.clockwork import reset
from dawr.operations.admin import ChangeQueue
from dawr.operations.staff import Finish
from dawr.operations.visitor import Leave
from tests.builders import call_next
from tests.doors.here import Here
from tests.running import Answer, Client, DawrServer, at_once, must_be_problem

EVERY_FIELD = {
    "success",
    "number",
    "status",
    "user",
    "clinic",
    "ahead",
    "position",
    "estimated_wait_minutes",
    "display_number",
    "yourNumber",
    "current",
    "ticket",
}


def test_the_first_visitor_gets_number_one_and_a_secret_link(client: Client, queue: str) -> None:
    answer = client.enter(queue, "Amna")

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    entered = answer.json
    link = entered.pop("ticket")
    assert re.fullmatch(r"/t/[a-z0-9]{6}-[A-Za-z0-9_~]{32}\.[A-Za-z0-9_-]{22}", link)
    assert entered == {
        "success": True,
        "number": 1,
        "status": "WAITING",
        "user": "Amna",
        "clinic": queue,
        "ahead": 0,
        "position": 1,
        "estimated_wait_minutes": 0,
        "display_number": "001",
        "yourNumber": 1,
        "current": None,
    }


def test_a_newcomer_is_told_who_is_ahead_and_how_long_it_will_take(client: Client, queue: str) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)

    entered = client.enter(queue, "Celine").json

    assert entered.keys() == EVERY_FIELD
    assert (entered["number"], entered["ahead"], entered["position"]) == (3, 2, 3)
    assert entered["estimated_wait_minutes"] == 10


def test_answers_are_not_kept_by_anything_on_the_way(client: Client, queue: str) -> None:
    assert client.enter(queue, "Amna").headers["cache-control"] == "no-store"
    assert client.status(queue).headers["cache-control"] == "no-store"


def test_every_visitor_has_a_secret_link_of_their_own(client: Client, queue: str) -> None:
    links = {client.enter(queue, f"visitor {number}").json["ticket"] for number in range(10)}

    assert len(links) == 10


def test_whoever_enters_again_keeps_their_number_and_is_not_told_the_secret(client: Client, queue: str) -> None:
    first = client.enter(queue, "Amna").json
    client.enter(queue, "Basma")

    again = client.enter(queue, "Amna").json

    assert again.keys() == EVERY_FIELD - {"ticket"} | {"message"}
    assert (again["number"], again["status"], again["message"]) == (first["number"], "WAITING", "already in queue")
    assert (again["ahead"], again["position"]) == (0, 1)


def test_entering_again_burns_no_number(client: Client, queue: str) -> None:
    for _ in range(5):
        client.enter(queue, "Amna")

    assert client.enter(queue, "Basma").json["number"] == 2


def test_spaces_around_a_name_do_not_make_another_visitor(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")

    again = client.enter(queue, "  Amna ").json

    assert (again["number"], again["user"]) == (1, "Amna")


def test_one_visitor_asking_many_times_at_once_gets_one_number_and_one_secret(clinic: DawrServer, queue: str) -> None:
    answers = at_once(lambda _: enter_alone(clinic, queue, "Amna"), range(20))

    assert {answer.json["number"] for answer in answers} == {1}
    assert sum("ticket" in answer.json for answer in answers) == 1
    assert enter_alone(clinic, queue, "Basma").json["number"] == 2


def test_one_visitor_may_wait_in_two_queues(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")

    entered = client.enter("xray", "Amna").json

    assert (entered["clinic"], "ticket" in entered) == ("xray", True)


@pytest.mark.parametrize("code", ["XRAY", "Xray", "XR", "xr", "Radiology"])
def test_a_queue_answers_to_its_code_and_aliases_in_any_case(client: Client, code: str) -> None:
    first = client.enter("xray", f"Amna looks for {code}").json

    again = client.enter(code, f"Amna looks for {code}").json

    assert (again["clinic"], again["number"]) == ("xray", first["number"])
    assert again["display_number"] == f"B{first['number']:03}"


def test_an_unknown_clinic_is_not_found(client: Client) -> None:
    answer = client.enter("nowhere", "Amna")

    must_be_problem(answer, 404, "unknown-queue")
    assert answer.json["queue"] == "nowhere"


def test_many_first_requests_racing_for_a_fresh_queue_make_one_line(clinic: DawrServer, queue: str) -> None:
    answers = at_once(lambda user: enter_alone(clinic, queue, f"visitor {user}"), range(50))

    assert sorted(answer.json["number"] for answer in answers) == list(range(1, 51))
    assert all(answer.json["ahead"] == answer.json["number"] - 1 for answer in answers)


def test_twenty_at_once_get_contiguous_numbers(clinic: DawrServer, queue: str) -> None:
    for before in range(3):
        enter_alone(clinic, queue, f"early visitor {before}")

    timed = at_once(lambda user: timed_entry(clinic, queue, f"visitor {user}"), range(20))

    assert sorted(answer.json["number"] for answer, _ in timed) == list(range(4, 24))
    print(f"the slowest of twenty at once took {max(took for _, took in timed) * 1000:.0f} ms")  # noqa: T201


def test_names_in_any_script_come_back_as_they_were_given(client: Client, queue: str) -> None:
    for number, user in enumerate(["آمنة بنت خالد", "王小明", "Zoë O’Neill", "🙂", "12345678901"], start=1):
        entered = client.enter(queue, user).json

        assert (entered["user"], entered["number"]) == (user, number)


def test_the_reserve_is_announced_and_then_the_queue_is_full(client: Client) -> None:
    entered = [client.enter("small", f"visitor {number}").json for number in range(1, 6)]

    refused = client.enter("small", "one too many")

    assert [answer["number"] for answer in entered] == [1, 2, 3, 4, 5]
    assert [answer.get("reserve_mode", False) for answer in entered] == [False, False, False, True, True]
    must_be_problem(refused, 503, "queue-full")
    assert (refused.json["capacity"], refused.json["reserve"], refused.json["retryable"]) == (3, 2, False)
    assert client.enter("small", "visitor 2").json["number"] == 2


def test_a_paused_queue_still_takes_people(client: Client) -> None:
    assert client.enter("paused", "Amna").json["number"] == 1


def test_a_closed_queue_takes_nobody(client: Client) -> None:
    must_be_problem(client.enter("closed", "Amna"), 409, "queue-closed")


def test_outside_its_hours_a_queue_says_when_it_opens(client: Client) -> None:
    answer = client.enter("later", "Amna")

    must_be_problem(answer, 409, "outside-hours")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d 18:00", answer.json["opens_at"])
    assert answer.json["opens_at"] in answer.json["detail"]


def test_a_queue_without_any_hours_does_not_say_when_it_opens(client: Client) -> None:
    answer = client.enter("never", "Amna")

    must_be_problem(answer, 409, "outside-hours")
    assert answer.json["opens_at"] is None


async def test_whoever_waits_in_a_queue_that_closes_keeps_their_number(here: Here) -> None:
    await here.enter("lab", "Amna")

    await here.do(ChangeQueue("lab", "close"))

    assert (await here.enter("lab", "Amna")).json["number"] == 1
    must_be_problem(await here.enter("lab", "Basma"), 409, "queue-closed")


async def test_after_the_ticket_ended_the_same_visitor_gets_a_new_number(here: Here) -> None:
    await here.enter("lab", "Amna")
    called = (await here.do(call_next())).ticket
    assert called is not None

    while_called = (await here.enter("lab", "Amna")).json
    await here.do(Finish(called.ticket_id))
    afterwards = (await here.enter("lab", "Amna")).json

    assert (while_called["number"], while_called["status"], while_called["position"]) == (1, "CALLED", 0)
    assert (afterwards["number"], afterwards["display_number"], "ticket" in afterwards) == (2, "A002", True)


async def test_whoever_left_and_comes_back_is_behind_those_who_stayed(here: Here) -> None:
    for user in ("Amna", "Basma"):
        await here.enter("lab", user)
    called = (await here.do(call_next())).ticket
    assert called is not None
    await here.do(Leave(called.ticket_id))

    back = (await here.enter("lab", "Amna")).json

    assert (back["number"], back["ahead"]) == (3, 1)


async def test_numbers_begin_again_on_the_next_day(here: Here) -> None:
    for user in ("Amna", "Basma"):
        await here.enter("lab", user)

    here.clock.advance(days=1)

    assert [(await here.enter("lab", user)).json["number"] for user in ("Celine", "Amna")] == [1, 2]


async def test_numbers_begin_again_after_a_reset(here: Here) -> None:
    await here.enter("lab", "Amna")

    await reset(here.engine, here.venue.id, "lab")

    entered = (await here.enter("lab", "Amna")).json
    assert (entered["number"], "ticket" in entered) == (1, True)


def enter_alone(clinic: DawrServer, queue: str, user: str) -> Answer:
    """On a connection of its own."""
    with Client(clinic.url) as client:
        return client.enter(queue, user)


def timed_entry(clinic: DawrServer, queue: str, user: str) -> tuple[Answer, float]:
    began = time.perf_counter()
    answer = enter_alone(clinic, queue, user)
    return answer, time.perf_counter() - began

"""POST /api/v1/queue/reset: a new round begins at number 1, and the history stays (MISSION A5)."""

import pytest

from dawr.domain.staff import Role
from dawr.operations.clockwork import ExpireEnded
from tests.builders import call_next
from tests.doors.here import Here
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC
from tests.doors.trail import trail
from tests.running import Client, must_be_problem

CALL = "/api/v1/queue/call"
DONE = "/api/v1/queue/done"
RESET = "/api/v1/queue/reset"


@pytest.mark.parametrize("role", ["manager", "owner"])
def test_a_manager_begins_a_new_round_at_number_one(
    client: Client, queue: str, bearers: dict[Role, str], role: Role
) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)

    answer = client.post(RESET, {"clinic": queue.upper()}, bearer=bearers[role])

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {"success": True, "clinic": queue, "round": 2, "message": "begins at number 1"}
    seen = client.status(queue).json
    assert (seen["length"], seen["waiting"], seen["next"], seen["current"]) == (0, 0, None, None)
    entered = client.enter(queue, "Celine").json
    assert (entered["number"], entered["ahead"]) == (1, 0)


def test_whoever_waited_is_expired_and_comes_again_as_somebody_new(
    client: Client, queue: str, bearers: dict[Role, str]
) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)

    client.post(RESET, {"clinic": queue}, bearer=bearers["manager"])

    must_be_problem(client.get("/api/v1/queue/position", clinic=queue, user="Amna"), 404, "not-in-queue")
    again = client.enter(queue, "Basma").json
    assert (again["number"], "ticket" in again) == (1, True)


def test_the_history_stays_and_says_who_did_it(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)

    client.post(RESET, {"clinic": queue}, bearer=bearers["manager"], X_Correlation_Id=f"reset-{queue}")

    events = trail(client, CLINIC, queue, bearers["manager"])
    assert [event["kind"] for event in events] == [
        "ticket.issued",
        "ticket.issued",
        "queue.reset",
        "ticket.expired",
        "ticket.expired",
    ]
    assert events[2]["actor"].startswith("token:")
    assert events[2]["correlation_id"] == f"reset-{queue}"


def test_whoever_was_called_is_still_served(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)
    client.post(CALL, {"clinic": queue}, bearer=bearers["staff"])

    client.post(RESET, {"clinic": queue}, bearer=bearers["manager"])

    position = client.get("/api/v1/queue/position", clinic=queue, user="Amna").json
    assert (position["status"], position["number"]) == ("CALLED", 1)
    assert client.enter(queue, "Amna").json["message"] == "already in queue"
    done = client.post(DONE, {"clinic": queue, "user": "Amna"}, bearer=bearers["staff"]).json
    assert (done["number"], done["status"]) == (1, "DONE")
    kinds = [event["kind"] for event in trail(client, CLINIC, queue, bearers["manager"])]
    assert kinds.count("ticket.expired") == 1


def test_a_retried_reset_begins_one_round(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    client.enter(queue, "Amna")
    first = client.post(RESET, {"clinic": queue}, bearer=bearers["manager"], key=f"reset-{queue}")
    client.enter(queue, "Basma")

    again = client.post(RESET, {"clinic": queue}, bearer=bearers["manager"], key=f"reset-{queue}")

    assert (again.body, again.headers["idempotency-replayed"]) == (first.body, "true")
    assert client.status(queue).json["waiting"] == 1


def test_resetting_twice_is_two_rounds(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    rounds = [client.post(RESET, {"clinic": queue}, bearer=bearers["manager"]).json["round"] for _ in range(2)]

    assert rounds == [2, 3]


@pytest.mark.parametrize("role", ["viewer", "staff"])
def test_those_below_a_manager_do_not_reset(client: Client, queue: str, bearers: dict[Role, str], role: Role) -> None:
    client.enter(queue, "Amna")

    must_be_problem(client.post(RESET, {"clinic": queue}, bearer=bearers[role]), 403, "role-too-low")

    assert client.status(queue).json["waiting"] == 1


def test_a_visitor_does_not_reset(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")

    must_be_problem(client.post(RESET, {"clinic": queue}), 401, "not-signed-in")

    assert client.status(queue).json["waiting"] == 1


def test_a_manager_of_another_venue_does_not_find_this_one(client: Client, queue: str, restaurant: Restaurant) -> None:
    refused = client.post(RESET, {"clinic": queue}, bearer=restaurant.bearers["owner"])

    must_be_problem(refused, 404, "unknown-venue")


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({}, 422, "invalid-body"),
        ({"clinic": 1}, 422, "invalid-body"),
        ({"clinic": "nowhere"}, 404, "unknown-queue"),
    ],
)
def test_what_makes_no_sense_is_refused(
    client: Client, bearers: dict[Role, str], given: object, status: int, code: str
) -> None:
    must_be_problem(client.post(RESET, given, bearer=bearers["manager"]), status, code)


async def test_numbers_restart_by_themselves_with_the_service_day(here: Here) -> None:
    """It begins at five in the morning: at four it is still yesterday."""
    await here.enter("lab", "Amna")
    here.clock.advance(hours=18)
    at_four = (await here.enter("lab", "Basma")).json
    here.clock.advance(hours=1)

    at_five = (await here.enter("lab", "Celine")).json

    assert (at_four["number"], at_five["number"], at_five["ahead"]) == (2, 1, 0)


async def test_the_service_day_never_goes_back(here: Here) -> None:
    here.clock.advance(days=1)
    await here.enter("lab", "Amna")
    here.clock.advance(days=-1)

    assert (await here.enter("lab", "Basma")).json["number"] == 2


async def test_whoever_was_called_yesterday_is_not_served_today(here: Here) -> None:
    await here.enter("lab", "Amna")
    await here.do(call_next())
    here.clock.advance(days=1)
    await here.do(ExpireEnded(here.venue.queues[0].id))

    must_be_problem(await here.post("done", {"clinic": "lab", "user": "Amna"}), 404, "not-in-queue")

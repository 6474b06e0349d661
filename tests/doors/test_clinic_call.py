"""POST /api/v1/queue/call, as the clinic's desks use it (MISSION A3)."""

import pytest

from dawr.domain.staff import Role
from tests.doors.here import Here
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC, a_token
from tests.doors.trail import trail
from tests.running import Answer, Client, DawrServer, at_once, must_be_problem

CALL = "/api/v1/queue/call"
USERS = ("Amna", "Basma", "Celine")


def test_the_first_who_waits_is_called_and_the_next_one_named(client: Client, queue: str, staff: str) -> None:
    enter_all(client, queue)

    answer = client.post(CALL, {"clinic": queue}, bearer=staff)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {
        "success": True,
        "clinic": queue,
        "current": 1,
        "next": 2,
        "queue_length": 2,
        "user": "Amna",
        "display_number": "001",
        "desk": None,
    }


def test_everybody_is_called_once_in_the_order_they_came(client: Client, queue: str, staff: str) -> None:
    enter_all(client, queue)

    called = [client.post(CALL, {"clinic": queue}, bearer=staff).json for _ in USERS]

    assert [(one["current"], one["next"], one["queue_length"]) for one in called] == [
        (1, 2, 2),
        (2, 3, 1),
        (3, None, 0),
    ]
    assert [one["user"] for one in called] == list(USERS)


def test_nobody_waiting_is_no_error_and_leaves_nothing_behind(
    client: Client, queue: str, bearers: dict[Role, str]
) -> None:
    answer = client.post(CALL, {"clinic": queue}, bearer=bearers["staff"])

    assert answer.status == 200
    assert (answer.json["current"], answer.json["next"], answer.json["queue_length"]) == (None, None, 0)
    assert trail(client, CLINIC, queue, bearers["manager"]) == []
    assert client.enter(queue, "Amna").json["number"] == 1


def test_a_desk_is_named_with_whom_it_calls(client: Client, queue: str, staff: str) -> None:
    enter_all(client, queue)

    called = client.post(CALL, {"clinic": queue.upper(), "desk": "WINDOW"}, bearer=staff).json

    assert (called["clinic"], called["current"], called["desk"]) == (queue, 1, "window")


def test_a_call_is_seen_by_the_visitor_and_in_the_status(client: Client, queue: str, staff: str) -> None:
    enter_all(client, queue)

    client.post(CALL, {"clinic": queue}, bearer=staff)

    seen = client.status(queue).json
    assert (seen["current"], seen["next"], seen["waiting"], seen["length"]) == (1, 2, 2, 3)
    position = client.get("/api/v1/queue/position", clinic=queue, user="Amna").json
    assert position["status"] == "CALLED"


def test_twenty_desks_calling_at_once_never_call_the_same_visitor_and_skip_nobody(
    clinic: DawrServer, client: Client, queue: str, staff: str
) -> None:
    for number in range(20):
        client.enter(queue, f"visitor {number}")

    def call(_: int) -> int:
        with Client(clinic.url) as desk:
            return int(desk.post(CALL, {"clinic": queue}, bearer=staff).json["current"])

    assert sorted(at_once(call, range(20))) == list(range(1, 21))


def test_a_retried_call_returns_the_visitor_already_called(client: Client, queue: str, staff: str) -> None:
    enter_all(client, queue)
    first = client.post(CALL, {"clinic": queue}, bearer=staff, key=f"call-{queue}")

    again = client.post(CALL, {"clinic": queue}, bearer=staff, key=f"call-{queue}")

    assert (again.status, again.body, again.headers["idempotency-replayed"]) == (200, first.body, "true")
    assert client.status(queue).json["current"] == 1


def test_nobody_waiting_does_not_use_the_key_up(client: Client, queue: str, staff: str) -> None:
    nobody = client.post(CALL, {"clinic": queue}, bearer=staff, key=f"early-{queue}").json
    enter_all(client, queue)

    called = client.post(CALL, {"clinic": queue}, bearer=staff, key=f"early-{queue}").json

    assert (nobody["current"], called["current"]) == (None, 1)


@pytest.mark.parametrize("role", ["staff", "manager", "owner"])
def test_staff_and_those_above_them_call(client: Client, queue: str, bearers: dict[Role, str], role: Role) -> None:
    client.enter(queue, "Amna")

    assert client.post(CALL, {"clinic": queue}, bearer=bearers[role]).json["current"] == 1


def test_a_viewer_does_not_call(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    client.enter(queue, "Amna")

    refused = client.post(CALL, {"clinic": queue}, bearer=bearers["viewer"])

    must_be_problem(refused, 403, "role-too-low")
    assert client.status(queue).json["current"] is None


@pytest.mark.parametrize("kind", ["kiosk", "display"])
def test_a_kiosk_and_a_display_do_not_call(client: Client, queue: str, owner: str, kind: str) -> None:
    device = a_token(client, CLINIC, owner, None, kind)

    must_be_problem(client.post(CALL, {"clinic": queue}, bearer=device), 403, "role-too-low")


def test_a_visitor_does_not_call(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")

    refused = client.post(CALL, {"clinic": queue})

    must_be_problem(refused, 401, "not-signed-in")
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert client.status(queue).json["current"] is None


@pytest.mark.parametrize("bearer", ["", "dws_x", "dwt_x.y", "nonsense", "dws_" + "x" * 300, "é"])
def test_a_credential_that_is_none_is_refused(client: Client, queue: str, bearer: str) -> None:
    must_be_problem(client.post(CALL, {"clinic": queue}, bearer=bearer), 401, "credentials-invalid")


def test_staff_of_another_venue_do_not_find_this_one(client: Client, queue: str, restaurant: Restaurant) -> None:
    refused = client.post(CALL, {"clinic": queue}, bearer=restaurant.bearers["owner"])

    must_be_problem(refused, 404, "unknown-venue")


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({}, 422, "invalid-body"),
        ({"clinic": None}, 422, "invalid-body"),
        ({"clinic": "xray", "desk": 1}, 422, "invalid-body"),
        ({"clinic": "nowhere"}, 404, "unknown-queue"),
        ({"clinic": "xray", "desk": "nowhere"}, 404, "unknown-desk"),
        ({"clinic": "xray", "desk": ""}, 404, "unknown-desk"),
        ({"clinic": "xray", "desk": "back-room"}, 422, "invalid-value"),
        ({"clinic": "paused"}, 409, "queue-paused"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    client: Client, staff: str, given: object, status: int, code: str
) -> None:
    must_be_problem(client.post(CALL, given, bearer=staff), status, code)


def test_a_desk_that_does_not_serve_the_clinic_is_told_so_in_the_clinics_words(client: Client, staff: str) -> None:
    refused = client.post(CALL, {"clinic": "xray", "desk": "back-room"}, bearer=staff)

    assert refused.json["field"] == "clinic"


def test_a_closed_queue_still_calls_those_who_wait(client: Client, queue: str, bearers: dict[Role, str]) -> None:
    client.enter(queue, "Amna")
    client.post(f"/v1/queues/{CLINIC}:{queue}/close", {}, bearer=bearers["manager"])

    assert client.post(CALL, {"clinic": queue}, bearer=bearers["staff"]).json["current"] == 1


async def test_somebody_with_a_priority_is_called_first(here: Here) -> None:
    bearer = await here.bearer()
    await here.enter("lab", "Amna")
    await here.ask(lambda client: take_with_priority(client, f"{here.venue.slug}:lab", bearer))

    called = (await here.post("call", {"clinic": "lab"}, bearer=bearer)).json

    assert (called["user"], called["current"], called["next"]) == ("Basma", 2, 1)


def take_with_priority(client: Client, queue: str, bearer: str) -> Answer:
    return client.post(f"/v1/queues/{queue}/tickets", {"visitor": "Basma", "priority": 2}, bearer=bearer)


def enter_all(client: Client, queue: str) -> None:
    for user in USERS:
        client.enter(queue, user)

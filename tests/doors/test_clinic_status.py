"""GET /api/v1/queue/status, as the clinic's displays use it (MISSION A2)."""

import re

import pytest

from dawr.domain.staff import ROLES, Role
from dawr.engine.clockwork import reset
from dawr.operations.admin import ChangeQueue
from dawr.operations.staff import Finish, Hold, Start
from tests.builders import call_next, issue
from tests.doors.here import Here
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC, OWNER, PASSWORD, a_token
from tests.running import Client, DawrServer, at_once, must_be_problem


def test_a_queue_that_nobody_has_entered_is_open_and_empty(client: Client, queue: str) -> None:
    answer = client.status(queue)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {
        "success": True,
        "clinic": queue,
        "current": None,
        "length": 0,
        "waiting": 0,
        "next": None,
        "state": "OPEN",
        "avg_wait_minutes": 0.0,
    }


def test_the_status_counts_everybody_who_entered(clinic: DawrServer, client: Client, queue: str) -> None:
    def enter(number: int) -> int:
        with Client(clinic.url) as visitor:
            return visitor.enter(queue, f"visitor {number}").status

    assert set(at_once(enter, range(30))) == {200}

    seen = client.status(queue).json
    assert (seen["length"], seen["waiting"], seen["next"], seen["current"]) == (30, 30, 1, None)


def test_whoever_has_a_number_sees_themselves_in_the_status_at_once(client: Client, queue: str) -> None:
    for number in range(1, 21):
        client.enter(queue, f"visitor {number}")

        assert client.status(queue).json["waiting"] == number


@pytest.mark.parametrize("code", ["xray", "XRAY", "xr", "Radiology"])
def test_the_status_is_found_by_code_and_alias_in_any_case(client: Client, code: str) -> None:
    assert client.status(code).json["clinic"] == "xray"


@pytest.mark.parametrize(("queue", "state"), [("paused", "PAUSED"), ("closed", "CLOSED"), ("xray", "OPEN")])
def test_the_status_says_whether_the_queue_is_open(client: Client, queue: str, state: str) -> None:
    assert client.status(queue).json["state"] == state


def test_the_status_of_an_unknown_clinic_is_not_found(client: Client) -> None:
    must_be_problem(client.status("nowhere"), 404, "unknown-queue")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/queue/status",
        "/api/v1/queue/status?",
        "/api/v1/queue/status?clinic=",
        "/api/v1/queue/status?clinic=xray&clinic=xray",
        "/api/v1/queue/status?clinic=xray&clinic=small",
        "/api/v1/queue/status?Clinic=xray",
        "/api/v1/queue/status?&&&=&",
        "/api/v1/queue/status?clinic=%ff%fe",
        "/api/v1/queue/status?clinic=%ed%a0%80",
    ],
)
def test_the_clinic_must_be_named_once(client: Client, path: str) -> None:
    must_be_problem(client.ask(path), 422, "invalid-query")


@pytest.mark.parametrize("role", ROLES)
def test_staff_see_who_is_in_the_queue(client: Client, queue: str, bearers: dict[Role, str], role: Role) -> None:
    for user in ("Amna", "Basma"):
        client.enter(queue, user)
    client.post("/api/v1/queue/call", {"clinic": queue}, bearer=bearers["staff"])

    answer = client.get("/api/v1/queue/status", bearer=bearers[role], clinic=queue.upper())

    seen = answer.json
    listed = seen.pop("list")
    assert seen == client.status(queue).json
    assert [[one[name] for name in ("number", "display_number", "user", "status")] for one in listed] == [
        [1, "001", "Amna", "CALLED"],
        [2, "002", "Basma", "WAITING"],
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["entered_at"]) for one in listed)
    assert (answer.headers["cache-control"], answer.headers["vary"]) == ("no-store", "authorization, cookie")


def test_staff_see_at_once_what_changed(client: Client, queue: str, staff: str) -> None:
    def seen() -> list[tuple[str, str]]:
        listed = client.get("/api/v1/queue/status", bearer=staff, clinic=queue).json["list"]
        return [(one["user"], one["status"]) for one in listed]

    assert seen() == []
    client.enter(queue, "Amna")
    assert seen() == [("Amna", "WAITING")]
    client.post("/api/v1/queue/done", {"clinic": queue, "user": "Amna"}, bearer=staff)
    assert seen() == []


def test_the_cookie_of_somebody_signed_in_shows_them_the_list(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")
    login = client.post("/api/v1/admin/login", {"username": OWNER, "password": PASSWORD})
    cookie = login.headers["set-cookie"].partition(";")[0]

    shown = client.ask(f"/api/v1/queue/status?clinic={queue}", headers={"Cookie": cookie}).json

    assert [one["user"] for one in shown["list"]] == ["Amna"]


@pytest.mark.parametrize("kind", ["kiosk", "display"])
def test_a_device_is_shown_no_more_than_anybody(client: Client, queue: str, owner: str, kind: str) -> None:
    client.enter(queue, "Amna")
    device = a_token(client, CLINIC, owner, None, kind)

    shown = client.get("/api/v1/queue/status", bearer=device, clinic=queue)

    assert shown.json == client.status(queue).json
    assert b"Amna" not in shown.body


def test_a_stranger_and_staff_of_another_venue_see_nobody(client: Client, queue: str, restaurant: Restaurant) -> None:
    """Not even right after somebody saw the list who may."""
    client.enter(queue, "Amna")
    client.get("/api/v1/queue/status", bearer=restaurant.owner, clinic=queue)

    for bearer in (None, *restaurant.bearers.values()):
        shown = client.get("/api/v1/queue/status", bearer=bearer, clinic=queue)
        assert "list" not in shown.json
        assert b"Amna" not in shown.body
    must_be_problem(client.get("/api/v1/queue/status", bearer="dwt_x.y", clinic=queue), 401, "credentials-invalid")


def test_staff_who_ask_for_an_unknown_clinic_are_told_so(client: Client, staff: str) -> None:
    must_be_problem(client.get("/api/v1/queue/status", bearer=staff, clinic="nowhere"), 404, "unknown-queue")


@pytest.mark.parametrize("code", ["%00", "%0d%0aSet-Cookie:x", "%e2%80%8f", "a" * 4000, "..%2f..%2fetc", "'--", "%"])
def test_a_strange_clinic_is_just_not_found(client: Client, code: str) -> None:
    answer = client.status(code)

    must_be_problem(answer, 404, "unknown-queue")
    assert "set-cookie" not in answer.headers


def test_head_is_get_without_a_body(client: Client) -> None:
    answer = client.ask("/api/v1/queue/status?clinic=xray", method="HEAD")

    assert (answer.status, answer.body) == (200, b"")


async def test_the_status_follows_a_visitor_through_the_queue(here: Here) -> None:
    for user in ("Amna", "Basma", "Celine"):
        await here.enter("lab", user)

    here.clock.advance(minutes=10)
    called = (await here.do(call_next())).ticket
    assert called is not None
    after_call = (await here.status("lab")).json
    await here.do(Start(called.ticket_id))
    after_start = (await here.status("lab")).json
    await here.do(Finish(called.ticket_id))
    after_finish = (await here.status("lab")).json

    assert after_call == {
        "success": True,
        "clinic": "lab",
        "current": 1,
        "length": 3,
        "waiting": 2,
        "next": 2,
        "state": "OPEN",
        "avg_wait_minutes": 10.0,
    }
    assert after_start == after_call
    assert after_finish == {**after_call, "length": 2}


async def test_the_mean_wait_is_over_those_who_were_called(here: Here) -> None:
    for _ in range(2):
        await here.do(issue("lab"))
        here.clock.advance(minutes=5)
    for _ in range(2):
        await here.do(call_next())

    assert (await here.status("lab")).json["avg_wait_minutes"] == 7.5


async def test_somebody_with_a_priority_is_next(here: Here) -> None:
    await here.enter("lab", "Amna")
    await here.do(issue("lab", "Basma", priority=2))

    assert (await here.status("lab")).json["next"] == 2
    assert (await here.enter("lab", "Amna")).json["ahead"] == 1


async def test_somebody_on_hold_is_not_next(here: Here) -> None:
    first = (await here.do(issue("lab", "Amna"))).ticket
    await here.enter("lab", "Basma")

    await here.do(Hold(first.ticket_id))

    seen = (await here.status("lab")).json
    held = (await here.enter("lab", "Amna")).json
    assert (seen["next"], seen["waiting"]) == (2, 1)
    assert (held["number"], held["status"], held["message"]) == (1, "WAITING", "already in queue")


async def test_the_status_shows_a_queue_being_paused_and_resumed(here: Here) -> None:
    await here.do(ChangeQueue("lab", "pause"))
    paused = (await here.status("lab")).json["state"]
    await here.do(ChangeQueue("lab", "resume"))

    assert (paused, (await here.status("lab")).json["state"]) == ("PAUSED", "OPEN")


async def test_the_status_is_empty_again_after_a_reset_and_on_the_next_day(here: Here) -> None:
    await here.enter("lab", "Amna")
    await here.enter("eye", "Amna")

    await reset(here.engine, here.venue.id, "lab")
    after_reset = (await here.status("lab")).json
    here.clock.advance(days=1)
    next_day = (await here.status("eye")).json

    assert (after_reset["length"], after_reset["next"]) == (0, None)
    assert (next_day["length"], next_day["next"]) == (0, None)

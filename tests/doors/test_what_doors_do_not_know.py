"""A door is a contract of others: what it is told and does not know, it ignores. `/v1` refuses it (MISSION A19)."""

from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import pytest

from dawr.web.routes import Route
from dawr.web.table import ROUTES
from tests.doors.exams import Exam
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC, OWNER, PASSWORD
from tests.doors.scenes import CASES, Scene, scene_at
from tests.running import Client, DawrServer, must_be_problem

LOGIN = "admin/login"
DOORS = {route.name: route for route in ROUTES if route.path.startswith("/api/")}
WRITES = [route for route in DOORS.values() if route.is_write]
UNKNOWN = {"isAutoEntry": True, "nationality": None, "": "", "device": {"os": ["kiosk", {"v": 1.5e3}]}, "_": 1}
CACHE_BUSTER = "_=1700000000&_=1700000001&utm_source=poster&%D9%86="

LOOKS = {
    "queue/status": "/api/v1/queue/status?clinic={queue}&",
    "queue/position": "/api/v1/queue/position?clinic={queue}&user=Amna&",
    "patient/status": "/api/v1/patient/status?ticket={link}&",
    "my-position": "/api/v1/my-position?ticket={link}&",
    "patient/my-position": "/api/v1/patient/my-position?ticket={link}&",
    "path/choose": "/api/v1/path/choose?ticket={link}&",
    "pin/status": "/api/v1/pin/{queue}/status?",
    "clinic-health": "/api/v1/health/status?",
    "clinic-backend": "/api/v1/status?",
    "clinic-stream": "/api/v1/events/stream?clinic={queue}&",
    "restaurant/queue-status": "/api/public/{slug}/queue-status?entryId={entry}&secret={secret}&",
    "restaurant/list": "/api/admin/{slug}/queue?",
}
"""How each is asked for, by the name of its route."""


@pytest.fixture
def scene(client: Client, owner: str, fresh_queues: Iterator[str], restaurant: Restaurant, route: Route) -> Scene:
    at = CASES[route.name].at
    return Scene(client, CLINIC, next(fresh_queues), owner) if at == "clinic" else scene_at(restaurant)


def test_every_route_of_the_doors_is_tried_here() -> None:
    assert {route.name for route in WRITES} - {LOGIN} <= CASES.keys()
    assert {route.name for route in DOORS.values() if not route.is_write} == LOOKS.keys()


@pytest.mark.parametrize("route", [route for route in WRITES if route.name != LOGIN], ids=lambda route: route.name)
def test_a_write_with_more_than_is_known_does_the_same_and_is_the_same_under_its_key(
    route: Route, scene: Scene
) -> None:
    case, key = CASES[route.name], uuid4().hex
    asked = case.ask(scene)
    bearer = scene.owner if route.who != "anyone" or route.name == "queue/done" else None
    path = f"{asked.path}?{CACHE_BUSTER}"

    told_more = scene.client.post(path, UNKNOWN | dict(asked.body), key=key, bearer=bearer)
    told_enough = scene.client.post(asked.path, asked.body, key=key, bearer=bearer)

    assert told_more.status == route.status, told_more
    assert (told_enough.body, told_enough.headers["idempotency-replayed"]) == (told_more.body, "true")


@pytest.mark.parametrize("name", [name for name in LOOKS if name != "clinic-stream"])
def test_a_look_with_more_than_is_known_shows_the_same(
    client: Client, queue: str, exam: Exam, restaurant: Restaurant, name: str
) -> None:
    client.enter(queue, "Amna")
    entry = restaurant.join(1).json["data"]
    known = {"queue": queue, "link": exam.patient().link, "slug": restaurant.slug, "entry": entry["id"]}
    path = LOOKS[name].format(**known, secret=entry["secret"])
    bearer = restaurant.bearers["viewer"] if DOORS[name].who != "anyone" else None

    plain, told_more = client.get(path, bearer=bearer), client.get(path + CACHE_BUSTER, bearer=bearer)

    assert (plain.status, told_more.status) == (200, 200), told_more
    assert told_more.json == plain.json


def test_a_stream_that_is_asked_for_with_more_than_is_known_begins(clinic: DawrServer, queue: str) -> None:
    address = urlsplit(clinic.url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
    connection.request("GET", LOOKS["clinic-stream"].format(queue=queue) + CACHE_BUSTER)

    answer = connection.getresponse()

    assert answer.status == 200
    connection.close()


def test_whoever_signs_in_may_say_more_than_is_known(client: Client) -> None:
    given = UNKNOWN | {"username": OWNER, "password": PASSWORD, "remember": True}

    assert client.post(f"/api/v1/admin/login?{CACHE_BUSTER}", given).json["user"]["username"] == OWNER


@pytest.mark.parametrize("more", [{"gender": "male", "isAutoEntry": True}, {"priority": 3}, {"number": 99}], ids=str)
def test_an_old_client_that_says_more_is_given_its_number(client: Client, queue: str, more: dict[str, object]) -> None:
    client.enter(queue, "Basma")

    entered = client.post("/api/v1/queue/enter", {"clinic": queue, "user": "Amna", **more})

    assert (entered.status, entered.json["number"], entered.json["position"]) == (200, 2, 2)


def test_a_party_that_says_more_gets_nothing_by_it(restaurant: Restaurant) -> None:
    restaurant.join(1)

    joined = restaurant.join(2, status="SEATED", priority=3, tokenNumber=77).json["data"]

    assert (joined["status"], joined["tokenNumber"], joined["position"]) == ("WAITING", 2, 2)


@pytest.mark.parametrize(
    "query", ["clinic=xray&clinic=xray&_=1", "clinic=xray&clinic=small", "_=1", "Clinic=xray", "clinic=xray&%ff=1"]
)
def test_what_a_door_knows_is_still_asked_for_once_and_as_it_should_be(client: Client, query: str) -> None:
    must_be_problem(client.ask(f"/api/v1/queue/status?{query}"), 422, "invalid-query")


@pytest.mark.parametrize("given", [{"isAutoEntry": True}, {"visitor": "Amna", "clinic": "xray"}], ids=str)
def test_our_own_interface_refuses_a_field_that_it_does_not_know(
    client: Client, queue: str, given: dict[str, object]
) -> None:
    refused = client.post(f"/v1/queues/{CLINIC}:{queue}/tickets", given)

    must_be_problem(refused, 422, "invalid-body")
    assert (refused.json["field"], refused.json["why"]) == (list(given)[-1], "unknown")
    must_be_problem(client.ask(f"/v1/queues/{CLINIC}:{queue}?{urlencode({'_': 1})}"), 422, "invalid-query")
    assert client.enter(queue, "Basma").json["number"] == 1

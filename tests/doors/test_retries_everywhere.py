"""Every write that is sent twice under one key has one effect and one answer (MISSION P2)."""

import json
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from dawr.web.routes import Route
from dawr.web.table import ROUTES
from tests.doors.restaurant import Restaurant, a_party
from tests.doors.roles import CLINIC, a_token
from tests.doors.scenes import CASES, Asked, Case, Scene, scene_at
from tests.running import Answer, Client, DawrServer, at_once, must_be_problem

KEYED = [route for route in ROUTES if route.takes_key and route.kind != "text/html"]
"""Of programs. What a page's form does when it is sent twice is shown by the tests of the pages."""
ONCE_TOLD = "make-token"
"""The one difference: the secret is told once and not kept, so a replay has none."""

NewScene = Callable[[Case], Scene]

every_keyed_route = pytest.mark.parametrize("route", KEYED, ids=lambda route: route.name)


@pytest.fixture
def scene(client: Client, owner: str, fresh_queues: Iterator[str], restaurant: Restaurant) -> NewScene:
    def scene(case: Case) -> Scene:
        return Scene(client, CLINIC, next(fresh_queues), owner) if case.at == "clinic" else scene_at(restaurant)

    return scene


def test_every_route_that_takes_a_key_is_tried_here() -> None:
    assert {route.name for route in KEYED} == CASES.keys()


def test_every_write_of_a_venue_takes_a_key_but_signing_in() -> None:
    keyless = {route.name for route in ROUTES if route.is_write and route.venue is not None and not route.takes_key}

    assert keyless == {"admin/login", "display-token"}


@every_keyed_route
def test_a_retry_has_the_same_answer_and_no_second_effect(route: Route, scene: NewScene) -> None:
    case = CASES[route.name]
    place, bearer = arrived(route, scene)
    asked, key = case.ask(place), new_key()
    before = place.events()

    first = case.send(place, asked, key, bearer)
    after = place.events()
    again = case.send(place, asked, key, bearer)

    assert first.status == route.status, first
    assert "idempotency-replayed" not in first.headers
    assert after > before
    assert place.events() == after
    assert (again.status, again.headers["idempotency-replayed"]) == (first.status, "true")
    assert again.headers["content-type"] == first.headers["content-type"]
    if route.name == ONCE_TOLD:
        assert again.json == {**first.json, "bearer": None}
    else:
        assert again.body == first.body


@every_keyed_route
def test_a_key_in_quotes_and_the_same_key_bare_are_one(route: Route, scene: NewScene) -> None:
    case = CASES[route.name]
    place, bearer = arrived(route, scene)
    asked, key = case.ask(place), new_key()

    case.send(place, asked, f'"{key}"', bearer)

    assert case.send(place, asked, key, bearer).headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("route", [r for r in KEYED if CASES[r.name].other is not None], ids=lambda route: route.name)
def test_something_else_under_the_same_key_is_refused_and_does_nothing(route: Route, scene: NewScene) -> None:
    case = CASES[route.name]
    place, bearer = arrived(route, scene)
    asked, key = case.ask(place), new_key()
    assert case.other is not None
    other = case.other(place, asked)
    first = case.send(place, asked, key, bearer)
    before = place.events()

    refused = case.send(place, other, key, bearer)

    must_be_problem(refused, 422, "idempotency-key-reused")
    assert first.body not in refused.body
    assert place.events() == before


@every_keyed_route
def test_a_key_of_somebody_else_is_unknown(route: Route, scene: NewScene) -> None:
    case = CASES[route.name]
    place, bearer = arrived(route, scene)
    somebody_else = (
        place.another_owner() if route.for_people else a_token(place.client, place.venue, place.owner, "owner")
    )
    asked, key = case.ask(place), new_key()
    case.send(place, asked, key, bearer)

    answer = case.send(place, asked, key, somebody_else)

    assert "idempotency-replayed" not in answer.headers
    assert answer.status in {route.status, 403, 404, 409}
    if answer.status >= 400:
        assert answer.json["code"] != "idempotency-key-reused"


@pytest.mark.parametrize("route", [r for r in KEYED if CASES[r.name].at == "restaurant"], ids=lambda route: route.name)
def test_a_key_of_another_venue_is_unknown(
    route: Route, client: Client, owner: str, restaurant: Restaurant, another: Restaurant
) -> None:
    case = CASES[route.name]
    bearer = None if route.who == "anyone" else owner
    key = new_key()
    case.send(scene_at(restaurant), case.ask(scene_at(restaurant)), key, bearer)

    elsewhere = case.send(scene_at(another), case.ask(scene_at(another)), key, bearer)

    assert elsewhere.status == route.status
    assert "idempotency-replayed" not in elsewhere.headers


@pytest.mark.parametrize("name", ["queue/enter", "patient/login", "restaurant/join", "take-ticket", "start-visit"])
def test_fifty_at_once_under_one_key_make_one_ticket_and_fifty_equal_answers(
    clinic: DawrServer, scene: NewScene, name: str
) -> None:
    case = CASES[name]
    place = scene(case)
    asked, key = case.ask(place), new_key()
    before = place.events()

    answers = all_at_once(clinic, asked, key, None, times=50)

    assert len({(answer.status, answer.body) for answer in answers}) == 1
    assert place.events() == before + 1
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 49


@pytest.mark.parametrize("name", ["queue/call", "restaurant/call-next", "call-next", "call-next-from-queue"])
def test_twenty_retries_of_one_call_at_once_call_one_visitor(clinic: DawrServer, scene: NewScene, name: str) -> None:
    case = CASES[name]
    place = scene(case)
    for _ in range(5):
        place.take()
    asked, key = case.ask(place), new_key()
    before = place.events()

    answers = all_at_once(clinic, asked, key, place.owner, times=20)

    assert len({(answer.status, answer.body) for answer in answers}) == 1
    assert place.events() == before + 1


def test_the_restaurants_field_and_the_header_are_the_same_thing(restaurant: Restaurant) -> None:
    path, key = f"{restaurant.public}/queue", new_key()
    by_field = restaurant.client.post(path, {**a_party(), "idempotencyKey": key})

    retries = [
        restaurant.client.post(path, {**a_party(), "idempotencyKey": key}),
        restaurant.client.post(path, a_party(), key=key),
        restaurant.client.post(path, a_party(), key=f'"{key}"'),
        restaurant.client.post(path, {**a_party(), "idempotencyKey": key}, key=key),
    ]

    assert by_field.status == 201
    assert {(retry.status, retry.body) for retry in retries} == {(201, by_field.body)}
    assert {retry.headers["idempotency-replayed"] for retry in retries} == {"true"}
    assert restaurant.join(2).json["data"]["tokenNumber"] == 2


def test_another_party_under_the_key_of_the_field_is_refused(restaurant: Restaurant) -> None:
    key = new_key()
    restaurant.join(1, idempotencyKey=key)

    must_be_problem(restaurant.join(2, idempotencyKey=key), 422, "idempotency-key-reused")


def test_two_different_keys_for_one_party_are_refused(restaurant: Restaurant) -> None:
    path = f"{restaurant.public}/queue"

    refused = restaurant.client.post(path, {**a_party(), "idempotencyKey": new_key()}, key=new_key())

    must_be_problem(refused, 400, "invalid-idempotency-key")
    assert restaurant.join(1).json["data"]["tokenNumber"] == 1


@every_keyed_route
@pytest.mark.parametrize("key", ["", "two words"])
def test_a_malformed_key_is_refused_and_nothing_is_done(route: Route, scene: NewScene, key: str) -> None:
    case = CASES[route.name]
    place, bearer = arrived(route, scene)
    asked = case.ask(place)
    before = place.events()

    must_be_problem(case.send(place, asked, key, bearer), 400, "invalid-idempotency-key")

    assert place.events() == before


def arrived(route: Route, scene: NewScene) -> tuple[Scene, str | None]:
    """Where the route can be asked for, and as whom."""
    place = scene(CASES[route.name])
    needs_staff = route.who != "anyone" or route.name == "queue/done"
    return place, place.owner if needs_staff else None


def all_at_once(server: DawrServer, asked: Asked, key: str, bearer: str | None, *, times: int) -> list[Answer]:
    def send(_: int) -> Answer:
        with Client(server.url) as client:
            return client.post(asked.path, json.loads(json.dumps(asked.body)), key=key, bearer=bearer)

    return at_once(send, range(times))


def new_key() -> str:
    return uuid4().hex

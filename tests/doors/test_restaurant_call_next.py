"""POST /api/admin/{restaurantId}/queue/call-next: the next party, once (MISSION B1, B3, B6)."""

import pytest

from dawr.domain.staff import Role
from tests.doors.restaurant import Restaurant
from tests.doors.roles import a_token
from tests.running import Client, DawrServer, at_once, must_be_problem


def test_the_first_party_is_called_with_all_that_staff_need(restaurant: Restaurant) -> None:
    entry = restaurant.join(1, partySize=4, seatingType="indoor").json["data"]
    restaurant.join(2)

    answer = restaurant.call_next()

    assert (answer.status, answer.json["success"]) == (200, True)
    called = answer.json["data"]
    assert called.pop("calledAt") is not None
    assert called == {
        "id": entry["id"],
        "tokenNumber": 1,
        "displayNumber": "R001",
        "status": "CALLED",
        "name": "Party 1",
        "mobileNumber": "+97433000001",
        "partySize": 4,
        "seatingType": "indoor",
        "createdAt": entry["createdAt"],
    }
    assert restaurant.status(entry).json["data"]["status"] == "CALLED"


def test_parties_are_called_in_the_order_they_came(restaurant: Restaurant) -> None:
    for number in (3, 1, 2):
        restaurant.join(number)

    called = [restaurant.call_next().json["data"]["mobileNumber"][-1] for _ in range(3)]

    assert called == ["3", "1", "2"]


def test_nobody_waiting_is_200_with_no_data(restaurant: Restaurant) -> None:
    answer = restaurant.call_next()

    assert (answer.status, answer.json) == (200, {"success": True, "data": None})
    assert restaurant.join(1).json["data"]["tokenNumber"] == 1


def test_an_empty_body_is_as_good_as_an_empty_object(restaurant: Restaurant) -> None:
    restaurant.join(1)

    called = restaurant.client.post(f"{restaurant.admin}/call-next", bearer=restaurant.bearers["staff"])

    assert called.json["data"]["tokenNumber"] == 1


def test_a_retried_call_next_returns_the_party_already_called(restaurant: Restaurant) -> None:
    for number in (1, 2):
        restaurant.join(number)
    first = restaurant.call_next(key="the-call")

    again = restaurant.call_next(key="the-call")

    assert (again.status, again.body, again.headers["idempotency-replayed"]) == (200, first.body, "true")
    assert restaurant.call_next().json["data"]["tokenNumber"] == 2


def test_many_who_call_at_once_never_call_the_same_party(clinic: DawrServer, restaurant: Restaurant) -> None:
    for number in range(20):
        restaurant.join(number)

    def call(_: int) -> int | None:
        with Client(clinic.url) as client:
            called = client.post(f"{restaurant.admin}/call-next", {}, bearer=restaurant.bearers["staff"]).json["data"]
            return None if called is None else int(called["tokenNumber"])

    numbers = at_once(call, range(25))

    assert sorted(number for number in numbers if number is not None) == list(range(1, 21))
    assert numbers.count(None) == 5


def test_the_restaurant_answers_to_its_id_as_well_as_to_its_slug(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]
    venue_id = entry["id"].partition("-")[0]

    called = restaurant.client.post(f"/api/admin/{venue_id}/queue/call-next", {}, bearer=restaurant.bearers["staff"])

    assert called.json["data"]["id"] == entry["id"]


@pytest.mark.parametrize("role", ["staff", "manager", "owner"])
def test_staff_and_those_above_them_call(restaurant: Restaurant, role: Role) -> None:
    restaurant.join(1)

    assert restaurant.call_next(by=role).json["data"]["tokenNumber"] == 1


def test_a_viewer_does_not_call(restaurant: Restaurant) -> None:
    restaurant.join(1)

    must_be_problem(restaurant.call_next(by="viewer"), 403, "role-too-low")

    assert restaurant.call_next().json["data"]["tokenNumber"] == 1


@pytest.mark.parametrize("kind", ["kiosk", "display"])
def test_a_device_does_not_call(restaurant: Restaurant, kind: str) -> None:
    device = a_token(restaurant.client, restaurant.slug, restaurant.owner, None, kind)

    answer = restaurant.client.post(f"{restaurant.admin}/call-next", {}, bearer=device)

    must_be_problem(answer, 403, "role-too-low")


def test_nobody_in_particular_does_not_call(restaurant: Restaurant) -> None:
    must_be_problem(restaurant.client.post(f"{restaurant.admin}/call-next", {}), 401, "not-signed-in")


def test_staff_of_another_venue_do_not_find_it(restaurant: Restaurant, bearers: dict[Role, str]) -> None:
    answer = restaurant.client.post(f"{restaurant.admin}/call-next", {}, bearer=bearers["owner"])

    must_be_problem(answer, 404, "unknown-venue")
    assert answer.json["venue"] == restaurant.slug


def test_a_paused_list_calls_nobody(restaurant: Restaurant) -> None:
    restaurant.join(1)
    restaurant.client.post(f"/v1/queues/{restaurant.slug}:waitlist/pause", {}, bearer=restaurant.owner)

    must_be_problem(restaurant.call_next(), 409, "queue-paused")


def test_a_desk_counts_who_waits_in_a_paused_queue_and_says_which_are_paused(restaurant: Restaurant) -> None:
    """Nobody is called from there, and nobody is forgotten."""
    desk, queue = f"/v1/desks/{restaurant.slug}:host", f"/v1/queues/{restaurant.slug}"
    for number in (1, 2):
        restaurant.join(number)
    restaurant.client.post(f"{queue}:waitlist/pause", {}, bearer=restaurant.owner)
    restaurant.client.post(f"{queue}:bar/tickets", {}, bearer=restaurant.owner)

    before = restaurant.client.get(desk, bearer=restaurant.bearers["viewer"]).json
    called, nobody = (
        restaurant.client.post(f"{desk}/call-next", {}, bearer=restaurant.bearers["staff"]).json for _ in range(2)
    )
    after = restaurant.client.get(desk, bearer=restaurant.bearers["viewer"]).json

    paused = [f"{restaurant.slug}:waitlist"]
    assert (before["waiting"], before["paused"]) == (3, paused)
    assert (called["ticket"]["queue"], called["waiting"], called["paused"]) == (f"{restaurant.slug}:bar", 2, paused)
    assert (nobody["ticket"], nobody["next_label"], nobody["waiting"], nobody["paused"]) == (None, None, 2, paused)
    assert (after["waiting"], after["paused"], len(after["here"])) == (2, paused, 1)


def test_a_desk_whose_queues_are_all_paused_calls_nobody_and_still_counts(restaurant: Restaurant) -> None:
    desk = f"/v1/desks/{restaurant.slug}:host"
    restaurant.join(1)
    for code in ("waitlist", "bar"):
        restaurant.client.post(f"/v1/queues/{restaurant.slug}:{code}/pause", {}, bearer=restaurant.owner)

    refused = restaurant.client.post(f"{desk}/call-next", {}, bearer=restaurant.bearers["staff"])

    must_be_problem(refused, 409, "queue-paused")
    seen = restaurant.client.get(desk, bearer=restaurant.bearers["viewer"]).json
    assert (seen["waiting"], len(seen["paused"])) == (1, 2)


def test_a_desk_that_nothing_is_paused_at_says_so(restaurant: Restaurant) -> None:
    restaurant.join(1)

    called = restaurant.client.post(f"/v1/desks/{restaurant.slug}:host/call-next", {}, bearer=restaurant.owner).json

    assert (called["ticket"]["number"], called["waiting"], called["paused"]) == (1, 0, [])

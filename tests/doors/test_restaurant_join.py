"""POST /api/public/{slug}/queue: a party joins the waitlist (MISSION B1, B6)."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.doors.restaurant import Restaurant, a_party
from tests.running import Client, DawrServer, at_once, must_be_problem

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_a_party_gets_a_token_number_and_a_secret(restaurant: Restaurant) -> None:
    answer = restaurant.join(1)

    assert (answer.status, answer.headers["content-type"]) == (201, "application/json")
    assert answer.json.keys() == {"success", "data"}
    entry = answer.json["data"]
    ticket, secret, link, created = (entry.pop(field) for field in ("id", "secret", "link", "createdAt"))
    assert entry == {
        "tokenNumber": 1,
        "displayNumber": "R001",
        "status": "WAITING",
        "position": 1,
        "estimatedWaitMinutes": 0,
        "partySize": 2,
        "seatingType": None,
        "alreadyInQueue": False,
    }
    assert re.fullmatch(r"[a-z0-9]{6}-[A-Za-z0-9_~]{32}", ticket)
    assert re.fullmatch(r"[a-z0-9]{6}-[A-Za-z0-9_~]{32}\.[A-Za-z0-9_-]{22}", secret)
    assert link == f"/t/{secret}"
    assert ISO.fullmatch(created)
    assert abs(datetime.fromisoformat(created) - datetime.now(UTC)) < timedelta(minutes=5)


def test_the_next_party_is_told_how_long_it_will_take(restaurant: Restaurant) -> None:
    for number in (1, 2):
        restaurant.join(number)

    third = restaurant.join(3).json["data"]

    assert (third["tokenNumber"], third["position"], third["estimatedWaitMinutes"]) == (3, 3, 20)


@pytest.mark.parametrize("seating", ["indoor", "outdoor", "any", None])
@pytest.mark.parametrize("size", [1, 20])
def test_the_size_and_the_wish_come_back(restaurant: Restaurant, seating: str | None, size: int) -> None:
    entry = restaurant.join(1, partySize=size, seatingType=seating).json["data"]

    assert (entry["partySize"], entry["seatingType"]) == (size, seating)


def test_a_number_that_is_on_the_list_keeps_its_place_and_is_not_told_the_secret(restaurant: Restaurant) -> None:
    restaurant.join(1)
    restaurant.join(2)

    again = restaurant.join(1, name="Somebody else", partySize=7).json["data"]

    assert (again["id"], again["tokenNumber"], again["alreadyInQueue"]) == (None, 1, True)
    assert (again["secret"], again["link"], again["partySize"]) == (None, None, 2)
    assert restaurant.join(3).json["data"]["tokenNumber"] == 3


def test_a_number_joins_again_after_it_was_seated_or_gave_up(restaurant: Restaurant) -> None:
    for status in ("SEATED", "CANCELLED"):
        entry = restaurant.join(1).json["data"]
        restaurant.call_next()
        restaurant.change(entry["id"], status)

    third = restaurant.join(1).json["data"]

    assert (third["tokenNumber"], third["alreadyInQueue"]) == (3, False)


def test_a_party_that_missed_its_call_joins_anew_and_stays_a_no_show(restaurant: Restaurant) -> None:
    missed = restaurant.join(1).json["data"]
    restaurant.call_next()
    restaurant.change(missed["id"], "NO_SHOW")
    restaurant.join(2)

    again = restaurant.join(1).json["data"]

    assert (again["tokenNumber"], again["position"], again["alreadyInQueue"]) == (3, 2, False)
    assert restaurant.status(missed).json["data"]["status"] == "NO_SHOW"
    assert restaurant.status(again).json["data"]["status"] == "WAITING"
    assert [entry["tokenNumber"] for entry in restaurant.list().json["data"]] == [2, 3]


def test_names_in_any_script_are_kept_for_those_who_call_them(restaurant: Restaurant) -> None:
    names = ["آمنة بنت خالد", "王小明", "Zoë O’Neill"]
    for number, name in enumerate(names, start=1):
        restaurant.join(number, name=name)

    assert [entry["name"] for entry in restaurant.list().json["data"]] == names


def test_fifty_parties_at_once_get_fifty_numbers(clinic: DawrServer, restaurant: Restaurant) -> None:
    def join(number: int) -> int:
        with Client(clinic.url) as client:
            return int(client.post(f"{restaurant.public}/queue", a_party(number)).json["data"]["tokenNumber"])

    assert sorted(at_once(join, range(50))) == list(range(1, 51))


@pytest.mark.parametrize(
    "given",
    [
        {"name": None},
        {"name": ""},
        {"name": "x" * 129},
        {"name": 42},
        {"mobileNumber": None},
        {"mobileNumber": ""},
        {"mobileNumber": "0097433001122"},
        {"mobileNumber": "+0123456789"},
        {"mobileNumber": "+12345"},
        {"mobileNumber": "+1234567890123456"},
        {"mobileNumber": "+974 3300 1122"},
        {"mobileNumber": "+٩٧٤٣٣٠٠١١٢٢"},
        {"mobileNumber": 97433001122},
        {"partySize": 0},
        {"partySize": 21},
        {"partySize": -1},
        {"partySize": 2.5},
        {"partySize": "2"},
        {"partySize": None},
        {"seatingType": "roof"},
        {"seatingType": ""},
        {"idempotencyKey": ""},
        {"idempotencyKey": "two words"},
        {"idempotencyKey": "x" * 256},
        {"idempotencyKey": 42},
    ],
    ids=str,
)
def test_a_party_of_another_shape_is_refused(restaurant: Restaurant, given: dict[str, object]) -> None:
    must_be_problem(restaurant.join(1, **given), 422, "invalid-body")

    assert restaurant.join(2).json["data"]["tokenNumber"] == 1


@pytest.mark.parametrize("missing", ["name", "mobileNumber", "partySize"])
def test_nothing_that_is_needed_may_be_missing(restaurant: Restaurant, missing: str) -> None:
    given = {field: value for field, value in a_party().items() if field != missing}

    answer = restaurant.client.post(f"{restaurant.public}/queue", given)

    must_be_problem(answer, 422, "invalid-body")
    assert (answer.json["field"], answer.json["why"]) == (missing, "missing")


@pytest.mark.parametrize("name", ["   ", "Ba\0sma", "Ba\nsma", "\u200b", "Ba\u202esma"])
def test_what_cannot_be_shown_is_no_name(restaurant: Restaurant, name: str) -> None:
    answer = restaurant.join(1, name=name)

    must_be_problem(answer, 422, "invalid-value")
    assert answer.json["field"] == "name"
    assert restaurant.join(2).json["data"]["tokenNumber"] == 1


def test_an_unknown_restaurant_is_not_found(client: Client) -> None:
    answer = client.post("/api/public/nowhere/queue", a_party())

    must_be_problem(answer, 404, "unknown-venue")


def test_a_restaurant_without_a_list_has_none_to_join(client: Client, owner: str, restaurant: Restaurant) -> None:
    slug = f"no-list-{restaurant.slug}"
    document = {"name": {"en": "A bar"}, "zone": "Asia/Qatar", "kind": "restaurant"}
    client.post(f"/v1/venues/{slug}/set-up", document, bearer=owner, method="PUT")

    must_be_problem(client.post(f"/api/public/{slug}/queue", a_party()), 404, "unknown-queue")


def test_the_list_is_joined_by_post_only(restaurant: Restaurant) -> None:
    answer = restaurant.client.ask(f"{restaurant.public}/queue")

    must_be_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"


def test_an_inactive_restaurant_refuses_joins_and_still_calls_those_who_wait(restaurant: Restaurant) -> None:
    waiting = restaurant.join(1).json["data"]

    restaurant.set_up(active=False)

    refused = restaurant.join(2)
    must_be_problem(refused, 409, "venue-inactive")
    assert refused.json["venue"] == restaurant.slug
    must_be_problem(restaurant.join(1), 409, "venue-inactive")
    assert restaurant.status(waiting).json["data"]["status"] == "WAITING"
    called = restaurant.call_next().json["data"]
    assert (called["id"], called["status"]) == (waiting["id"], "CALLED")
    assert restaurant.change(waiting["id"], "SEATED").json["data"]["status"] == "SEATED"


def test_a_restaurant_that_is_active_again_takes_parties_again(restaurant: Restaurant) -> None:
    restaurant.set_up(active=False)
    must_be_problem(restaurant.join(1), 409, "venue-inactive")

    restaurant.set_up(active=True)

    assert restaurant.join(1).json["data"]["tokenNumber"] == 1


def test_a_list_that_is_closed_takes_nobody(restaurant: Restaurant) -> None:
    restaurant.client.post(f"/v1/queues/{restaurant.slug}:waitlist/close", {}, bearer=restaurant.owner)

    must_be_problem(restaurant.join(1), 409, "queue-closed")

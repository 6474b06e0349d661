"""GET /api/public/{slug}/queue-status: how a party stands, for whoever holds its secret (MISSION B2)."""

from urllib.parse import urlencode

import pytest

from tests.doors.restaurant import Restaurant
from tests.running import Client, must_be_problem


def test_a_party_sees_its_place_with_its_secret(restaurant: Restaurant) -> None:
    restaurant.join(1)
    entry = restaurant.join(2, partySize=4, seatingType="outdoor").json["data"]

    answer = restaurant.status(entry)

    assert (answer.status, answer.json["success"]) == (200, True)
    assert answer.json["data"] == {
        "id": entry["id"],
        "tokenNumber": 2,
        "displayNumber": "R002",
        "status": "WAITING",
        "position": 2,
        "estimatedWaitMinutes": 10,
        "partySize": 4,
        "seatingType": "outdoor",
        "createdAt": entry["createdAt"],
    }


def test_nothing_of_who_they_are_is_shown(restaurant: Restaurant) -> None:
    entry = restaurant.join(1, name="Amna").json["data"]

    answer = restaurant.status(entry)

    for personal in (b"Amna", b"+974", entry["secret"].encode()):
        assert personal not in answer.body


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        ((), "WAITING"),
        (("CALLED",), "CALLED"),
        (("CALLED", "SEATED"), "SEATED"),
        (("CALLED", "NO_SHOW"), "NO_SHOW"),
        (("CANCELLED",), "CANCELLED"),
        (("CALLED", "CANCELLED"), "CANCELLED"),
    ],
)
def test_the_word_follows_the_party_to_the_end(restaurant: Restaurant, steps: tuple[str, ...], word: str) -> None:
    entry = restaurant.join(1).json["data"]

    for step in steps:
        restaurant.change(entry["id"], step)

    seen = restaurant.status(entry).json["data"]
    assert (seen["status"], seen["position"]) == (word, 1 if word == "WAITING" else 0)


def test_the_position_grows_smaller_as_others_are_called(restaurant: Restaurant) -> None:
    entries = [restaurant.join(number).json["data"] for number in (1, 2, 3)]

    restaurant.call_next()

    assert [restaurant.status(entry).json["data"]["position"] for entry in entries] == [0, 1, 2]


def test_one_partys_secret_does_not_open_anothers_entry(restaurant: Restaurant) -> None:
    one, other = (restaurant.join(number).json["data"] for number in (1, 2))

    for entry in ({**one, "secret": other["secret"]}, {**other, "secret": one["secret"]}):
        must_be_problem(restaurant.status(entry), 404, "unknown-visit")


@pytest.mark.parametrize("secret", ["x", "x.y", ".", "dws_x", "../../etc/passwd", "\0", "é", "x" * 200])
def test_a_wrong_secret_is_as_if_there_were_no_entry(restaurant: Restaurant, secret: str) -> None:
    entry = restaurant.join(1).json["data"]

    must_be_problem(restaurant.status({**entry, "secret": secret}), 404, "unknown-visit")


def test_half_a_secret_and_the_right_visit_are_not_enough(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]
    visit, _, secret = entry["secret"].partition(".")

    for wrong in (visit, f"{visit}.", f"{visit}.{secret[:-1]}", f"{visit}.{secret}x", f".{secret}"):
        must_be_problem(restaurant.status({**entry, "secret": wrong}), 404, "unknown-visit")


def test_another_restaurants_door_does_not_show_it(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]
    query = urlencode({"entryId": entry["id"], "secret": entry["secret"]})

    elsewhere = restaurant.client.ask(f"/api/public/clinic/queue-status?{query}")

    must_be_problem(elsewhere, 404, "unknown-visit")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?entryId=x",
        "?secret=x",
        "?entryId=&secret=x",
        "?entryId=x&secret=",
        "?entryId=x&entryId=y&secret=z",
        "?entryId=%ff&secret=y",
        "?entryId=x&secret=" + "y" * 201,
    ],
)
def test_what_is_no_question_is_refused(restaurant: Restaurant, query: str) -> None:
    must_be_problem(restaurant.client.ask(f"{restaurant.public}/queue-status{query}"), 422, "invalid-query")


def test_an_unknown_restaurant_is_not_found(client: Client) -> None:
    must_be_problem(client.ask("/api/public/nowhere/queue-status?entryId=x&secret=y"), 404, "unknown-venue")

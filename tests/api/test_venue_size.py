"""A venue has a bounded size: whoever looks at it pays for each of its queues, desks and journeys."""

from typing import Any

import pytest
from msgspec.structs import asdict

from dawr.domain.text import MAX_TEXT_CHARS
from dawr.domain.venue import DEFAULT_LIMITS
from tests.api.test_venues import OWNER, a_set_up, put
from tests.api.world import Api
from tests.builders import a_new
from tests.running import must_be_problem


def queues(count: int) -> list[dict[str, Any]]:
    return [{"id": f"q{number}", "name": {"en": "Q"}} for number in range(count)]


def desks(count: int) -> list[dict[str, Any]]:
    return [{"id": f"d{number}", "name": {"en": "D"}, "queues": []} for number in range(count)]


def journeys(count: int) -> list[dict[str, Any]]:
    return [{"id": f"j{number}", "name": {"en": "J"}, "fixed": [{"queue": "main"}]} for number in range(count)]


@pytest.mark.parametrize(
    ("field", "given", "limit"),
    [
        ("queues", {"queues": queues(1500), "desks": []}, 200),
        ("queues", {"queues": queues(201), "desks": []}, 200),
        ("desks", {"desks": desks(201)}, 200),
        ("journeys", {"journeys": journeys(51)}, 50),
    ],
)
def test_a_set_up_that_is_too_large_is_refused_with_the_limit(
    api: Api, field: str, given: dict[str, Any], limit: int
) -> None:
    slug = a_new("big")

    made = put(api, slug, a_set_up(**given))
    existing = put(api, "clinic", a_set_up(**given))

    for refused in (made, existing):
        must_be_problem(refused, 422, "invalid-value")
        assert (refused.json["field"], refused.json["most"]) == (field, limit)
        assert refused.json["count"] == len(given[field])
        assert str(limit) in refused.json["detail"]
    must_be_problem(api.get(f"/v1/venues/{slug}"), 404, "unknown-venue")


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("name", {"name": {f"x-{number}": "n" * 128 for number in range(16)}}),
        ("name", {"queues": [{"id": "main", "name": {f"x-{number}": "n" * 128 for number in range(16)}}]}),
        (
            "aliases",
            {"queues": [{"id": "main", "name": {"en": "M"}, "aliases": [f"a{n}".ljust(32, "x") for n in range(63)]}]},
        ),
        (
            "aliases",
            {"journeys": [{**journeys(1)[0], "aliases": [f"a{number}".ljust(64, "x") for number in range(32)]}]},
        ),
    ],
)
def test_texts_that_are_too_long_together_are_refused_with_the_limit(
    api: Api, field: str, given: dict[str, Any]
) -> None:
    refused = put(api, a_new("long"), a_set_up(**given))

    must_be_problem(refused, 422, "invalid-value")
    assert (refused.json["field"], refused.json["most"]) == (field, MAX_TEXT_CHARS)


def hours(*, week: list[list[str]] | None = None, dates: int = 0) -> dict[str, Any]:
    exceptions: dict[str, list[str]] = {f"{2100 + number // 28}-01-{1 + number % 28:02}": [] for number in range(dates)}
    return {"hours": {"week": week or [[]] * 7, "exceptions": exceptions}}


@pytest.mark.parametrize(
    ("field", "given", "count", "limit"),
    [
        (
            "desks",
            {
                "queues": queues(200),
                "desks": [{**desk, "queues": [f"q{number}" for number in range(200)]} for desk in desks(11)],
            },
            2200,
            2000,
        ),
        ("hours", {"queues": [{**queues(1)[0], **hours(dates=401)}], "desks": []}, 401, 400),
        (
            "hours",
            {"queues": [{**queues(1)[0], **hours(week=[["08:00-08:01"] * 25, *[[]] * 6])}], "desks": []},
            25,
            24,
        ),
    ],
)
def test_desks_and_hours_that_would_be_slow_are_refused_with_the_limit(
    api: Api, field: str, given: dict[str, Any], count: int, limit: int
) -> None:
    refused = put(api, a_new("slow"), a_set_up(**given))

    must_be_problem(refused, 422, "invalid-value")
    assert (refused.json["field"], refused.json["count"], refused.json["most"]) == (field, count, limit)
    assert str(limit) in refused.json["detail"]


def test_a_venue_of_the_largest_size_is_made_and_looked_at(api: Api) -> None:
    slug = a_new("largest")
    largest = {"queues": [*queues(199), *a_set_up()["queues"]], "desks": desks(200), "journeys": journeys(50)}

    assert put(api, slug, a_set_up(**largest)).status == 201
    seen = api.get(f"/v1/venues/{slug}").json
    assert {field: len(seen[field]) for field in ("queues", "desks", "journeys")} == asdict(DEFAULT_LIMITS)
    assert api.get(f"/v1/venues/{slug}/set-up", by=OWNER).status == 200

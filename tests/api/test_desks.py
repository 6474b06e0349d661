"""Desks and PINs over HTTP: who sits where, and who may read what (MISSION A9, A16)."""

import time

import pytest

from tests.api.journeys import OWNER, Clinic, new_clinic
from tests.api.world import PASSWORD, Api
from tests.running import must_be_problem


@pytest.fixture
def clinic(api: Api) -> Clinic:
    return new_clinic(api)


@pytest.fixture
def nurse(clinic: Clinic) -> str:
    """A session of somebody who works at this clinic, and manages nothing."""
    name = f"nurse.{clinic.slug}"
    added = {"username": name, "role": "staff", "password": PASSWORD}
    clinic.post(f"/v1/venues/{clinic.slug}/staff", added)
    return clinic.api.sign_in(name)


def desk_of(clinic: Clinic, room: str = "101") -> str:
    return f"/v1/desks/{clinic.slug}:room-{room}"


def test_a_desk_is_opened_by_somebody_goes_on_a_break_and_is_closed(clinic: Clinic, nurse: str) -> None:
    until = int(time.time() * 1000) + 600_000

    opened = clinic.post(f"{desk_of(clinic)}/open", by=nurse).json
    on_break = clinic.post(f"{desk_of(clinic)}/break", {"until": until}, by=nurse).json
    seen = clinic.api.get(f"/v1/venues/{clinic.slug}").json["desks"][0]
    closed = clinic.post(f"{desk_of(clinic)}/close", by=nurse).json

    assert (opened["state"], opened["occupant"]) == ("open", f"staff:nurse.{clinic.slug}")
    assert (on_break["state"], on_break["until"], on_break["occupant"]) == ("break", until, opened["occupant"])
    assert (seen["state"], seen["until"]) == ("break", until)
    assert (closed["state"], closed["occupant"]) == ("closed", None)


@pytest.mark.parametrize("later_ms", [-1000, 0, 13 * 60 * 60 * 1000])
def test_a_break_into_the_past_or_without_end_is_refused(clinic: Clinic, later_ms: int) -> None:
    until = int(time.time() * 1000) + later_ms

    must_be_problem(clinic.api.post(f"{desk_of(clinic)}/break", {"until": until}, by=OWNER), 422, "invalid-value")

    assert clinic.api.get(desk_of(clinic), by=OWNER).json["desk"]["state"] == "closed"


def test_a_desk_shows_who_was_called_there(clinic: Clinic) -> None:
    ticket = clinic.api.take(f"{clinic.slug}:lab")["ticket"]
    clinic.post(f"{desk_of(clinic)}/call-next")

    assert [one["ticket"] for one in clinic.api.get(desk_of(clinic), by=OWNER).json["here"]] == [ticket]


def test_a_pin_is_for_managers_and_for_whoever_sits_at_a_desk_of_that_queue(clinic: Clinic, nurse: str) -> None:
    lab, eye = f"/v1/queues/{clinic.slug}:lab/pin", f"/v1/queues/{clinic.slug}:eye/pin"
    must_be_problem(clinic.api.post(lab, {}, by=nurse), 403, "not-at-this-desk")

    clinic.post(f"{desk_of(clinic)}/open", by=nurse)

    assert clinic.post(lab, by=nurse).json["pin"] == clinic.pin("lab")
    must_be_problem(clinic.api.post(eye, {}, by=nurse), 403, "not-at-this-desk")
    must_be_problem(clinic.api.post(f"{eye}/rotate", {}, by=nurse), 403, "not-at-this-desk")
    clinic.post(f"{desk_of(clinic)}/close", by=nurse)
    must_be_problem(clinic.api.post(lab, {}, by=nurse), 403, "not-at-this-desk")


def test_all_pins_of_a_venue_differ_and_all_are_made_anew_at_once(clinic: Clinic) -> None:
    before = [clinic.pin(queue) for queue in ("lab", "eye", "int")]

    renewed = clinic.post(f"/v1/venues/{clinic.slug}/pins/renew").json["pins"]

    after = [one["pin"] for one in renewed]
    assert len(set(before)) == len(set(after)) == 3
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert all(len(pin) == 2 and pin.isdigit() for pin in before + after)


def test_a_pin_of_ones_own_choice_is_refused_where_it_does_not_fit(clinic: Clinic) -> None:
    path, taken = f"/v1/queues/{clinic.slug}:lab/pin/rotate", clinic.pin("eye")

    must_be_problem(clinic.api.post(path, {"pin": taken}, by=OWNER), 409, "pin-taken")
    must_be_problem(clinic.api.post(path, {"pin": "123"}, by=OWNER), 422, "invalid-value")
    must_be_problem(clinic.api.post(path, {"pin": 12}, by=OWNER), 422, "invalid-body")
    free = next(f"{pin:02}" for pin in range(100) if f"{pin:02}" not in {taken, clinic.pin("lab"), clinic.pin("int")})
    assert clinic.post(path, {"pin": free}).json["pin"] == free


def test_more_than_fifty_queues_have_pins_of_three_digits(api: Api) -> None:
    queues = [{"id": f"q{number}", "name": {"en": "Q"}} for number in range(51)]
    large = new_clinic(api, queues=queues, desks=[], journeys=[])

    assert len(large.post(f"/v1/queues/{large.slug}:q7/pin").json["pin"]) == 3
    must_be_problem(
        api.ask(
            "PUT",
            f"/v1/venues/{large.slug}/set-up",
            {"name": {"en": "Large"}, "zone": "Asia/Qatar", "queues": queues, "pin_digits": 2},
            by=OWNER,
        ),
        422,
        "invalid-value",
    )


def test_who_was_called_is_given_more_time(clinic: Clinic) -> None:
    ticket = clinic.api.take(f"{clinic.slug}:lab")["ticket"]
    must_be_problem(clinic.api.post(f"/v1/tickets/{ticket}/extend", {}, by=OWNER), 409, "ticket-in-wrong-state")
    clinic.post(f"/v1/tickets/{ticket}/call")

    assert clinic.post(f"/v1/tickets/{ticket}/extend", {"minutes": 5}).json["state"] == "called"
    must_be_problem(clinic.api.post(f"/v1/tickets/{ticket}/extend", {"minutes": 0}, by=OWNER), 422, "invalid-body")

"""Somebody who walks in gets a number from the console, with a link to take along; a restaurant's host sees parties."""

import re

import pytest

from tests.api.journeys import new_clinic
from tests.api.pages import Page
from tests.api.pressing import Button, Buttons, Desk
from tests.api.world import Api
from tests.running import Answer

STAFF = "staff@clinic"


@pytest.fixture
def desk(api: Api) -> Desk:
    clinic = new_clinic(api)
    clinic.post(f"/v1/venues/{clinic.slug}/staff", {"username": STAFF, "role": "staff"})
    return Desk(api, clinic.slug, "room-101")


@pytest.fixture
def host(api: Api) -> Desk:
    """The desk at the entrance of a restaurant."""
    house = new_clinic(
        api,
        kind="restaurant",
        queues=[{"id": "waitlist", "name": {"en": "Waitlist"}, "prefix": "R"}],
        desks=[{"id": "host", "name": {"en": "Host"}, "queues": ["waitlist"]}],
        journeys=[],
        walking_minutes={},
    )
    house.post(f"/v1/venues/{house.slug}/staff", {"username": STAFF, "role": "staff"})
    return Desk(api, house.slug, "host")


def words_of(answer: Answer) -> str:
    return " ".join(Page(answer.body).text.split())


def test_whoever_walks_in_gets_a_number_and_a_link_that_opens_their_page(desk: Desk) -> None:
    given = desk.press(
        "Give a number", "/walk-in", name="Noor", queue="eye", priority="1", why="elderly", note="Slowly"
    )

    link = re.search(r'href="(/t/[^"]+)"', given.body.decode())
    assert given.status == 200
    assert "E001" in words_of(given)
    assert "Next in line" in words_of(given)
    assert link is not None
    assert desk.api.get(link[1]).status == 200
    seen = Desk(desk.api, desk.venue, "room-201").text()
    assert "Noor · Slowly" in seen
    assert "Priority" in seen


def test_marks_that_nobody_sees_do_not_stand_in_the_way_of_a_name(desk: Desk) -> None:
    given = desk.press("Give a number", "/walk-in", name="\u200fليلى\u202c", queue="lab")

    assert given.status == 200
    assert "L001" in words_of(given)
    assert "ليلى" in desk.text()


def test_the_form_that_is_sent_twice_gives_one_number(desk: Desk) -> None:
    button = desk.buttons("/walk-in")["Give a number"]

    first, again = (desk.send(button, "/walk-in") for _ in range(2))

    assert "L001" in words_of(first)
    assert "L001" in words_of(again)
    assert "Waiting1" in desk.text()


def test_what_does_not_fit_is_said_and_what_was_typed_is_kept(desk: Desk) -> None:
    wrong = desk.press("Give a number", "/walk-in", name="Zed", note="x" * 300)

    kept: Button = next(one for one in Buttons(wrong.body).found if one.words == "Give a number")
    assert wrong.status == 422
    assert "at most 200 characters" in words_of(wrong)
    assert kept.fields["name"] == "Zed"
    assert desk.send(kept, "/walk-in", note="").status == 200


def test_a_closed_and_a_full_queue_are_said(api: Api) -> None:
    clinic = new_clinic(
        api,
        queues=[
            {"id": "lab", "name": {"en": "Lab"}, "capacity": 0},
            {"id": "eye", "name": {"en": "Eye"}, "state": "closed"},
        ],
        desks=[{"id": "room-101", "name": {"en": "101"}, "queues": ["lab"]}],
        journeys=[],
    )
    clinic.post(f"/v1/venues/{clinic.slug}/staff", {"username": STAFF, "role": "staff"})
    desk = Desk(api, clinic.slug, "room-101")

    full, closed = (desk.press("Give a number", "/walk-in", queue=queue) for queue in ("lab", "eye"))

    assert (full.status, closed.status) == (409, 409)
    assert "has given all its numbers for today" in words_of(full)
    assert "Queue Eye is closed." in words_of(closed)


def test_the_host_sees_parties_and_may_call_another_while_one_is_on_the_way(host: Desk) -> None:
    for name, size, area in (("Noor", "4", "outdoor"), ("Sam", "1", ""), ("Lee", "2", "indoor")):
        host.press("Give a number", "/walk-in", name=name, party_size=size, area=area, visitor=f"+97455{size}")

    before = host.text()
    host.must_press("Call next")
    host.must_press("Call another")
    both = host.text()
    host.must_press("Arrived", at="start")
    host.must_press("Seated")

    assert "4 people, outdoors" in before
    assert "Noor" in before
    assert "Stage" not in before
    assert "PIN" not in before
    assert "R002 called 0:00 ago" in both
    assert "R001 called" in both
    assert "2 people, indoors" in host.text()


def test_a_party_that_is_there_already_is_told_its_number(host: Desk) -> None:
    typed = ("+97455512345", "00974 555-123 45")
    _, answer = (host.press("Give a number", "/walk-in", name="Noor", visitor=visitor) for visitor in typed)

    assert "R001" in words_of(answer)
    assert "They had this number already." in words_of(answer)
    assert "/t/" not in answer.body.decode()

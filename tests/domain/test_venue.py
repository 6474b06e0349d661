"""A venue as it was set up."""

from typing import Any

import msgspec
import pytest

from dawr.domain.day import Day
from dawr.domain.errors import InvalidValue, UnknownDesk, UnknownQueue
from dawr.domain.venue import Desk, DeskId, Venue, checked
from tests.domain.builders import a_desk, a_queue, a_venue

FIVE_IN_QATAR = 1_741_572_000_000  # 2025-03-10 05:00


@pytest.mark.parametrize("asked", ["lab", "LAB", "laboratory", "Laboratory"])
def test_a_queue_is_found_by_its_code_or_an_alias_in_any_case(asked: str) -> None:
    lab = a_queue("lab", aliases=("laboratory",))

    assert a_venue(a_queue("xray"), lab).queue(asked) is lab


def test_a_queue_that_is_not_here_is_named_as_it_was_asked_for() -> None:
    with pytest.raises(UnknownQueue, match="'Eye'") as refusal:
        a_venue().queue("Eye")

    assert refusal.value.facts == {"queue": "Eye"}


def test_a_desk_is_found_by_its_code_in_any_case() -> None:
    desk = a_desk("desk-2", "lab")
    venue = a_venue(desks=(a_desk("desk-1"), desk))

    assert venue.desk("DESK-2") is desk
    with pytest.raises(UnknownDesk, match="'desk-3'"):
        venue.desk("desk-3")


def test_the_day_of_a_venue_is_the_one_of_its_zone_and_never_goes_back() -> None:
    venue = a_venue()

    assert venue.day_at(FIVE_IN_QATAR - 1, reached=Day("2025-03-01")) == "2025-03-09"
    assert venue.day_at(FIVE_IN_QATAR, reached=Day("2025-03-01")) == "2025-03-10"
    assert venue.day_at(FIVE_IN_QATAR, reached=Day("2025-03-11")) == "2025-03-11"


def test_changing_one_queue_leaves_the_others_in_their_order() -> None:
    venue = a_venue(a_queue("lab"), a_queue("xray"), a_queue("eye"))
    paused = a_queue("xray", state="paused")

    changed = venue.with_queue(paused)

    assert changed.queues == (a_queue("lab"), paused, a_queue("eye"))
    assert venue.queue("xray").state == "open"


@pytest.mark.parametrize(
    ("given", "field", "sentence"),
    [
        ({"slug": "My Clinic"}, "venue", "no venue code"),
        ({"name": {}}, "name", "needs a name in at least one language"),
        ({"desks": (Desk(DeskId("desk-1"), {}, ()),)}, "name", "needs a name in at least one language"),
        ({"zone": "Asia/Doha2"}, "zone", "not an IANA time zone"),
        ({"zone": "localtime"}, "zone", "not an IANA time zone"),
        ({"zone": "Factory"}, "zone", "not an IANA time zone"),
        ({"day_start": -1}, "day_start", "between 00:00 and 12:00"),
        ({"day_start": 12 * 60 + 1}, "day_start", "between 00:00 and 12:00"),
        ({"queues": (a_queue("lab"), a_queue("lab"))}, "queues", "Two queues answer to 'lab'"),
        ({"queues": (a_queue("lab"), a_queue("xray", aliases=("lab",)))}, "queues", "Two queues answer to 'lab'"),
        ({"queues": (a_queue("lab", prefix="TOOLONG"),)}, "prefix", "longer than 4"),
        ({"desks": (a_desk("Desk 1"),)}, "desk", "no desk code"),
        ({"desks": (a_desk("desk-1"), a_desk("desk-1"))}, "desks", "Two desks are called 'desk-1'"),
        ({"desks": (a_desk("desk-1", "eye"),)}, "desks", "serves 'eye', which is no queue"),
        ({"desks": (a_desk("desk-1", "lab", "lab"),)}, "desks", "serves 'lab' twice"),
    ],
)
def test_a_set_up_that_makes_no_sense_is_refused_with_a_sentence(
    given: dict[str, Any], field: str, sentence: str
) -> None:
    with pytest.raises(InvalidValue, match=sentence) as refusal:
        checked(a_venue(**given))

    assert refusal.value.facts == {"field": field}


@pytest.mark.parametrize("day_start", [0, 12 * 60])
def test_a_set_up_that_makes_sense_is_taken_as_it_is(day_start: int) -> None:
    venue = a_venue(
        a_queue("lab", aliases=("laboratory",)),
        a_queue("xray"),
        desks=(a_desk("desk-1", "lab", "xray"), a_desk("desk-2", "lab")),
        day_start=day_start,
        zone="Pacific/Kiritimati",
    )

    assert checked(venue) is venue


def test_a_set_up_with_a_word_that_nobody_knows_is_not_read() -> None:
    document = msgspec.json.encode({**msgspec.to_builtins(a_venue()), "colour": "green"})

    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.json.decode(document, type=Venue)


def test_a_set_up_survives_being_written_down() -> None:
    venue = a_venue(a_queue(capacity=20, reserve=10), desks=(a_desk(),))

    assert msgspec.json.decode(msgspec.json.encode(venue), type=Venue) == venue

"""A venue as it was set up."""

from datetime import date
from typing import Any

import msgspec
import pytest

from dawr.domain.day import Day
from dawr.domain.errors import InvalidValue, UnknownDesk, UnknownQueue, UnknownVenue
from dawr.domain.hours import Hours, WrittenSpan
from dawr.domain.venue import Desk, DeskId, Venue, VenueKind, checked, clinic_among
from tests.domain.builders import a_desk, a_queue, a_venue

FIVE_IN_QATAR = 1_741_572_000_000  # 2025-03-10 05:00


@pytest.mark.parametrize("asked", ["lab", "LAB", "laboratory", "Laboratory"])
def test_a_queue_is_found_by_its_code_or_an_alias_in_any_case(asked: str) -> None:
    lab = a_queue("lab", aliases=("laboratory",))

    assert a_venue(a_queue("xray"), lab).queue(asked) is lab


def test_a_queue_that_is_not_here_is_named_as_it_was_asked_for() -> None:
    with pytest.raises(UnknownQueue, match="queue=Eye") as refusal:
        a_venue().queue("Eye")

    assert refusal.value.facts == {"queue": "Eye"}


def test_a_desk_is_found_by_its_code_in_any_case() -> None:
    desk = a_desk("desk-2", "lab")
    venue = a_venue(desks=(a_desk("desk-1"), desk))

    assert venue.desk("DESK-2") is desk
    with pytest.raises(UnknownDesk, match="desk=desk-3"):
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
    ("given", "field", "rule"),
    [
        ({"slug": "My Clinic"}, "venue", "rule=code"),
        ({"name": {}}, "name", "name-of"),
        ({"desks": (Desk(DeskId("desk-1"), {}, ()),)}, "name", "name-of"),
        ({"zone": "Asia/Doha2"}, "zone", "rule=zone"),
        ({"zone": "localtime"}, "zone", "rule=zone"),
        ({"zone": "Factory"}, "zone", "rule=zone"),
        ({"day_start": -1}, "day_start", "day-start"),
        ({"day_start": 12 * 60 + 1}, "day_start", "day-start"),
        ({"hue": -1}, "hue", "range least=0 most=359"),
        ({"hue": 360}, "hue", "range least=0 most=359"),
        ({"queues": (a_queue("lab"), a_queue("lab"))}, "queues", "two-queues queue=lab"),
        ({"queues": (a_queue("lab"), a_queue("xray", aliases=("lab",)))}, "queues", "two-queues queue=lab"),
        ({"queues": (a_queue("lab", prefix="TOOLONG"),)}, "prefix", "queue-prefix"),
        ({"slug": "--help"}, "venue", "rule=code"),
        ({"queues": (a_queue("-lab"),)}, "queue", "rule=code"),
        ({"queues": (a_queue("lab", aliases=("Lab 2",)),)}, "queue", "rule=code"),
        ({"queues": (a_queue("lab", aliases=("_lab",)),)}, "queue", "rule=code"),
        ({"desks": (a_desk("Desk 1"),)}, "desk", "rule=code"),
        ({"desks": (a_desk("-1"),)}, "desk", "rule=code"),
        ({"desks": (a_desk("desk-1"), a_desk("desk-1"))}, "desks", "two-desks"),
        ({"desks": (a_desk("desk-1", "eye"),)}, "desks", "desk-serves-nothing"),
        ({"desks": (a_desk("desk-1", "lab", "lab"),)}, "desks", "desk-serves-twice"),
    ],
)
def test_a_set_up_that_makes_no_sense_is_refused_with_the_rule(given: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(InvalidValue, match=rule) as refusal:
        checked(a_venue(**given))

    assert refusal.value.facts["field"] == field


@pytest.mark.parametrize(("day_start", "hue"), [(0, 0), (12 * 60, 359)])
def test_a_set_up_that_makes_sense_is_taken_as_it_is(day_start: int, hue: int) -> None:
    venue = a_venue(
        a_queue("lab", aliases=("laboratory",)),
        a_queue("xray"),
        desks=(a_desk("desk-1", "lab", "xray"), a_desk("desk-2", "lab")),
        day_start=day_start,
        hue=hue,
        zone="Pacific/Kiritimati",
    )

    assert checked(venue) is venue


def test_a_set_up_with_a_word_that_nobody_knows_is_not_read() -> None:
    document = msgspec.json.encode({**msgspec.to_builtins(a_venue()), "colour": "green"})

    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.json.decode(document, type=Venue)


@pytest.mark.parametrize(
    "unknown", [{"language": "fr"}, {"digits": "roman"}, {"hue": "teal"}, {"hue": 12.5}, {"display": "closed"}]
)
def test_a_look_that_nobody_knows_is_not_read(unknown: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError, match=next(iter(unknown))):
        msgspec.convert(msgspec.to_builtins(a_venue()) | unknown, Venue)


def test_a_set_up_from_before_venues_had_a_look_is_read_as_one_that_says_nothing_of_it() -> None:
    look = {"language": "en", "digits": "latin", "hue": None, "display": "open"}
    now = msgspec.to_builtins(a_venue())
    before = {name: value for name, value in now.items() if name not in look}

    assert {name: now[name] for name in look} == look
    assert msgspec.convert(before, Venue) == a_venue()


def test_a_set_up_survives_being_written_down() -> None:
    venue = a_venue(
        a_queue(capacity=20, reserve=10), desks=(a_desk(),), language="ar", digits="arabic", hue=260, display="staff"
    )

    assert msgspec.json.decode(msgspec.json.encode(venue), type=Venue) == venue


def of_kind(slug: str, kind: VenueKind) -> Venue:
    return msgspec.structs.replace(a_venue(), slug=slug, kind=kind)


def closed_for_good(slug: str) -> Venue:
    return msgspec.structs.replace(of_kind(slug, "clinic"), active=False)


HARBOUR, BISTRO = of_kind("harbour", "clinic"), of_kind("bistro", "restaurant")


def test_the_clinic_is_the_one_that_is_called_so_or_the_only_one() -> None:
    others = [of_kind("north", "clinic"), BISTRO]

    assert clinic_among([HARBOUR, BISTRO], called="") is HARBOUR
    assert clinic_among([HARBOUR, *others], called="harbour") is HARBOUR
    assert clinic_among([HARBOUR, *others], called=HARBOUR.id) is HARBOUR
    assert clinic_among([HARBOUR, BISTRO], called="bistro") is BISTRO


def test_a_clinic_that_is_not_active_is_meant_only_where_none_is() -> None:
    gone = closed_for_good("gone")

    assert clinic_among([gone, HARBOUR], called="") is HARBOUR
    assert clinic_among([gone, BISTRO], called="") is gone
    assert clinic_among([gone, HARBOUR], called="gone") is gone
    with pytest.raises(UnknownVenue, match="count=2 venues=away, gone"):
        clinic_among([gone, closed_for_good("away")], called="")


@pytest.mark.parametrize(
    ("venues", "called", "facts"),
    [
        ([], "", {"why": "no-clinic"}),
        ([BISTRO], "", {"why": "no-clinic"}),
        ([HARBOUR], "clinic", {"why": "setting", "venue": "clinic"}),
        (
            [HARBOUR, BISTRO, of_kind("abbey", "clinic")],
            "",
            {"why": "several-clinics", "count": 2, "venues": "abbey, harbour"},
        ),
        (
            [of_kind(f"clinic-{number}", "clinic") for number in range(9)],
            "",
            {"why": "several-clinics", "count": 9, "venues": "clinic-0, clinic-1, clinic-2, clinic-3, clinic-4, …"},
        ),
    ],
)
def test_without_a_clinic_or_with_several_nobody_guesses(
    venues: list[Venue], called: str, facts: dict[str, object]
) -> None:
    with pytest.raises(UnknownVenue) as refusal:
        clinic_among(venues, called=called)

    assert refusal.value.facts == facts


def test_a_venue_is_written_as_people_read_it_and_read_back_the_same() -> None:
    venue = a_venue(a_queue(hours=Hours(week=(("08:00-16:00",),) * 7)), a_queue("eye"), desks=(a_desk(),))

    written = venue.as_written()

    assert written["queues"][0]["hours"]["week"][0] == ["08:00-16:00"]
    assert msgspec.convert(written, Venue) == venue


def test_a_venue_that_was_larger_before_may_stay_as_large_or_shrink_but_not_grow() -> None:
    before = a_venue(*(a_queue(f"q{number}") for number in range(230)))

    assert checked(before, before=before) is before
    smaller = msgspec.structs.replace(before, queues=before.queues[:220])
    assert checked(smaller, before=before) is smaller
    with pytest.raises(InvalidValue, match="too-many count=230 most=200"):
        checked(before, before=smaller)


def served(count: int) -> Venue:
    """A venue whose desks serve so many queues together."""
    queues = [a_queue(f"q{number}") for number in range(100)]
    codes = [queue.id for queue in queues]
    desks = [a_desk(f"d{number}", *codes[: count - 100 * number]) for number in range(-(-count // 100))]
    return a_venue(*queues, desks=tuple(desks))


def with_hours(*, spans: int = 1, dates: int = 0) -> Venue:
    day = tuple((minute, minute + 1) for minute in range(0, 2 * spans, 2))
    exceptions: dict[str, tuple[WrittenSpan, ...]] = {
        date.fromordinal(740_000 + number).isoformat(): () for number in range(dates)
    }
    return a_venue(a_queue("lab", hours=Hours(week=((),) * 6 + (day,), exceptions=exceptions)))


@pytest.mark.parametrize(
    ("largest", "larger", "largest_of_all", "refusal"),
    [
        (served(2_000), served(2_001), served(2_002), "too-many-served count=2001 most=2000"),
        (with_hours(spans=24), with_hours(spans=25), with_hours(spans=26), "too-many-spans .*count=25 most=24"),
        (with_hours(dates=400), with_hours(dates=401), with_hours(dates=402), "too-many-dates .*count=401 most=400"),
    ],
)
def test_what_the_desks_serve_and_the_hours_are_limited_and_may_stay_as_large_as_before(
    largest: Venue, larger: Venue, largest_of_all: Venue, refusal: str
) -> None:
    assert checked(largest) is largest
    assert checked(larger, before=larger) is larger
    assert checked(larger, before=largest_of_all) is larger
    for before in (None, largest):
        with pytest.raises(InvalidValue, match=refusal):
            checked(larger, before=before)


def test_the_spans_of_a_date_are_limited_as_those_of_a_weekday_are() -> None:
    day = tuple((minute, minute + 1) for minute in range(0, 50, 2))

    with pytest.raises(InvalidValue, match="too-many-spans queue=lab count=25 most=24"):
        checked(a_venue(a_queue("lab", hours=Hours(week=((),) * 7, exceptions={"2026-12-31": day}))))

"""What the screen in the hall shows at a moment: when a call is one, and what everybody should know."""

import msgspec
import pytest

from dawr.domain import Day, Line, State, Ticket, Venue
from dawr.domain.hours import Hours
from dawr.domain.ticket import TicketId, VisitId
from dawr.operations.desks import VenueSnapshot
from dawr.web.pages.display import LAST_CALL_MS, LIVE_MS, figures, hall_of
from tests.builders import MONDAY_AT_TEN, a_queue, a_venue, day_of

MINUTE_MS = 60_000


def seen(venue: Venue, *calls: Ticket) -> VenueSnapshot:
    day = day_of(venue, MONDAY_AT_TEN)
    lines = [Line(venue.id, queue.id, day, 1) for queue in venue.queues]
    return VenueSnapshot(venue, MONDAY_AT_TEN, day, lines, [], list(calls))


def a_call(venue: Venue, number: int, *, ago_ms: int, state: State = "called") -> Ticket:
    queue = venue.queues[0]
    at = MONDAY_AT_TEN - ago_ms
    return Ticket(
        venue.id,
        TicketId(f"t{number}"),
        queue.id,
        Day(day_of(venue, MONDAY_AT_TEN)),
        1,
        number,
        queue.label(number),
        0,
        number,
        state,
        "",
        None,
        VisitId(f"v{number}"),
        at,
        called_at=at,
    )


@pytest.mark.parametrize(
    ("ago_ms", "shown"),
    [(0, "live"), (LIVE_MS - 1, "live"), (LIVE_MS, "last"), (LAST_CALL_MS - 1, "last"), (LAST_CALL_MS, "latest")],
)
def test_a_call_is_one_for_a_minute_and_then_the_last_for_a_while(ago_ms: int, shown: str) -> None:
    venue = a_venue()

    hall = hall_of(seen(venue, a_call(venue, 1, ago_ms=ago_ms)))

    places = {"live": hall.live, "last": hall.last, "latest": hall.latest}
    assert [place for place, calls in places.items() if calls] == [shown]


def test_whoever_has_come_is_not_called_any_more() -> None:
    venue = a_venue()

    hall = hall_of(seen(venue, a_call(venue, 1, ago_ms=1000, state="serving")))

    assert hall.live == []


def test_six_at_once_in_order_and_the_six_before_them() -> None:
    venue = a_venue()
    calls = [a_call(venue, 20 - place, ago_ms=place * 1000) for place in range(15)]

    hall = hall_of(seen(venue, *calls))

    assert [call.ticket.number for call in hall.live] == [15, 16, 17, 18, 19, 20]
    assert [call.ticket.number for call in hall.latest] == [14, 13, 12, 11, 10, 9]
    assert hall.size == "six"


def hours(*spans: str) -> Hours:
    return Hours((spans,) * 7, {})


def test_a_queue_that_opens_later_today_says_when_and_one_that_does_not_says_nothing() -> None:
    venue = a_venue(
        a_queue("later", hours=hours("13:00-15:00")), a_queue("earlier", hours=hours("06:00-07:00")), a_queue("open")
    )

    (notice,) = hall_of(seen(venue)).notices

    assert notice.kind == "opens"
    assert notice.queue is venue.queues[0]
    assert notice.at == MONDAY_AT_TEN + 3 * 60 * MINUTE_MS


def test_when_no_queue_takes_anybody_today_that_is_said() -> None:
    venue = a_venue(a_queue("earlier", hours=hours("06:00-07:00")), a_queue("closed", state="closed"))

    assert [notice.kind for notice in hall_of(seen(venue)).notices] == ["closed"]


def test_the_clock_of_the_hall_is_the_venues() -> None:
    assert hall_of(seen(a_venue(zone="Asia/Qatar"))).minutes_from_utc == 180
    assert hall_of(seen(a_venue(zone="Asia/Kolkata"))).minutes_from_utc == 330
    assert hall_of(seen(a_venue(zone="America/New_York"))).minutes_from_utc == -300


def test_the_longest_wait_of_all_its_queues_is_said() -> None:
    venue = a_venue(a_queue("short", mean_service_seconds=60), a_queue("long", mean_service_seconds=600))
    snapshot = seen(venue)
    lines = [msgspec.structs.replace(line, waiting=(3, 0, 0, 0)) for line in snapshot.lines]

    hall = hall_of(msgspec.structs.replace(snapshot, lines=lines))

    assert (hall.waiting, hall.wait_minutes) == (6, 30)


def test_figures_are_large_and_text_stays_text() -> None:
    assert figures("about 35 min") == "about <b>35</b> min"
    assert figures("نحو ٣٥ دقيقة") == "نحو <b>٣٥</b> دقيقة"
    assert figures("<1> & no") == "&lt;<b>1</b>&gt; &amp; no"

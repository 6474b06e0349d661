"""Who ran into a limit is said once a second, and never by name."""

from collections import Counter

from structlog.testing import capture_logs

from dawr.reliability.rate_limit import Hits
from tests.reliability.limiters import DrivenClock

SECRET = b"held by this process only"


def test_the_first_is_said_at_once_and_the_others_are_counted_until_the_next_word() -> None:
    clock, counted = DrivenClock(), Counter[str]()
    hits = Hits(clock, SECRET, count=lambda policy: counted.update([policy]))

    with capture_logs() as lines:
        for _ in range(10):
            hits.note("join", "198.51.100.7")
            clock.ms += 90
        hits.note("login", "account amna")
        clock.ms += 100
        hits.note("join", "198.51.100.8")
        clock.ms += 5000
        hits.note("join", "198.51.100.8")

    assert [(line["event"], line["log_level"], line["policy"], line["times"]) for line in lines] == [
        ("limit.hit", "info", "join", 1),
        ("limit.hit", "info", "login", 1),
        ("limit.hit", "info", "join", 10),
        ("limit.hit", "info", "join", 1),
    ]
    assert counted == {"join": 12, "login": 1}


def test_one_key_is_the_same_in_every_line_and_another_process_writes_it_otherwise() -> None:
    clock = DrivenClock()
    with capture_logs() as lines:
        for hits in (Hits(clock, SECRET), Hits(clock, SECRET), Hits(clock, b"another secret")):
            hits.note("join", "198.51.100.7")
        Hits(clock, SECRET).note("join", "198.51.100.8")

    one, same, elsewhere, other = [line["key"] for line in lines]
    assert one == same
    assert len({one, elsewhere, other}) == 3
    assert all(set(key) <= set("0123456789abcdef") and len(key) == 16 for key in (one, elsewhere, other))

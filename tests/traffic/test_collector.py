"""What is written down of a request, and under which id."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dawr.traffic.collector import MOST_PATHS, MOST_REMEMBERED, Answered, Collector, Kept
from dawr.traffic.event import MS_PER_DAY, MS_PER_MINUTE, Event, decoded
from dawr.traffic.identity import whole_hash
from dawr.traffic.keys import VisitorKeys
from dawr.traffic.spool import Spool
from tests.traffic.builders import bodies_in

MIDNIGHT = 1_730_937_600_000
NOON = MIDNIGHT + MS_PER_DAY // 2


class Collecting:
    """A collector on a driven clock, and what it wrote."""

    def __init__(self, directory: Path, name: str = "one", **kept: Any) -> None:  # noqa: ANN401 - of Kept
        numbers = count(1)
        self.now = NOON
        self.said: list[str] = []
        self._spools = directory / f"spool-{name}"
        self.spool = Spool(self._spools, lambda: f"{next(numbers):032x}")
        self.collector = Collector(
            self.spool,
            VisitorKeys(directory / "key", lambda: b"k" * 32),
            clock=lambda: self.now,
            new_id=lambda: f"made-{name}-{next(numbers)}",
            kept=Kept(**kept),
            told=self.said.append,
        )

    def collect(self, request_id: str | None = None, *, client: str = "10.0.0.1", **more: Any) -> str:  # noqa: ANN401 - of Answered
        given: dict[str, Any] = {
            "method": "GET",
            "path": "/v1/queues/{queue}",
            "raw_path": "/v1/queues/clinic:lab",
            "status": 200,
            "took_ns": 1_234_567,
            **more,
        }
        return self.collector.collect(Answered(client=client, request_id=request_id, **given))

    def events(self) -> list[Event]:
        return [decoded(body) for body in bodies_in(self._spools)]


@pytest.fixture
def collecting(tmp_path: Path) -> Iterator[Collecting]:
    made = Collecting(tmp_path)
    yield made
    made.spool.close()


def test_a_request_is_written_down_with_what_the_seed_names(collecting: Collecting) -> None:
    made = collecting.collect(
        "ray-1", status=503, by_rule=True, correlation_id="c1", user_agent=b"curl/8.5", country="QA"
    )

    [event] = collecting.events()
    assert event.idempotent_id == made
    assert (event.timestamp, event.path, event.method, event.status) == (NOON, "/v1/queues/{queue}", "GET", 503)
    assert (event.response_time, event.outcome, event.country) == (1.234, "refused", "QA")
    assert (event.request_id, event.correlation_id, event.user_agent) == ("ray-1", "c1", "curl")
    assert len(event.client_ip_hash) == 16
    assert "10.0.0.1" not in str(event)
    assert "clinic:lab" not in str(event)


def test_who_was_named_in_a_path_cannot_be_found_by_trying_names(collecting: Collecting) -> None:
    collecting.collect("ray-1", path="/v1/venues/{venue}/staff/{username}", raw_path="/v1/venues/clinic/staff/amna")

    [event] = collecting.events()
    tried = {name: f"/v1/venues/clinic/staff/{name}" for name in ("noor", "amna", "basma")}
    kept = (event.client_ip_hash, "", event.idempotent_id)
    found = [name for name, path in tried.items() for known in kept if whole_hash(known, path, "ray-1") == event.hash]
    assert found == []


def test_a_repeat_under_a_trusted_id_has_the_id_of_the_first_time_for_ten_minutes(collecting: Collecting) -> None:
    first = collecting.collect("ray-1")
    collecting.now += 10 * MS_PER_MINUTE
    again = collecting.collect("ray-1")
    collecting.now += 1
    another_request = collecting.collect("ray-1")

    assert again == first
    assert another_request != first


@pytest.mark.parametrize("other", [{"client": "10.0.0.2"}, {"raw_path": "/v1/queues/clinic:xray"}])
def test_an_id_is_one_of_a_visitor_and_a_path(collecting: Collecting, other: dict[str, Any]) -> None:
    assert collecting.collect("ray-1") != collecting.collect("ray-1", **other)


def test_without_a_trusted_id_two_requests_are_two(collecting: Collecting) -> None:
    assert collecting.collect() != collecting.collect()


def test_a_repeat_after_midnight_is_known_by_yesterdays_key(tmp_path: Path) -> None:
    one, other = Collecting(tmp_path), Collecting(tmp_path, "other")
    one.now = MIDNIGHT + MS_PER_DAY - 1000
    first = one.collect("ray-1")

    one.now = other.now = MIDNIGHT + MS_PER_DAY + MS_PER_MINUTE
    in_its_process, elsewhere = one.collect("ray-1"), other.collect("ray-1")
    one.spool.close()
    other.spool.close()

    [there] = other.events()
    assert in_its_process == first
    assert elsewhere != first
    assert there.hash_before == one.events()[0].hash


def test_what_is_remembered_is_bounded(collecting: Collecting) -> None:
    for number in range(MOST_REMEMBERED + 10):
        collecting.collector._first_time(NOON, f"{number:064x}", None, "")

    assert len(collecting.collector._first) == len(collecting.collector._by_age) == MOST_REMEMBERED


def test_beyond_a_thousand_paths_all_others_are_one(collecting: Collecting) -> None:
    for number in range(MOST_PATHS + 2):
        collecting.collect(path=f"/{number}")

    paths = [event.path for event in collecting.events()]
    assert len(set(paths)) == MOST_PATHS + 1
    assert paths[-2:] == ["(other)", "(other)"]


def test_visitors_and_agents_can_be_left_out(tmp_path: Path) -> None:
    collecting = Collecting(tmp_path, visitors=False, agents=False)

    collecting.collect(user_agent=b"curl/8.5")
    collecting.spool.close()

    [event] = collecting.events()
    assert (event.client_ip_hash, event.user_agent) == ("", "")


def test_sampling_thins_details_and_never_counts(tmp_path: Path) -> None:
    collecting = Collecting(tmp_path, details=0.25)

    for _ in range(2000):
        collecting.collect()
    collecting.spool.close()

    events = collecting.events()
    assert len(events) == 2000
    assert 400 < sum(not event.counted_only for event in events) < 600


def test_each_step_can_be_followed_by_its_id(collecting: Collecting) -> None:
    made = collecting.collect()

    assert collecting.said == [f"Queue sent: {made} | Path: /v1/queues/{{queue}} | Status: 200"]


def test_what_has_no_place_on_the_disk_is_said_to_be_kept_in_memory(collecting: Collecting) -> None:
    collecting.spool.is_full = True

    made = collecting.collect()

    assert collecting.said == [f"Queue fallback to memory: {made} | Path: /v1/queues/{{queue}} | Status: 200"]

"""A morning read back from its rows and events, by somebody who knows nothing of the rules that wrote them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.databases import rows_of

OPEN = {"waiting", "called", "serving", "held", "missed"}
PLACES = """
    SELECT v.visit_id, v.stages, (
        SELECT count(*) FROM tickets AS t
        WHERE t.venue_id = v.venue_id AND t.visit_id = v.visit_id AND t.open_key IS NOT NULL
    )
    FROM visits AS v WHERE v.stages IS NOT NULL AND v.state = 'open'
"""


class Happened(NamedTuple):
    version: int
    kind: str
    queue: str | None
    ticket: str | None
    data: dict[str, Any]


class StoredTicket(NamedTuple):
    ticket: str
    queue: str
    day: str
    round: int
    number: int
    state: str
    visit: str
    visitor: str


class StoredVisit(NamedTuple):
    visit: str
    visitor: str
    state: str
    journey: str
    stages: list[dict[str, Any]]
    locked: bool
    failures: int

    def queues(self, *states: str) -> list[str]:
        """Those of its plan that are in one of these states; a state that is not written is `locked`."""
        return [stage["queue"] for stage in self.stages if stage.get("state", "locked") in states]


class Books:
    """Everything that is stored of a morning."""

    def __init__(self, database: Path | str) -> None:
        events = rows_of(database, "SELECT version, kind, queue_id, ticket_id, data FROM events ORDER BY version")
        tickets = "SELECT ticket_id, queue_id, day, round, number, state, visit_id, visitor FROM tickets"
        visits = "SELECT visit_id, visitor, state, journey, stages, locked_at, pin_failures FROM visits"
        self.events = [Happened._make((*row[:4], json.loads(row[4]))) for row in events]
        self.tickets = [StoredTicket._make(row) for row in rows_of(database, f"{tickets} ORDER BY number")]
        self.visits = [
            StoredVisit._make((*who, json.loads(stages), locked is not None, len(json.loads(failures or "[]"))))
            for *who, stages, locked, failures in rows_of(
                database, f"{visits} WHERE stages IS NOT NULL ORDER BY started_at, visit_id"
            )
        ]
        self.version = rows_of(database, "SELECT version FROM heads")
        self._visit_of = {ticket.ticket: ticket.visit for ticket in self.tickets}

    def kinds(self) -> Counter[str]:
        return Counter(event.kind for event in self.events)

    def of(self, kind: str) -> list[Happened]:
        return [event for event in self.events if event.kind == kind]

    def finished(self) -> Mapping[str, list[str]]:
        """Visit → the queues where its visitor was finished, in the order in which it happened."""
        done: dict[str, list[str]] = {visit.visit: [] for visit in self.visits}
        for event in self.of("ticket.finished"):
            done.setdefault(self._visit_of[str(event.ticket)], []).append(str(event.queue))
        return done

    def must_have_no_holes(self) -> None:
        """Every version once; every number of every line once, from 1."""
        versions = [event.version for event in self.events]
        assert versions == list(range(1, len(versions) + 1)), "events are missing"
        assert self.version == [(len(versions),)], self.version
        lines: dict[tuple[str, str, int], list[int]] = {}
        for ticket in self.tickets:
            lines.setdefault((ticket.queue, ticket.day, ticket.round), []).append(ticket.number)
        for line, numbers in lines.items():
            assert numbers == list(range(1, len(numbers) + 1)), line

    def must_have_been_in_one_place_at_a_time(self) -> None:
        """After no event did a visit have two open tickets, and each ended where its row says."""
        state: dict[str, str] = {}
        places: dict[str, set[str]] = {}
        for event in self.events:
            if event.ticket is None:
                continue
            state[event.ticket] = event.data["state"]
            here = places.setdefault(self._visit_of[event.ticket], set())
            (here.add if state[event.ticket] in OPEN else here.discard)(event.ticket)
            assert len(here) <= 1, event
        assert state == {ticket.ticket: ticket.state for ticket in self.tickets}

    def must_have_done_each_stage_once(self, plans: Mapping[str, Sequence[str]]) -> None:
        """By visitor: what their plan was. Who is finished did all of it, others some; nobody anything twice."""
        finished = self.finished()
        for visit in self.visits:
            done, plan = finished[visit.visit], plans[visit.visitor]
            assert len(set(done)) == len(done), (visit, done)
            assert set(done) <= set(plan), (visit, done)
            assert sorted(done) == sorted(visit.queues("completed")), (visit, done)
            if visit.state == "finished":
                assert sorted(done) == sorted(plan), (visit, done)

    def must_have_nobody_left(self) -> None:
        waiting = [ticket for ticket in self.tickets if ticket.state in OPEN]
        under_way = [visit for visit in self.visits if visit.state == "open" or visit.queues("ready", "in_queue")]
        assert (waiting, under_way) == ([], []), (waiting, under_way)


def must_stand_somewhere(database: Path | str) -> tuple[int, int]:
    """Who is under way has one open ticket, or none and a stage that is ready; how many are in a queue, and ready."""
    places = list(_places(database))
    lost = [place for place in places if place not in {(1, 1, 0), (0, 0, 1)}]
    assert not lost, lost
    return places.count((1, 1, 0)), places.count((0, 0, 1))


def _places(database: Path | str) -> Iterator[tuple[int, int, int]]:
    """Of each visit under way: open tickets, stages in a queue, and whether one is ready."""
    for _, stages, tickets in rows_of(database, PLACES):
        states = Counter(stage.get("state", "locked") for stage in json.loads(stages))
        yield tickets, states["in_queue"], int(states["ready"] > 0)

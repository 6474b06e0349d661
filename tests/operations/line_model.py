"""Lines and tickets, told in the plainest way: what people in one queue do.

Order is a row of seats. Whoever comes takes a new one at its end, whoever may go to the front gets one there, who is
held keeps theirs, and a seat that somebody gave up stays empty: so a change that is undone leads back to it.
"""

import copy
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import msgspec

from dawr.domain.venue import Venue

Plain = Any
"""Numbers, texts, lists and dicts."""
Row = dict[str, Any]
LineId = tuple[str, str, int]
"""Queue, day, round."""
Seen = tuple[int, str, str | None, str | None, int, str | None, Row]
"""An event: version, kind, queue, ticket, time, actor, and what more is said of it."""

OFFSET_MS = 3 * 60 * 60 * 1000
DAY_START_MS = 5 * 60 * 60 * 1000
DAY_MS = 24 * 60 * 60 * 1000
ENDED = {"finished", "left", "expired"}
NEAR_TURN = 3
NOT_LATER = {"call", "rejoin", "hold", "resume", "prioritize"}
"""Not done any more in a line that has ended."""
VERBS = {
    "call": ("waiting", "called", "called"),
    "recall": ("called", "called", "recalled"),
    "extend": ("called", "called", "extended"),
    "start": ("called", "serving", "started"),
    "finish": ("called serving missed", "finished", "finished"),
    "miss": ("called", "missed", "missed"),
    "rejoin": ("missed", "waiting", "rejoined"),
    "hold": ("waiting called", "held", "held"),
    "resume": ("held", "waiting", "resumed"),
    "prioritize": ("waiting", "waiting", "prioritized"),
    "leave": ("waiting called held missed", "left", "left"),
    "expire": ("waiting called serving held missed", "expired", "expired"),
}
"""Verb → from, to, participle."""


class No(Exception):
    """The model refuses, under this code."""


class LineModel:
    def __init__(self, venue: Venue, now: int) -> None:
        setup = msgspec.to_builtins(venue)
        self.venue_id = venue.id
        self.queues: dict[str, Row] = {queue["id"]: queue for queue in setup["queues"]}
        self.served_at: dict[str, list[str]] = {desk["id"]: desk["queues"] for desk in setup["desks"]}
        self.now = now
        self.reached = self._date()
        self.actor = "nobody"
        self.upcoming: Sequence[Seen] = ()
        self.changes = 0
        self.tickets: dict[str, Row] = {}
        self.replaced: dict[str, Row | None] = {}
        self.seats: list[int] = []
        self.seat_of: dict[str, int] = {}
        self.rounds: dict[tuple[str, str], int] = {}
        self.used_before: dict[LineId, int] = {}
        self.calls: dict[LineId, list[tuple[str, int]]] = {}
        self.shown: dict[LineId, int | None] = {}
        self.services: dict[LineId, list[tuple[str, int]]] = {}
        self.overtaken: dict[str, dict[tuple[str, str], tuple[int, int]]] = {}
        self.events: list[Seen] = []

    def copied(self) -> Self:
        """Rows are copied, and what is in them is replaced but never changed."""
        other = copy.copy(self)
        for name, rows in vars(self).items():
            if isinstance(rows, dict):
                vars(other)[name] = {
                    key: row.copy() if isinstance(row, dict | list) else row for key, row in rows.items()
                }
            elif isinstance(rows, list):
                vars(other)[name] = rows.copy()
        return other

    # What is asked of it

    def line(self, key: LineId) -> Row:
        tickets = self._of_line(key)
        states = [ticket["state"] for ticket in tickets]
        waiting = [ticket["priority"] for ticket in tickets if ticket["state"] == "waiting"]
        calls = self.calls.get(key, [])
        return {
            "venue_id": self.venue_id,
            "queue_id": key[0],
            "day": key[1],
            "round": key[2],
            "last_number": len(tickets),
            "used_before": self.used_before.get(key, 0),
            "waiting": [waiting.count(priority) for priority in range(4)],
            **{state: states.count(state) for state in ("called", "serving", "held", "missed", "finished")},
            "current_number": self.shown.get(key),
            "calls": len(calls),
            "waits_ms": sum(waited for _, waited in calls if waited <= DAY_MS),
            "services_ms": sum(took for _, took in self.services.get(key, []) if took <= DAY_MS),
            "begins_behind": 0,
        }

    def ahead(self, ticket: Row) -> int:
        """Of those who wait; who is held keeps standing, and is told too."""
        if ticket["state"] not in {"waiting", "held"}:
            return 0
        others = [
            other for other in self._of_line(line_of(ticket)) if other["state"] == "waiting" and other is not ticket
        ]
        return self._in_order([*others, ticket]).index(ticket)

    def first(self, queues: list[str]) -> Row | None:
        waiting = [t for queue in queues for t in self._of_line(self.current(queue)) if t["state"] == "waiting"]
        return next(iter(self._in_order(waiting)), None)

    def current(self, queue: str) -> LineId:
        day = self.day()
        return (queue, day, self.rounds.get((queue, day), 1))

    def day(self) -> str:
        return max(self.reached, self._date())

    # What happens

    def _verb(self, ticket: Row, verb: str, *, for_good: bool = False, more: Row | None = None, **facts: Plain) -> Row:
        """A verb, with what follows from it. `for_good`: the visitor goes home."""
        self._must_be(VERBS[verb][0], ticket)
        if verb in NOT_LATER and self.current(ticket["queue_id"]) != line_of(ticket):
            raise No("line-ended")
        if VERBS[verb][1] in ENDED:
            self._end(ticket, verb, for_good=for_good)
        else:
            self._change(ticket, verb, more=more, **facts)
        self._set_timers(ticket, verb)
        return ticket

    def _end(self, ticket: Row, verb: str, *, for_good: bool = False) -> None:
        raise NotImplementedError

    def _set_timers(self, ticket: Row, verb: str) -> None:
        raise NotImplementedError

    def _change(self, ticket: Row, verb: str, *, more: Row | None = None, **facts: Plain) -> None:
        _, state, participle = VERBS[verb]
        key, ticket_id = line_of(ticket), ticket["ticket_id"]
        self.replaced[ticket_id] = {
            "verb": verb,
            "at": self.now,
            "ticket": dict(ticket),
            "seat": self.seat_of[ticket_id],
            "shown": self.shown.get(key),
            "visit": None,
        }
        if where := facts.pop("where", None):
            facts["sequence"] = self._sit_down(ticket_id, where)
        if verb == "resume" and (ticket["called_at"] or 0) > (ticket["rejoined_at"] or 0):
            facts["rejoined_at"] = self.now
        ticket |= facts | {"state": state, f"{participle}_at": self.now}
        if state in ENDED:
            ticket["open_key"] = None
        if verb == "call":
            waited = max(0, self.now - (ticket["rejoined_at"] or ticket["issued_at"]))
            self.calls[key] = [*self.calls.get(key, []), (ticket_id, waited)]
            if not (more or {}).get("unannounced"):
                self.shown[key] = ticket["number"]
        if verb == "finish":
            took = max(0, self.now - (ticket["started_at"] or ticket["called_at"]))
            self.services[key] = [*self.services.get(key, []), (ticket_id, took)]
        self._happened(f"ticket.{participle}", ticket["queue_id"], ticket_id, **(more or {}))
        ticket["version"] = len(self.events)

    def _give_number(self, queue: str, ticket_id: str, more: Row, **facts: Plain) -> Row:
        key = self.current(queue)
        number = len(self._of_line(key)) + 1
        ticket: Row = {
            "venue_id": self.venue_id,
            "ticket_id": ticket_id,
            "queue_id": queue,
            "day": key[1],
            "round": key[2],
            "number": number,
            "label": f"{queue[0].upper()}{number:03}",
            "sequence": self._sit_down(ticket_id, "last"),
            "state": "waiting",
            "issued_at": self.now,
            "version": len(self.events) + 1,
            "desk_id": None,
            "recalls": 0,
            "from_ticket_id": None,
            "name": None,
            "party_size": 1,
            "area": None,
            "stage": None,
            **{f"{participle}_at": None for _, _, participle in VERBS.values()},
            **facts,
        }
        self.tickets[ticket_id] = ticket
        self.replaced[ticket_id] = None
        self._happened("ticket.issued", queue, ticket_id, **more)
        return ticket

    def _sit_down(self, ticket_id: str, where: str) -> int:
        """On a new seat. The number that orders the line says when, and is below nought at the front."""
        seat = self.seat_of[ticket_id] = len(self.seats)
        self.seats.insert(0 if where == "first" else len(self.seats), seat)
        return (len(self.events) + 1) * (-1 if where == "first" else 1)

    def _overtaking(self, why: str, people: int) -> Row:
        """What is said of it; summed by day, person and reason."""
        if not people:
            return {}
        sums = self.overtaken.setdefault(self.day(), {})
        times, all_people = sums.get((self.actor, why), (0, 0))
        sums[self.actor, why] = (times + 1, all_people + people)
        self._changed()
        return {"why": why, "overtaken": people}

    def _overtakes(self, ticket: Row, priority: int) -> int:
        """How many are ahead of a waiting one now and would be behind it, with another priority."""
        line: list[int] = self.line(line_of(ticket))["waiting"]
        return self.ahead(ticket) - sum(line[priority:])

    def _happened(self, kind: str, queue: str | None, ticket: str | None = None, **more: Plain) -> None:
        self._changed()
        self.events.append((len(self.events) + 1, kind, queue, ticket, self.now, self.actor, more))

    def _changed(self) -> None:
        """The day is reached with the first change in it, whether or not that is an event."""
        self.reached = self.day()
        self.changes += 1

    def _upcoming_id(self) -> str:
        """Ids are nobody's business: the next event says which one was made."""
        version = len(self.events) + 1
        made = (event[3] for event in self.upcoming if event[0] == version and event[1] == "ticket.issued")
        return next(made, None) or f"not made at {version}"

    # What it looks at

    def _must_take(self, queue: str) -> None:
        """Whether it is open to newcomers; refused in words if not."""
        if self.queues[queue]["state"] == "closed":
            raise No("queue-closed")
        if not self._is_within_hours(queue):
            raise No("outside-hours")

    def _is_full(self, queue: str) -> bool:
        key, capacity = self.current(queue), self.queues[queue]["capacity"]
        used = self.used_before.get(key, 0) + len(self._of_line(key))
        return capacity is not None and used >= capacity + self.queues[queue]["reserve"]

    def _is_within_hours(self, queue: str) -> bool:
        hours = self.queues[queue]["hours"]
        local = self._local(self.now)
        return hours is None or any(
            start <= local.hour * 60 + local.minute < end for start, end in hours["week"][local.weekday()]
        )

    def _next_hour(self, queue: str, *, which: tuple[int, ...]) -> int | None:
        """When its hours begin (0) or end (1) next."""
        today = self._local(self.now).replace(hour=0, minute=0, second=0, microsecond=0)
        moments = [
            int((day + timedelta(minutes=span[end])).timestamp() * 1000) - OFFSET_MS
            for day in (today + timedelta(days=ahead) for ahead in range(9))
            for span in self.queues[queue]["hours"]["week"][day.weekday()]
            for end in which
        ]
        return min((moment for moment in moments if moment > self.now), default=None)

    def _has_ended(self, ticket: Row) -> bool:
        """Its line; but who was called before a reset is still served."""
        _, day, number = self.current(ticket["queue_id"])
        if ticket["day"] < day:
            return self._day_is_over(ticket["day"])
        return ticket["round"] < number and ticket["state"] in {"waiting", "held", "missed"}

    def _day_is_over(self, day: str) -> bool:
        """Nobody knows while the day that was reached has not come yet."""
        return day < self.day() and not self._is_ahead()

    def _wait_minutes(self, queue: str, key: LineId, ahead: int) -> int:
        line = self.line(key)
        typed_in = 5 * self.queues[queue]["mean_service_seconds"] * 1000
        mean = (typed_in + line["services_ms"]) / (5 + line["finished"])
        desks_at_work: int = max(1, line["called"] + line["serving"])
        minutes: float = ahead * mean / desks_at_work / 60_000
        return round(minutes)

    def _place(self, ticket: Row, *, already: bool = False) -> Plain:
        key = line_of(ticket)
        queue, ahead = self.queues[ticket["queue_id"]], self.ahead(ticket)
        used = self.used_before.get(key, 0) + ticket["number"]
        return {
            "queue": ticket["queue_id"],
            "ticket": ticket,
            "ahead": ahead,
            "position": ahead + 1 if ticket["state"] == "waiting" else 0,
            "wait_minutes": self._wait_minutes(ticket["queue_id"], key, ahead),
            "already": already,
            "reserve_mode": queue["capacity"] is not None and used > queue["capacity"],
            "is_near": ticket["state"] == "waiting" and ahead <= NEAR_TURN,
            "current": self.shown.get(key),
        }

    def _ticket(self, ticket_id: str) -> Row:
        if ticket_id not in self.tickets:
            raise No("unknown-ticket")
        return self.tickets[ticket_id]

    def _open(self, open_key: str) -> Row | None:
        theirs = [t for t in self.tickets.values() if t["open_key"] == open_key]
        assert len(theirs) <= 1
        return theirs[0] if theirs else None

    def _must_be(self, states: str, ticket: Row) -> None:
        if ticket["state"] not in states.split():
            raise No("ticket-in-wrong-state")

    def _of_line(self, key: LineId) -> list[Row]:
        return [t for t in self.tickets.values() if (t["queue_id"], t["day"], t["round"]) == key]

    def _in_order(self, tickets: list[Row]) -> list[Row]:
        return sorted(tickets, key=lambda t: (-t["priority"], self.seats.index(self.seat_of[t["ticket_id"]])))

    def _date(self, moment: int | None = None) -> str:
        """Of the service day; without a moment, now."""
        return self._local((moment or self.now) - DAY_START_MS).strftime("%Y-%m-%d")

    def _is_ahead(self) -> bool:
        """The clock went back behind the day that was reached."""
        return self.reached > self._date()

    def _end_of_day(self) -> int:
        midnight = datetime.fromisoformat(self.day()).replace(tzinfo=UTC) + timedelta(days=1)
        return int(midnight.timestamp() * 1000) - OFFSET_MS + DAY_START_MS

    def _local(self, moment: int) -> datetime:
        return datetime.fromtimestamp((moment + OFFSET_MS) / 1000, UTC)


def line_of(ticket: Row) -> LineId:
    return (ticket["queue_id"], ticket["day"], ticket["round"])

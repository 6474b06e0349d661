"""All rows of a venue in plain words, as the model has them."""

from functools import singledispatch
from typing import Any

import msgspec

from dawr.domain import (
    Alarm,
    AlarmKey,
    Day,
    LineKey,
    Pin,
    Queue,
    TicketId,
    Venue,
    Visit,
    VisitId,
)
from dawr.domain.errors import Refused
from dawr.operations.operation import View
from dawr.operations.pins import Went
from dawr.operations.rows import ALARMS, DESKS, OVERTAKINGS, PINS, VISITS
from dawr.operations.ticket import Joined
from dawr.operations.transaction import Transaction
from dawr.operations.visits import Whereabouts
from dawr.ports import Wants
from dawr.reliability.idempotency import KeyReused, Reply
from tests.operations.line_model import Plain, Row
from tests.operations.model import Model


class Picture(View[Row], frozen=True):
    """Every row that the model knows of, and how many are ahead of each ticket, read at one moment."""

    tickets: tuple[TicketId, ...]
    open_keys: tuple[str, ...]
    lines: tuple[LineKey, ...]
    visits: tuple[VisitId, ...]
    alarms: tuple[AlarmKey, ...]
    days: tuple[Day, ...]

    @staticmethod
    def of(model: Model) -> "Picture":
        tickets = model.tickets.values()
        return Picture(
            tuple(TicketId(ticket) for ticket in model.tickets),
            tuple(t["open_key"] for t in tickets if t["open_key"]),
            tuple(sorted({LineKey(t["queue_id"], t["day"], t["round"]) for t in tickets})),
            tuple(VisitId(visit) for visit in model.visits),
            tuple(AlarmKey(*key) for key in model.alarms),
            tuple(Day(day) for day in model.overtaken),
        )

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.tickets.update(self.tickets)
        wants.open_keys.update(self.open_keys)
        wants.lines.update(self.lines)
        wants.waiting.update(queue.id for queue in venue.queues)
        wants.add(VISITS, *self.visits)
        wants.add(ALARMS, *self.alarms)
        wants.add(OVERTAKINGS, *self.days)
        wants.add(PINS)
        wants.add(DESKS)

    def look(self, tx: Transaction, now: int) -> Row:  # noqa: ARG002 - a view is asked like this
        tickets = [tx.ticket(ticket_id) for ticket_id in self.tickets]
        sums = {day: tx.find(OVERTAKINGS, day) for day in self.days}
        return {
            "day": tx.day,
            "tickets": {ticket.ticket_id: plain(ticket) for ticket in tickets},
            "ahead": {ticket.ticket_id: tx.ahead_of(ticket) for ticket in tickets},
            "current": [plain(tx.line(queue.id)) for queue in tx.venue.queues],
            "lines": [plain(tx.line_at(key)) for key in self.lines],
            "first": [plain(tx.first_waiting(queue.id)) for queue in tx.venue.queues],
            "states": [queue.state for queue in tx.venue.queues],
            "visits": {visit_id: plain(tx.get(VISITS, visit_id)) for visit_id in self.visits},
            "open keys": {visit_id: tx.get(VISITS, visit_id).open_key for visit_id in self.visits},
            "alarms": {key: plain(tx.find(ALARMS, key)) for key in self.alarms},
            "pins": {pin.queue_id: plain(pin) for pin in tx.all(PINS)},
            "desks": {desk.desk_id: plain(desk) for desk in tx.all(DESKS)},
            "overtaken": {
                day: {(actor, why): sums for actor, whys in row.read().items() for why, sums in whys.items()}
                for day, row in sums.items()
                if row is not None
            },
        }


@singledispatch
def plain(result: object) -> Plain:
    """An answer as numbers, texts, lists and dicts. What an undo would need is seen when it is done."""
    built = _builtins(result)
    for part in (built, built.get("ticket"), built.get("next")) if isinstance(built, dict) else ():
        if isinstance(part, dict):
            part.pop("previous", None)
    return built


@plain.register
def _(refusal: Exception) -> Plain:
    if not isinstance(refusal, Refused | KeyReused):
        raise refusal
    return {"refused": refusal.code}


@plain.register
def _(reply: Reply) -> Plain:
    return {"body": msgspec.json.decode(reply.body), "replayed": reply.replayed}


@plain.register
def _(queue: Queue) -> Plain:
    return {"queue": queue.id, "state": queue.state}


@plain.register
def _(joined: Joined) -> Plain:
    return {
        "queue": joined.queue.id,
        "ticket": plain(joined.ticket),
        **{name: getattr(joined, name) for name in ("ahead", "position", "wait_minutes")},
        **{name: getattr(joined, name) for name in ("already", "reserve_mode", "is_near", "current")},
    }


@plain.register
def _(seen: Whereabouts) -> Plain:
    return {
        "visit": plain(seen.visit),
        "joined": None if seen.joined is None else plain(seen.joined),
        "awaited": _builtins(seen.awaited),
        "already": seen.already,
        "undo_until": seen.undo_until,
    }


@plain.register
def _(went: Went) -> Plain:
    return {"ticket": plain(went.ticket), "now": plain(went.now)}


@plain.register
def _(alarm: Alarm) -> Plain:
    return alarm.due_at


@plain.register
def _(pin: Pin) -> Plain:
    rotated, failures = msgspec.json.decode(pin.rotated), msgspec.json.decode(pin.failures)
    return {"day": pin.day, "pin": pin.pin, "made_at": pin.made_at, "rotated": rotated, "failures": failures}


@plain.register
def _(visit: Visit) -> Plain:
    built = _builtins(visit)
    for name in ("venue_id", "open_key", "name", "previous", "note"):
        del built[name]
    built["failures"] = sorted(msgspec.json.decode(built.pop("pin_failures") or "[]"))
    if visit.stages is not None:
        built["stages"] = [
            {name: getattr(stage, name) for name in ("queue", "pin", "fixed", "state", "ticket_id", "number")}
            for stage in visit.plan
        ]
    return built


def render(result: object) -> Reply:
    return Reply(200, msgspec.json.encode(plain(result)))


def _builtins(result: object) -> Any:  # noqa: ANN401 - whatever it is made of
    return msgspec.json.decode(msgspec.json.encode(result))

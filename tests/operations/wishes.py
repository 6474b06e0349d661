"""What people at a venue wish for: mostly what makes sense as things are, sometimes anything."""

import itertools
from collections.abc import Callable
from random import Random
from typing import Any, get_args

import msgspec

from dawr.domain import (
    Journey,
    Link,
    Queue,
    QueueId,
    QueueVerb,
    Stage,
    TicketId,
    Venue,
    VisitId,
    Why,
)
from dawr.domain.hours import Hours
from dawr.domain.queue import Audience
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.alarms import Ring, WindUp
from dawr.operations.clockwork import Expire, ExpireEnded
from dawr.operations.desks import BreakDesk, CloseDesk, OpenDesk
from dawr.operations.operation import Operation
from dawr.operations.pins import Done, GivePin, RenewPins, RotatePin, VerifyPin
from dawr.operations.reception import (
    AddStage,
    ChangePath,
    CompleteStage,
    EndVisit,
    EnterStage,
    MoveTo,
    NewLink,
    RemoveFromQueue,
    ResetPath,
    SkipStage,
    Transfer,
    Unlock,
)
from dawr.operations.staff import (
    Call,
    CallNext,
    Extend,
    Finish,
    Hold,
    Miss,
    Prioritize,
    PutBack,
    Recall,
    Resume,
    Start,
)
from dawr.operations.undo import Undo, UndoLeave
from dawr.operations.visitor import Issue, Leave, Rejoin
from dawr.operations.visits import EnterByLink, LeaveByLink, RejoinByLink, StartVisit
from tests.builders import a_desk, a_venue
from tests.operations.line_model import Row
from tests.operations.model import Model

SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
QUEUES = ("lab", "xray", "eye", "ent")
DESKS = {"one": ["lab"], "two": ["lab", "xray"], "three": ["eye", "ent", "xray"]}
JOURNEYS = ("full", "brief", "women-general", "blood")
ACTORS = ("amna", "badr", "noor")
WHYS: tuple[Why, ...] = ("urgent", "elderly", "mistake")

VERBS: dict[str, tuple[str, Callable[[TicketId], Operation[Any]]]] = {
    "call": ("waiting", lambda ticket: Call(ticket, "one")),
    "call to the auto-calling desk": ("waiting", lambda ticket: Call(ticket, "three", "urgent")),
    "recall": ("called", Recall),
    "extend": ("called", Extend),
    "start": ("called", Start),
    "finish": ("called serving missed", Finish),
    "miss": ("called", Miss),
    "rejoin first": ("missed", lambda ticket: Rejoin(ticket, "first")),
    "rejoin last": ("missed", lambda ticket: Rejoin(ticket, "last")),
    "hold": ("waiting called", Hold),
    "put back first": ("called missed", lambda ticket: PutBack(ticket, "first", "urgent")),
    "put back last": ("called missed", PutBack),
    "resume": ("held", Resume),
    "prioritize": ("waiting", lambda ticket: Prioritize(ticket, 2, "elderly")),
    "take the priority": ("waiting", lambda ticket: Prioritize(ticket, 0, "mistake")),
    "leave": ("waiting called held missed", Leave),
    "expire": ("serving held missed", Expire),
}
"""Verb → the states in which it is worth trying, and its operation."""
ENDING = {"leave", "expire"}
"""Tried less often, so that tickets live long enough for the rest."""

MOODS: list[dict[str, int]] = [
    {
        "issue": 30,
        "start visit": 30,
        "call next": 40,
        "verb": 50,
        "pin": 30,
        "visit": 16,
        "transfer": 6,
        "undo": 14,
        "desk": 10,
        "give pin": 10,
        "queue": 8,
        "reset": 1,
        "sweep": 3,
        "retry": 12,
    },
    {"verb": 60, "pin": 20, "undo": 20, "sweep": 1, "retry": 2},
    {"start visit": 30, "pin": 40, "visit": 25, "call next": 20, "transfer": 5, "desk": 5, "queue": 6},
    {"guess": 60, "no show": 30, "call next": 30, "pin": 10, "give pin": 15},
]
"""What people wish for at one moment, and how often: anything; to go on with their tickets, or with their visits; or
nothing good.
"""


def a_clinic() -> Venue:
    """Four queues: with a limit or without, with timers or without, and one that is for women in the daytime."""
    daytime = Hours((((8 * 60, 16 * 60),),) * 7)
    lab = _queue("lab", miss_after=120, floor="1")
    xray = _queue("xray", capacity=4, reserve=2, mean_service_seconds=240, auto_call=30, hold_limit=300, floor="2")
    eye = _queue("eye", capacity=9, mean_service_seconds=180, auto_call=60, miss_after=60, floor="1")
    ent = _queue("ent", hours=daytime, audience="women", hold_limit=600, floor="3")
    journeys = (
        _journey("full", fixed=(Stage(QueueId("lab")),), free=("xray", "eye", "ent")),
        _journey("short", aliases=("brief",), free=("eye", "lab")),
        _journey("blood", free=("lab",)),
        _journey(
            "women-general", audience="women", fixed=(Stage(QueueId("eye"), pin=False),), free=("ent", "xray", "lab")
        ),
    )
    venue = a_venue(lab, xray, eye, ent, desks=tuple(a_desk(code, *served) for code, served in DESKS.items()))
    return msgspec.structs.replace(
        venue, journeys=journeys, walking_minutes={"1": {"2": 3, "3": 8}, "2": {"3": 5}}, pin_digits=2
    )


def _queue(code: str, **facts: Any) -> Queue:  # noqa: ANN401 - of any field
    return Queue(QueueId(code), {"en": code}, prefix=code[0].upper(), **facts)


def _journey(code: str, *, free: tuple[str, ...], **facts: Any) -> Journey:  # noqa: ANN401 - of any field
    return Journey(code, {"en": code}, free=tuple(Stage(QueueId(queue)) for queue in free), **facts)


class Wishes:
    """Of the people at one venue, whose model says how things are there."""

    def __init__(self, model: Model, luck: Random, ids: "itertools.count[int]", rush: str | None) -> None:
        self.model = model
        self.luck = luck
        self.ids = ids
        self.rush = rush
        """Where everybody wants to go at this moment."""

    def operation(self, wish: str) -> Operation[Any]:
        queue = self.rush or self.luck.choice(QUEUES)
        operations: dict[str, Callable[[str], Operation[Any]]] = {
            "issue": self._issue,
            "start visit": self._start_visit,
            "call next": self._call_next,
            "verb": self._verb,
            "pin": self._pin,
            "guess": self._guess,
            "no show": self._no_show,
            "visit": self._of_visit,
            "transfer": self._transfer,
            "undo": self._undo,
            "desk": self._desk,
            "give pin": self._give_pin,
            "queue": lambda queue: ChangeQueue(queue, self._verb_for(queue)),
            "reset": Reset,
            "sweep": lambda queue: ExpireEnded(QueueId(queue)),
        }
        return operations[wish](queue)

    def asked_anew(self, operation: Operation[Any]) -> Operation[Any]:
        """A request that comes again gets new ids, as the door makes them for every request."""
        name = f"{self.model.venue_id}-{next(self.ids)}"
        if isinstance(operation, StartVisit):
            return msgspec.structs.replace(operation, visit_id=f"s-{name}", secret_hash=f"h-{name}")
        if isinstance(operation, Issue):
            changed = {"ticket_id": f"t-{name}", "visit_id": f"s-{name}", "secret_hash": f"h-{name}"}
            return msgspec.structs.replace(operation, **changed)
        return operation

    def _issue(self, queue: str) -> Operation[Any]:
        """Somebody new, somebody known, or somebody who waits here and asks again."""
        tickets = self.model.tickets.values()
        waiting = [t["visitor"] for t in tickets if t["state"] == "waiting" and t["queue_id"] == queue]
        who: str | None = self.luck.choice(waiting if waiting and self._rarely(0.3) else [*"abcdef", None, None])
        priority = self.luck.choice([0, 0, 0, 1, 2, 3])
        return self.asked_anew(
            Issue(
                queue,
                who,
                TicketId(""),
                VisitId(""),
                "",
                priority,
                why=self.luck.choice(WHYS),
                by_staff=self._rarely(0.3),
            )
        )

    def _start_visit(self, _: str) -> Operation[Any]:
        word = "nowhere" if self._rarely(0.02) else self.luck.choice(JOURNEYS)
        audiences: list[Audience] = ["women", "women", "men", "any"]
        priority = self.luck.choice([0, 0, 0, 1])
        who = self.luck.choice("abcdefghijkl")
        audience, why = self.luck.choice(audiences), self.luck.choice(WHYS)
        return self.asked_anew(StartVisit(word, who, audience, VisitId(""), "", priority=priority, why=why))

    def _call_next(self, queue: str) -> Operation[Any]:
        caller = self.luck.choice([*DESKS, queue, queue])
        return CallNext(desk=caller) if caller in DESKS else CallNext(queue=caller)

    def _verb(self, _: str) -> Operation[Any]:
        """Mostly one that the ticket's state allows, sometimes any, rarely of a ticket that never was."""
        verbs, luck = list(VERBS.values()), self.luck
        tickets = [t for t in self.model.tickets.values() if t["queue_id"] == (self.rush or t["queue_id"])]
        if not tickets or self._rarely(0.02):
            return luck.choice(verbs)[1](TicketId("t-nobody"))
        if self._rarely(0.1):
            return luck.choice(verbs)[1](TicketId(luck.choice(tickets)["ticket_id"]))
        state = luck.choice(sorted({ticket["state"] for ticket in tickets if ticket["open_key"]}) or ["left"])
        ticket = luck.choice([ticket for ticket in tickets if ticket["state"] == state] or tickets)
        fitting = [
            verb for name, verb in VERBS.items() if state in verb[0].split() for _ in range(3 - 2 * (name in ENDING))
        ]
        return luck.choice(fitting or verbs)[1](TicketId(ticket["ticket_id"]))

    def _transfer(self, queue: str) -> Operation[Any]:
        tickets = list(self.model.tickets.values())
        is_open = [ticket for ticket in tickets if ticket["open_key"]]
        ticket = "t-nobody" if not tickets else self.luck.choice(is_open or tickets)["ticket_id"]
        return Transfer(TicketId(ticket), queue)

    def _undo(self, _: str) -> Operation[Any]:
        """Mostly of something that happened lately, mostly as it is now."""
        lately = sorted(self.model.tickets.values(), key=lambda ticket: -ticket["version"])
        can = [ticket for ticket in lately if self.model.replaced[ticket["ticket_id"]]]
        tickets = (can if can and self._rarely(0.85) else lately)[: self.luck.choice([1, 3, 8, 30])]
        if not tickets:
            return Undo(TicketId("t-nobody"), 1)
        ticket = self.luck.choice(tickets)
        version = ticket["version"] - self._rarely(0.1)
        return Undo(TicketId(ticket["ticket_id"]), version, self.luck.choice([10, 10, 10, 1]))

    def _pin(self, queue: str) -> Operation[Any]:
        visits = self._visits()
        in_queue = [visit for visit in visits if self._stage_of(visit)]
        if not visits or self._rarely(0.2):
            who = self.luck.choice("abcdefghijkl")
            theirs = [visit for visit in self.model.visits.values() if visit["visitor"] == who]
            link = self._link(self.luck.choice(theirs)) if theirs and self._rarely(0.4) else None
            return Done(queue, self._typed(queue), self._attempt(), who, self._rarely(0.4), link)
        visit = self.luck.choice(in_queue if in_queue and not self._rarely(0.05) else visits)
        stage = self._stage_of(visit)
        if stage is not None and not self._rarely(0.08):
            queue = stage["queue"]
        pin, attempt = self._typed(queue, guesses=visit["visitor"] in "ab"), self._attempt()
        if self._rarely(0.5):
            return VerifyPin(queue, pin, attempt, link=self._link(visit))
        number = None if stage is None else stage["number"] + self._rarely(0.05)
        return VerifyPin(queue, pin, attempt, visitor=visit["visitor"], number=number)

    def _guess(self, queue: str) -> Operation[Any]:
        """Always the same visitor, so that somebody tries once too often."""
        visits = [visit for visit in self._visits() if self._stage_of(visit)]
        if not visits:
            return self._start_visit(queue)
        stage = self._stage_of(visits[0]) or {"queue": queue}
        rotated = [pin for pin, _ in self.model.pins.get(stage["queue"], {"rotated": []})["rotated"]]
        pin = self.luck.choice([*rotated, f"{self.luck.randrange(100):02}"])
        return VerifyPin(stage["queue"], pin, self._attempt(), link=self._link(visits[0]))

    def _no_show(self, queue: str) -> Operation[Any]:
        called = [ticket for ticket in self.model.tickets.values() if ticket["state"] == "called" and ticket["desk_id"]]
        return Miss(TicketId(self.luck.choice(called)["ticket_id"])) if called else self._call_next(queue)

    def _typed(self, queue: str, *, guesses: bool = False) -> str | None:
        """Mostly the right one, sometimes one that is or was another; some people guess."""
        pins = self.model.pins
        right = [pins[queue]["pin"]] if queue in pins else []
        rotated = [pin for pin, _ in pins[queue]["rotated"]] if queue in pins else []
        all_pins = [row["pin"] for row in pins.values()]
        (how,) = self.luck.choices([right, all_pins, rotated, [None], []], [5 if guesses else 60, 10, 20, 4, 5])
        typed: str | None = self.luck.choice(how or [f"{self.luck.randrange(100):02}"])
        return typed

    def _attempt(self) -> str:
        """Mostly a new request; sometimes the one before, which comes again."""
        return f"attempt-{next(self.ids) // self.luck.choice([1, 1, 1, 2])}"

    def _of_visit(self, queue: str) -> Operation[Any]:
        visits = self._visits() if not self._rarely(0.1) else list(self.model.visits.values())
        left = [visit for visit in self.model.visits.values() if visit["left"] is not None]
        if left and self._rarely(0.3):
            return UndoLeave(self._link(left[-1]))
        if not visits:
            return EnterStage(VisitId("s-nobody"))
        visit = self.luck.choice(visits)
        visit_id, link = VisitId(visit["visit_id"]), self._link(visit)
        if self._rarely(0.5):
            return self.luck.choice(self._obvious(visit, link))
        planned = {stage["queue"] for stage in visit["stages"] or ()}
        return self.luck.choice(
            [
                LeaveByLink(link),
                RejoinByLink(link),
                RemoveFromQueue(visit_id),
                SkipStage(visit_id, queue),
                CompleteStage(visit_id, queue),
                AddStage(visit_id, self.luck.choice(sorted({*QUEUES} - planned) or QUEUES)),
                ResetPath(visit_id),
                ChangePath(visit_id, self.luck.choice(JOURNEYS)),
                EndVisit(visit_id),
                MoveTo(visit_id, queue),
                Unlock(visit_id),
                NewLink(visit_id, f"h-{next(self.ids)}"),
            ]
        )

    def _obvious(self, visit: Row, link: Link) -> list[Operation[Any]]:
        """What a visit is waiting for."""
        visit_id, stage = VisitId(visit["visit_id"]), self._stage_of(visit)
        if visit["locked_at"] is not None:
            return [Unlock(visit_id)]
        if stage is None:
            return [EnterStage(visit_id), EnterByLink(link)]
        return [RejoinByLink(link), CompleteStage(visit_id, stage["queue"], "mistake"), RemoveFromQueue(visit_id)]

    def _desk(self, _: str) -> Operation[Any]:
        desk, now = self.luck.choice([*DESKS]), self.model.now
        until = now + self.luck.choice([MINUTE, 5 * MINUTE, HOUR, -MINUTE])
        opening = OpenDesk(desk, f"chance-{next(self.ids)}")
        return self.luck.choice([opening, opening, opening, BreakDesk(desk, until), CloseDesk(desk)])

    def _give_pin(self, queue: str) -> Operation[Any]:
        chance, is_manager = f"chance-{next(self.ids)}", self._rarely(0.7)
        other = self.luck.choice([None, None, f"{self.luck.randrange(100):02}", self._typed(queue)])
        give, rotate = GivePin(chance, is_manager, queue), RotatePin(chance, is_manager, queue, other)
        return self.luck.choice([give, give, rotate, rotate, RenewPins(chance, is_manager=True)])

    def _verb_for(self, queue: str) -> QueueVerb:
        """Mostly one that opens what is not open, so that a venue is seldom shut."""
        opening: dict[str, QueueVerb] = {"closed": "open", "paused": "resume"}
        verbs: tuple[QueueVerb, ...] = get_args(QueueVerb)
        verb = opening.get(self.model.queues[queue]["state"], self.luck.choice(["pause", "close"]))
        return verb if self._rarely(0.8) else self.luck.choice(verbs)

    def _visits(self) -> list[Row]:
        return [visit for visit in self.model.visits.values() if visit["stages"] and visit["state"] == "open"]

    def _stage_of(self, visit: Row) -> Row | None:
        return next((stage for stage in visit["stages"] or () if stage["state"] == "in_queue"), None)

    def _link(self, visit: Row) -> Link:
        secret_hash = "wrong" if self._rarely(0.05) else visit["secret_hash"]
        return Link(VisitId(visit["visit_id"]), secret_hash)

    def _rarely(self, share: float) -> bool:
        return self.luck.random() < share


def due(model: Model) -> list[Ring]:
    """What the clock has to do, the longest overdue first."""
    moments = {key: due_at for key, due_at in model.alarms.items() if due_at is not None and due_at <= model.now}
    return [Ring(kind, subject) for kind, subject in sorted(moments, key=lambda key: moments[key])]


WOUND_UP = WindUp()

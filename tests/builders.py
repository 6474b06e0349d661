"""Things to test with: only what a test cares about is given, the rest is ordinary."""

import itertools
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from typing import Literal

from dawr.domain.day import Day, service_day
from dawr.domain.hours import Hours
from dawr.domain.journey import Journey, Stage
from dawr.domain.queue import Audience, Queue, QueueId, QueueState
from dawr.domain.secret import hash_of
from dawr.domain.ticket import TicketId, VisitId
from dawr.domain.venue import Desk, DeskId, Head, Venue, VenueId
from dawr.engine.timekeeping import Timekeeper
from dawr.operations.staff import CallNext
from dawr.operations.visitor import Issue, Rejoin
from dawr.operations.visits import StartVisit
from dawr.ports import Batch, Changes, Clock, Store
from dawr.reliability.idempotency import ANONYMOUS, AnswerKey, Claim

MONDAY_AT_TEN = int(datetime(2026, 3, 2, 7, 0, tzinfo=UTC).timestamp() * 1000)
"""Ten in the morning in Qatar, where a venue is unless a test says otherwise."""

TWO_DAYS_MS = 2 * 24 * 60 * 60 * 1000

_numbers = itertools.count(1)


def a_timekeeper(store: Store, clock: Clock, *, is_synchronised: Callable[[], bool] = lambda: True) -> Timekeeper:
    """One for which the time that runs is the clock's, too."""
    return Timekeeper(store, clock, clock, is_synchronised)


class DrivenClock:
    """A clock that moves when it is told to."""

    def __init__(self, now: int = MONDAY_AT_TEN) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, *, ms: int = 0, seconds: int = 0, minutes: int = 0, hours: int = 0, days: int = 0) -> None:
        self.now += ms + 1000 * (seconds + 60 * (minutes + 60 * (hours + 24 * days)))


def a_new(thing: str) -> str:
    """An id that nothing else has."""
    return f"{thing}-{next(_numbers)}"


def a_queue(
    code: str = "lab",
    *,
    prefix: str = "",
    aliases: tuple[str, ...] = (),
    state: QueueState = "open",
    hours: Hours | None = None,
    capacity: int | None = None,
    reserve: int = 0,
    mean_service_seconds: int = 300,
) -> Queue:
    return Queue(
        QueueId(code),
        {"en": code.title()},
        prefix=prefix,
        aliases=aliases,
        state=state,
        hours=hours,
        capacity=capacity,
        reserve=reserve,
        mean_service_seconds=mean_service_seconds,
    )


def a_desk(code: str = "desk-1", *queues: str) -> Desk:
    return Desk(DeskId(code), {"en": code.title()}, tuple(QueueId(queue) for queue in queues or ("lab",)))


def a_venue(*queues: Queue, desks: tuple[Desk, ...] = (), zone: str = "Asia/Qatar", day_start: int = 5 * 60) -> Venue:
    code = a_new("v")
    return Venue(
        VenueId(code),
        f"venue-{code}",
        {"en": "A venue"},
        zone,
        day_start=day_start,
        queues=queues or (a_queue(),),
        desks=desks,
    )


def a_head(venue: Venue, now: int = MONDAY_AT_TEN) -> Head:
    """A new venue's head: it has reached today, and nothing has happened yet."""
    return Head(venue.id, epoch=1, day=day_of(venue, now), version=0, config_version=1)


def day_of(venue: Venue, now: int) -> Day:
    return service_day(now, zone=venue.zone, day_start=venue.day_start)


def issue(queue: str = "lab", visitor: str | None = None, *, priority: int = 0) -> Issue:
    """Take a number; without a name it is somebody new every time."""
    ticket_id = a_new("ticket")
    return Issue(
        queue,
        visitor,
        TicketId(ticket_id),
        VisitId(f"visit-of-{ticket_id}"),
        f"secret-hash-of-{ticket_id}",
        priority=priority,
    )


def call_next(queue: str | None = "lab", *, desk: str | None = None) -> CallNext:
    return CallNext(desk, queue)


def rejoin(ticket_id: TicketId, where: Literal["first", "last"] = "last") -> Rejoin:
    return Rejoin(ticket_id, where)


def a_claim(
    key: str = "a-key",
    *,
    scope: str = "venue/enter",
    principal: str = ANONYMOUS,
    fingerprint: str = "the-same-request",
    keep_ms: int = TWO_DAYS_MS,
) -> Claim:
    return Claim(AnswerKey(scope, principal, key), fingerprint, keep_ms)


class Told:
    """Listens to an engine: hears what each batch changed."""

    def __init__(self, hear: Callable[[list[Changes]], object]) -> None:
        self._hear = hear

    def ran(self, batch: Batch) -> None:
        if batch.changed:
            self._hear(batch.changed)


class Cache:
    """Keeps copies of what an engine stores, and is told when they are outdated."""

    def __init__(self, outdate: Callable[[list[Changes]], Awaitable[None]]) -> None:
        self._outdate = outdate

    async def outdate(self, changed: list[Changes]) -> None:
        await self._outdate(changed)

    async def doubt(self, venues: Collection[VenueId]) -> None: ...


def a_journey(
    code: str = "army",
    *free: str,
    fixed: tuple[str, ...] = (),
    no_pin: tuple[str, ...] = (),
    audience: Audience = "any",
    aliases: tuple[str, ...] = (),
) -> Journey:
    """Leads to these queues, each left by its PIN unless it is said otherwise."""
    fixed_stages, free_stages = (
        tuple(Stage(QueueId(queue), pin=queue not in no_pin) for queue in queues) for queues in (fixed, free)
    )
    return Journey(code, {"en": code.title()}, aliases, audience, fixed_stages, free_stages)


def start_visit(
    journey: str = "army", visitor: str | None = None, *, audience: Audience = "any", priority: int = 0
) -> StartVisit:
    """Begin a journey; without a name it is somebody new every time. Its secret is `secret-of-` and its id."""
    visit_id = VisitId(a_new("visit"))
    return StartVisit(
        journey, visitor or a_new("visitor"), audience, visit_id, hash_of(f"secret-of-{visit_id}"), priority=priority
    )

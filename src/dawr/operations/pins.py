"""Exit PINs: made when first needed, typed by who leaves, changed by staff. None is ever in an event.

A PIN that fails is counted although the command is refused: against the visit and against the queue, whose staff are
warned. The fifth failure of a caller who holds the visit's link locks it. A caller who only knows a name can lock
nobody: after five failures by name, PINs are taken by the link alone for a while.
"""

from typing import ClassVar

import msgspec

from dawr.domain import DeskNow, Link, Pin, Queue, QueueCode, QueueId, Ticket, Venue, Visit
from dawr.domain.digits import fold_digits
from dawr.domain.errors import (
    InvalidValue,
    LineEnded,
    NotAtThisDesk,
    NotEntered,
    NotInQueue,
    NotItsTurn,
    NumberWrong,
    PinForeign,
    PinNeeded,
    PinRefused,
    PinRotated,
    PinTaken,
    PinTriedTooOften,
    PinWrong,
    Refused,
    TicketInWrongState,
    UnknownVisit,
    VisitLocked,
)
from dawr.domain.pin import MOST_FAILURES, WINDOW_MS, new_pin, read_pin
from dawr.domain.ticket import STATES_AT_A_DESK, checked_visitor, open_key
from dawr.domain.visit import Knowing, attempt_of
from dawr.operations import journeys
from dawr.operations.journeys import expect_advance, tell
from dawr.operations.operation import Operation, View
from dawr.operations.rows import DESKS, PINS, VISITS
from dawr.operations.staff import finish
from dawr.operations.ticket import change, visit_behind
from dawr.operations.transaction import Transaction
from dawr.operations.visits import Whereabouts, whereabouts
from dawr.ports import Wants


class Went(msgspec.Struct, frozen=True):
    """A stage that was finished, and where its visitor is now."""

    ticket: Ticket
    now: Whereabouts


class _Leaving(Operation[Went], frozen=True):
    """A refusal is not kept: under the same key, the corrected PIN is judged anew."""

    keeps_refusals: ClassVar[bool] = False

    queue: str
    pin: str | None
    attempt: str
    """Tells one request from another: a retry of one that failed is not counted again."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.add(venue.queue(self.queue).id)
        wants.add(PINS)


class VerifyPin(_Leaving, frozen=True):
    """Finish the stage that a visitor is at, and enter the next.

    A caller without the link names the visitor and their number. Until both fit, every refusal is the same one. So it
    reveals neither who is here nor where they are. Such a caller needs the PIN, also where the stage asks for none,
    because a name and a number can be guessed.
    """

    visitor: str | None = None
    link: Link | None = None
    """Visitor and number, or the link, identify the visit. A visitor who is given with a link must be its own."""
    number: int | None = None
    """The number of the visit's latest ticket. Callers with the link need not know it."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        super().wants(venue, wants)
        if self.link is not None:
            wants.add(VISITS, self.link.visit_id)
        else:
            visitor = checked_visitor(self.visitor or "")
            wants.visitors.add(visitor)
            wants.open_keys.add(open_key(venue.queue(self.queue).id, visitor))

    def decide(self, tx: Transaction, now: int) -> Went | Refused:
        pin = None if self.pin is None else read_pin(self.pin)
        queue = tx.venue.queue(self.queue)
        visit = self._visit(tx)
        if visit is None:
            _record_guess(tx, queue)
            return NumberWrong()
        at = visit.stage_of(queue.id)
        stage = visit.plan[at]
        if stage.state == "ready":
            raise NotEntered(queue.id)
        if stage.state != "in_queue" or stage.ticket_id is None:
            raise NotItsTurn(queue.id, stage.state)
        expect_advance(tx, visit, at)
        ticket = tx.ticket(stage.ticket_id)
        if stage.pin or self.link is None:
            refusal = judge(tx, visit, queue, pin, self.attempt, knowing="number" if self.link is None else "link")
            if refusal is not None:
                return refusal
            finished = finish(tx, ticket, now, "pin")
        elif ticket.state == "missed":
            raise TicketInWrongState(ticket.label, ticket.state, "finish")
        else:
            finished = change(tx, ticket.ticket_id, "finish", now)
        return Went(finished, whereabouts(tx, tx.get(VISITS, visit.visit_id), now))

    def _visit(self, tx: Transaction) -> Visit | None:
        """Return the visit that the caller knows. None: nobody has this name and number."""
        if self.link is not None:
            visit = visit_behind(tx, self.link)
            if self.visitor is not None and fold_digits(visit.visitor) != checked_visitor(self.visitor):
                raise UnknownVisit
            visit.must_be_open("go on with")
            return visit
        planned = tx.planned_visit(checked_visitor(self.visitor or ""))
        if planned is None or planned.ticket_id is None or journeys.is_over(tx, planned):
            return None
        return planned if tx.ticket(planned.ticket_id).number == self.number else None


class Done(_Leaving, frozen=True):
    """Finish a visitor who is known by name: by staff, by the right PIN, or by link where no PIN is asked for.

    A PIN that is sent is judged before anything changes, unless the link alone is enough. A visitor who still waits is
    finished by staff or by the right PIN only. A caller who only knows the name of a visitor with a plan is refused as
    if the PIN were wrong, whether that visitor is here or not.
    """

    visitor: str = ""
    by_staff: bool = False
    link: Link | None = None

    def wants(self, venue: Venue, wants: Wants) -> None:
        super().wants(venue, wants)
        queue, visitor = venue.queue(self.queue), checked_visitor(self.visitor)
        wants.open_keys.add(open_key(queue.id, visitor))
        wants.visitors.add(visitor)
        if self.link is not None:
            wants.add(VISITS, self.link.visit_id)

    def decide(self, tx: Transaction, now: int) -> Went | Refused:
        pin = None if self.pin is None else read_pin(self.pin)
        queue, visitor = tx.venue.queue(self.queue), checked_visitor(self.visitor)
        own = None if self.link is None or self.by_staff else visit_behind(tx, self.link)
        ticket = tx.open_ticket(open_key(queue.id, visitor))
        if self.by_staff and ticket is not None:
            return self._finish_by_staff(tx, queue, ticket, now)
        if own is not None and (ticket is None or ticket.visit_id != own.visit_id):
            raise NotInQueue(queue.id)
        if ticket is not None and (own is not None or not ticket.is_planned):
            return self._finish_by_visitor(tx, queue, ticket, pin, now)
        if self.by_staff or pin is None:
            raise NotInQueue(queue.id)
        return self._finish_by_pin(tx, queue, ticket, pin, now)

    def _finish_by_visitor(
        self, tx: Transaction, queue: Queue, ticket: Ticket, pin: str | None, now: int
    ) -> Went | Refused:
        if self.link is not None and tx.has_ended(ticket):
            raise LineEnded(ticket.label, "finish")
        visit = tx.get(VISITS, ticket.visit_id)
        is_at_desk = ticket.state in STATES_AT_A_DESK
        if is_at_desk and self.link is not None and not _asks_for_pin(tx, visit, ticket):
            return _went(tx, change(tx, ticket.ticket_id, "finish", now), now)
        if pin is None and not is_at_desk:
            raise TicketInWrongState(ticket.label, ticket.state, "finish")
        refusal = judge(tx, visit, queue, pin, self.attempt, knowing="name" if self.link is None else "link")
        return refusal or _went(tx, finish(tx, ticket, now, "pin"), now)

    def _finish_by_pin(
        self, tx: Transaction, queue: Queue, ticket: Ticket | None, pin: str, now: int
    ) -> Went | Refused:
        """Finish a visitor with a plan. Every refusal is the same, and is counted at the queue."""
        visit = None if ticket is None else tx.get(VISITS, ticket.visit_id)
        if ticket is None or visit is None or not visit.has_tries_left(now, "name"):
            _record_guess(tx, queue)
            return PinWrong()
        refusal = judge(tx, visit, queue, pin, self.attempt, knowing="name")
        return PinWrong() if refusal is not None else _went(tx, finish(tx, ticket, now, "pin"), now)

    def _finish_by_staff(self, tx: Transaction, queue: Queue, ticket: Ticket, now: int) -> Went:
        if ticket.state == "waiting":
            queue.must_call_people()
        if ticket.state == "missed":
            raise TicketInWrongState(ticket.label, ticket.state, "finish")
        return _went(tx, finish(tx, ticket, now, "other"), now)


def _went(tx: Transaction, ticket: Ticket, now: int) -> Went:
    visit = tx.get(VISITS, ticket.visit_id)
    return Went(ticket, whereabouts(tx, visit, now))


def _asks_for_pin(tx: Transaction, visit: Visit, ticket: Ticket) -> bool:
    """Return whether the visit's stage asks for a PIN; of a visit without a plan, whether any journey does there."""
    if ticket.stage is not None:
        return any(stage.pin for stage in visit.plan if stage.ticket_id == ticket.ticket_id)
    return tx.venue.asks_for_pin(ticket.queue_id)


def judge(
    tx: Transaction, visit: Visit, queue: Queue, pin: str | None, attempt: str, *, knowing: Knowing
) -> PinRefused | None:
    """None: the PIN is right. A wrong one is counted, and so is another queue's; one changed just now is not."""
    now, attempt = tx.now, attempt_of(knowing, attempt)
    if visit.locked_at is not None:
        return VisitLocked()
    if pin is None:
        return PinNeeded(queue.id)
    if knowing != "link" and not visit.has_tries_left(now, knowing):
        raise PinTriedTooOften(
            visit.visitor,
            most=MOST_FAILURES,
            window_seconds=WINDOW_MS // 1000,
            again_seconds=visit.seconds_until_try(now, knowing),
        )
    pins = {row.queue_id: row for row in tx.all(PINS) if row.day == tx.day}
    mine = pins.get(queue.id)
    if mine is not None and mine.pin == pin:
        return None
    if mine is not None and mine.was(pin, now):
        return PinRotated()
    if not visit.has_counted(now, attempt):
        visit = _count(tx, visit, queue, attempt)
    left = visit.tries_left(now) if knowing == "link" else None
    return PinForeign(left) if any(row.pin == pin for row in pins.values()) else PinWrong(left)


def _count(tx: Transaction, visit: Visit, queue: Queue, attempt: str) -> Visit:
    now = tx.now
    failed = visit.failed(now, attempt)
    tx.put_visit(failed)
    tx.happened("pin.failed", queue.id, visit=visit.visit_id, tries_left=failed.tries_left(now))
    if failed.locked_at is not None:
        tell(tx, failed, "visit.locked")
    _count_at_queue(tx, queue)
    return failed


def _record_guess(tx: Transaction, queue: Queue) -> None:
    """Record a guess of a caller who named nobody, or whose tries by name are used up."""
    tx.happened("pin.failed", queue.id)
    _count_at_queue(tx, queue)


def _count_at_queue(tx: Transaction, queue: Queue) -> None:
    """Count a guess at the queue, and warn its staff by an event if there are many."""
    pin = tx.find(PINS, queue.id)
    if pin is None or pin.day != tx.day:
        return
    counted, is_warning = pin.with_failure(tx.now)
    tx.put(PINS, counted)
    if is_warning:
        tx.happened("pin.warned", queue.id)


class PinOf(msgspec.Struct, frozen=True):
    queue_id: QueueId
    pin: str


class _Pins(Operation[list[PinOf]], frozen=True):
    chance: str
    """Random: the PIN is made of it."""
    is_manager: bool

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(PINS)
        wants.add(DESKS)


class GivePin(_Pins, frozen=True):
    """The queue's PIN of today, made if there is none yet. Who may see it: managers, and whoever sits there."""

    queue: QueueCode = ""

    def decide(self, tx: Transaction, now: int) -> list[PinOf]:
        queue = tx.venue.queue(self.queue)
        must_sit_at(tx, queue.id, is_manager=self.is_manager)
        return [_shown(_ensure(tx, queue.id, self.chance, now))]


class RotatePin(_Pins, frozen=True):
    """Another PIN for a queue: a given one, or one that is made."""

    queue: QueueCode = ""
    pin: str | None = None

    def decide(self, tx: Transaction, now: int) -> list[PinOf]:
        queue = tx.venue.queue(self.queue)
        must_sit_at(tx, queue.id, is_manager=self.is_manager)
        return [_shown(_rotate(tx, queue.id, self.chance, now, self.pin))]


class RenewPins(_Pins, frozen=True):
    """Another PIN for every queue."""

    def decide(self, tx: Transaction, now: int) -> list[PinOf]:
        return [_shown(_rotate(tx, queue.id, f"{self.chance}:{queue.id}", now, None)) for queue in tx.venue.queues]


class LookAtPin(View[tuple[Queue, int, Pin | None]], frozen=True):
    """A queue, how long PINs are here, and today's, if it is there and whoever asks may see it."""

    queue: str
    actor: str | None
    is_manager: bool

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(PINS)
        wants.add(DESKS)

    def look(self, tx: Transaction, now: int) -> tuple[Queue, int, Pin | None]:
        queue = tx.venue.queue(self.queue)
        pin = tx.find(PINS, queue.id)
        may = self.is_manager or _sits_at(tx, queue.id, self.actor)
        todays = pin if pin is not None and pin.day == tx.day else None
        length = tx.venue.pin_length if todays is None else len(todays.pin)
        return queue, length, todays if may else None


def must_sit_at(tx: Transaction, queue_id: QueueId, *, is_manager: bool) -> None:
    """Roles are the whole venue's: that somebody is this queue's staff is known from the desk they opened."""
    if not is_manager and not _sits_at(tx, queue_id, tx.origin.actor):
        raise NotAtThisDesk(queue_id)


def make_pins(tx: Transaction, queues: tuple[QueueId, ...], chance: str, now: int) -> None:
    """Those that are not there yet."""
    for queue_id in queues:
        _ensure(tx, queue_id, f"{chance}:{queue_id}", now)


def _sits_at(tx: Transaction, queue_id: QueueId, actor: str | None) -> bool:
    taken: list[DeskNow] = [desk for desk in tx.all(DESKS) if desk.has(actor)]
    serving = {desk.id for desk in tx.venue.desks if queue_id in desk.queues}
    return any(desk.desk_id in serving for desk in taken)


def _shown(pin: Pin) -> PinOf:
    return PinOf(pin.queue_id, pin.pin)


def _ensure(tx: Transaction, queue_id: QueueId, chance: str, now: int) -> Pin:
    known = tx.find(PINS, queue_id)
    if known is not None and known.day == tx.day:
        return known
    pin = Pin(tx.venue.id, queue_id, tx.day, _unused(tx, queue_id, chance), now)
    tx.put(PINS, pin)
    tx.happened("pin.made", queue_id)
    return pin


def _rotate(tx: Transaction, queue_id: QueueId, chance: str, now: int, wanted: str | None) -> Pin:
    known = tx.find(PINS, queue_id)
    pin = _unused(tx, queue_id, chance) if wanted is None else _free(tx, queue_id, read_pin(wanted), now)
    if known is not None and known.day == tx.day:
        changed = known.changed_to(pin, now)
    else:
        changed = Pin(tx.venue.id, queue_id, tx.day, pin, now)
    tx.put(PINS, changed)
    tx.happened("pin.rotated", queue_id)
    return changed


def _unused(tx: Transaction, queue_id: QueueId, chance: str) -> str:
    """No other queue's, and not the one that this queue had a moment ago."""
    taken = [row.pin for row in tx.all(PINS) if row.day == tx.day]
    mine = tx.find(PINS, queue_id)
    avoided = [] if mine is None else [mine.pin, *mine.earlier(tx.now)]
    return new_pin(chance, tx.venue.pin_length, taken, avoided)


def _free(tx: Transaction, queue_id: QueueId, pin: str, now: int) -> str:
    digits = tx.venue.pin_length
    if len(pin) != digits:
        raise InvalidValue("pin", "pin-length", digits=digits)
    for row in tx.all(PINS):
        if row.day == tx.day and (row.pin == pin or (row.queue_id == queue_id and row.was(pin, now))):
            raise PinTaken
    return pin

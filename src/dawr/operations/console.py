"""All that whoever works at a desk sees, read at one moment: who is here, who waits, and what could be undone."""

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple
from unicodedata import decimal, normalize

import msgspec

from dawr.domain import NOBODY, AlarmKey, Desk, DeskId, DeskNow, Line, LineKey, Queue, State, Ticket, Venue, Verb, Visit
from dawr.domain.errors import Refused
from dawr.domain.visit import DONE_WITH
from dawr.operations.desks import desk_now
from dawr.operations.operation import View
from dawr.operations.rows import ALARMS, DESKS, VISITS
from dawr.operations.transaction import Transaction
from dawr.operations.undo import Undo
from dawr.ports import Search, Wants

MOST_ASIDE: Final = 20
LATEST: Final = 5
SHORT_LABEL: Final = re.compile(r"(\D{1,4}?) ?([0-9]{1,2})")

What = Verb | Literal["put-back", "transfer"]
"""What was done: a verb, or one of the two that are made of several."""


class Stage(msgspec.Struct, frozen=True):
    """How far somebody has come: the first of three is number 1 of 3."""

    number: int
    of: int


class AtDesk(msgspec.Struct, frozen=True):
    """Somebody as whoever works at a desk sees them."""

    ticket: Ticket
    visit: Visit | None
    due_at: int | None = None
    """Of somebody who was called, when the clock takes them for missed; of somebody held, when their hold ends."""

    @property
    def note(self) -> str | None:
        return None if self.visit is None else self.visit.note

    @property
    def stage(self) -> Stage | None:
        """None: the visit is a single ticket."""
        plan = () if self.visit is None else self.visit.plan
        done = sum(stage.state in DONE_WITH for stage in plan)
        return Stage(min(done + 1, len(plan)), len(plan)) if plan else None


class Latest(msgspec.Struct, frozen=True):
    """What was done last to somebody at the desk."""

    ticket: Ticket
    what: What
    at: int
    can_undo: bool
    """Whether an undo of the ticket's version would be done now."""


class Console(msgspec.Struct, frozen=True):
    venue: Venue
    now: int
    desk: Desk
    desk_now: DeskNow
    queues: list[Queue]
    """Those that the desk serves, in its order, paused or closed as they are."""
    lines: list[Line]
    """Today's, one for each of these queues."""
    here: list[AtDesk]
    """Who was called or is being served, whoever was called first comes first."""
    waiting: list[AtDesk]
    """In the order of calling, the first of them; if something was looked for, who fits."""
    held: list[AtDesk]
    missed: list[AtDesk]
    """The latest first, of these and of those who are held."""
    latest: list[Latest]
    """What was done at the desk, the last first."""

    @property
    def people_waiting(self) -> int:
        """All of them, whether they are listed or not, and paused queues too."""
        return sum(line.people_waiting for line in self.lines)


class LookAtConsole(View[Console], frozen=True):
    desk: str
    find: str | None = None
    """Only those who wait, are held or missed their call whose label, name or note has this in it."""
    most: int = 100
    undo_minutes: int = 10

    def wants(self, venue: Venue, wants: Wants) -> None:
        desk = venue.desk(self.desk)
        wants.add(DESKS)
        wants.current_lines.update(desk.queues)
        wants.searches |= {Search("at_desk", (desk.id,)), _left(desk.id)}
        if not self._text:
            wants.searches |= {Search("waiting", (queue_id, self.most)) for queue_id in desk.queues}

    def look(self, tx: Transaction, now: int) -> Console:
        desk = tx.venue.desk(self.desk)
        lines = [tx.line(queue_id) for queue_id in desk.queues]
        here = sorted(tx.at_desk(desk.id), key=lambda ticket: (ticket.called_at or 0, ticket.version))
        latest = self._latest(tx, desk.id, here, now)
        in_line = self._found(tx, lines) if self._text else self._first(tx, lines)
        _expect(tx, here, *in_line)
        return Console(
            tx.venue,
            now,
            desk,
            desk_now(tx, desk),
            [tx.venue.queue(queue_id) for queue_id in desk.queues],
            lines,
            [_seen(tx, ticket) for ticket in here],
            [_seen(tx, ticket) for ticket in in_line.waiting],
            [_seen(tx, ticket) for ticket in in_line.held],
            [_seen(tx, ticket) for ticket in in_line.missed],
            latest,
        )

    @property
    def _text(self) -> str:
        return normalize("NFC", self.find or "").strip()

    def _first(self, tx: Transaction, lines: list[Line]) -> "_InLine":
        """The newest line of a queue may be of a day that has ended."""
        begun = {line.key for line in lines if line.last_number > line.begins_behind}
        tx.must_have(searches=[_aside(key, state) for key in begun for state in ("held", "missed")])
        newest = [t for line in lines for t in tx.search(Search("waiting", (line.queue_id, self.most)))]
        aside = [t for key in begun for state in ("held", "missed") for t in tx.search(_aside(key, state))]
        return _in_line([*(ticket for ticket in newest if ticket.line_key in begun), *aside], self.most)

    def _found(self, tx: Transaction, lines: list[Line]) -> "_InLine":
        text, keys = self._text, {line.key for line in lines if line.last_number > line.begins_behind}
        if not text.isprintable() or not keys:
            return _InLine([], [], [])
        looks = [(*key, spelt, self.most) for key in keys for spelt in _spellings(text)]
        searches = [*(Search("found", look) for look in looks), *(Search("noted", look) for look in looks)]
        tx.must_have(searches=searches)
        found = {ticket.ticket_id: ticket for search in searches for ticket in tx.search(search)}
        return _in_line(found.values(), self.most)

    def _latest(self, tx: Transaction, desk_id: DeskId, here: list[Ticket], now: int) -> list[Latest]:
        changed = [ticket for ticket in (*here, *tx.search(_left(desk_id))) if ticket.day == tx.day and ticket.previous]
        changed = sorted(changed, key=lambda ticket: -ticket.version)[:LATEST]
        tx.must_have(
            tickets=[ticket.ticket_id for ticket in changed],
            lines=[ticket.line_key for ticket in changed],
            current_lines=[ticket.queue_id for ticket in changed],
            open_keys=[key for ticket in changed if (key := ticket.before()[0].open_key) is not None],
            rows={VISITS: {ticket.visit_id for ticket in changed}},
        )
        return [
            Latest(ticket, _what(tx, ticket), ticket.changed_at, self._can_undo(tx, ticket, now)) for ticket in changed
        ]

    def _can_undo(self, tx: Transaction, ticket: Ticket, now: int) -> bool:
        """Tried, and taken back: nobody else knows all that may stand in the way."""
        tx.begin(NOBODY)
        try:
            Undo(ticket.ticket_id, ticket.version, self.undo_minutes).decide(tx, now)
        except Refused:
            return False
        finally:
            tx.take_back()
        return True


class _InLine(NamedTuple):
    waiting: list[Ticket]
    held: list[Ticket]
    missed: list[Ticket]


def _in_line(tickets: Iterable[Ticket], most: int) -> _InLine:
    by_state: dict[State, list[Ticket]] = {"waiting": [], "held": [], "missed": []}
    for ticket in sorted(tickets, key=lambda ticket: -ticket.version):
        if ticket.state in by_state:
            by_state[ticket.state].append(ticket)
    waiting = sorted(by_state["waiting"], key=lambda ticket: ticket.place)
    return _InLine(waiting[:most], by_state["held"][:MOST_ASIDE], by_state["missed"][:MOST_ASIDE])


def _spellings(text: str) -> list[str]:
    """As it was typed, in the digits of labels, and with their zeros: ٩ finds A009 as 9 does, and so does a9."""
    in_latin = "".join(str(decimal(letter)) if letter.isdecimal() else letter for letter in text)
    short = SHORT_LABEL.fullmatch(in_latin)
    spelt = [text, in_latin] if short is None else [text, in_latin, f"{short[1]}{int(short[2]):03}"]
    return list(dict.fromkeys(spelt))


def _left(desk_id: DeskId) -> Search:
    return Search("left_desk", (desk_id, LATEST))


def _aside(key: LineKey, state: str) -> Search:
    return Search("aside", (*key, state, MOST_ASIDE))


def _what(tx: Transaction, ticket: Ticket) -> What:
    verbs = ticket.latest_verbs
    if "miss" in verbs and "rejoin" in verbs:
        return "put-back"
    visit = tx.find(VISITS, ticket.visit_id)
    has_moved = visit is not None and visit.ticket_id != ticket.ticket_id
    if verbs == ("leave",) and has_moved and visit is not None and visit.restored(ticket.version) is not None:
        return "transfer"
    return verbs[-1]


def _expect(tx: Transaction, *lists: Iterable[Ticket]) -> None:
    """The visits and alarms of all who are shown, in one go."""
    tickets = [ticket for tickets in lists for ticket in tickets]
    timed = {key for ticket in tickets if (key := _timer(tx, ticket)) is not None}
    tx.must_have(rows={VISITS: {ticket.visit_id for ticket in tickets}, ALARMS: timed})


def _timer(tx: Transaction, ticket: Ticket) -> AlarmKey | None:
    queue = tx.venue.queue(ticket.queue_id)
    if ticket.state == "called" and queue.miss_after is not None:
        return AlarmKey("miss", ticket.ticket_id)
    if ticket.state == "held" and queue.hold_limit is not None:
        return AlarmKey("hold", ticket.ticket_id)
    return None


def _seen(tx: Transaction, ticket: Ticket) -> AtDesk:
    timer = _timer(tx, ticket)
    alarm = None if timer is None else tx.find(ALARMS, timer)
    return AtDesk(ticket, tx.find(VISITS, ticket.visit_id), None if alarm is None else alarm.due_at)

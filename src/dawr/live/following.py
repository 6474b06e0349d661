"""Those who follow a ticket of their own in one queue, and the line they stand in.

Their own change and a turn that comes near are told at once. That others moved is told
twice a second at most, and only when it makes a difference to them.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from dawr.domain import Line, LineFacts, Place, Ticket, TicketFacts, TicketId, Venue, VenueId, VisitId
from dawr.domain.standing import wait_minutes
from dawr.domain.ticket import ENDED_STATES, STATES_IN_LINE
from dawr.live.forms import PersonalForm, Placed, Published
from dawr.live.line import WatchedLine
from dawr.live.watcher import Watcher

Shown: TypeAlias = tuple[int, int, bool]
"""How many are ahead, how long that takes, and whether the queue is paused."""


class Followed:
    """One ticket, and who follows it in which form. Events move on its place, state and desk, and nothing else."""

    __slots__ = ("is_near", "key", "reserve_mode", "shown", "ticket", "watchers")

    def __init__(self, ticket: Ticket, *, reserve_mode: bool = False) -> None:
        self.ticket = ticket
        self.key = ticket.line_key
        self.reserve_mode = reserve_mode
        """Known where a link is followed."""
        self.is_near = False
        self.shown: Shown | None = None
        """As told last; None if they are to be told again."""
        self.watchers: dict[Watcher, PersonalForm] = {}

    def take(self, facts: TicketFacts) -> None:
        self.ticket = msgspec.structs.replace(
            self.ticket, priority=facts.priority, sequence=facts.sequence, state=facts.state, desk_id=facts.desk
        )

    def has_place_in(self, line: WatchedLine) -> bool:
        return self.ticket.state in STATES_IN_LINE and self.key == line.key

    def standing(self, venue: Venue, line: WatchedLine) -> Placed:
        ahead = line.ahead_of(self.ticket.place) if self.has_place_in(line) else 0
        return self.standing_with(venue, ahead, line.facts)

    def standing_with(self, venue: Venue, ahead: int, facts: LineFacts) -> Placed:
        queue = venue.queue(self.key.queue_id)
        return Placed(queue, self.ticket, ahead, wait_minutes(queue, facts, ahead), self.reserve_mode)


class Following:
    def __init__(self, line: WatchedLine) -> None:
        self.line = line
        self.strangers: dict[str, dict[Watcher, PersonalForm]] = {}
        """Who has no ticket yet, by the key under which an open one would be found."""
        self._followed: dict[TicketId, Followed] = {}
        self._by_place: dict[Place, Followed] = {}
        self._moved = False
        self._entered = False

    @property
    def is_idle(self) -> bool:
        return not self._followed and not self.strangers

    def advance(self, published: Published, venue: Venue) -> None:
        """Let an event count, and tell at once whom it concerns."""
        freed = self.line.advance(published, venue)
        if self.is_idle:
            return
        self._moved = True
        self._entered = self._entered or _opens_a_ticket(published)
        if freed is not None and self._by_place:
            self._tell_who_is_near(venue)
        ticket_id = published.event.ticket_id
        if ticket_id in self._followed and published.facts is not None:
            self._tell_own(self._followed[ticket_id], published, published.facts, venue)

    def touch(self) -> None:
        """The set-up changed, and with it perhaps what is near or how long it takes."""
        self._moved = True

    def settle(self, venue: Venue, at: bytes) -> None:
        """Tell everybody whose place or wait has changed since this was last called."""
        if not self._moved:
            return
        self._moved = False
        for followed in tuple(self._followed.values()):
            _tell_what_moved(followed, followed.standing(venue, self.line), at)

    def wanted(self) -> list[str]:
        """Under which keys somebody may have entered since this was last asked."""
        entered, self._entered = self._entered, False
        return list(self.strangers) if entered else []

    def ask_again(self) -> None:
        self._entered = True

    def follow(self, ticket: Ticket, version: int, ring: Iterable[Published]) -> Followed:
        """The ticket as it is after all that was published; `version` is of when it was read."""
        followed = self._followed.get(ticket.ticket_id)
        if followed is None:
            followed = self._followed[ticket.ticket_id] = Followed(ticket)
            for published in ring:
                own = published.event.ticket_id == ticket.ticket_id and published.event.version > version
                if own and published.facts is not None:
                    followed.take(published.facts)
            self._put(followed)
        return followed

    def has_ended(self, ticket: Ticket, venue_id: VenueId) -> bool:
        """Whether nobody will call this ticket any more, though it was never closed."""
        queue_id, day, number = self.line.key
        return Line(venue_id, queue_id, day, number).has_ended(ticket)

    def add(self, followed: Followed, watcher: Watcher, form: PersonalForm, standing: Placed, at: bytes) -> None:
        """One more, who knows where it stands. Who followed before is told first: what was shown is shared."""
        _tell_what_moved(followed, standing, at)
        followed.watchers[watcher] = form

    def leave(self, watcher: Watcher, followed: Followed | None, open_key: str | None) -> None:
        if followed is not None:
            followed.watchers.pop(watcher, None)
            self.leave_empty(followed)
        if open_key is not None and watcher in self.strangers.get(open_key, {}):
            del self.strangers[open_key][watcher]
            if not self.strangers[open_key]:
                del self.strangers[open_key]

    def leave_empty(self, followed: Followed) -> None:
        """Forget a ticket that nobody follows."""
        if not followed.watchers:
            self._followed.pop(followed.ticket.ticket_id, None)
            self._by_place.pop(followed.ticket.place, None)

    def ahead_after(self, version: int, place: Place, ring: Sequence[Published]) -> int:
        """How many were ahead of this place then: as many as now, and what has happened since, backwards."""
        ahead = self.line.ahead_of(place)
        for published in ring:
            facts = published.facts
            if published.event.version <= version or facts is None or published.line_key != self.line.key:
                continue
            ahead += facts.before == "waiting" and _is_ahead(published.place_before, place)
            ahead -= facts.state == "waiting" and _is_ahead(published.place, place)
        return ahead

    def _tell_who_is_near(self, venue: Venue) -> None:
        """When somebody ahead goes, one place alone comes within so many."""
        near_turn = venue.queue(self.line.queue_id).near_turn
        places = self.line.places
        if near_turn >= len(places):
            return
        followed = self._by_place.get(places[near_turn])
        if followed is not None and not followed.is_near:
            standing = followed.standing(venue, self.line)
            followed.is_near, followed.shown = standing.is_near, None
            _tell(followed, {form: form.near(standing) for form in set(followed.watchers.values())})

    def _tell_own(self, followed: Followed, published: Published, facts: TicketFacts, venue: Venue) -> None:
        self._by_place.pop(followed.ticket.place, None)
        followed.take(facts)
        self._put(followed)
        if published.event.kind == "ticket.adopted":
            self._give_away(followed, facts.visit)
        standing = followed.standing(venue, self.line)
        comes_near = standing.is_near and not followed.is_near
        followed.shown, followed.is_near = _shown(standing), standing.is_near
        if comes_near:
            _tell(followed, {form: form.near(standing) for form in set(followed.watchers.values())})
        _tell_what_happened(followed, published, standing, onward(standing, facts, venue))
        if followed.ticket.state in ENDED_STATES:
            self._let_go(followed)

    def _give_away(self, followed: Followed, visit_id: VisitId | None) -> None:
        """It is another visit's now. Nothing of that is told to who followed it by its own link, or by name."""
        for watcher, form in tuple(followed.watchers.items()):
            if watcher.seat.open_key is not None:
                self._make_stranger(watcher, form, followed, watcher.seat.open_key)
            elif watcher.seat.visit is None or watcher.seat.visit.visit_id != visit_id:
                watcher.end()

    def _let_go(self, followed: Followed) -> None:
        """Whoever is known by name may come again with another ticket."""
        for watcher, form in tuple(followed.watchers.items()):
            if watcher.seat.open_key is not None:
                self._make_stranger(watcher, form, followed, watcher.seat.open_key)

    def _make_stranger(self, watcher: Watcher, form: PersonalForm, followed: Followed, open_key: str) -> None:
        self.leave(watcher, followed, None)
        watcher.seat.followed = None
        self.strangers.setdefault(open_key, {})[watcher] = form

    def _put(self, followed: Followed) -> None:
        if followed.ticket.state == "waiting" and followed.key == self.line.key:
            self._by_place[followed.ticket.place] = followed


def onward(standing: Placed, facts: TicketFacts, venue: Venue) -> Placed:
    """The same, with where the visitor goes next if the event says so."""
    return standing if facts.next is None else msgspec.structs.replace(standing, next=venue.queue(facts.next))


def _opens_a_ticket(published: Published) -> bool:
    """A new one, or one that had ended."""
    facts = published.facts
    if facts is None or facts.state in ENDED_STATES:
        return False
    return published.event.kind == "ticket.issued" or facts.before in ENDED_STATES


def _is_ahead(other: Place | None, place: Place) -> bool:
    return other is not None and other < place


def _tell_what_happened(followed: Followed, published: Published, standing: Placed, with_next: Placed) -> None:
    """Each form makes its bytes once. Where the visitor goes from here is for those who hold the link."""
    made: dict[tuple[PersonalForm, bool, bytes], bytes] = {}
    for watcher, form in tuple(followed.watchers.items()):
        channel, by_link = watcher.seat.channel, watcher.seat.visit is not None
        shared = channel is not None and channel.frame(published) is not None
        key = (form, by_link, b"" if shared else published.at)
        if key not in made:
            made[key] = form.happened(published.kind_for_visitor, with_next if by_link else standing, key[2])
        watcher.push(made[key])


def _shown(standing: Placed) -> Shown:
    return standing.ahead, standing.wait_minutes, standing.is_paused


def _tell_what_moved(followed: Followed, standing: Placed, at: bytes) -> None:
    """Everybody who follows the ticket, if its place or wait is not what they were told last."""
    shown = _shown(standing)
    comes_near = standing.is_near and not followed.is_near
    has_moved = standing.ticket.state in STATES_IN_LINE and (comes_near or shown != followed.shown)
    followed.shown, followed.is_near = shown, standing.is_near
    if comes_near:
        _tell(followed, {form: form.near(standing) for form in set(followed.watchers.values())})
    if has_moved:
        _tell(followed, {form: form.moved(standing, at) for form in set(followed.watchers.values())})


def _tell(followed: Followed, frames: dict[PersonalForm, bytes]) -> None:
    for watcher, form in tuple(followed.watchers.items()):
        watcher.push(frames[form])

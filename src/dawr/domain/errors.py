"""Why the rules say no.

    Refused
    ├── NotFound      UnknownVenue · UnknownQueue · UnknownDesk · UnknownTicket · UnknownVisit · NotInQueue
    │                 UnknownStaff · UnknownToken · UnknownJourney · NotInPlan
    ├── Forbidden     RoleTooLow · OwnerCodeInvalid · NotAtThisDesk · NotForThisAudience
    │                 PinWrong · PinForeign · PinRotated · PinNeeded · NumberWrong · VisitLocked
    ├── Conflict      TicketInWrongState · QueueInWrongState · LineEnded · QueuePaused · VisitInWrongState
    │                 NotItsTurn · NotEntered · NothingToEnter · StageInWrongState
    │                 CannotUndo · ChangedSince · UndoTooLate · PlaceTaken · PinTaken
    │                 CannotRepairDay · LastOwner · UsernameTaken · AlreadyStaff
    ├── Closed        VenueInactive · QueueClosed · OutsideHours
    ├── Full          QueueFull · TooManyVenues
    ├── TooOften      JoinedTooOften · PinTriedTooOften
    └── Invalid       InvalidValue

A leaf carries a public `code` and the facts that a client may need. The sentences for people are in
`web/words`, by code. A refused command changed nothing, but for a PIN that failed: that is counted.
"""

from collections.abc import Mapping
from typing import ClassVar

Fact = str | int | bool | dict[str, str] | None
"""A dict is a name in several languages: whoever tells it takes the reader's."""


class Refused(Exception):
    """The rules do not allow this."""

    code: ClassVar[str] = "refused"

    def __init__(self, **facts: Fact) -> None:
        super().__init__(self.code, *(f"{name}={fact}" for name, fact in facts.items()))
        self.facts: Mapping[str, Fact] = facts

    def __str__(self) -> str:
        return " ".join(self.args)


class NotFound(Refused):
    """There is no such thing here."""


class UnknownVenue(NotFound):
    code = "unknown-venue"

    def __init__(self, venue: str | None = None, **facts: Fact) -> None:
        super().__init__(**({} if venue is None else {"venue": venue}), **facts)


class UnknownQueue(NotFound):
    code = "unknown-queue"

    def __init__(self, queue: str, **facts: Fact) -> None:
        super().__init__(queue=queue, **facts)


class UnknownDesk(NotFound):
    code = "unknown-desk"

    def __init__(self, desk: str, **facts: Fact) -> None:
        super().__init__(desk=desk, **facts)


class UnknownTicket(NotFound):
    code = "unknown-ticket"


class UnknownStaff(NotFound):
    code = "unknown-staff"

    def __init__(self, username: str) -> None:
        super().__init__(username=username)


class UnknownToken(NotFound):
    code = "unknown-token"


class UnknownVisit(NotFound):
    code = "unknown-visit"


class NotInQueue(NotFound):
    code = "not-in-queue"

    def __init__(self, queue: str) -> None:
        super().__init__(queue=queue)


class UnknownJourney(NotFound):
    code = "unknown-journey"

    def __init__(self, journey: str) -> None:
        super().__init__(journey=journey)


class NotInPlan(NotFound):
    code = "not-in-plan"

    def __init__(self, queue: str) -> None:
        super().__init__(queue=queue)


class Forbidden(Refused):
    """Whoever asks may not do this."""


class NotAtThisDesk(Forbidden):
    code = "not-at-this-desk"

    def __init__(self, queue: str) -> None:
        super().__init__(queue=queue)


class NotForThisAudience(Forbidden):
    code = "not-for-this-audience"

    def __init__(self, journey: str, audience: str) -> None:
        super().__init__(journey=journey, audience=audience)


class PinRefused(Forbidden):
    """The stage is not finished by this."""


class PinWrong(PinRefused):
    code = "pin-wrong"

    def __init__(self, left: int | None = None) -> None:
        super().__init__(tries_left=left)


class PinForeign(PinRefused):
    code = "pin-of-another-clinic"

    def __init__(self, left: int | None = None) -> None:
        super().__init__(tries_left=left)


class PinRotated(PinRefused):
    code = "pin-rotated"


class PinNeeded(PinRefused):
    code = "pin-needed"

    def __init__(self, queue: str) -> None:
        super().__init__(queue=queue)


class NumberWrong(PinRefused):
    code = "number-wrong"


class VisitLocked(PinRefused):
    code = "visit-locked"


class RoleTooLow(Forbidden):
    code = "role-too-low"

    def __init__(self, role: str, needed: str) -> None:
        super().__init__(role=role, needed=needed)


class OwnerCodeInvalid(Forbidden):
    code = "owner-code-invalid"


class Conflict(Refused):
    """The thing is not in a state that allows this."""


class TicketInWrongState(Conflict):
    code = "ticket-in-wrong-state"

    def __init__(self, label: str, state: str, verb: str, **where: Fact) -> None:
        super().__init__(label=label, state=state, verb=verb, **where)


class QueueInWrongState(Conflict):
    code = "queue-in-wrong-state"

    def __init__(self, queue: str, state: str, verb: str) -> None:
        super().__init__(queue=queue, state=state, verb=verb)


class LineEnded(Conflict):
    code = "line-ended"

    def __init__(self, label: str, verb: str) -> None:
        super().__init__(label=label, verb=verb)


class QueuePaused(Conflict):
    code = "queue-paused"

    def __init__(self, queue: str) -> None:
        super().__init__(queue=queue)


class VisitInWrongState(Conflict):
    code = "visit-in-wrong-state"

    def __init__(self, state: str, verb: str) -> None:
        super().__init__(state=state, verb=verb)


class NotItsTurn(Conflict):
    code = "not-its-turn"

    def __init__(self, queue: str, state: str) -> None:
        super().__init__(queue=queue, state=state)


class NotEntered(Conflict):
    code = "not-entered"

    def __init__(self, queue: str) -> None:
        super().__init__(queue=queue)


class NothingToEnter(Conflict):
    code = "nothing-to-enter"


class StageInWrongState(Conflict):
    code = "stage-in-wrong-state"

    def __init__(self, queue: str, state: str, verb: str) -> None:
        super().__init__(queue=queue, state=state, verb=verb)


class CannotUndo(Conflict):
    code = "cannot-undo"

    def __init__(self, label: str | None) -> None:
        super().__init__(label=label)


class CannotRepairDay(Conflict):
    code = "cannot-repair-day"

    def __init__(self, venue: str, why: str, **facts: Fact) -> None:
        super().__init__(venue=venue, why=why, **facts)


class ChangedSince(Conflict):
    code = "changed-since"

    def __init__(self, label: str, version: int) -> None:
        super().__init__(label=label, version=version)


class UndoTooLate(Conflict):
    code = "undo-too-late"

    def __init__(self, label: str | None, minutes: int | None = None, *, seconds: int | None = None) -> None:
        super().__init__(label=label, **({"minutes": minutes} if seconds is None else {"seconds": seconds}))


class PlaceTaken(Conflict):
    code = "place-taken"

    def __init__(self, label: str | None, why: str, **facts: Fact) -> None:
        super().__init__(label=label, why=why, **facts)


class PinTaken(Conflict):
    code = "pin-taken"


class LastOwner(Conflict):
    code = "last-owner"

    def __init__(self, username: str) -> None:
        super().__init__(username=username)


class UsernameTaken(Conflict):
    code = "username-taken"

    def __init__(self, username: str) -> None:
        super().__init__(username=username)


class AlreadyStaff(Conflict):
    code = "already-staff"

    def __init__(self, username: str) -> None:
        super().__init__(username=username)


class Closed(Refused):
    """The queue takes nobody now."""


class VenueInactive(Closed):
    code = "venue-inactive"

    def __init__(self, venue: str) -> None:
        super().__init__(venue=venue)


class QueueClosed(Closed):
    code = "queue-closed"

    def __init__(self, queue: str) -> None:
        super().__init__(queue=queue)


class OutsideHours(Closed):
    code = "outside-hours"

    def __init__(self, queue: str, opens_at: str | None) -> None:
        super().__init__(queue=queue, opens_at=opens_at)


class Full(Refused):
    """There is no room left."""


class QueueFull(Full):
    code = "queue-full"

    def __init__(self, queue: str, capacity: int, reserve: int) -> None:
        super().__init__(queue=queue, capacity=capacity, reserve=reserve)


class TooManyVenues(Full):
    code = "too-many-venues"

    def __init__(self, most: int) -> None:
        super().__init__(most=most)


class TooOften(Refused):
    """Too many requests."""

    policy: ClassVar[str]
    """What callers know the limit by."""

    def __init__(self, *, whose: str, most: int, window_seconds: int, again_seconds: int) -> None:
        super().__init__(most=most)
        self.whose = whose
        """Not for the caller, nor for a log."""
        self.most = most
        self.window_seconds = window_seconds
        self.again_seconds = again_seconds


class JoinedTooOften(TooOften):
    code = "quota-exceeded"
    policy = "mobile"

    def __init__(self, mobile: str, most: int, again_seconds: int) -> None:
        super().__init__(whose=mobile, most=most, window_seconds=60 * 60, again_seconds=again_seconds)


class PinTriedTooOften(TooOften):
    """Too many wrong PINs for one visit from callers who only know its visitor's name."""

    code = "pin-tries-used-up"
    policy = "pin-by-name"

    def __init__(self, visitor: str, *, most: int, window_seconds: int, again_seconds: int) -> None:
        super().__init__(whose=visitor, most=most, window_seconds=window_seconds, again_seconds=again_seconds)
        self.facts = {"minutes": -(-again_seconds // 60)}


class Invalid(Refused):
    """The request does not make sense as it is."""


class InvalidValue(Invalid):
    code = "invalid-value"

    def __init__(self, field: str, rule: str, **facts: Fact) -> None:
        super().__init__(field=field, rule=rule, **facts)

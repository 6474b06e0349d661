"""Why the rules say no.

    Refused
    ├── NotFound      UnknownVenue · UnknownQueue · UnknownDesk · UnknownTicket · UnknownVisit · NotInQueue
    │                 UnknownStaff · UnknownToken · UnknownJourney · NotInPlan
    ├── Forbidden     RoleTooLow · OwnerCodeInvalid · NotAtThisDesk · NotForThisAudience
    │                 PinWrong · PinForeign · PinRotated · PinNeeded · NumberWrong · VisitLocked
    ├── Conflict      TicketInWrongState · QueueInWrongState · LineEnded · QueuePaused · VisitInWrongState
    │                 NotItsTurn · NotEntered · NothingToEnter · StageInWrongState
    │                 CannotUndo · ChangedSince · UndoTooLate · PlaceTaken · PinTaken
    │                 LastOwner · UsernameTaken · AlreadyStaff
    ├── Closed        VenueInactive · QueueClosed · OutsideHours
    ├── Full          QueueFull
    ├── TooOften      JoinedTooOften
    └── Invalid       InvalidValue

A leaf carries a public `code`, a sentence, and the facts that a client may need.
A refused command changed nothing, but for a PIN that failed: that is counted.
"""

from collections.abc import Mapping
from typing import ClassVar

Fact = str | int | bool | None


class Refused(Exception):
    """The rules do not allow this."""

    code: ClassVar[str] = "refused"

    def __init__(self, sentence: str | None = None, **facts: Fact) -> None:
        super().__init__(sentence or self.__doc__)
        self.facts: Mapping[str, Fact] = facts


class NotFound(Refused):
    """There is no such thing here."""


class UnknownVenue(NotFound):
    code = "unknown-venue"

    def __init__(self, venue: str) -> None:
        super().__init__(f"There is no venue {venue!r}.", venue=venue)


class UnknownQueue(NotFound):
    code = "unknown-queue"

    def __init__(self, queue: str) -> None:
        super().__init__(f"There is no queue {queue!r} here.", queue=queue)


class UnknownDesk(NotFound):
    code = "unknown-desk"

    def __init__(self, desk: str) -> None:
        super().__init__(f"There is no desk {desk!r} here.", desk=desk)


class UnknownTicket(NotFound):
    code = "unknown-ticket"

    def __init__(self) -> None:
        super().__init__("There is no such ticket here.")


class UnknownStaff(NotFound):
    code = "unknown-staff"

    def __init__(self, username: str) -> None:
        super().__init__(f"There is no staff member {username!r} here.", username=username)


class UnknownToken(NotFound):
    code = "unknown-token"

    def __init__(self) -> None:
        super().__init__("There is no such token here.")


class UnknownVisit(NotFound):
    code = "unknown-visit"

    def __init__(self) -> None:
        super().__init__("There is no such visit here.")


class NotInQueue(NotFound):
    code = "not-in-queue"

    def __init__(self, queue: str) -> None:
        super().__init__(f"This visitor has no open ticket in queue {queue}.", queue=queue)


class UnknownJourney(NotFound):
    code = "unknown-journey"

    def __init__(self, journey: str) -> None:
        super().__init__(f"There is no journey {journey!r} here.", journey=journey)


class NotInPlan(NotFound):
    code = "not-in-plan"

    def __init__(self, queue: str) -> None:
        super().__init__(f"Queue {queue} is no stage of this visit.", queue=queue)


class Forbidden(Refused):
    """Whoever asks may not do this."""


class NotAtThisDesk(Forbidden):
    code = "not-at-this-desk"

    def __init__(self, queue: str) -> None:
        super().__init__(f"This is for managers, and for whoever sits at a desk of queue {queue}.", queue=queue)


class NotForThisAudience(Forbidden):
    code = "not-for-this-audience"

    def __init__(self, journey: str, audience: str) -> None:
        super().__init__(f"Journey {journey} is for {audience} only.", journey=journey, audience=audience)


class PinRefused(Forbidden):
    """The stage is not finished by this."""


class PinWrong(PinRefused):
    code = "pin-wrong"

    def __init__(self, left: int | None = None) -> None:
        more = "" if left is None else f" {left} more tries until the visit is locked."
        super().__init__(f"This PIN is not right.{more}", tries_left=left)


class PinForeign(PinRefused):
    code = "pin-of-another-clinic"

    def __init__(self, left: int) -> None:
        super().__init__(f"This PIN is another room's. {left} more tries until the visit is locked.", tries_left=left)


class PinRotated(PinRefused):
    code = "pin-rotated"

    def __init__(self) -> None:
        super().__init__("This PIN was changed a moment ago: ask for the new one. It was not counted.")


class PinNeeded(PinRefused):
    code = "pin-needed"

    def __init__(self, queue: str) -> None:
        super().__init__(f"Type the PIN that is shown in queue {queue}.", queue=queue)


class NumberWrong(PinRefused):
    code = "number-wrong"

    def __init__(self) -> None:
        super().__init__("This is not the visitor's number in this queue.")


class VisitLocked(PinRefused):
    code = "visit-locked"

    def __init__(self) -> None:
        super().__init__("Too many PINs were wrong: ask the staff to unlock the visit.")


class RoleTooLow(Forbidden):
    code = "role-too-low"

    def __init__(self, role: str, needed: str) -> None:
        super().__init__(f"This needs the role {needed}; yours here is {role}.", role=role, needed=needed)


class OwnerCodeInvalid(Forbidden):
    code = "owner-code-invalid"

    def __init__(self) -> None:
        super().__init__("This link is wrong, was used, or has expired: start the server again for a new one.")


class Conflict(Refused):
    """The thing is not in a state that allows this."""


class TicketInWrongState(Conflict):
    code = "ticket-in-wrong-state"

    def __init__(self, label: str, state: str, verb: str) -> None:
        super().__init__(f"Cannot {verb} ticket {label}: it is {state}.", label=label, state=state, verb=verb)


class QueueInWrongState(Conflict):
    code = "queue-in-wrong-state"

    def __init__(self, queue: str, state: str, verb: str) -> None:
        super().__init__(f"Cannot {verb} queue {queue}: it is {state}.", queue=queue, state=state, verb=verb)


class LineEnded(Conflict):
    code = "line-ended"

    def __init__(self, label: str, verb: str) -> None:
        super().__init__(f"Cannot {verb} ticket {label}: its line has ended.", label=label, verb=verb)


class QueuePaused(Conflict):
    code = "queue-paused"

    def __init__(self, queue: str) -> None:
        super().__init__(f"Queue {queue} is paused: nobody is called until it resumes.", queue=queue)


class VisitInWrongState(Conflict):
    code = "visit-in-wrong-state"

    def __init__(self, state: str, verb: str) -> None:
        super().__init__(f"Cannot {verb} this visit: it is {state}.", state=state, verb=verb)


class NotItsTurn(Conflict):
    code = "not-its-turn"

    def __init__(self, queue: str, state: str) -> None:
        super().__init__(f"It is not the turn of queue {queue}: this stage is {state}.", queue=queue, state=state)


class NotEntered(Conflict):
    code = "not-entered"

    def __init__(self, queue: str) -> None:
        super().__init__(f"This visitor is not in queue {queue} yet.", queue=queue)


class NothingToEnter(Conflict):
    code = "nothing-to-enter"

    def __init__(self) -> None:
        super().__init__("No stage of this visit waits to be entered.")


class StageInWrongState(Conflict):
    code = "stage-in-wrong-state"

    def __init__(self, queue: str, state: str, verb: str) -> None:
        super().__init__(f"Cannot {verb} the stage of queue {queue}: it is {state}.", queue=queue, state=state)


class CannotUndo(Conflict):
    code = "cannot-undo"

    def __init__(self, label: str) -> None:
        super().__init__(f"What happened last to ticket {label} cannot be undone.", label=label)


class ChangedSince(Conflict):
    code = "changed-since"

    def __init__(self, label: str, version: int) -> None:
        super().__init__(f"Ticket {label} has changed since: look at it again.", label=label, version=version)


class UndoTooLate(Conflict):
    code = "undo-too-late"

    def __init__(self, label: str, minutes: int) -> None:
        super().__init__(f"Ticket {label} changed more than {minutes} minutes ago: too late to undo.", label=label)


class PlaceTaken(Conflict):
    code = "place-taken"

    def __init__(self, label: str, sentence: str) -> None:
        super().__init__(f"Ticket {label} cannot have its place back: {sentence}", label=label)


class PinTaken(Conflict):
    code = "pin-taken"

    def __init__(self) -> None:
        super().__init__("Another queue has this PIN, or this queue had it a moment ago: choose another.")


class LastOwner(Conflict):
    code = "last-owner"

    def __init__(self, username: str) -> None:
        super().__init__(f"The last owner here is {username}: make another one first.", username=username)


class UsernameTaken(Conflict):
    code = "username-taken"

    def __init__(self, username: str) -> None:
        super().__init__(f"The username {username} is taken: choose another.", username=username)


class AlreadyStaff(Conflict):
    code = "already-staff"

    def __init__(self, username: str) -> None:
        super().__init__(f"There is a staff member {username} here already.", username=username)


class Closed(Refused):
    """The queue takes nobody now."""


class VenueInactive(Closed):
    code = "venue-inactive"

    def __init__(self, venue: str) -> None:
        super().__init__(f"Venue {venue} takes nobody at present.", venue=venue)


class QueueClosed(Closed):
    code = "queue-closed"

    def __init__(self, queue: str) -> None:
        super().__init__(f"Queue {queue} is closed.", queue=queue)


class OutsideHours(Closed):
    code = "outside-hours"

    def __init__(self, queue: str, opens_at: str | None) -> None:
        when = f" It opens at {opens_at}." if opens_at else ""
        super().__init__(f"Queue {queue} is outside its hours.{when}", queue=queue, opens_at=opens_at)


class Full(Refused):
    """There is no room left."""


class QueueFull(Full):
    code = "queue-full"

    def __init__(self, queue: str, capacity: int, reserve: int) -> None:
        super().__init__(
            f"Queue {queue} has given all its numbers for today ({capacity} and {reserve} in reserve).",
            queue=queue,
            capacity=capacity,
            reserve=reserve,
        )


class TooOften(Refused):
    """Too many requests."""

    policy: ClassVar[str]
    """What callers know the limit by."""

    def __init__(self, sentence: str, *, whose: str, most: int, window_seconds: int, again_seconds: int) -> None:
        super().__init__(sentence)
        self.whose = whose
        """Not for the caller, nor for a log."""
        self.most = most
        self.window_seconds = window_seconds
        self.again_seconds = again_seconds


class JoinedTooOften(TooOften):
    code = "quota-exceeded"
    policy = "mobile"

    def __init__(self, mobile: str, most: int, again_seconds: int) -> None:
        times = "once" if most == 1 else f"{most} times"
        sentence = f"A mobile number can join {times} within an hour here."
        super().__init__(sentence, whose=mobile, most=most, window_seconds=60 * 60, again_seconds=again_seconds)


class Invalid(Refused):
    """The request does not make sense as it is."""


class InvalidValue(Invalid):
    code = "invalid-value"

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence, field=field)

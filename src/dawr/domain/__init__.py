"""The rules. No I/O, no clock, no randomness: time and ids come in as arguments.

What everybody speaks of is named here: import it from here. What a module can do, and why it refuses, is in the module.
"""

from dawr.domain.account import Account, SignedIn
from dawr.domain.alarm import Alarm, AlarmKey, AlarmKind
from dawr.domain.choice import Candidate
from dawr.domain.day import Day
from dawr.domain.desk import DeskNow, DeskState
from dawr.domain.events import NOBODY, Event, LineFacts, More, Origin, TicketFacts
from dawr.domain.journey import Journey, Stage
from dawr.domain.line import Line, Redated
from dawr.domain.overtaking import Overtakings, Why
from dawr.domain.pin import Pin
from dawr.domain.queue import Audience, Queue, QueueId, QueueState, QueueVerb
from dawr.domain.staff import AccountId, Role, StaffMember
from dawr.domain.standing import Standing
from dawr.domain.ticket import LineKey, Place, State, Ticket, TicketId, Verb, VisitId
from dawr.domain.token import Token, TokenId, TokenKind
from dawr.domain.venue import Desk, DeskId, Head, QueueCode, Unnamed, Venue, VenueId
from dawr.domain.visit import Link, PlannedStage, StageState, Visit, VisitState

__all__ = [
    "NOBODY",
    "Account",
    "AccountId",
    "Alarm",
    "AlarmKey",
    "AlarmKind",
    "Audience",
    "Candidate",
    "Day",
    "Desk",
    "DeskId",
    "DeskNow",
    "DeskState",
    "Event",
    "Head",
    "Journey",
    "Line",
    "LineFacts",
    "LineKey",
    "Link",
    "More",
    "Origin",
    "Overtakings",
    "Pin",
    "Place",
    "PlannedStage",
    "Queue",
    "QueueCode",
    "QueueId",
    "QueueState",
    "QueueVerb",
    "Redated",
    "Role",
    "SignedIn",
    "StaffMember",
    "Stage",
    "StageState",
    "Standing",
    "State",
    "Ticket",
    "TicketFacts",
    "TicketId",
    "Token",
    "TokenId",
    "TokenKind",
    "Unnamed",
    "Venue",
    "VenueId",
    "Verb",
    "Visit",
    "VisitId",
    "VisitState",
    "Why",
]

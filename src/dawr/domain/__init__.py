"""The rules. No I/O, no clock, no randomness: time and ids come in as arguments.

What everybody speaks of is named here: import it from here. What a module can do, and why it refuses, is in the module.
"""

from dawr.domain.account import Account, SignedIn
from dawr.domain.day import Day
from dawr.domain.events import NOBODY, Event, LineFacts, Origin, TicketFacts
from dawr.domain.line import Line
from dawr.domain.queue import Audience, Queue, QueueId, QueueState, QueueVerb
from dawr.domain.staff import AccountId, Role, StaffMember
from dawr.domain.standing import Standing
from dawr.domain.ticket import LineKey, State, Ticket, TicketId, Verb, VisitId
from dawr.domain.token import Token, TokenId, TokenKind
from dawr.domain.venue import Desk, DeskId, Head, QueueCode, Unnamed, Venue, VenueId
from dawr.domain.visit import Link, Visit
from dawr.domain.waiting import Place

__all__ = [
    "NOBODY",
    "Account",
    "AccountId",
    "Audience",
    "Day",
    "Desk",
    "DeskId",
    "Event",
    "Head",
    "Line",
    "LineFacts",
    "LineKey",
    "Link",
    "Origin",
    "Place",
    "Queue",
    "QueueCode",
    "QueueId",
    "QueueState",
    "QueueVerb",
    "Role",
    "SignedIn",
    "StaffMember",
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
]

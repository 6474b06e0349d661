"""A ticket's code for a slip, as text or QR: `CLINIC-LAB-07-261117-8K2Q`.

Its end is a check that only the ticket itself can make: it is keyed by the ticket's id, which no other visitor
is told and nobody can guess. So a code that was not given out is not one.
"""

import hmac
from hashlib import sha256
from typing import NamedTuple

from dawr.domain.day import Day
from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""32 that are not taken for each other: four of them are 20 bits."""


class SessionCode(NamedTuple):
    queue: str
    number: int
    day: Day
    check: str


def session_code(venue: Venue, ticket: Ticket) -> str:
    day = ticket.day[2:].replace("-", "")
    return f"{_beginning(venue)}{ticket.queue_id.upper()}-{ticket.number:02}-{day}-{check_of(ticket)}"


def check_of(ticket: Ticket) -> str:
    """Over venue, queue, day, round and number."""
    said = f"{ticket.venue_id}:{ticket.queue_id}:{ticket.day}:{ticket.round}:{ticket.number}"
    bits = int.from_bytes(hmac.digest(ticket.ticket_id.encode(), said.encode(), sha256)[:3])
    return "".join(LETTERS[bits >> shift & 31] for shift in (15, 10, 5, 0))


def read_session_code(venue: Venue, text: str) -> SessionCode | None:
    """None: it does not look like one of this venue's."""
    beginning, typed = _beginning(venue), text.strip().upper()
    parts = typed.removeprefix(beginning).rsplit("-", 3)
    if not typed.startswith(beginning) or len(parts) != 4:  # noqa: PLR2004 - queue, number, day, check
        return None
    queue, number, day, check = parts
    if not (number.isascii() and number.isdigit() and len(number) <= 9 and len(day) == 6 and day.isdigit()):  # noqa: PLR2004
        return None
    return SessionCode(queue.lower(), int(number), Day(f"20{day[:2]}-{day[2:4]}-{day[4:]}"), check)


def _beginning(venue: Venue) -> str:
    return f"{(venue.code_prefix or venue.slug).upper()}-"

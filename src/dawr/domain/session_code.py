"""A ticket's code for a slip, as text or QR: `CLINIC-LAB-07-261117-8K2Q`.

Its end is a check that is keyed by the installation's secret, so nobody can make a code for somebody else's ticket.
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
    """The parts of a code as somebody typed or scanned it."""

    queue: str
    number: int
    day: Day
    check: str


class SessionCodes:
    """Makes and checks codes with one key."""

    def __init__(self, installation_secret: str) -> None:
        self._key = hmac.digest(installation_secret.encode(), b"session codes", sha256)

    def code_of(self, venue: Venue, ticket: Ticket) -> str:
        day = ticket.day[2:].replace("-", "")
        return f"{_beginning(venue)}{ticket.queue_id.upper()}-{ticket.number:02}-{day}-{self._check_of(ticket)}"

    def is_of(self, code: SessionCode, ticket: Ticket) -> bool:
        """Return whether the code's end is the check of this ticket."""
        return hmac.compare_digest(self._check_of(ticket).encode(), code.check.encode())

    def _check_of(self, ticket: Ticket) -> str:
        text = f"{ticket.venue_id}:{ticket.queue_id}:{ticket.day}:{ticket.round}:{ticket.number}:{ticket.ticket_id}"
        bits = int.from_bytes(hmac.digest(self._key, text.encode(), sha256)[:3])
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

"""Whose limit a request with a visitor's link counts for: the visit's, not that of the address it comes from.

A hall full of phones is behind one address, and all of them come back at once when a server starts again. So whoever
holds a link that opens a visit is counted by it. A link that opens none counts for the address, like any guess; and
an address has only so many guesses.
"""

import re
from contextlib import suppress
from urllib.parse import unquote

from dawr.domain import Link, VenueId
from dawr.domain.errors import UnknownVenue, UnknownVisit
from dawr.domain.secret import hash_of
from dawr.engine.engine import Engine
from dawr.operations.visits import LookAtVisit
from dawr.web.raw_request import RawRequest

MOST = 50_000
LONGEST_LINK = 200
IN_QUERY = re.compile(rb"(?:^|&)ticket=(?:%2[fF]t%2[fF]|/t/)?([^&]+)")


class KnownLinks:
    """Those that opened a visit before, by their hash: each is looked up once."""

    def __init__(self, engine: Engine, *, most: int = MOST) -> None:
        self._engine = engine
        self._most = most
        self._known: dict[str, None] = {}

    def knows(self, link: str) -> bool:
        return hash_of(link) in self._known

    async def opens(self, link: str) -> bool:
        """Asked of the store."""
        if len(link) > LONGEST_LINK or not link.isprintable():
            return False
        with suppress(UnknownVenue, UnknownVisit):
            await self._engine.read(VenueId(link.partition("-")[0]), LookAtVisit(Link.read(link)))
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            self._known[hash_of(link)] = None
            return True
        return False


def link_in_path(raw: RawRequest) -> str | None:
    return raw.params["visit"]


def link_in_query(raw: RawRequest) -> str | None:
    found = IN_QUERY.search(raw.scope["query_string"])
    return None if found is None else unquote(found[1].decode("latin-1"))


def link_in_body(given: object) -> str | None:
    """Return the link in the field `ticket` of a decoded body."""
    ticket = getattr(given, "ticket", None)
    return ticket.rpartition("/t/")[2] if ticket else None

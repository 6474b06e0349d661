"""What the restaurant's contract takes and gives, in its own words.

The contract is others': what it is told and does not know, it ignores.
"""

from typing import Annotated, Literal

import msgspec

from dawr.domain.ticket import LARGEST_PARTY, LONGEST_VISITOR
from dawr.web.pagination import Cursor, Limit

Status = Literal["WAITING", "CALLED", "SEATED", "NO_SHOW", "CANCELLED"]


class JoinInput(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_VISITOR)]
    mobileNumber: Annotated[  # noqa: N815
        str,
        msgspec.Meta(
            pattern=r"^\+[1-9][0-9]{6,14}$",
            description="In E.164.",
            examples=["+97455512345"],
            extra={"rule": "mobile"},
        ),
    ]
    partySize: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_PARTY)]  # noqa: N815
    seatingType: Literal["indoor", "outdoor", "any"] | None = None  # noqa: N815
    idempotencyKey: (  # noqa: N815
        Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern="^[!#-~]+$")] | None
    ) = None


class EntryQuery(msgspec.Struct):
    entryId: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]  # noqa: N815
    secret: Annotated[str, msgspec.Meta(min_length=1, max_length=200, description="As the entry was given it.")]


class ListQuery(msgspec.Struct):
    status: Annotated[
        str,
        msgspec.Meta(
            max_length=100, description="One or several, separated by commas; or `all`.", examples=["SEATED,CANCELLED"]
        ),
    ] = "WAITING,CALLED"
    cursor: Cursor = None
    limit: Limit = 50


class NextPartyInput(msgspec.Struct):
    """Nothing needs to be said."""


class StatusInput(msgspec.Struct):
    status: Literal["CALLED", "SEATED", "NO_SHOW", "CANCELLED"]
    reason: Annotated[str, msgspec.Meta(max_length=500)] | None = None


class Party(msgspec.Struct, frozen=True):
    id: str
    tokenNumber: int  # noqa: N815
    displayNumber: str  # noqa: N815
    status: Status


class Entry(Party, frozen=True):
    """A party on the list, as its own people see it."""

    position: int
    """1 is next; 0 is not waiting."""
    estimatedWaitMinutes: int  # noqa: N815
    partySize: int  # noqa: N815
    seatingType: str | None  # noqa: N815
    createdAt: str  # noqa: N815


class Joined(Entry, frozen=True):
    id: str | None  # type: ignore[assignment] # a party's own is told to its own people alone
    """Null when the number was on the list already: a number can be guessed."""
    alreadyInQueue: bool  # noqa: N815
    secret: str | None
    """For `queue-status`. Null when the number was on the list already: a number can be guessed."""
    link: str | None


class StaffEntry(Party, frozen=True):
    """A party on the list, as staff see it."""

    name: str | None
    mobileNumber: str  # noqa: N815
    partySize: int  # noqa: N815
    seatingType: str | None  # noqa: N815
    createdAt: str  # noqa: N815
    calledAt: str | None  # noqa: N815


class Answer(msgspec.Struct, frozen=True):
    success: bool


class JoinedAnswer(Answer, frozen=True):
    data: Joined


class EntryAnswer(Answer, frozen=True):
    data: Entry


class StaffEntryAnswer(Answer, frozen=True):
    """The party; null when nobody waits."""

    data: StaffEntry | None


class ListAnswer(Answer, frozen=True):
    data: list[StaffEntry]
    next: str | None
    """The cursor of the next page."""

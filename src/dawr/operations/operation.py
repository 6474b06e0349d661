"""What every operation is: the rows it expects, and a decision."""

from typing import ClassVar, Generic, TypeVar

import msgspec

from dawr.domain import Venue
from dawr.domain.errors import Refused
from dawr.operations.transaction import Transaction
from dawr.ports import Wants

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """Something that changes a venue. It is data: decided again, it decides the same."""

    alone: ClassVar[bool] = False
    """Bulk work has a transaction of its own, so that a batch stays short."""
    keeps_refusals: ClassVar[bool] = True
    """Whether a retry under the same key is told again of a refusal that left something behind."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        """Add the rows that deciding will probably need."""

    def decide(self, tx: Transaction, now: int) -> R | Refused:
        """Change the transaction and say what came of it, or refuse.

        To raise a refusal takes everything back that was changed; to return one keeps it.
        """
        raise NotImplementedError


class View(msgspec.Struct, Generic[R_co], frozen=True):
    """Something to be told about a venue."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        """Add the rows that looking will probably need."""

    def look(self, tx: Transaction, now: int) -> R_co:
        """Say how things are. Changes nothing."""
        raise NotImplementedError

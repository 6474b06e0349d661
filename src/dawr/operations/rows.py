"""Every kind of row that a venue has, declared once, in the order of saving.

Tickets, lines and who waits are not among them: each changes with the others, by `Transaction.record` alone.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Generic

from dawr.domain import (
    AccountId,
    Alarm,
    AlarmKey,
    Day,
    DeskId,
    DeskNow,
    Overtakings,
    Pin,
    QueueId,
    StaffMember,
    Token,
    TokenId,
    Visit,
    VisitId,
)
from dawr.domain.errors import UnknownToken, UnknownVisit
from dawr.ports import K, Kind, R
from dawr.reliability.idempotency import Answer, AnswerKey

VISITS: Kind[VisitId, Visit] = Kind(name="visits", row=Visit, key=attrgetter("visit_id"), missing=UnknownVisit)
STAFF: Kind[AccountId, StaffMember] = Kind(name="staff", row=StaffMember, key=attrgetter("account_id"), whole=True)
TOKENS: Kind[TokenId, Token] = Kind(
    name="tokens", row=Token, key=attrgetter("token_id"), whole=True, missing=UnknownToken
)
ANSWERS: Kind[AnswerKey, Answer] = Kind(
    name="answers", row=Answer, key=lambda a: AnswerKey(a.scope, a.principal, a.key), of_venue=False
)

PINS: Kind[QueueId, Pin] = Kind(name="pins", row=Pin, key=attrgetter("queue_id"), whole=True)
DESKS: Kind[DeskId, DeskNow] = Kind(name="desks", row=DeskNow, key=attrgetter("desk_id"), whole=True)
ALARMS: Kind[AlarmKey, Alarm] = Kind(name="alarms", row=Alarm, key=attrgetter("key"))
OVERTAKINGS: Kind[Day, Overtakings] = Kind(name="overtakings", row=Overtakings, key=attrgetter("day"))

KINDS: tuple[Kind[Any, Any], ...] = (VISITS, STAFF, TOKENS, ANSWERS, PINS, DESKS, ALARMS, OVERTAKINGS)


class Table(Generic[K, R]):
    """Rows that have the same kind of key, while a venue's head is held. None: it is known not to be there."""

    __slots__ = ("_key", "is_whole", "rows", "stored")

    def __init__(self, key: Callable[[R], K]) -> None:
        self.rows: dict[K, R | None] = {}
        self.stored: dict[K, R] = {}
        self.is_whole = False
        self._key = key

    def absorb(self, wanted: Iterable[K], found: Iterable[R]) -> None:
        """Take in what a load brought; what was changed here meanwhile stays as it is."""
        for row in found:
            key = self._key(row)
            self.stored.setdefault(key, row)
            self.rows.setdefault(key, row)
        for key in wanted:
            self.rows.setdefault(key, None)

    def changed(self) -> list[R]:
        return [row for key, row in self.rows.items() if row is not None and self.stored.get(key) is not row]

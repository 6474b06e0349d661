"""One person's whole stay: one secret link, one or more tickets.

With a plan, it is a journey that was copied when the visit began: what is changed in the venue's set-up later
does not change it. Without one, it has a single ticket.
"""

from collections.abc import Iterable, Mapping
from hmac import compare_digest
from typing import Final, Literal
from unicodedata import normalize

import msgspec

from dawr.domain.errors import NotInPlan, UnknownVisit, VisitInWrongState
from dawr.domain.overtaking import Why
from dawr.domain.pin import MOST_FAILURES, WINDOW_MS, is_recent
from dawr.domain.queue import Audience, QueueId
from dawr.domain.secret import hash_of
from dawr.domain.ticket import Ticket, TicketId, VisitId, checked_text
from dawr.domain.venue import VenueId

VisitState = Literal["open", "finished", "left", "expired"]
StageState = Literal["locked", "ready", "in_queue", "completed", "skipped"]

DONE_WITH: frozenset[StageState] = frozenset({"completed", "skipped"})


class Link(msgspec.Struct, frozen=True):
    """What a visitor's link says: which visit, and the secret that only its holder knows, as its SHA-256."""

    visit_id: VisitId
    secret_hash: str

    @staticmethod
    def read(text: str) -> "Link":
        """From `{visit id}.{secret}`, as it stands at the end of the link."""
        if not text.isprintable():
            raise UnknownVisit
        visit_id, _, secret = text.partition(".")
        return Link(VisitId(visit_id), hash_of(secret))

    def opens(self, visit: "Visit") -> bool:
        return compare_digest(self.secret_hash, visit.secret_hash)


class PlannedStage(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of one visitor's plan."""

    queue: QueueId
    pin: bool = True
    fixed: bool = False
    state: StageState = "locked"
    ticket_id: TicketId | None = None
    """The ticket it has come to."""
    number: int | None = None


Plan = tuple[PlannedStage, ...]


class Visit(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    visit_id: VisitId
    secret_hash: str
    """SHA-256 of the secret in the visitor's link; the secret itself is not kept. The link names the visit too."""
    visitor: str
    state: VisitState
    started_at: int
    finished_at: int | None = None
    left_at: int | None = None
    ticket_id: TicketId | None = None
    """The ticket it has come to; that one names the ticket before."""
    expired_at: int | None = None
    open_key: str | None = None
    """The visitor, while a visit with a plan is open: unique in the venue."""
    journey: str | None = None
    audience: Audience | None = None
    name: str | None = None
    priority: int = 0
    stages: str | None = None
    """The plan, as JSON; None: a single ticket."""
    pin_failures: str | None = None
    """When PINs failed within the window and by which request, as JSON."""
    locked_at: int | None = None
    previous: str | None = None
    """What the latest change of its ticket replaced, as JSON, so that it can be undone."""
    why: Why | None = None
    """Why it has priority: said again in every queue where it overtakes somebody."""
    note: str | None = None
    """What staff should know about the visitor. For staff alone, in every queue that the visit leads to."""

    @property
    def is_planned(self) -> bool:
        return self.stages is not None

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def plan(self) -> Plan:
        return () if self.stages is None else _decode_plan(self.stages)

    @property
    def current(self) -> int | None:
        """Which stage is in its queue."""
        return next((at for at, stage in enumerate(self.plan) if stage.state == "in_queue"), None)

    def stage_of(self, queue_id: QueueId) -> int:
        """Which stage is this queue's; of two, the one that is not done with."""
        found = [at for at, stage in enumerate(self.plan) if stage.queue == queue_id]
        if not found:
            raise NotInPlan(queue_id)
        return next((at for at in found if self.plan[at].state not in DONE_WITH), found[-1])

    def must_be_open(self, verb: str) -> None:
        if not self.is_open:
            raise VisitInWrongState(self.state, verb)

    def with_plan(self, plan: Iterable[PlannedStage]) -> "Visit":
        return msgspec.structs.replace(self, stages=_encode(tuple(plan)).decode(), previous=None)

    def with_stage(self, at: int, **facts: object) -> "Visit":
        plan = list(self.plan)
        plan[at] = msgspec.structs.replace(plan[at], **facts)
        return self.with_plan(plan)

    def entered(self, at: int, ticket: Ticket) -> "Visit":
        """This visit once a stage has its ticket; others that could have been next wait again."""
        plan = [_locked(stage) if stage.state == "ready" else stage for stage in self.plan]
        plan[at] = msgspec.structs.replace(
            plan[at], state="in_queue", ticket_id=ticket.ticket_id, number=ticket.number, queue=ticket.queue_id
        )
        return msgspec.structs.replace(self.with_plan(plan), ticket_id=ticket.ticket_id)

    def next_stages(self) -> list[int]:
        """Which stages may be next: the first fixed one that is not done, else all free ones that are not."""
        left = [at for at, stage in enumerate(self.plan) if stage.state not in DONE_WITH]
        fixed = [at for at in left if self.plan[at].fixed]
        return fixed[:1] or left

    def ended(self, state: Literal["finished", "left", "expired"], now: int) -> "Visit":
        """No stage is in a queue any more, and none will be."""
        stages = None
        if self.stages is not None:
            plan = tuple(stage if stage.state in DONE_WITH else _locked(stage) for stage in self.plan)
            stages = _encode(plan).decode()
        return msgspec.structs.replace(
            self, state=state, open_key=None, stages=stages, previous=None, **{f"{state}_at": now}
        )

    def remembering(self, before: "Visit", version: int) -> "Visit":
        """The same, with what it takes to undo the change of this version: its ticket's, or its own end."""
        replaced = {name: getattr(before, name) for name in UNDONE_WITH_A_TICKET}
        return msgspec.structs.replace(self, previous=_encode({**replaced, "version": version}).decode())

    def restored(self, version: int) -> "Visit | None":
        """As it was before the change of this version; None if something else has changed it since."""
        replaced = msgspec.json.decode(self.previous or "{}")
        if replaced.pop("version", None) != version:
            return None
        replaced.pop(BY_LINK, None)
        return msgspec.structs.replace(self, **replaced, previous=None)

    def leaving_by_link(self) -> "Visit":
        """The same, once it was ended by whoever holds its link: they may think better of it."""
        replaced = msgspec.json.decode(self.previous or "{}")
        return msgspec.structs.replace(self, previous=_encode({**replaced, BY_LINK: True}).decode())

    @property
    def left_by_link(self) -> int | None:
        """The version of the change by which the link's holder left; None if they did not, or came back."""
        replaced = msgspec.json.decode(self.previous or "{}")
        return replaced.get("version") if self.state == "left" and BY_LINK in replaced else None

    def undo_until(self, now: int) -> int | None:
        """Until when they may take that back; None: not, or not any more."""
        until = (self.left_at or 0) + LEAVING_UNDONE_WITHIN_SECONDS * 1000
        return until if self.left_by_link is not None and now <= until else None

    # PINs

    def failed(self, now: int, attempt: str) -> "Visit":
        """One more failure; the fifth within the window locks it. By the name alone nobody can lock anybody."""
        failures = [*self._failures(now), (now, attempt)]
        locked_at = now if _counted(failures, "link") >= MOST_FAILURES else self.locked_at
        return msgspec.structs.replace(self, pin_failures=_encode(failures).decode(), locked_at=locked_at)

    def has_counted(self, now: int, attempt: str) -> bool:
        """Whether this very request failed before."""
        return attempt not in PREFIX_OF.values() and any(earlier == attempt for _, earlier in self._failures(now))

    def tries_left(self, now: int) -> int:
        return max(0, MOST_FAILURES - _counted(self._failures(now), "link"))

    def has_tries_left(self, now: int, knowing: "Knowing") -> bool:
        """Return whether callers who know just this, all of them together, have tries left."""
        return _counted(self._failures(now), knowing) < MOST_FAILURES

    def seconds_until_try(self, now: int, knowing: "Knowing") -> int:
        """Return after how many seconds callers who know just this have a try again."""
        ends = sorted(at + WINDOW_MS for at, attempt in self._failures(now) if _is_of(attempt, knowing))
        again_at = ends[-MOST_FAILURES] if len(ends) >= MOST_FAILURES else now
        return max(0, -(-(again_at - now) // 1000))

    def unlocked(self) -> "Visit":
        return msgspec.structs.replace(self, pin_failures=None, locked_at=None)

    def _failures(self, now: int) -> list[tuple[int, str]]:
        failures = _decode_failures(self.pin_failures or "[]")
        return [(at, by) for at, by in failures if is_recent(at, now, WINDOW_MS)]


LEAVING_UNDONE_WITHIN_SECONDS: Final = 10
BY_LINK: Final = "by_link"
"""Marks, in what a visit remembers, that its own visitor ended it."""

Knowing = Literal["link", "number", "name"]
"""The proof that a caller brings: the visit's link, the visitor's name and number, or the name alone."""
PREFIX_OF: Final[Mapping[Knowing, str]] = {"link": "", "number": "#", "name": "~"}
"""Marks failures by what their caller knew. Only failures by the link lock a visit, and each kind is counted apart."""


LONGEST_NOTE: Final = 200


def checked_note(note: str | None) -> str | None:
    """As it is stored; None: there is none."""
    trimmed = normalize("NFC", note or "").strip()
    return checked_text(trimmed, field="note", most=LONGEST_NOTE) if trimmed else None


def attempt_of(knowing: Knowing, attempt: str) -> str:
    return f"{PREFIX_OF[knowing]}{attempt}"


def _counted(failures: Iterable[tuple[int, str]], knowing: Knowing) -> int:
    return sum(_is_of(attempt, knowing) for _, attempt in failures)


def _is_of(attempt: str, knowing: Knowing) -> bool:
    return (
        next((kind for kind, prefix in PREFIX_OF.items() if prefix and attempt.startswith(prefix)), "link") == knowing
    )


UNDONE_WITH_A_TICKET = (
    *("state", "finished_at", "left_at", "expired_at", "ticket_id"),
    *("open_key", "stages", "priority", "why"),
)


def _locked(stage: PlannedStage) -> PlannedStage:
    return msgspec.structs.replace(stage, state="locked")


_encode = msgspec.json.Encoder().encode
_decode_plan = msgspec.json.Decoder(Plan).decode
_decode_failures = msgspec.json.Decoder(list[tuple[int, str]]).decode

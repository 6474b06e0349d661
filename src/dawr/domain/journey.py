"""A journey: which queues a visitor goes through, by what they came for.

Fixed stages come first, in their order. The rest are free: which of them is next is chosen when a
stage ends, by where the visitor would be called soonest (`choice.py`).
"""

from collections.abc import Iterable, Mapping
from unicodedata import normalize

import msgspec

from dawr.domain import queue as queues
from dawr.domain.errors import InvalidValue, NotForThisAudience, UnknownJourney
from dawr.domain.queue import Audience, Queue, QueueId
from dawr.domain.text import can_be_shown

LONGEST_WORD = 64
MOST_STAGES = 50
LONGEST_WALK_MINUTES = 60

Walks = Mapping[str, Mapping[str, int]]
"""Floor → floor → minutes; read in either direction."""


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a journey."""

    queue: QueueId
    pin: bool = True
    """Whether the visitor types the queue's exit PIN to go on."""


class Journey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    name: dict[str, str]
    """Language → name."""
    aliases: tuple[str, ...] = ()
    """Other words for it, in any script."""
    audience: Audience = "any"
    fixed: tuple[Stage, ...] = ()
    free: tuple[Stage, ...] = ()

    @property
    def stages(self) -> tuple[Stage, ...]:
        """In the order of the plan."""
        return self.fixed + self.free

    @property
    def words(self) -> set[str]:
        return {folded(word) for word in (self.id, *self.aliases)}


def folded(word: str) -> str:
    """Two ways to write the same word are one."""
    return normalize("NFKC", word).strip().casefold()


def is_for(audience: Audience, visitor: Audience) -> bool:
    """A visitor who is `any` did not say, and is let in everywhere."""
    return "any" in {audience, visitor} or audience == visitor


def journey_called(journeys: Iterable[Journey], word: str, visitor: Audience) -> Journey:
    """By its code or an alias. Several may share a word, each for an audience of its own."""
    called = [journey for journey in journeys if folded(word) in journey.words]
    if not called:
        raise UnknownJourney(word[:LONGEST_WORD])
    for journey in called:
        if is_for(journey.audience, visitor):
            return journey
    raise NotForThisAudience(called[0].id, called[0].audience)


def walking_minutes(walks: Walks, start: str | None, end: str | None) -> int:
    """Nothing on one floor, or where nobody said how far it is."""
    if start is None or end is None or start == end:
        return 0
    return walks.get(start, {}).get(end, walks.get(end, {}).get(start, 0))


def check(journeys: Iterable[Journey], known: Mapping[QueueId, Queue]) -> None:
    """A sentence about the first thing that is wrong with them."""
    taken: dict[str, list[Journey]] = {}
    for journey in journeys:
        _check_stages(journey, known)
        for word in sorted(journey.words):
            for other in taken.setdefault(word, []):
                if other.id == journey.id or is_for(other.audience, journey.audience):
                    raise InvalidValue("journeys", "two-journeys", word=word)
            taken[word].append(journey)


def check_walks(walks: Walks) -> None:
    for floor in (floor for start, ways in walks.items() for floor in (start, *ways)):
        if not can_be_shown(floor, most=queues.LONGEST_PLACE):
            raise InvalidValue("walking_minutes", "text", most=queues.LONGEST_PLACE)
    for minutes in (minutes for ways in walks.values() for minutes in ways.values()):
        if not 0 <= minutes <= LONGEST_WALK_MINUTES:
            raise InvalidValue("walking_minutes", "range", least=0, most=LONGEST_WALK_MINUTES)


def _check_stages(journey: Journey, known: Mapping[QueueId, Queue]) -> None:
    queues.must_have_name("journey", journey.id, journey.name)
    for alias in journey.aliases:
        if not can_be_shown(alias, most=LONGEST_WORD):
            raise InvalidValue("journeys", "journey-alias", journey=journey.id, most=LONGEST_WORD)
    queues.limit_texts("aliases", "journey", journey.id, journey.aliases)
    if not 1 <= len(journey.stages) <= MOST_STAGES:
        raise InvalidValue("journeys", "journey-stages", journey=journey.id, most=MOST_STAGES)
    codes = [stage.queue for stage in journey.stages]
    for place, code in enumerate(codes):
        if code not in known:
            shown = code[: queues.LONGEST_CODE]
            raise InvalidValue("journeys", "journey-leads-nowhere", journey=journey.id, queue=shown)
        if code in codes[:place]:
            raise InvalidValue("journeys", "journey-leads-twice", journey=journey.id, queue=code)
        if not is_for(known[code].audience, journey.audience):
            raise InvalidValue("journeys", "journey-audience", journey=journey.id, queue=code)

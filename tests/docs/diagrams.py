"""Draws state diagrams from the tables that the rules are made of."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar, get_args

from dawr.domain.queue import QUEUE_VERBS, QueueState
from dawr.domain.ticket import ENDED_STATES, VERBS, State

V = TypeVar("V", bound=str)


class Change(Protocol):
    @property
    def sources(self) -> Iterable[str]: ...

    @property
    def target(self) -> str: ...


def of_tickets() -> list[str]:
    ends = [f"{state} --> [*]" for state in get_args(State) if state in ENDED_STATES]
    return ["stateDiagram-v2", *_arrows(VERBS, get_args(State)), *ends]


def of_queues() -> list[str]:
    return ["stateDiagram-v2", "[*] --> open", *_arrows(QUEUE_VERBS, get_args(QueueState))]


def _arrows(verbs: Mapping[V, Change], states: tuple[str, ...]) -> list[str]:
    """A verb without sources begins something."""
    return [
        f"{source} --> {change.target}: {verb}"
        for verb, change in verbs.items()
        for source in sorted(change.sources, key=states.index) or ["[*]"]
    ]

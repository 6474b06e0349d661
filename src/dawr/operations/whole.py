"""The rows of one kind that a venue has few of: loaded all at once, or not at all."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Whole(Generic[K, V]):
    def __init__(self) -> None:
        self.rows: dict[K, V] = {}
        self.is_loaded = False
        self._stored: dict[K, V] = {}

    def absorb(self, wanted: bool, rows: Iterable[tuple[K, V]]) -> None:  # noqa: FBT001 - a want is a yes or a no
        """Take in what a load brought, if it was asked for; what was changed here meanwhile stays as it is."""
        self.is_loaded = self.is_loaded or wanted
        for key, row in rows:
            self._stored.setdefault(key, row)
            self.rows.setdefault(key, row)

    def changed(self) -> list[V]:
        return [row for key, row in self.rows.items() if self._stored.get(key) is not row]

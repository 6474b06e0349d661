"""Lists come in pages: so many at a time, and a cursor that leads to the next."""

from collections.abc import Callable, Iterable
from typing import Annotated, Generic, TypeVar

import msgspec

T = TypeVar("T")
S = TypeVar("S")

Cursor = Annotated[str, msgspec.Meta(max_length=200, description="What the page before gave as `next`.")] | None
Limit = Annotated[int, msgspec.Meta(ge=1, le=100, description="How many at most.")]


class ListQuery(msgspec.Struct, forbid_unknown_fields=True):
    cursor: Cursor = None
    limit: Limit = 50


class Page(msgspec.Struct, Generic[T], frozen=True):
    items: list[T]
    next: str | None
    """The cursor of the next page; null on the last."""


def page_by(key: Callable[[S], str], found: Iterable[S], query: ListQuery, answer: Callable[[S], T]) -> Page[T]:
    """In the order of this key: the cursor is the last key of the page before."""
    behind = sorted((item for item in found if key(item) > (query.cursor or "")), key=key)
    shown = behind[: query.limit]
    return Page([answer(item) for item in shown], key(shown[-1]) if len(behind) > len(shown) else None)

"""Lists come in pages: so many at a time, and a cursor that leads to the next."""

from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

T = TypeVar("T")

Cursor = Annotated[str, Meta(max_length=200, description="What the page before gave as `next`.")] | None
Limit = Annotated[int, Meta(ge=1, le=100, description="How many at most.")]


class Page(msgspec.Struct, Generic[T], frozen=True):
    items: list[T]
    next: str | None
    """The cursor of the next page; null on the last."""


def page_of(items: list[T], following: str | None) -> Page[T]:
    return Page(items, following)

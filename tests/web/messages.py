"""What a message of `web/words` is made of, whichever of its forms is chosen."""

import string
from collections.abc import Iterator, Mapping
from typing import Any

Message = str | Mapping[str, Any]


def texts_in(message: Message) -> Iterator[str]:
    if isinstance(message, str):
        yield message
    else:
        for name, inner in message.items():
            if name != "by":
                yield from texts_in(inner)


def choices_in(message: Message) -> Iterator[Mapping[str, Any]]:
    if not isinstance(message, str):
        yield message
        for name, inner in message.items():
            if name != "by":
                yield from choices_in(inner)


def facts_in(message: Message) -> set[str]:
    return {name for text in texts_in(message) for _, name, _, _ in string.Formatter().parse(text) if name}

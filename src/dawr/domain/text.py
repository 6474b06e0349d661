"""Text that people set up or type: something that can be shown, and has an end."""

from typing import Final

LONGEST_NAME: Final = 128
LONGEST_LANGUAGE: Final = 35
"""Of a tag such as `zh-Hant-TW`."""
MAX_TEXT_CHARS: Final = 2000
"""The limit for a name in all its languages together, and for all aliases of one queue or journey."""
JOINERS: Final = {0x200C: None, 0x200D: None}
"""Invisible, but part of how Persian names and some emoji are written."""
BLANK: Final = dict.fromkeys(map(ord, "\u115f\u1160\u2800\u3164\uffa0"))
"""Printable, but nothing is seen."""


def can_be_shown(text: str, *, most: int = LONGEST_NAME) -> bool:
    """Something is seen, and nothing in it is a control character or changes the direction of what stands beside it."""
    visible = text if text.isprintable() else text.translate(JOINERS)
    return len(text) <= most and visible.isprintable() and visible.translate(BLANK).strip() != ""

"""Numbers that people type: in Latin digits or Arabic ones, but not in both at once. Leading zeros stay."""

from typing import Final
from unicodedata import decimal

from dawr.domain.errors import InvalidValue
from dawr.domain.text import JOINERS

SCRIPTS: Final = ("0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹")
"""Latin, Arabic-Indic, and as Persian and Urdu write them."""


SHORTEST_PIN: Final = 2
LONGEST_PIN: Final = 6


def digits_for(queues: int) -> int:
    """As many as it takes for at least half of all PINs to be nobody's."""
    enough = (digits for digits in range(SHORTEST_PIN, LONGEST_PIN) if queues <= 10**digits // 2)
    return next(enough, LONGEST_PIN)


def read_digits(text: str, *, field: str, least: int, most: int) -> str:
    """The same number in Latin digits, or a sentence about what is wrong with it. The sentence never repeats it."""
    typed = text.strip()
    for script in SCRIPTS:
        if least <= len(typed) <= most and all(digit in script for digit in typed):
            return "".join(str(script.index(digit)) for digit in typed)
    raise InvalidValue(field, "digits", least=least, most=most)


def fold_digits(text: str) -> str:
    """Return a number in Latin digits, whatever script it is typed in. Leave any other text as it is."""
    if text.isascii():
        return text
    visible = text.translate(JOINERS)
    return "".join(str(decimal(digit)) for digit in visible) if visible.isdecimal() else text

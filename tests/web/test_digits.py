"""Counts and times in the digits that a venue wants; labels, PINs and codes as they are printed."""

import string
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, get_args
from zoneinfo import ZoneInfo

import msgspec
import pytest
from babel.dates import format_time

from dawr.domain.venue import Digits, Language
from dawr.web.wording import ENGLISH, LANGUAGES, clock_time, digits_in, say, words_in

HALF_PAST_MIDNIGHT = 1_741_555_800_000  # 2025-03-09 21:30 in UTC, 2025-03-10 00:30 in Qatar
EVERY: tuple[Digits, ...] = get_args(Digits)
ZONES = ["UTC", "Asia/Qatar", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati"]


def texts_in(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for inner in node.values():
            yield from texts_in(inner)


def test_a_venue_may_speak_every_language_that_there_are_words_for() -> None:
    assert get_args(Language) == LANGUAGES


def test_every_digit_has_its_arabic_one_and_the_same_value() -> None:
    """Babel knows how Arabic groups its digits, and writes them in Latin all the same: Unicode names them."""
    shown = digits_in(string.digits, "ar", "arabic")

    assert [unicodedata.name(digit).rpartition(" ")[0] for digit in shown] == ["ARABIC-INDIC DIGIT"] * 10
    assert [unicodedata.digit(digit) for digit in shown] == list(range(10))


@pytest.mark.parametrize("digits", EVERY)
@pytest.mark.parametrize("language", LANGUAGES)
def test_only_arabic_has_digits_of_its_own(language: str, digits: Digits) -> None:
    changed = digits_in("42", language, digits) != "42"

    assert changed == (language == "ar" and digits == "arabic")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("minutes", [0, 29, 30, 779, 1439])
def test_a_time_is_what_the_clocks_of_the_venue_show(minutes: int, zone: str, language: str) -> None:
    moment = HALF_PAST_MIDNIGHT + minutes * 60_000
    local = datetime.fromtimestamp(moment / 1000, UTC).astimezone(ZoneInfo(zone))

    shown = clock_time(moment, zone, language)

    assert shown == format_time(local.time(), "HH:mm", locale="en")
    assert clock_time(moment, zone, language, "arabic") == digits_in(shown, language, "arabic")


def test_half_past_midnight_in_qatar() -> None:
    assert clock_time(HALF_PAST_MIDNIGHT, "Asia/Qatar") == "00:30"
    assert clock_time(HALF_PAST_MIDNIGHT, "Asia/Qatar", "ar", "arabic") == "٠٠:٣٠"


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "لا أحد"), (1, "شخص واحد"), (2, "شخصان"), (3, "٣ أشخاص"), (11, "١١ شخصًا"), (100, "١٠٠ شخص")],
)
def test_people_are_counted_in_arabic_digits_and_right_grammar(count: int, said: str) -> None:
    people = {
        "by": "count",
        "zero": "لا أحد",
        "one": "شخص واحد",
        "two": "شخصان",
        "few": "{count} أشخاص",
        "many": "{count} شخصًا",
        "other": "{count} شخص",
    }

    assert say(people, {"count": count}, "ar", "arabic") == said


def test_counts_change_and_labels_pins_and_codes_do_not() -> None:
    message = "{label} {pin} {code} {count} {time}"
    facts = {"label": "A042", "pin": "07", "code": "HC-9", "count": 12, "time": clock_time(0, "UTC", "ar", "arabic")}

    said = say(message, facts, "ar", "arabic").translate(dict.fromkeys(map(ord, "\u2068\u2069")))

    assert said == "A042 07 HC-9 ١٢ ٠٠:٠٠"


def test_what_a_text_counts_itself_changes_and_what_is_to_be_typed_does_not() -> None:
    message = "خلال 10 ثوانٍ، مثل \u206608:00-{count}\u2069 ({count})"

    assert say(message, {"count": 16}, "ar", "arabic") == "خلال ١٠ ثوانٍ، مثل \u206608:00-16\u2069 (١٦)"
    assert say(message, {"count": 16}, "ar") == "خلال 10 ثوانٍ، مثل \u206608:00-16\u2069 (16)"


@pytest.mark.parametrize("digits", EVERY)
def test_a_choice_is_made_by_the_number_whatever_its_digits(digits: Digits) -> None:
    message = {"by": "count", "0": "none", "few": "few {count}", "other": "other"}

    assert say(message, {"count": 0}, "ar", digits) == "none"
    assert say(message, {"count": 3}, "ar", digits) == f"few {digits_in('3', 'ar', digits)}"
    assert say(message, {"count": 3}, ENGLISH, digits) == "other"


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_fact_is_named_or_formatted_with_a_digit(language: str) -> None:
    """The digits of a text change before its facts are put in."""
    words: dict[str, Any] = msgspec.to_builtins(words_in(language))
    fields = [field for text in texts_in(words) for field in string.Formatter().parse(text) if field[1] is not None]

    assert len(fields) > 100
    assert [field for field in fields if field[2] or set(str(field[1])) & set(string.digits)] == []

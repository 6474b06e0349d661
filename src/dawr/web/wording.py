"""What people are told, in their language. The sentences are in `words/*.json`, for the server and for the browser.

A message is a text with `{facts}` in it, or a choice: `{"by": fact, …}` has a message for each value of
that fact, for each plural category of a number as CLDR names them (`zero` to `other`), `none` where there is
no such fact, and `other` for the rest. A fact that is a word of ours, like a state or a field, is told as
the language has it. Where one writes from right to left any other fact is put in an isolate of Unicode's
bidirectional algorithm: without it "+974…" and "08:00-16:00" are shown in the wrong order. Examples that are
part of a text have theirs in the file (U+2066 … U+2069), around the facts in them.

Arabic is written with Latin digits or with its own, as a venue wants it; its pages tell the browser which by
`<html data-digits="arabic">`. Numbers follow: facts that are counts, and what the text counts itself. Facts that are
text, such as labels, PINs and codes, and what stands in an isolate of the file stay Latin, as they are typed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

import msgspec

from dawr.domain import Desk, Queue, Venue
from dawr.domain.day import local_time
from dawr.domain.digits import SCRIPTS
from dawr.domain.errors import Refused
from dawr.domain.text import JOINERS
from dawr.domain.venue import Digits

Message: TypeAlias = str | Mapping[str, "Message"]

ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "ar", "zh")
LATIN: Final[Digits] = "latin"
RIGHT_TO_LEFT: Final = frozenset({"ar"})
LEFT_TO_RIGHT, BY_FIRST_LETTER, END = "\u2066", "\u2068", "\u2069"
ISOLATE = re.compile(f"({LEFT_TO_RIGHT}[^{END}]*{END})")
WITHOUT_ISOLATES = dict.fromkeys(map(ord, (LEFT_TO_RIGHT, BY_FIRST_LETTER, END)))
ARABIC_INDIC: Final = str.maketrans(*SCRIPTS[:2])
MOST_PREFERENCES = 20
LONGEST_PREFERENCES = 200
NO_VALUES: Final = frozenset({"by", "none"})
"""Keys of a choice that no value of its fact means: a desk may be called so."""


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One language's."""

    language: str
    """What those who speak it call it."""
    list_separator: str
    problems: Mapping[str, Mapping[str, Any]]  # of messages, which the decoder cannot know: they are in themselves
    """By code: the title, and the detail."""
    misfits: Mapping[str, Any]
    """What is wrong with a body or a query, by `why`."""
    pages: Mapping[str, Any]
    """What pages say, by name."""
    screens: Mapping[str, Mapping[str, Any]]
    """What one page says, by the name of its template. The page's script has the same words."""
    terms: Mapping[str, Mapping[str, str]]
    """Words of ours by the fact that they are a value of."""


def say(message: Message, facts: Mapping[str, object], language: str, digits: Digits = LATIN) -> str:
    """The message with the facts in it."""
    while not isinstance(message, str):
        message = _chosen(message, facts, language)
    told = _Facts({name: _told(name, fact, language) for name, fact in facts.items()})
    counted = _Facts({name: _counted(fact, language, digits) for name, fact in told.items()})
    parts = ISOLATE.split(message)
    parts[::2] = [digits_in(part, language, digits).format_map(counted) for part in parts[::2]]
    parts[1::2] = [f"{LEFT_TO_RIGHT}{part.format_map(told).translate(WITHOUT_ISOLATES)}{END}" for part in parts[1::2]]
    return "".join(parts)


def digits_in(text: str, language: str, digits: Digits) -> str:
    """A count or a time in the digits that the venue wants. Not for labels, PINs and codes."""
    return text.translate(ARABIC_INDIC) if digits == "arabic" and language == "ar" else text


def clock_time(ms: int, zone: str, language: str = ENGLISH, digits: Digits = LATIN) -> str:
    """A moment as the clocks of the venue show it, like 13:05."""
    return digits_in(f"{local_time(ms, zone=zone):%H:%M}", language, digits)


@cache
def words_in(language: str) -> Words:
    return msgspec.json.decode((files("dawr.web") / "words" / f"{language}.json").read_bytes(), type=Words)


def name_in(language: str, names: Mapping[str, str]) -> tuple[str, str]:
    """What a place or a queue is called, and in which language: this one, English, or the first that there is."""
    liked = next((known for known in (language, ENGLISH) if known in names), next(iter(names), ENGLISH))
    return names.get(liked, ""), liked


def names_at(venue: Venue, language: str) -> Mapping[str, Mapping[str, str]]:
    """What queues and desks are called there, by what names them in a refusal and by their codes."""
    things: Mapping[str, Sequence[Queue | Desk]] = {"queue": venue.queues, "desk": venue.desks}
    return {kind: {one.id: name_in(language, one.name)[0] for one in ones} for kind, ones in things.items()}


def problem_in(language: str, code: str) -> Mapping[str, Any]:
    """The title and the detail of one problem; in English where the language has no words for it."""
    found = words_in(language).problems.get(code)
    return words_in(ENGLISH).problems[code] if found is None else found


def sentence_of(refusal: Refused, language: str = ENGLISH) -> str:
    """Why the rules said no."""
    return say(problem_in(language, refusal.code)["detail"], refusal.facts, language)


def preferred(accept_language: bytes) -> str | None:
    """Which of our languages a caller likes best, by their `Accept-Language`; None if it names none of them."""
    return _preferred(accept_language[:LONGEST_PREFERENCES])


@lru_cache(maxsize=256)
def _preferred(accept_language: bytes) -> str | None:
    liked: list[tuple[float, str]] = []
    for place, entry in enumerate(accept_language.decode("latin-1").split(",")[:MOST_PREFERENCES]):
        tag, _, parameters = entry.partition(";")
        language = ENGLISH if tag.strip() == "*" else tag.strip().partition("-")[0].lower()
        weight = _weight(parameters)
        if language in LANGUAGES and weight > 0:
            liked.append((weight - place / 1e6, language))
    return max(liked)[1] if liked else None


def _weight(parameters: str) -> float:
    name, _, value = parameters.partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return min(float(value), 1.0)
    except ValueError:
        return 0.0


def _chosen(choice: Mapping[str, Message], facts: Mapping[str, object], language: str) -> Message:
    fact = facts.get(str(choice["by"]))
    if fact is None and "none" in choice:
        return choice["none"]
    if str(fact) in choice and str(fact) not in NO_VALUES:
        return choice[str(fact)]
    if isinstance(fact, int) and (form := PLURAL_FORM[language](abs(fact))) in choice:
        return choice[form]
    return choice["other"]


def _told(name: str, fact: object, language: str) -> object:
    if isinstance(fact, list):
        return words_in(language).list_separator.join(_shown(str(one), language) for one in fact)
    if isinstance(fact, dict):
        return _shown(name_in(language, fact)[0], language)
    if not isinstance(fact, str):
        return fact
    known = words_in(language).terms.get(name, {}).get(fact)
    return known or _shown(_humanised(fact) if name == "field" else fact, language)


def _counted(fact: object, language: str, digits: Digits) -> object:
    return digits_in(str(fact), language, digits) if isinstance(fact, int) else fact


def _shown(text: str, language: str) -> str:
    """Without what cannot be shown, so that nothing in it changes how the rest of the sentence is read."""
    if not text.isprintable():
        text = "".join(letter for letter in text if letter.isprintable() or ord(letter) in JOINERS)
    return f"{BY_FIRST_LETTER}{text}{END}" if language in RIGHT_TO_LEFT else text


def _humanised(field: str) -> str:
    """`partySize` and `party_size` are read as "Party size"."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", field.replace("_", " ").replace(".", ": "))
    return spaced[:1].upper() + spaced[1:].lower()


class _Facts(dict[str, object]):
    """A sentence is told without a fact that it lacks, not refused: somebody waits for it."""

    def __missing__(self, name: str) -> str:
        return "…"


def _english(number: int) -> str:
    return "one" if number == 1 else "other"


def _arabic(number: int) -> str:
    if number <= 2:  # noqa: PLR2004 - as the language has it
        return ("zero", "one", "two")[number]
    last = number % 100
    if 3 <= last <= 10:  # noqa: PLR2004
        return "few"
    return "many" if last >= 11 else "other"  # noqa: PLR2004


PLURAL_FORM: Final[Mapping[str, Callable[[int], str]]] = {
    ENGLISH: _english,
    "ar": _arabic,
    "zh": lambda _: "other",
}
"""CLDR's cardinal rules for whole numbers. Babel has them too, and takes 11 MB and 0.3 s of every start for it."""

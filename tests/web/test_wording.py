"""What people are told: every refusal has a sentence in every language, with its facts and in right grammar."""

import ast
import string
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from babel import Locale

from dawr.domain.errors import InvalidValue, JoinedTooOften, PinWrong, Refused, TicketInWrongState, UnknownVenue
from dawr.web.problems import MISFITS, BadRequest, problem_of
from dawr.web.wording import ENGLISH, LANGUAGES, PLURAL_FORM, preferred, say, sentence_of, words_in
from tests.docs.source import SOURCE, calls, problems
from tests.domain.test_errors import ONE_OF_EACH

FOR_PROGRAMS = {"field", "version", "rule", "why", "verb", "state"}
"""Facts that say nothing to a person, or choose the sentence."""


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


def messages_of(language: str) -> dict[str, Message]:
    words = words_in(language)
    told = {f"{code} {part}": said[part] for code, said in words.problems.items() for part in said}
    return {**told, "misfits": words.misfits, **{f"page {name}": said for name, said in words.pages.items()}}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_problem_has_its_words(language: str) -> None:
    codes = set(problems())

    assert codes <= words_in(language).problems.keys()
    for code, said in words_in(language).problems.items():
        assert said.keys() == ({"title"} if code in MISFITS else {"title", "detail"}), code


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_tells_the_same(language: str) -> None:
    here, english = messages_of(language), messages_of(ENGLISH)

    assert here.keys() == english.keys()
    for name, message in english.items():
        assert facts_in(here[name]) <= facts_in(message) | {"action", "kind"}, name
        values = {word for choice in choices_in(message) for word in choice} - NUMBERS
        assert {word for choice in choices_in(here[name]) for word in choice} - NUMBERS == values, name


NUMBERS = {"0", "zero", "one", "two", "few", "many", "by"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_choice_has_words_for_the_rest(language: str) -> None:
    for name, message in messages_of(language).items():
        for choice in choices_in(message):
            assert {"by", "other"} <= choice.keys(), name


def test_where_arabic_counts_it_has_all_forms_that_can_come() -> None:
    for name, message in messages_of("ar").items():
        for choice in choices_in(message):
            forms = choice.keys() & {"zero", "one", "two", "few", "many"}
            assert not forms or forms >= {"one", "two", "few", "many"}, name


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_have_the_grammar_that_the_language_asks_for(language: str) -> None:
    theirs = Locale.parse(language).plural_form

    assert [n for n in range(2_000) if PLURAL_FORM[language](n) != theirs(n)] == []


def test_every_rule_that_a_value_can_break_has_its_words() -> None:
    told = words_in(ENGLISH).problems["invalid-value"]["detail"]
    rules = {
        str(call.args[1].value) for call in calls(SOURCE, {"InvalidValue"}) if isinstance(call.args[1], ast.Constant)
    }

    assert len(rules) > 40
    assert rules == set(told) - {"by", "other"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("refusal", ONE_OF_EACH, ids=lambda refusal: refusal.code)
def test_every_refusal_is_a_sentence(refusal: Refused, language: str) -> None:
    sentence = sentence_of(refusal, language)

    assert sentence.endswith((".", "。"))
    assert "…" not in sentence
    assert "{" not in sentence


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("count", [2, 3, 11, 100])
@pytest.mark.parametrize("why", ["setting", "no-clinic", "several-clinics", "no-venue", "several-venues"])
def test_which_venue_is_meant_is_asked_with_what_to_write(why: str, count: int, language: str) -> None:
    refusal = UnknownVenue("clinic", why=why, count=count, venues="north, south", example="north")

    sentence = sentence_of(refusal, language)

    assert "…" not in sentence
    assert ("DAWR_CLINIC_VENUE" in sentence) == (why not in {"no-clinic", "no-venue"})
    assert ("north, south" in sentence) == why.startswith("several")


@pytest.mark.parametrize("refusal", ONE_OF_EACH, ids=lambda refusal: refusal.code)
def test_the_facts_of_a_refusal_are_told_in_its_sentence_too(refusal: Refused) -> None:
    said = sentence_of(refusal)

    assert [name for name, fact in refusal.facts.items() if name not in FOR_PROGRAMS and str(fact) not in said] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (b"", "en"),
        (b"ar", "ar"),
        (b"AR-QA,en;q=0.5", "ar"),
        (b"en;q=0.5, zh-Hans-CN;q=0.9", "zh"),
        (b"fr, de", "en"),
        (b"fr, zh;q=0.1", "zh"),
        (b"*, ar;q=0.5", "en"),
        (b"ar;q=0, zh;q=0.2", "zh"),
        (b"ar;q=nonsense", "en"),
        (b"ar, zh", "ar"),
        (b"\xff\xfe;;;,,,=,q=", "en"),
        (b"fr," * 10_000 + b"ar", "en"),
    ],
)
def test_whoever_asks_is_told_in_the_language_they_like_best(header: bytes, language: str) -> None:
    assert preferred(header) == language


def test_tries_that_are_left_are_counted_in_right_grammar() -> None:
    assert sentence_of(PinWrong(1)).endswith("One more try, then the visit is locked.")
    assert "4 more tries" in sentence_of(PinWrong(4))
    assert sentence_of(PinWrong()) == "This PIN is not right."
    assert "بقيت محاولتان" in sentence_of(PinWrong(2), "ar")
    assert "3 محاولات" in sentence_of(PinWrong(3), "ar")
    assert sentence_of(JoinedTooOften("+97433001122", 1, again_seconds=60)) == (
        "A mobile number can join once within an hour here."
    )


def test_a_ticket_that_is_there_already_is_said_to_be() -> None:
    assert sentence_of(TicketInWrongState("R002", "finished", "finish")) == "R002 is finished already."
    assert sentence_of(TicketInWrongState("R002", "left", "call")) == "R002 cannot be called: it is given up."


def test_a_fact_is_never_taken_for_a_sentence() -> None:
    refused = InvalidValue("zone", "zone", zone="{field} {0} {zone.__class__}")

    assert "“{field} {0} {zone.__class__}” is not an IANA time zone" in sentence_of(refused)
    assert say("{nothing}", {}, ENGLISH) == "…"


def test_what_is_not_of_the_rules_is_told_in_words_too() -> None:
    problem = problem_of(BadRequest(405, "method-not-allowed", allowed="GET, HEAD"), "zh")

    assert (problem.title, problem.detail) == ("此地址使用其他方法。", "此地址使用 GET, HEAD。")

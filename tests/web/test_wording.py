"""What people are told: every refusal has a sentence in every language, with its facts and in right grammar."""

import ast
import re
import sys
from collections.abc import Mapping
from typing import Any, get_args

import msgspec
import pytest
from babel import Locale

from dawr.domain.errors import (
    Fact,
    InvalidValue,
    JoinedTooOften,
    PinWrong,
    QueueFull,
    Refused,
    TicketInWrongState,
    UndoTooLate,
    UnknownVenue,
)
from dawr.domain.token import TokenKind
from dawr.web.doors.clinic_patient_shapes import Action
from dawr.web.pages.first_run import OwnerForm, VenueForm
from dawr.web.problems import MISFITS, BadRequest, problem_of
from dawr.web.table import ROUTES
from dawr.web.wording import ENGLISH, LANGUAGES, PLURAL_FORM, RIGHT_TO_LEFT, preferred, say, sentence_of, words_in
from tests.docs.source import SOURCE, calls, problems
from tests.domain.test_errors import ONE_OF_EACH
from tests.web.messages import Message, choices_in, facts_in, texts_in

FOR_PROGRAMS = {"field", "version", "rule", "why", "verb", "state"}
"""Facts that say nothing to a person, or choose the sentence."""


def messages_of(language: str) -> dict[str, Message]:
    words = words_in(language)
    told = {f"{code} {part}": said[part] for code, said in words.problems.items() for part in said}
    screens = {f"screen {screen} {name}": said for screen, own in words.screens.items() for name, said in own.items()}
    pages = {f"page {name}": said for name, said in words.pages.items()}
    return {**told, "misfits": words.misfits, **pages, **screens}


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
    refusal = UnknownVenue("clinic", why=why, count=count, venues="north, south")

    sentence = sentence_of(refusal, language)

    assert "…" not in sentence
    assert ("DAWR_CLINIC_VENUE" in sentence) == (why not in {"no-clinic", "no-venue"})
    assert "DAWR_CLINIC_VENUE=" not in sentence, "no venue is recommended"
    assert ("north, south" in sentence) == why.startswith("several")


@pytest.mark.parametrize("refusal", ONE_OF_EACH, ids=lambda refusal: refusal.code)
def test_the_facts_of_a_refusal_are_told_in_its_sentence_too(refusal: Refused) -> None:
    said = sentence_of(refusal)

    assert [name for name, fact in refusal.facts.items() if name not in FOR_PROGRAMS and str(fact) not in said] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (b"", None),
        (b"ar", "ar"),
        (b"AR-QA,en;q=0.5", "ar"),
        (b"en;q=0.5, zh-Hans-CN;q=0.9", "zh"),
        (b"fr, de", None),
        (b"fr, zh;q=0.1", "zh"),
        (b"*, ar;q=0.5", "en"),
        (b"ar;q=0, zh;q=0.2", "zh"),
        (b"ar;q=nonsense", None),
        (b"ar, zh", "ar"),
        (b"zh;q=0.4, ar ;q=0.5", "ar"),
        (b"zh\t; q = 0.4 ,\tar ; Q=0.5", "ar"),
        (b"ar;Q=0.1, zh;Q=0.2", "zh"),
        (b"ar;q=nan, zh;q=-1", None),
        (b"\xff\xfe;;;,,,=,q=", None),
        (b"fr," * 10_000 + b"ar", None),
    ],
)
def test_whoever_asks_is_told_in_the_language_they_like_best(header: bytes, language: str | None) -> None:
    assert preferred(header) == language


def test_what_somebody_likes_at_length_is_not_kept() -> None:
    header = bytes(f"ar{',fr' * 20_000}", "ascii")
    references = sys.getrefcount(header)

    assert preferred(header) == "ar"

    assert sys.getrefcount(header) == references


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
    assert sentence_of(TicketInWrongState("R002", "held", "put-back")) == "R002 cannot be put back: it is on hold."


def test_whoever_comes_too_late_to_undo_leaving_is_told_in_seconds() -> None:
    late = UndoTooLate("A042", seconds=10)

    assert sentence_of(late) == "You left more than 10 seconds ago: too late to undo. Take a new number."
    assert "10 ثوانٍ" in sentence_of(late, "ar")
    assert "10 秒" in sentence_of(late, "zh")
    assert "10 minutes" in sentence_of(UndoTooLate("A042", 10))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "verb", ["call", "recall", "start", "miss", "put-back", "rejoin", "hold", "resume", "prioritize"]
)
def test_whoever_comes_second_is_told_which_desk_has_the_visitor(verb: str, language: str) -> None:
    names = {"en": "Room 2", "ar": "غرفة 2", "zh": "二号室"}
    where: dict[str, Fact] = {"desk": "room-2", "desk_name": names, "just_now": False}

    assert names[language] in sentence_of(TicketInWrongState("A042", "serving", verb, **where), language)
    assert "None" not in sentence_of(TicketInWrongState("A042", "serving", verb), language)


def test_a_fact_is_never_taken_for_a_sentence() -> None:
    refused = InvalidValue("zone", "zone", zone="{field} {0} {zone.__class__}")

    assert "“{field} {0} {zone.__class__}” is not an IANA time zone" in sentence_of(refused)
    assert say("{nothing}", {}, ENGLISH) == "…"


def test_what_is_not_of_the_rules_is_told_in_words_too() -> None:
    problem = problem_of(BadRequest(405, "method-not-allowed", allowed="GET, HEAD"), "zh")

    assert (problem.title, problem.detail) == ("此地址使用其他方法。", "此地址使用 GET, HEAD。")


ISOLATED = re.compile("[\u2066\u2068][^\u2066\u2068\u2069]*\u2069")
TORN_APART = re.compile(r"[A-Za-z0-9}][-+/=`]|[-+/=`][A-Za-z0-9{]|[0-9]:[0-9]|[0-9] [A-Z0-9]")
"""What is shown in another order where one writes from right to left, unless it stands in an isolate."""


def test_examples_in_arabic_are_shown_as_they_are_written() -> None:
    told = {name: [ISOLATED.sub("", text) for text in texts_in(said)] for name, said in messages_of("ar").items()}
    times_alone = {"invalid-value detail": ["00:00", "12:00"]}

    for name, texts in told.items():
        for text in texts:
            bare = re.sub("|".join(times_alone.get(name, ["^$"])), "", text)
            assert TORN_APART.findall(bare) == [], (name, text)


@pytest.mark.parametrize(
    "fact",
    [
        "+97455512345",
        "2026-11-18 08:00",
        "08:00-16:00",
        "--help",
        "A-007",
        "a/b",
        "C++",
        "\u2069\u202e+1\u2069",
        "-\n-",
    ],
)
@pytest.mark.parametrize("refusal", ONE_OF_EACH, ids=lambda refusal: refusal.code)
def test_facts_in_arabic_are_shown_as_they_are_written(refusal: Refused, fact: str) -> None:
    facts = {name: fact if isinstance(given, str) else given for name, given in refusal.facts.items()}

    for message in words_in("ar").problems[refusal.code].values():
        said = say(message, facts | {"rule": refusal.facts.get("rule")}, "ar")

        assert said.count("\u2066") + said.count("\u2068") == said.count("\u2069")
        bare = ISOLATED.sub("", said)
        assert not set(bare) & set("+-/=\u202e\u2066\u2068\u2069\n"), said


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - RIGHT_TO_LEFT))
@pytest.mark.parametrize("refusal", ONE_OF_EACH, ids=lambda refusal: refusal.code)
def test_where_one_writes_from_left_to_right_nothing_is_isolated(refusal: Refused, language: str) -> None:
    assert not set(sentence_of(refusal, language)) & set("\u2066\u2067\u2068\u2069")


def test_what_is_to_be_copied_has_no_invisible_characters_inside() -> None:
    sentence = sentence_of(UnknownVenue("", why="several-venues", count=2, venues="a, b"), "ar")

    assert "\u2066--venue\u2069" in sentence
    assert "\u2066DAWR_CLINIC_VENUE\u2069" in sentence


def test_facts_of_a_problem_stay_bare_in_every_language() -> None:
    refused = BadRequest(422, "invalid-body", field="mobileNumber", why="mobile", example="+97455512345")

    assert {problem_of(refused, language).facts["example"] for language in LANGUAGES} == {"+97455512345"}
    assert "\u2068+97455512345\u2069" in problem_of(refused, "ar").detail


def test_names_that_are_joined_invisibly_stay_as_they_are_written() -> None:
    assert say("{name}", {"name": "می\u200cخواهم"}, ENGLISH) == "می\u200cخواهم"
    assert say("{name}", {"name": "a\x00\u202eb"}, ENGLISH) == "ab"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Area: choose one of indoor, outdoor."),
        ("ar", "مكان الجلوس: اختر من \u2068indoor\u2069، \u2068outdoor\u2069."),
        ("zh", "座位区域：请从 indoor、outdoor 中选择。"),
    ],
)
def test_lists_are_written_as_the_language_writes_them(language: str, said: str) -> None:
    facts = {"field": "area", "why": "choice", "choices": ["indoor", "outdoor"]}

    assert say(words_in(language).misfits, facts, language) == said


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {ENGLISH}))
def test_every_field_that_anybody_may_give_has_its_word(language: str) -> None:
    routes = [route for route in ROUTES if route.who == "anyone"]
    shapes: list[Any] = [OwnerForm, VenueForm, *(shape for route in routes for shape in (route.body, route.query))]
    structs = [shape for shape in shapes if shape and shape != dict[str, str]]
    given = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}

    assert len(given) > 25
    assert given - words_in(language).terms["field"].keys() == set()


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {ENGLISH}))
def test_kinds_and_actions_have_their_words(language: str) -> None:
    terms = words_in(language).terms
    named = {
        str(call.args[0].value)
        for call in calls(SOURCE / "domain", {"must_be_code", "must_have_name"})
        if isinstance(call.args[0], ast.Constant)
    }

    assert {"venue", "queue", "desk", "journey"} == named
    assert terms["kind"].keys() == named | (set(get_args(TokenKind)) - {"api"})
    assert terms["action"].keys() == set(get_args(Action))
    for refusal in (
        InvalidValue("venue", "code", code="my clinic!", kind="venue", most=32),
        InvalidValue("name", "name-of", kind="queue", code="abc"),
        InvalidValue("clinic", "clinic-of-action", action="skip"),
    ):
        assert not re.search("venue|queue|skip", sentence_of(refusal, language)), refusal


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_that_a_template_says_has_words(language: str) -> None:
    words = words_in(language)
    said = {
        (template.stem.partition("_")[0], template.stem, name)
        for template in (SOURCE / "web" / "templates").glob("*.html")
        for name in re.findall(r'say\("([a-z0-9-]+)"[,)]', template.read_text(encoding="utf-8"))
    }

    known = [{**words.pages, **words.screens.get(begun, {}), **words.screens.get(stem, {})} for begun, stem, _ in said]

    assert len(said) > 100
    assert [what for what, names in zip(said, known, strict=True) if what[2] not in names] == []


def test_every_limit_is_told_in_words_of_its_own_or_is_so_many_in_a_minute() -> None:
    policies = {
        str(call.args[0].value): ast.unparse(call.args[2])
        for call in calls(SOURCE / "web", {"Policy"})
        if isinstance(call.args[0], ast.Constant)
    }
    longer = {name for name, window in policies.items() if window != "MINUTE"}

    assert longer == {"login", "login-account", "login-address", "pin"}
    for language in LANGUAGES:
        assert longer <= words_in(language).problems["quota-exceeded"]["detail"].keys()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"policy": "look", "most": 1, "seconds": 60}, "أكثر من طلب واحد كل 60 ثانية"),
        ({"policy": "look", "most": 3, "seconds": 60}, "أكثر من 3 طلبات كل 60 ثانية"),
        ({"policy": "look", "most": 20, "seconds": 60}, "أكثر من 20 طلبًا كل 60 ثانية"),
        ({"policy": "look", "most": 600, "seconds": 60}, "أكثر من 600 طلب كل 60 ثانية"),
        ({"policy": "join", "again_seconds": 1}, "بعد ثانية."),
        ({"policy": "join", "again_seconds": 2}, "بعد ثانيتين."),
        ({"policy": "join", "again_seconds": 3}, "بعد 3 ثوانٍ."),
        ({"policy": "join", "again_seconds": 57}, "بعد 57 ثانية."),
        ({"policy": "pin", "minutes": 1}, "بعد دقيقة، أو اسأل الموظفين."),
        ({"policy": "pin", "minutes": 2}, "بعد دقيقتين، أو اسأل الموظفين."),
        ({"policy": "pin", "minutes": 15}, "بعد 15 دقيقة، أو اسأل الموظفين."),
    ],
)
def test_limits_in_arabic_are_counted_in_right_grammar(facts: Mapping[str, object], said: str) -> None:
    assert said in say(words_in("ar").problems["quota-exceeded"]["detail"], facts, "ar")


@pytest.mark.parametrize(
    ("most", "said"),
    [(1, "حرفًا واحدًا"), (2, "حرفين"), (6, "6 أحرف"), (64, "64 حرفًا"), (200, "200 حرف"), (500, "500 حرف")],
)
@pytest.mark.parametrize("least", [None, 1])
def test_lengths_in_arabic_are_counted_in_right_grammar(most: int, said: str, least: int | None) -> None:
    facts = {"field": "name", "why": "length", "least": least, "most": most}

    assert say(words_in("ar").misfits, facts, "ar") == f"الاسم: لا تتجاوز {said}."


def test_a_number_without_a_most_is_told_without_one() -> None:
    facts = {"field": "priority", "why": "kind", "expected": "number", "least": 0}

    for language in LANGUAGES:
        assert "…" not in say(words_in(language).misfits, facts, language)


def test_a_reserve_that_there_is_not_is_not_told() -> None:
    assert sentence_of(QueueFull("lab", 60, 0)) == "Queue lab has given all its numbers for today: 60."
    assert sentence_of(QueueFull("lab", 60, 5)).endswith(": 60, and 5 in reserve.")
    assert "0" not in sentence_of(QueueFull("lab", 7, 0), "ar") + sentence_of(QueueFull("lab", 7, 0), "zh")


def test_in_arabic_a_queue_has_one_name() -> None:
    """It is no row, and no turn: visitor, staff and refusals speak of the same."""
    words = msgspec.json.encode(words_in("ar")).decode()

    assert re.findall(r"\b(?:ال)?(?:صف|صفوف)\b|هذا الدور|في الدور|إلى الدور|دورًا آخر|أي دور", words) == []


@pytest.mark.parametrize("desk", ["by", "none", "other", "desk-1"])
def test_no_value_of_a_fact_is_taken_for_a_part_of_the_choice(desk: str) -> None:
    message = {"by": "desk", "none": "Come now", "other": "Come now to {desk}"}

    assert say(message, {"desk": desk}, ENGLISH) == f"Come now to {desk}"
    assert say(message, {"desk": None}, ENGLISH) == "Come now"

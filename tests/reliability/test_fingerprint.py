"""The same request, recognised whatever order its fields came in."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.reliability.fingerprint import fingerprint

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def turned_round(document: Any) -> Any:  # noqa: ANN401 - anything JSON can say
    """The same document with the fields of every object in the opposite order."""
    if isinstance(document, dict):
        return {key: turned_round(document[key]) for key in reversed(document)}
    if isinstance(document, list):
        return [turned_round(item) for item in document]
    return document


def test_the_order_of_fields_does_not_matter_at_any_depth() -> None:
    first = fingerprint("POST", {"queue": "lab", "visitor": {"name": "Noor", "age": 7}})
    second = fingerprint("POST", {"visitor": {"age": 7, "name": "Noor"}, "queue": "lab"})

    assert first == second


@pytest.mark.parametrize(
    "other",
    [
        ("POST", {"queue": "xray"}),
        ("PUT", {"queue": "lab"}),
        ("POST", {"queue": "lab", "note": None}),
        ({"queue": "lab"}, "POST"),
        ("POST", ["queue", "lab"]),
        ("POST",),
    ],
)
def test_another_request_has_another_fingerprint(other: tuple[Any, ...]) -> None:
    assert fingerprint(*other) != fingerprint("POST", {"queue": "lab"})


def test_the_order_of_a_list_matters() -> None:
    assert fingerprint([1, 2]) != fingerprint([2, 1])


def test_parts_never_run_into_each_other() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint("a", "b") != fingerprint(["a", "b"])
    assert fingerprint() != fingerprint(None)


def test_a_number_is_not_its_digits() -> None:
    assert fingerprint({"priority": 1}) != fingerprint({"priority": "1"})
    assert fingerprint(1) != fingerprint(True)  # noqa: FBT003 - a value as JSON brings it


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (0, None),
        (0.0, -0.0),
        ("", None),
        ([], {}),
        ([], None),
        ({}, {"a": None}),
        (2**64, 2**64 + 1),
        (2**53, 2**53 + 1),
        (10**40, 1e40),
        (0.1, 0.1 + 2**-55),
        ("\u00e9", "e\u0301"),
        ("a", "A"),
        ("a", "a "),
        ("\u0000", ""),
    ],
)
def test_what_json_tells_apart_is_told_apart_at_any_depth(one: Any, other: Any) -> None:  # noqa: ANN401 - anything JSON can say
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint({"a": [{"b": one}]}) != fingerprint({"a": [{"b": other}]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1,"b":[2,{"c":3,"d":4}]}', b' { "b": [2, {"d": 4, "c": 3}],\n "a": 1 } '),
        (b'"\\u00e9\\ud83d\\ude00"', '"\u00e9\U0001f600"'.encode()),
        (b"1e2", b"100.0"),
        (b"0.10", b"0.1"),
        (b"123456789012345678901234567890", b"123456789012345678901234567890"),
    ],
)
def test_two_ways_to_write_one_document_are_one_request(one: bytes, other: bytes) -> None:
    assert fingerprint(msgspec.json.decode(one)) == fingerprint(msgspec.json.decode(other))
    assert fingerprint(json.loads(one)) == fingerprint(json.loads(other))


class Order(msgspec.Struct):
    weight: float


def test_whoever_means_one_number_decodes_it_as_one_type() -> None:
    as_sent = [msgspec.json.decode(body, type=Order) for body in (b'{"weight":1}', b'{"weight":1.0}')]

    assert fingerprint(as_sent[0]) == fingerprint(as_sent[1])


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_and_not_taken_for_null(number: float) -> None:
    for payload in (number, {"a": [1, {"b": number}]}, json.loads(json.dumps([number]))):
        with pytest.raises(ValueError, match="no JSON"):
            fingerprint(payload)
    assert fingerprint({"a": [1.5, {"b": None}]})


@pytest.mark.parametrize("payload", [{math.nan}, frozenset({math.inf}), [{"a": {1, -math.inf}}]])
def test_a_set_is_looked_into_too(payload: Any) -> None:  # noqa: ANN401 - anything JSON can say
    with pytest.raises(ValueError, match="no JSON"):
        fingerprint(payload)


@pytest.mark.parametrize("payload", [{1: "a"}, {"a": [{None: 1}]}, {math.inf: 1}, object()])
def test_fields_without_a_text_for_a_name_and_what_json_cannot_say_are_refused(payload: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises(ValueError, match="no JSON"):
        fingerprint(payload)


@pytest.mark.parametrize("innermost", [None, 1])
def test_what_is_too_deep_is_refused(innermost: int | None) -> None:
    payload: Any = innermost
    for _ in range(20_000):
        payload = [payload]

    with pytest.raises(ValueError, match="no JSON"):
        fingerprint(payload)


def test_half_of_a_pair_of_surrogates_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        fingerprint(json.loads('"\\ud800"'))


def test_a_fingerprint_stays_the_same_from_one_version_to_the_next() -> None:
    known = "04a2e2a2d5b1ec85d0b5b88fd49a97e680de2c42bdab479b86de3970bdea1508"

    assert fingerprint("POST", {"queue": "lab"}) == known


@given(document=documents)
def test_whatever_was_sent_only_its_meaning_counts(document: Any) -> None:  # noqa: ANN401 - anything JSON can say
    sent_again = msgspec.json.decode(msgspec.json.encode(turned_round(document)))

    assert fingerprint("POST", document) == fingerprint("POST", sent_again)


@given(one=documents, other=documents)
def test_two_documents_share_a_fingerprint_only_if_they_are_the_same(one: Any, other: Any) -> None:  # noqa: ANN401 - anything JSON can say
    canonical = msgspec.json.Encoder(order="sorted").encode

    assert (fingerprint(one) == fingerprint(other)) == (canonical(one) == canonical(other))

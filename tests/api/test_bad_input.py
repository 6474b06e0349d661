"""Bad input on every write: never a fault of ours, always a problem that says what is wrong."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dawr.web.table import ROUTES
from tests.api.operations import DOCUMENT, OPERATIONS, Things, asked_for
from tests.api.world import Api
from tests.running import PROBLEM_FIELDS, Answer, must_be_problem

WRITES = [name for name, (method, _, _) in OPERATIONS.items() if method != "GET"]
OURS = [name for name in WRITES if OPERATIONS[name][1].startswith("/v1/")]
AT_DOORS = [name for name in WRITES if name not in OURS]
WITHOUT_PASSWORD = {"login", "admin-login"}
"""They are asked with a body that lacks it."""
OF_PEOPLE = {"set-up-venue", *(route.name for route in ROUTES if route.for_people)}
"""Asked with a session; all others with a token, which no sign-out ends."""

NOT_AN_OBJECT = {
    "null": b"null",
    "a list": b"[]",
    "a text": b'"text"',
    "a number": b"7",
    "true": b"true",
}
NOT_JSON = {
    "cut short": b'{"a":',
    "two of them": b"{}{}",
    "single quotes": b"{'a': 1}",
    "not a number": b'{"a": NaN}',
    "not UTF-8": b'{"\xff": 1}',
    "a NUL": b"\x00",
    "another encoding": "{}".encode("utf-16"),
    "nested without end": b"[" * 30_000,
    "nested deeply": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
}

ODD_VALUES: list[object] = [
    None,
    True,
    [],
    {},
    [[[]]],
    "",
    " ",
    "\x00",
    "a\nb",
    "a\r\nSet-Cookie: x=1",
    "\u202egnp.exe",
    "\u2066\u200b\ufeff",
    "\ud800",
    "نور",
    "💥" * 50,
    "x" * 60_000,
    "'; DROP TABLE tickets; --",
    "../../etc/passwd",
    "bistro:lab",
    -1,
    0,
    1.5,
    2**53 + 1,
    2**63,
    2**64,
    10**400,
    -(2**63) - 1,
]


@pytest.fixture
def as_before(api: Api, things: Things) -> Iterator[None]:
    """What is odd may still be right: a venue without desks is one."""
    yield
    assert ask(api, things, "set-up-venue", json.dumps(things.set_up).encode()).status == 200


def ask(api: Api, things: Things, name: str, body: bytes | None, **headers: str) -> Answer:
    method, path, _ = OPERATIONS[name]
    asked = asked_for(things)[name]
    by = "owner@clinic" if name in OF_PEOPLE else "token:owner@clinic"
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    return api.ask(method, path.format(**asked.params), body, by=by, headers=sent)


def must_be_told(answer: Answer, about: object) -> None:
    """Done, or a problem: nothing else, and nothing of the inside."""
    assert answer.status < 500, (about, answer)
    if answer.status >= 400:
        assert answer.json.keys() >= PROBLEM_FIELDS, (about, answer)
        must_be_problem(answer, answer.status, answer.json["code"])


@pytest.mark.parametrize("name", WRITES)
def test_a_body_that_is_no_object_is_refused(api: Api, things: Things, name: str) -> None:
    for body in NOT_AN_OBJECT.values():
        must_be_problem(ask(api, things, name, body), 422, "invalid-body")


@pytest.mark.parametrize("name", WRITES)
def test_a_body_that_is_not_json_is_refused(api: Api, things: Things, name: str) -> None:
    for what, body in NOT_JSON.items():
        answer = ask(api, things, name, body)
        must_be_told(answer, what)
        assert answer.json["code"] in {"malformed-json", "invalid-body"}, what


@pytest.mark.parametrize("name", WRITES)
def test_a_body_of_a_megabyte_is_too_large(api: Api, things: Things, name: str) -> None:
    body = json.dumps({"reason": "x" * 2**20}).encode()

    must_be_problem(ask(api, things, name, body), 413, "body-too-large")


@pytest.mark.parametrize("name", WRITES)
def test_no_body_is_an_empty_one(api: Api, things: Things, name: str) -> None:
    must_be_told(ask(api, things, name, b""), "empty")
    must_be_told(ask(api, things, name, None), "none")


@pytest.mark.parametrize("name", OURS)
def test_an_unknown_field_is_refused_by_its_name(api: Api, things: Things, name: str) -> None:
    answer = ask(api, things, name, b'{"colour": "red"}')

    must_be_problem(answer, 422, "invalid-body")
    assert (answer.json["field"], answer.json["why"]) == ("colour", "unknown")


@pytest.mark.parametrize("name", AT_DOORS)
def test_an_unknown_field_is_nothing_to_a_door(api: Api, things: Things, name: str) -> None:
    """Clients that were written for another server send what that one knew."""
    valid = asked_for(things)[name].body
    assert isinstance(valid, dict)

    answer = ask(api, things, name, json.dumps({**valid, "colour": "red"}).encode())

    must_be_told(answer, "colour")
    assert b"colour" not in answer.body
    if answer.status >= 400:
        assert answer.json["code"] != "invalid-body" or answer.json["why"] == "missing"


@pytest.mark.parametrize("name", WRITES)
def test_another_kind_of_body_is_refused(api: Api, things: Things, name: str) -> None:
    for kind in ("text/plain", "application/xml", "application/x-www-form-urlencoded", "nonsense", "application/jsonx"):
        must_be_problem(ask(api, things, name, b"{}", Content_Type=kind), 415, "not-json")


@pytest.mark.parametrize("name", WRITES)
def test_a_body_of_no_kind_is_refused(api: Api, things: Things, name: str) -> None:
    """Any page of any site may send one without asking first."""
    must_be_problem(ask(api, things, name, b"{}", Content_Type=""), 415, "not-json")
    must_be_told(ask(api, things, name, b"", Content_Type=""), "empty")


@pytest.mark.parametrize("name", [name for name in WRITES if name not in WITHOUT_PASSWORD])
def test_a_field_that_is_given_twice_is_refused_by_its_name(api: Api, things: Things, name: str) -> None:
    valid = asked_for(things)[name].body
    assert isinstance(valid, dict)
    field, value = next(iter(valid.items()), ("nothing is asked for here", 1))

    body = f'{{"{field}":{json.dumps(value)},{json.dumps(valid or {field: value})[1:]}'

    answer = ask(api, things, name, body.encode())

    must_be_problem(answer, 422, "invalid-body")
    assert (answer.json["field"], answer.json["why"]) == (field, "repeated" if valid or name in AT_DOORS else "unknown")


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("take-ticket", '{"visitor":"Amna","party_size":1,"visitor":"Basma"}', "visitor"),
        ("take-ticket", '{"visitor":"Amna","\\u0076isitor" : "Basma"}', "visitor"),
        ("set-up-venue", '{"name":{"en":"A clinic","ar":"a","en":"Another"}}', "en"),
        ("set-up-venue", '{"queues":[{"id":"a","name":{"en":"a"}},{"id":"b","name":{"en":"b"},"id":"c"}]}', "id"),
        ("queue-enter", '{"clinic":"lab","user":"Amna","user":"Basma"}', "user"),
        ("queue-enter", '{"clinic":"lab","user":"Amna","more":[{"a":1,"b":{},"a":2}]}', "a"),
    ],
)
def test_a_field_is_given_twice_however_deep_and_however_it_is_written(
    api: Api, things: Things, name: str, body: str, field: str
) -> None:
    if name == "set-up-venue":
        rest = {other: value for other, value in things.set_up.items() if not body.startswith(f'{{"{other}"')}
        body = f"{body[:-1]},{json.dumps(rest)[1:]}"

    answer = ask(api, things, name, body.encode())

    must_be_problem(answer, 422, "invalid-body")
    assert (answer.json["field"], answer.json["why"]) == (field, "repeated")


@pytest.mark.parametrize("name", OPERATIONS)
def test_another_method_is_refused(api: Api, things: Things, name: str) -> None:
    _, path, _ = OPERATIONS[name]
    address = path.format(**asked_for(things)[name].params)
    taken = {method for method, other, _ in OPERATIONS.values() if other == path}

    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - taken:
        answer = api.ask(method, address, by="token:owner@clinic")
        assert (answer.status, answer.json["code"]) == (405, "method-not-allowed"), method
        assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == taken


@pytest.mark.parametrize("name", WRITES)
def test_odd_values_in_any_field_are_done_or_refused_with_a_problem(
    api: Api, things: Things, as_before: None, name: str
) -> None:
    for field, value, body in odd_bodies(things, name):
        answer = ask(api, things, name, body)

        must_be_told(answer, (field, value))
        if isinstance(value, list | dict) and field not in TAKES_ANY:
            assert answer.status in {404, 422}, (field, value, answer)


TAKES_ANY = {"name", "queues", "desks", "journeys", "walking_minutes"}
"""A venue's name is one for each language, and it may have no queues."""

SLOW = {"password", "old", "new"}
"""Hashing takes its time: a few values are enough."""

KEPT = {"change-password": {"old": "not the password"}}
"""So that no odd password becomes the owner's."""


def odd_bodies(things: Things, name: str) -> Iterator[tuple[str, object, bytes]]:
    """The valid body, with one field's value replaced by each odd one. Every optional field is tried too."""
    valid = asked_for(things)[name].body
    assert isinstance(valid, dict)
    for field in fields_of(name):
        for value in ODD_VALUES[:12] if field in SLOW else ODD_VALUES:
            given: dict[str, Any] = {**valid, **KEPT.get(name, {}), field: value}
            yield field, value, json.dumps(given).encode()


def fields_of(name: str) -> list[str]:
    _, _, operation = OPERATIONS[name]
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return list(DOCUMENT["components"]["schemas"][reference]["properties"])


ODD_KEYS = ["", " ", "a b", '"', '""', "a\tb", "x" * 256, "é", '"x', 'x"y']


@pytest.mark.parametrize(
    "name", [name for name in WRITES if any(p["name"] == "Idempotency-Key" for p in OPERATIONS[name][2]["parameters"])]
)
def test_an_idempotency_key_that_is_none_is_refused(api: Api, things: Things, name: str) -> None:
    valid = json.dumps(asked_for(things)[name].body).encode()

    for key in ODD_KEYS:
        must_be_problem(ask(api, things, name, valid, Idempotency_Key=key), 400, "invalid-idempotency-key")


ODD_PARTS = ["%00", "%0A", "%E2%80%AE", "%FF", "x" * 201, "x" * 5_000, "..", "%2F", "clinic%3A%3A", ":", "-", "."]


@pytest.mark.parametrize("name", [name for name, (_, path, _) in OPERATIONS.items() if "{" in path])
def test_odd_addresses_lead_nowhere(api: Api, things: Things, name: str) -> None:
    method, path, _ = OPERATIONS[name]
    asked = asked_for(things)[name]

    for parameter in asked.params:
        for odd in ODD_PARTS:
            address = path.format(**{**asked.params, parameter: odd}) + asked.query
            answer = api.ask(method, address, asked.body, by="token:viewer@clinic")
            must_be_told(answer, address)
            assert answer.status in {403, 404, 405, 422}, (address, answer)

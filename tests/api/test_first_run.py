"""The first start: a link that makes the owner's account, once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from tests.api.pages import Page
from tests.running import Answer, Client, DawrServer, dawr, must_be_problem, venue_document

LINK = re.compile(r"^Make the owner's account at (http://\S+)/first-run\?code=(\S+)$", re.MULTILINE)
PASSWORD = "a long walk to the sea"
VENUE = {"venue_name": "Our clinic", "venue_slug": "ours", "venue_kind": "clinic", "zone": "Asia/Qatar"}


class Installation(NamedTuple):
    server: DawrServer
    data: Path

    def codes(self) -> list[str]:
        """Of all the links that were printed so far."""
        return [code for _, code in LINK.findall(self.server.log.read_text(encoding="utf-8"))]

    def ask(self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        with Client(self.server.url) as client:
            return client.ask(
                path, method=method, body=body, headers={name.replace("_", "-"): v for name, v in headers.items()}
            )

    def fill_in(self, code: str, **given: str) -> Answer:
        form = {"code": code, "username": "amna", "password": PASSWORD, **given}
        return self.ask(
            "/first-run",
            method="POST",
            body=urlencode(form).encode(),
            Content_Type="application/x-www-form-urlencoded",
        )

    def log_in(self, username: str = "amna") -> Answer:
        body = f'{{"username": "{username}", "password": "{PASSWORD}"}}'.encode()
        return self.ask("/v1/login", method="POST", body=body, Content_Type="application/json")


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Installation]:
    """Started for the first time, with nothing in it."""
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data") as server:
        yield Installation(server, tmp_path / "data")


def is_done(answer: Answer) -> bool:
    return answer.status == 200 and b"Dawr is yours" in answer.body


def test_the_link_of_the_first_start_makes_the_owner_and_the_first_venue_once(empty: Installation) -> None:
    (code,) = empty.codes()
    shown = empty.ask(f"/first-run?code={code}")

    done = empty.fill_in(code, **VENUE)
    again = empty.fill_in(code, username="somebody", **VENUE)

    assert b'name="venue_slug"' in shown.body
    assert is_done(done)
    assert Page(done.body).inline == []
    assert not is_done(again)
    assert empty.log_in().json["venues"] == [{"venue": "ours", "role": "owner"}]
    must_be_problem(empty.log_in("somebody"), 401, "wrong-credentials")
    with Client(empty.server.url) as client:
        assert client.ask("/v1/queues/ours:main").status == 200


def test_once_there_is_an_owner_no_start_prints_a_link(empty: Installation) -> None:
    (code,) = empty.codes()
    empty.fill_in(code, **VENUE)

    empty.server.stop()
    empty.server.start()

    assert empty.codes() == [code]


def test_a_second_start_prints_another_link_and_the_first_is_no_good(empty: Installation) -> None:
    empty.server.stop()
    empty.server.start()
    first, second = empty.codes()

    with_the_first, with_the_second = empty.fill_in(first, **VENUE), empty.fill_in(second, **VENUE)

    assert first != second
    assert not is_done(with_the_first)
    assert is_done(with_the_second)


def test_a_wrong_code_makes_nobody(empty: Installation) -> None:
    answers = [empty.fill_in(code, **VENUE) for code in ("", "wrong", "x" * 100, "نور")]

    assert not any(is_done(answer) for answer in answers)
    must_be_problem(empty.log_in(), 401, "wrong-credentials")
    assert is_done(empty.fill_in(empty.codes()[0], **VENUE))


FAULTS = {
    "a short password": {"password": "short"},
    "a password that is tried first": {"password": "password123"},
    "a name with a space": {"username": "two words"},
    "no venue": {"venue_name": "", "venue_slug": ""},
    "a slug in Arabic": {"venue_slug": "عيادة"},
    "no such zone": {"zone": "Asia/Nowhere"},
    "no such kind": {"venue_kind": "bank"},
}


def test_what_is_wrong_is_said_and_the_link_stays_good(empty: Installation) -> None:
    (code,) = empty.codes()

    for fault, given in FAULTS.items():
        answer = empty.fill_in(code, **{**VENUE, **given})
        assert not is_done(answer), fault
        assert b'role="alert"' in answer.body, fault
        assert given.get("password", PASSWORD).encode() not in answer.body, fault
        assert Page(answer.body).inline == [], fault

    assert is_done(empty.fill_in(code, **VENUE))


def test_what_was_typed_comes_back_as_text_and_never_as_a_page(empty: Installation) -> None:
    typed = '"><script>alert(1)</script>'

    answer = empty.fill_in(empty.codes()[0], **{**VENUE, "venue_name": typed, "username": typed})

    assert b"<script" not in answer.body
    assert b"&lt;script&gt;" in answer.body


@pytest.mark.parametrize(
    ("kind", "body", "status", "refusal"),
    [
        ("application/json", b"{}", 415, "not-a-form"),
        ("text/plain", b"code=x", 415, "not-a-form"),
        ("application/x-www-form-urlencoded", b"", 422, "invalid-body"),
        ("application/x-www-form-urlencoded", b"\xff", 422, "invalid-body"),
        ("application/x-www-form-urlencoded", b"code=%ff", 422, "invalid-body"),
        ("application/x-www-form-urlencoded", b"&".join(b"a=%d" % n for n in range(30)), 422, "invalid-body"),
        ("application/x-www-form-urlencoded", b"code=" + b"x" * 70_000, 413, "body-too-large"),
    ],
)
def test_what_is_no_form_is_refused(kind: str, body: bytes, status: int, refusal: str, served: Installation) -> None:
    answer = served.ask("/first-run", method="POST", body=body, Content_Type=kind)

    must_be_problem(answer, status, refusal)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Set up by the command line, and without an owner."""
    directory = tmp_path_factory.mktemp("first-run")
    settings = {"DAWR_DATA": directory / "data"}
    for slug in ("one", "two"):
        applied = dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug=slug), **settings)
        assert applied.exit_code == 0, applied
    with DawrServer(directory, "serve", **settings) as server:
        yield Installation(server, directory / "data")


def test_where_there_are_venues_the_owner_owns_them_all(served: Installation) -> None:
    (code,) = served.codes()
    shown = served.ask(f"/first-run?code={code}")

    done = served.fill_in(code)

    assert b"venue_slug" not in shown.body
    assert is_done(done)
    owned = sorted(place["venue"] for place in served.log_in().json["venues"])
    assert owned == ["one", "two"]
    assert {place["role"] for place in served.log_in().json["venues"]} == {"owner"}

"""The first start: a link that makes the owner's account, once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.first_start import FORM, PASSWORD, VENUE, Installation, cookie_of, is_done
from tests.api.pages import A_BROWSERS, Page
from tests.running import Client, DawrServer, at_once, dawr, must_be_problem, venue_document

PRESSED = 8


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Installation]:
    """Started for the first time, with nothing in it."""
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data") as server:
        yield Installation(server, tmp_path / "data")


def test_the_link_of_the_first_start_makes_the_owner_and_the_first_venue_once(empty: Installation) -> None:
    (code,) = empty.codes()
    shown = empty.open(f"/first-run?code={code}")

    done = empty.fill_in(code, VENUE)
    again = empty.fill_in(code, {**VENUE, "username": "somebody", "venue_slug": "theirs"})

    assert {"username", "venue_name", "venue_slug", "zone", "language", "queue_name"} <= Page(shown.body).typed.keys()
    assert is_done(done)
    assert again.status == 410
    assert empty.log_in().json["venues"] == [{"venue": "ours", "role": "owner"}]
    must_be_problem(empty.log_in("somebody"), 401, "wrong-credentials")
    assert empty.ask("/v1/queues/ours:main").status == 200
    must_be_problem(empty.ask("/v1/venues/theirs"), 404, "unknown-venue")


def test_whoever_made_the_account_is_signed_in(empty: Installation) -> None:
    done = empty.fill_in(empty.codes()[0], VENUE)

    me = empty.open("/v1/me", Cookie=cookie_of(done))

    assert (me.status, me.json["username"]) == (200, "amna")
    assert all("; HttpOnly; SameSite=Lax" in cookie for cookie in done.cookies)
    assert done.body == b""


@pytest.mark.parametrize(
    ("given", "names", "queue"),
    [
        ({}, ("en", "Our clinic", "Reception", "Desk 1"), ("main", "A")),
        (
            {"queue_name": "  Blood & Café  5 "},
            ("en", "Our clinic", "Blood & Café  5", "Desk 1"),
            ("blood-cafe-5", "B"),
        ),
        ({"queue_name": "42"}, ("en", "Our clinic", "42", "Desk 1"), ("42", "A")),
        (
            {"language": "ar", "venue_name": "عيادة الميناء", "queue_name": "المختبر"},
            ("ar", "عيادة الميناء", "المختبر", "المكتب 1"),
            ("main", "A"),
        ),
        (
            {"language": "zh", "venue_name": "海港餐厅", "venue_kind": "restaurant"},
            ("zh", "海港餐厅", "候位", "1 号窗口"),
            ("main", "A"),
        ),
    ],
)
def test_names_are_kept_in_the_language_that_they_were_typed_in(
    empty: Installation, given: dict[str, str], names: tuple[str, str, str, str], queue: tuple[str, str]
) -> None:
    done = empty.fill_in(empty.codes()[0], {**VENUE, **given})

    assert is_done(done)
    venue, (language, name, queue_name, desk_name) = empty.set_up_of("ours"), names
    assert (venue["name"], venue["language"]) == ({language: name}, language)
    assert (venue["zone"], venue["kind"]) == ("Asia/Qatar", given.get("venue_kind", "clinic"))
    (made,) = venue["queues"]
    assert (made["name"], (made["id"], made["prefix"])) == ({language: queue_name}, queue)
    assert [desk["name"] for desk in venue["desks"]] == [{language: desk_name}]


def test_once_there_is_an_owner_the_page_is_gone_and_no_start_prints_a_link(empty: Installation) -> None:
    (code,) = empty.codes()
    empty.fill_in(code, VENUE)

    empty.server.stop()
    empty.server.start()

    assert empty.codes() == [code]
    must_be_problem(empty.ask(f"/first-run?code={code}"), 410, "owner-exists")
    gone = empty.open(f"/first-run?code={code}", Accept_Language="ar")
    assert (gone.status, gone.headers["content-type"]) == (410, "text/html; charset=utf-8")
    assert (Page(gone.body).language, Page(gone.body).direction) == ("ar", "rtl")
    assert "يوجد مالك بالفعل" in Page(gone.body).text
    assert Page(gone.body).typed == {}


def test_a_second_start_prints_another_link_and_the_first_is_no_good(empty: Installation) -> None:
    empty.server.stop()
    empty.server.start()
    first, second = empty.codes()

    with_the_first, with_the_second = empty.fill_in(first, VENUE), empty.fill_in(second, VENUE)

    assert first != second
    assert with_the_first.status == 422
    assert is_done(with_the_second)


def test_a_wrong_code_makes_nobody_and_is_told_nothing_else(empty: Installation) -> None:
    answers = [empty.fill_in(code, VENUE) for code in ("", "wrong", "x" * 100, "x" * 1000, "نور", "\0")]
    with_a_bad_password = empty.fill_in("wrong", {**VENUE, "password": "short"})

    assert [answer.status for answer in answers] == [422] * len(answers)
    assert "start the server again for a new one" in Page(with_a_bad_password.body).text
    assert Page(with_a_bad_password.body).wrong == {}
    must_be_problem(empty.log_in(), 401, "wrong-credentials")
    assert is_done(empty.fill_in(empty.codes()[0], VENUE))


FAULTS: list[tuple[str, dict[str, str]]] = [
    ("password", {"password": "short"}),
    ("password", {"password": "password123"}),
    ("password", {"password": "AMNA1234", "username": "amna1234"}),
    ("password", {"password": ""}),
    ("password", {"password": "x" * 200}),
    ("username", {"username": "two words"}),
    ("username", {"username": ""}),
    ("username", {"username": "a" * 1000}),
    ("username", {"username": "amna\0"}),
    ("venue_name", {"venue_name": ""}),
    ("venue_name", {"venue_name": "x" * 10_000}),
    ("venue_name", {"venue_name": "Our\0clinic\x1b"}),
    ("venue_slug", {"venue_slug": ""}),
    ("venue_slug", {"venue_slug": "عيادة"}),
    ("venue_slug", {"venue_slug": "two words"}),
    ("venue_slug", {"venue_slug": "--help"}),
    ("venue_kind", {"venue_kind": "bank"}),
    ("language", {"language": "xx"}),
    ("zone", {"zone": "Asia/Nowhere"}),
    ("zone", {"zone": ""}),
    ("zone", {"zone": "../../etc/passwd"}),
    ("queue_name", {"queue_name": "Lab\x07"}),
    ("queue_name", {"queue_name": "x" * 1000}),
    ("language", dict.fromkeys(["username", "password", *VENUE], "")),
]


def test_what_is_wrong_is_said_beside_its_field_and_the_link_stays_good(empty: Installation) -> None:
    (code,) = empty.codes()

    for field, given in FAULTS:
        typed = {**VENUE, "username": "amna", **given}
        answer = empty.fill_in(code, typed)
        page = Page(answer.body)
        assert answer.status == 422, given
        assert page.wrong.keys() == {field}, given
        assert page.wrong[field].endswith("."), given
        kept = {name: value for name, value in page.typed.items() if name in {"username", "venue_name", "zone"}}
        assert kept == {name: typed[name].strip() for name in kept}, given
        assert page.typed["password"] == ""
        assert (given.get("password") or PASSWORD).encode() not in answer.body, given
        assert page.inline == [], given

    assert is_done(empty.fill_in(code, VENUE))


def test_what_is_wrong_is_said_in_the_browsers_language(empty: Installation) -> None:
    answer = empty.fill_in(empty.codes()[0], {**VENUE, "password": "short"}, Accept_Language="zh-CN")

    page = Page(answer.body)
    assert (page.language, page.direction) == ("zh", "ltr")
    assert page.wrong == {"password": "密码有 8 到 128 个字符。"}


def test_what_was_typed_comes_back_as_text_and_never_as_a_page(empty: Installation) -> None:
    typed = '"><script>alert(1)</script>'

    answer = empty.fill_in(empty.codes()[0], {**VENUE, "venue_name": typed, "username": typed, "zone": typed})

    page = Page(answer.body)
    assert (page.typed["venue_name"], page.typed["username"], page.typed["zone"]) == (typed, typed, typed)
    assert page.inline == []
    assert b"<script>" not in answer.body


def test_whoever_presses_twice_or_in_two_tabs_makes_one_account_and_one_venue(empty: Installation) -> None:
    (code,) = empty.codes()

    answers = at_once(lambda n: empty.fill_in(code, {**VENUE, "venue_slug": f"ours{n}"}), range(PRESSED))
    again = empty.fill_in(code, VENUE)

    assert {answer.status for answer in answers} == {303}
    assert len(empty.log_in().json["venues"]) == 1
    assert is_done(again)
    assert empty.open("/v1/me", Cookie=cookie_of(again)).status == 200


def test_the_form_is_no_second_way_to_sign_in_for_others(empty: Installation) -> None:
    (code,) = empty.codes()
    empty.fill_in(code, VENUE)

    refused = [
        empty.fill_in(code, {**VENUE, "password": "a wrong password"}),
        empty.fill_in(code, {**VENUE, "username": "nobody"}),
        empty.fill_in(code, VENUE, Sec_Fetch_Site="cross-site"),
    ]

    assert [answer.status for answer in refused] == [410] * 3
    assert not any(answer.cookies for answer in refused)


@pytest.mark.parametrize(
    ("kind", "body", "status", "refusal"),
    [
        ("application/json", b"{}", 415, "not-a-form"),
        ("text/plain", b"code=x", 415, "not-a-form"),
        (FORM, b"", 422, "invalid-body"),
        (FORM, b"\xff", 422, "invalid-body"),
        (FORM, b"code=%ff", 422, "invalid-body"),
        (FORM, b"&".join(b"a=%d" % n for n in range(30)), 422, "invalid-body"),
        (FORM, b"code=" + b"x" * 70_000, 413, "body-too-large"),
    ],
)
def test_what_is_no_form_is_refused(kind: str, body: bytes, status: int, refusal: str, served: Installation) -> None:
    answer = served.ask("/first-run", method="POST", body=body, headers={"Content-Type": kind})

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


def test_without_the_code_of_the_link_there_is_no_form(served: Installation) -> None:
    shown = served.open("/first-run")

    assert (shown.status, Page(shown.body).typed) == (200, {})
    assert "Open the link that the server printed" in Page(shown.body).text


def test_where_there_are_venues_the_owner_owns_them_all(served: Installation) -> None:
    (code,) = served.codes()
    shown = served.open(f"/first-run?code={code}")

    done = served.fill_in(code)

    assert Page(shown.body).typed.keys() == {"code", "username", "password"}
    assert is_done(done)
    owned = sorted(place["venue"] for place in served.log_in().json["venues"])
    assert owned == ["one", "two"]
    assert {place["role"] for place in served.log_in().json["venues"]} == {"owner"}


def test_a_browser_that_cannot_stay_signed_in_is_told_so_and_sees_the_next_steps(tmp_path: Path) -> None:
    """Plain HTTP at an address that others could reach: a browser drops the cookie, and sends no `Sec-Fetch-Site`.

    It names the page that a form is on only because the page asks for it. Whoever presses twice sees the second answer.
    """
    with DawrServer(tmp_path, "serve", "--host", "127.0.0.2", DAWR_DATA=tmp_path / "data") as server:
        (code,) = Installation(server, tmp_path).codes()
        body = f"code={code}&username=noor&password=a+long+walk+to+the+sea&venue_name=A&venue_slug=a&zone=UTC"
        url = f"http://127.0.0.2:{server.port}"
        with Client(url) as client:
            form = client.ask(f"/first-run?code={code}", headers=A_BROWSERS)
            told = {"no-referrer": "null", "same-origin": url}[form.headers["referrer-policy"]]
            headers = {**A_BROWSERS, "Content-Type": FORM, "Origin": told}
            done, again = (
                client.ask("/first-run", method="POST", body=body.encode(), headers=headers) for _ in range(2)
            )

    for answer in (done, again):
        assert answer.status == 200
        assert "does not stay signed in" in Page(answer.body).text
        assert "dawr staff add NAME --role staff --venue a" in Page(answer.body).commands[0]

"""Signing in with a browser: a form, back to the page that was asked for, and never to another site."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from tests.api.first_start import cookie_of
from tests.api.pages import A_BROWSERS, Page
from tests.api.world import PASSWORD, Api, create_world
from tests.builders import a_new
from tests.running import Answer, DawrServer, must_be_problem

CONSOLE = "/staff/clinic/room"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OUR_PAGE = {"Sec-Fetch-Site": "same-origin"}
ELSEWHERE = (
    "//evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "http://evil.example/",
    "https:evil.example",
    "javascript:alert(1)",
    "%2f%2fevil.example",
    "/\t/evil.example",
    "/\r\nLocation: //evil.example",
    "/\x00/evil.example",
    "evil.example",
    "/" + "x" * 600,
)


@pytest.fixture
def person(api: Api) -> str:
    username = a_new("person")
    given = {"username": username, "role": "staff", "password": PASSWORD}
    assert api.post("/v1/venues/clinic/staff", given, by="owner@clinic").status == 201
    return username


def open_page(api: Api, path: str, **headers: str) -> Answer:
    return api.get(path, headers={**A_BROWSERS, **_hyphenated(headers)})


def send(api: Api, fields: Mapping[str, str], *, path: str = "/sign-in", **headers: str) -> Answer:
    """As a browser sends the form of the page."""
    said = {**FORM, **OUR_PAGE, **A_BROWSERS, **_hyphenated(headers)}
    return api.ask("POST", path, urlencode(fields).encode(), headers=said)


def sign_in(api: Api, username: str, password: str = PASSWORD, *, then: str = "", **headers: str) -> Answer:
    return send(api, {"username": username, "password": password, "then": then}, **headers)


def _hyphenated(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def who(api: Api, answer: Answer) -> str:
    """Whoever the browser is signed in as by then."""
    return str(api.get("/v1/me", headers={"Cookie": cookie_of(answer)}).json["username"])


def test_a_page_for_staff_leads_to_the_form_and_the_form_leads_back(api: Api, person: str) -> None:
    asked = open_page(api, "/staff/clinic/room")
    form = open_page(api, asked.headers["location"])
    done = sign_in(api, person, then=Page(form.body).typed["then"])

    assert (asked.status, form.status) == (303, 200)
    assert (done.status, done.headers["location"]) == (303, CONSOLE)
    assert who(api, done) == person


def test_the_form_says_to_which_desk_it_leads(api: Api) -> None:
    to_a_desk = Page(open_page(api, f"/sign-in?then={CONSOLE}").body)
    to_the_desks = Page(open_page(api, "/sign-in?then=/staff/clinic").body)
    nowhere = [Page(open_page(api, f"/sign-in?then={path}").body) for path in ("/", "/staff/nowhere/x", "/docs")]

    assert "Then on to Room Clinic" in " ".join(to_a_desk.text.split())
    assert "Then on to Clinic" in " ".join(to_the_desks.text.split())
    assert not any("Then on to" in page.text for page in nowhere)


def test_whoever_asked_for_no_page_begins_at_the_desks_of_their_venue(api: Api, person: str) -> None:
    at_one = sign_in(api, person)
    other = a_new("place")
    set_up = {"name": {"en": "A place"}, "zone": "Asia/Qatar"}
    assert api.ask("PUT", f"/v1/venues/{other}/set-up", set_up, by="owner@clinic").status == 201
    added = api.post(f"/v1/venues/{other}/staff", {"username": person, "role": "staff"}, by="owner@clinic")
    at_two = sign_in(api, person)

    assert added.status == 201
    assert at_one.headers["location"] == "/staff/clinic"
    assert at_two.headers["location"] == "/"
    assert sign_in(api, "viewer@clinic").headers["location"] == "/"


@pytest.mark.parametrize("then", ELSEWHERE)
def test_no_link_to_the_form_leads_to_another_site(api: Api, person: str, then: str) -> None:
    form = open_page(api, f"/sign-in?then={quote(then)}")
    sent = sign_in(api, person, then=then)
    again = open_page(api, f"/sign-in?then={quote(then)}", Cookie=cookie_of(sent))
    out = send(api, {"then": then}, path="/sign-out", Cookie=cookie_of(sent))

    assert form.status == 200
    assert "then" not in Page(form.body).typed
    assert (sent.status, sent.headers["location"]) == (303, "/staff/clinic")
    assert (again.status, again.headers["location"]) == (303, "/staff/clinic")
    assert (out.status, out.headers["location"]) == (303, "/")


@pytest.mark.parametrize("then", ["/sign-in", "/sign-in?then=/", "/sign-out"])
def test_the_form_does_not_lead_to_itself(api: Api, person: str, then: str) -> None:
    assert sign_in(api, person, then=then).headers["location"] == "/staff/clinic"


def test_a_wrong_password_is_said_beside_the_form_and_the_name_stays(api: Api, person: str) -> None:
    answer = sign_in(api, person, "wrong", then=CONSOLE)
    page = Page(answer.body)

    assert answer.status == 401
    assert answer.cookies == ()
    assert page.typed["username"] == person
    assert page.typed["password"] == ""
    assert page.typed["then"] == CONSOLE
    assert "The name or the password is not right." in page.text


@pytest.mark.parametrize("fields", [{}, {"username": "x" * 65, "password": PASSWORD}, {"username": "<script>"}])
def test_what_cannot_be_a_name_is_refused_in_words(api: Api, fields: dict[str, str]) -> None:
    answer = send(api, fields)

    assert answer.status in {401, 422}
    assert b'role="alert"' in answer.body
    assert b"<script>" not in answer.body


@pytest.mark.parametrize(("language", "words"), [("ar", "كلمة المرور غير صحيحة"), ("zh", "登录"), ("en", "not right")])
def test_the_form_speaks_the_visitors_language_also_when_it_refuses(
    api: Api, person: str, language: str, words: str
) -> None:
    answer = sign_in(api, person, "wrong", Accept_Language=language)

    assert words in Page(answer.body).text
    assert Page(answer.body).language == language


def test_too_many_wrong_passwords_are_said_in_words(strict: Api) -> None:
    answers = [sign_in(strict, "staff@bistro", f"wrong {number}") for number in range(12)]
    last = Page(answers[-1].body)

    assert {answer.status for answer in answers} == {401, 429}
    assert "Too many wrong passwords" in last.text
    assert "retry-after" in answers[-1].headers
    assert last.typed["username"] == "staff@bistro"


def test_whoever_is_signed_in_goes_on_at_once(api: Api, person: str) -> None:
    cookie = cookie_of(sign_in(api, person))

    assert open_page(api, f"/sign-in?then={CONSOLE}", Cookie=cookie).headers["location"] == CONSOLE
    assert open_page(api, "/sign-in", Cookie=cookie).headers["location"] == "/staff/clinic"


def test_another_person_takes_over_a_shared_tablet_and_the_first_is_signed_out(api: Api, person: str) -> None:
    first = cookie_of(sign_in(api, "manager@clinic"))

    form = open_page(api, f"/sign-in?switch=1&then={CONSOLE}", Cookie=first)
    typed = Page(form.body).typed | {"username": person, "password": "wrong"}
    wrong = send(api, typed, Cookie=first)
    still_there = api.get("/v1/me", headers={"Cookie": first}).status
    done = send(api, typed | {"password": PASSWORD}, Cookie=first)

    assert (form.status, wrong.status, still_there) == (200, 401, 200)
    assert "manager@clinic stays signed in here until somebody else signs in." in Page(form.body).text
    assert "manager@clinic stays signed in here" in Page(wrong.body).text
    assert CONSOLE in Page(form.body).links
    assert (done.headers["location"], who(api, done)) == (CONSOLE, person)
    assert api.get("/v1/me", headers={"Cookie": first}).status == 401


def test_every_sign_in_is_a_new_session_and_none_is_taken_over(api: Api, person: str) -> None:
    planted = "dawr=dws_planted-by-somebody"

    sessions = [cookie_of(sign_in(api, person, Cookie=planted)) for _ in range(2)]

    assert len({*sessions, planted}) == 3
    assert api.get("/v1/me", headers={"Cookie": planted}).status == 401


@pytest.mark.parametrize(
    "page",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
def test_another_sites_page_signs_nobody_in_or_out(api: Api, person: str, path: str, page: dict[str, str]) -> None:
    cookie = cookie_of(sign_in(api, person))
    body = urlencode({"username": "owner@clinic", "password": PASSWORD}).encode()

    answer = api.ask("POST", path, body, headers={**FORM, **A_BROWSERS, **page, "Cookie": cookie})

    assert answer.status == 403
    assert answer.cookies == ()
    assert api.get("/v1/me", headers={"Cookie": cookie}).json["username"] == person


def test_signing_out_ends_the_session_and_forgets_the_cookie(api: Api, person: str) -> None:
    cookie = cookie_of(sign_in(api, person))

    answer = send(api, {"then": "/v/clinic"}, path="/sign-out", Cookie=cookie)
    twice = send(api, {}, path="/sign-out", Cookie=cookie)

    assert (answer.status, answer.headers["location"]) == (303, "/v/clinic")
    assert "Max-Age=0" in answer.cookies[0]
    assert api.get("/v1/me", headers={"Cookie": cookie}).status == 401
    assert (twice.status, twice.headers["location"]) == (303, "/")


def test_a_script_gets_answers_and_never_the_session(api: Api, person: str) -> None:
    done = sign_in(api, person, then=CONSOLE, Accept="application/json")
    wrong = sign_in(api, person, "wrong", Accept="application/json")
    out = send(api, {}, path="/sign-out", Cookie=cookie_of(done), Accept="application/json")

    assert done.json == {"username": person, "then": CONSOLE}
    assert "HttpOnly" in done.cookies[-1]
    must_be_problem(wrong, 401, "wrong-credentials")
    assert out.json == {"signed_out": True}


def test_the_switch_of_language_keeps_where_the_form_leads(api: Api) -> None:
    page = Page(open_page(api, f"/sign-in?then={CONSOLE}").body)

    (arabic,) = [link for link in page.links if "lang=ar" in link]
    switched = Page(open_page(api, f"/sign-in{arabic}").body)

    assert (switched.language, switched.typed["then"]) == ("ar", CONSOLE)


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server that others reach without TLS."""
    directory: Path = tmp_path_factory.mktemp("open")
    world = create_world(directory / "data")
    settings = {"DAWR_HOST": "0.0.0.0", "DAWR_TRUSTED_PROXIES": "10.0.0.0/8"}
    with DawrServer(directory, "serve", DAWR_DATA=directory / "data", **settings) as server:
        yield Api(server.url, world)


def test_over_plain_http_from_elsewhere_it_says_why_it_cannot_work_and_what_to_do(open_to_all: Api) -> None:
    from_elsewhere = open_page(open_to_all, f"/sign-in?then={CONSOLE}", Host="192.0.2.7:8787")
    sent = sign_in(open_to_all, "staff@clinic", Host="192.0.2.7:8787", then=CONSOLE)
    on_the_machine = open_page(open_to_all, "/sign-in", Host="127.0.0.1:8787")

    for answer in (from_elsewhere, sent):
        page = Page(answer.body)
        assert answer.status == 403
        assert answer.cookies == ()
        assert "password" not in page.typed
        assert "Signing in does not work at this address: it is plain HTTP" in page.text
        assert "Open it over HTTPS, or in a browser on the machine where Dawr runs." in page.text
        assert "docs/run/proxy.md" in page.text
    assert "password" in Page(on_the_machine.body).typed


def test_where_the_encrypted_address_is_known_the_page_leads_there(tmp_path: Path) -> None:
    world = create_world(tmp_path / "data")
    settings = {"DAWR_HOST": "0.0.0.0", "DAWR_PUBLIC_URL": "https://queue.example.org"}
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data", **settings) as server:
        page = Page(open_page(Api(server.url, world), f"/sign-in?then={CONSOLE}", Host="192.0.2.7").body)

    assert f"https://queue.example.org/sign-in?then={CONSOLE}" in page.links

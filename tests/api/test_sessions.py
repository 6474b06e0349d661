"""Signing in and out over HTTP: cookies, throttling, and what a wrong try tells."""

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.api.world import PASSWORD, Api, create_world
from tests.builders import a_new
from tests.running import Answer, DawrServer, dawr, must_be_problem, must_take_as_long

HTTPS = {"X-Forwarded-Proto": "https"}
"""As a proxy on this machine says it."""

WRONG = "not the password"
SEVEN_DAYS = 7 * 24 * 60 * 60


def log_in(api: Api, username: str, password: str = PASSWORD, **headers: str) -> Answer:
    return api.post(
        "/v1/login",
        {"username": username, "password": password},
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


@pytest.fixture
def person(api: Api) -> str:
    """Somebody whose sessions and password are the test's own."""
    username = a_new("person")
    given = {"username": username, "role": "staff", "password": PASSWORD}
    assert api.post("/v1/venues/clinic/staff", given, by="owner@clinic").status == 201
    return username


def cookie_of(answer: Answer) -> tuple[str, str, set[str]]:
    """Its name, its value, and its attributes."""
    pair, *attributes = answer.headers["set-cookie"].split("; ")
    name, _, value = pair.partition("=")
    return name, value, set(attributes)


def test_whoever_signs_in_is_told_who_they_are_and_for_how_long(api: Api, person: str) -> None:
    answer = log_in(api, person.upper())

    assert answer.json["username"] == person
    assert answer.json["venues"] == [{"venue": "clinic", "role": "staff"}]
    assert abs(answer.json["expires_at"] / 1000 - time.time() - SEVEN_DAYS) < 60
    me = api.get("/v1/me", by=answer.json["session"]).json
    assert (me["actor"], me["username"], me["token_kind"]) == (f"staff:{person}", person, None)


def test_on_this_machine_the_cookie_has_a_plain_name(api: Api, person: str) -> None:
    answer = log_in(api, person)

    name, value, attributes = cookie_of(answer)

    assert (name, value) == ("dawr", answer.json["session"])
    assert attributes == {"Path=/", f"Max-Age={SEVEN_DAYS}", "HttpOnly", "SameSite=Lax"}
    assert api.get("/v1/me", headers={"Cookie": f"other=1; dawr={value}"}).json["username"] == person


def test_behind_https_the_cookie_is_secure_and_of_this_host_alone(api: Api, person: str) -> None:
    answer = log_in(api, person, X_Forwarded_Proto="https")

    name, value, attributes = cookie_of(answer)

    assert name == "__Host-dawr"
    assert attributes == {"Path=/", f"Max-Age={SEVEN_DAYS}", "HttpOnly", "SameSite=Lax", "Secure"}
    assert api.get("/v1/me", headers={"Cookie": f"__Host-dawr={value}", **HTTPS}).json["username"] == person


def test_behind_https_a_cookie_that_any_page_of_the_domain_could_set_does_not_count(api: Api, person: str) -> None:
    session = api.sign_in(person)

    must_be_problem(api.get("/v1/me", headers={"Cookie": f"dawr={session}", **HTTPS}), 401, "not-signed-in")


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server that others reach without a proxy; this machine is no proxy of its."""
    directory = tmp_path_factory.mktemp("open")
    world = create_world(directory / "data")
    settings = {"DAWR_HOST": "0.0.0.0", "DAWR_TRUSTED_PROXIES": "10.0.0.0/8"}
    with DawrServer(directory, "serve", DAWR_DATA=directory / "data", **settings) as server:
        yield Api(server.url, world)


def test_where_others_reach_the_server_the_cookie_is_secure_whatever_the_way(open_to_all: Api) -> None:
    """Without https a browser does not keep it: better nobody signed in than somebody overheard."""
    name, _, attributes = cookie_of(log_in(open_to_all, "viewer@clinic"))

    assert name == "__Host-dawr"
    assert "Secure" in attributes


def test_whoever_is_no_proxy_of_ours_cannot_say_that_the_way_is_encrypted(open_to_all: Api) -> None:
    answer = open_to_all.get("/v1/venues/clinic", headers=HTTPS)

    assert answer.status == 200
    assert "strict-transport-security" not in answer.headers


def test_every_login_is_a_new_session_and_none_is_taken_over(api: Api, person: str) -> None:
    planted = "dws_planted-by-somebody"

    first = log_in(api, person, Cookie=f"dawr={planted}").json["session"]
    second = log_in(api, person, Cookie=f"dawr={first}", Sec_Fetch_Site="same-origin").json["session"]

    assert len({planted, first, second}) == 3
    assert api.get("/v1/me", by=first).status == api.get("/v1/me", by=second).status == 200


def test_a_cookie_that_is_no_good_is_as_if_there_were_none(api: Api) -> None:
    for value in ("dws_nobody", "", "x", api.world.expired, "dws_" + "x" * 500):
        headers = {"Cookie": f"dawr={value}"}
        assert api.get("/v1/venues/clinic", headers=headers).status == 200
        must_be_problem(api.get("/v1/me", headers=headers), 401, "not-signed-in")


def test_signing_out_ends_the_session_here_and_not_only_in_the_browser(api: Api, person: str) -> None:
    session, other = api.sign_in(person), api.sign_in(person)

    answer = api.post("/v1/logout", {}, by=session)

    assert answer.json == {"signed_out": True}
    name, value, attributes = cookie_of(answer)
    assert (name, value) == ("dawr", "")
    assert "Max-Age=0" in attributes
    must_be_problem(api.get("/v1/me", by=session), 401, "credentials-invalid")
    must_be_problem(api.get("/v1/me", headers={"Cookie": f"dawr={session}"}), 401, "not-signed-in")
    assert api.get("/v1/me", by=other).status == 200


def test_a_browser_signs_out_with_its_cookie(api: Api, person: str) -> None:
    session = api.sign_in(person)

    answer = api.post("/v1/logout", {}, headers={"Cookie": f"dawr={session}", "Sec-Fetch-Site": "same-origin"})

    assert answer.status == 200
    must_be_problem(api.get("/v1/me", by=session), 401, "credentials-invalid")


def test_a_new_password_ends_every_session(api: Api, person: str) -> None:
    sessions = [api.sign_in(person), api.sign_in(person)]

    changed = api.post("/v1/me/password", {"old": PASSWORD, "new": "another walk to the sea"}, by=sessions[0])

    assert changed.json == {"changed": True}
    for session in sessions:
        must_be_problem(api.get("/v1/me", by=session), 401, "credentials-invalid")
    must_be_problem(log_in(api, person), 401, "wrong-credentials")
    assert api.sign_in(person, "another walk to the sea")


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        (WRONG, "another walk to the sea", (403, "wrong-password")),
        (PASSWORD, "short", (422, "invalid-value")),
        (PASSWORD, "password123", (422, "invalid-value")),
        (PASSWORD, "x" * 129, (422, "invalid-body")),
    ],
)
def test_a_password_that_is_not_changed_ends_nothing(
    api: Api, person: str, old: str, new: str, refusal: tuple[int, str]
) -> None:
    session = api.sign_in(person)

    answer = api.post("/v1/me/password", {"old": old, "new": new}, by=session)

    must_be_problem(answer, *refusal)
    assert api.get("/v1/me", by=session).status == 200


def test_a_token_has_no_password_to_change(api: Api) -> None:
    given = {"old": PASSWORD, "new": "another walk to the sea"}

    must_be_problem(api.post("/v1/me/password", given, by="token:owner@clinic"), 403, "not-an-account")


@pytest.fixture
def shut_out(api: Api, person: str) -> str:
    """Somebody with the right password and no place any more."""
    assert api.post(f"/v1/venues/clinic/staff/{person}/disable", {}, by="owner@clinic").status == 200
    return person


def test_no_wrong_login_is_told_from_another(api: Api, shut_out: str) -> None:
    tries = {
        "no such name": ("nobody-at-all", PASSWORD),
        "wrong password": ("owner@clinic", WRONG),
        "disabled": (shut_out, PASSWORD),
        "disabled and wrong": (shut_out, WRONG),
        "a name that could be nobody's": ("نور\x00", PASSWORD),
        "empty": ("", ""),
    }

    answers = {name: log_in(api, *given) for name, given in tries.items()}

    for answer in answers.values():
        must_be_problem(answer, 401, "wrong-credentials")
    bodies = [{**answer.json, "correlation_id": ""} for answer in answers.values()]
    assert all(body == bodies[0] for body in bodies)
    assert len({frozenset(answer.headers) for answer in answers.values()}) == 1
    assert not any("set-cookie" in answer.headers for answer in answers.values())


def test_no_wrong_login_is_answered_sooner_than_another(api: Api, shut_out: str) -> None:
    must_take_as_long(
        lambda: log_in(api, "owner@clinic", WRONG),
        lambda: log_in(api, "nobody-at-all", WRONG),
        lambda: log_in(api, shut_out, PASSWORD),
    )


_hosts = count(1)


@pytest.fixture
def address() -> str:
    """A client of its own, as a proxy on this machine names it."""
    return f"198.51.100.{next(_hosts)}"


def a_try(strict: Api, username: str, password: str, address: str, path: str = "/v1/login") -> Answer:
    given = {"username": username, "password": password}
    return strict.post(path, given, headers={"X-Forwarded-For": address})


def test_the_old_password_is_guessed_no_oftener(strict: Api, address: str) -> None:
    def guess() -> int:
        given = {"old": WRONG, "new": "another walk to the sea"}
        return strict.post("/v1/me/password", given, by="staff@clinic", headers={"X-Forwarded-For": address}).status

    assert [guess() for _ in range(6)] == [403] * 5 + [429]


def test_somebody_unlocked_by_the_command_line_while_the_server_runs_signs_in(
    strict: Api, stricts_data: Path, address: str
) -> None:
    tries = [a_try(strict, "viewer@bistro", WRONG, address).status for _ in range(6)]
    held_back = a_try(strict, "Viewer@bistro", PASSWORD, address)

    unlocked = dawr("staff", "unlock", "viewer@bistro", "--data", stricts_data)
    nobody = dawr("staff", "unlock", "nobody", "--data", stricts_data)

    assert tries == [401] * 5 + [429]
    must_be_problem(held_back, 429, "quota-exceeded")
    assert (unlocked.exit_code, nobody.exit_code) == (0, 1)
    assert a_try(strict, "viewer@bistro", PASSWORD, address).status == 200


def test_somebody_added_by_the_command_line_while_the_server_runs_signs_in(api: Api, everybodys_data: Path) -> None:
    username = a_new("person")
    arguments = ("--venue", "clinic", "--role", "viewer", "--password-stdin", "--data", everybodys_data)

    added = dawr("staff", "add", username, *arguments, stdin=f"{PASSWORD}\n")

    assert added.exit_code == 0, added
    assert api.get("/v1/me", by=api.sign_in(username)).status == 200

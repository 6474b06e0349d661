"""POST /api/v1/admin/login: a token for whoever knows the password (MISSION A16)."""

import pytest

from tests.doors.restaurant import Restaurant
from tests.doors.roles import OWNER, PASSWORD
from tests.running import Answer, Client, must_be_problem, must_take_as_long

LOGIN = "/api/v1/admin/login"
CALL = "/api/v1/queue/call"


def test_whoever_knows_the_password_gets_a_token_that_is_a_bearer(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")

    answer = login(client)

    assert answer.status == 200
    assert answer.json.keys() == {"success", "token", "user"}
    assert (answer.json["success"], answer.json["user"]) == (True, {"username": OWNER, "role": "owner"})
    called = client.post(CALL, {"clinic": queue}, bearer=answer.json["token"])
    assert called.json["current"] == 1


def test_every_login_is_a_session_of_its_own(client: Client) -> None:
    one, other = login(client).json["token"], login(client).json["token"]

    client.post("/v1/logout", {}, bearer=one)

    assert one != other
    must_be_problem(client.get("/v1/me", bearer=one), 401, "credentials-invalid")
    assert client.get("/v1/me", bearer=other).json["username"] == OWNER


def test_a_session_is_never_handed_out_twice_whatever_the_key(client: Client) -> None:
    given = {"username": OWNER, "password": PASSWORD}

    one, other = (client.post(LOGIN, given, key="the-same-login") for _ in range(2))

    assert "idempotency-replayed" not in other.headers
    assert one.json["token"] != other.json["token"]


def test_the_name_is_the_same_in_any_case(client: Client) -> None:
    assert login(client, username=f" {OWNER.upper()} ").json["user"]["username"] == OWNER


def test_browsers_get_the_session_as_a_cookie_that_scripts_do_not_see(client: Client) -> None:
    answer = login(client)

    cookie = answer.headers["set-cookie"]
    assert answer.json["token"] in cookie
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))


@pytest.mark.parametrize(
    ("username", "password"),
    [
        (OWNER, "not the password"),
        (OWNER, ""),
        (OWNER, PASSWORD + " "),
        (OWNER, PASSWORD.upper()),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        ("' OR 1=1 --", PASSWORD),
        ("\0", PASSWORD),
    ],
)
def test_whatever_is_wrong_the_answer_is_the_same(client: Client, username: str, password: str) -> None:
    answer = login(client, username=username, password=password)

    must_be_problem(answer, 401, "wrong-credentials")
    assert answer.json["detail"] == "The name or the password is not right."
    assert "set-cookie" not in answer.headers


def test_an_unknown_name_takes_as_long_as_a_wrong_password(client: Client) -> None:
    must_take_as_long(lambda: refused_login(client, OWNER), lambda: refused_login(client, "nobody"))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"username": OWNER},
        {"password": PASSWORD},
        {"username": OWNER, "password": 42},
        {"username": OWNER, "password": None},
        {"username": [OWNER], "password": PASSWORD},
        {"username": "x" * 65, "password": PASSWORD},
        {"username": OWNER, "password": "x" * 129},
    ],
)
def test_a_login_of_another_shape_is_refused_without_saying_the_password(client: Client, given: object) -> None:
    answer = client.post(LOGIN, given)

    must_be_problem(answer, 422, "invalid-body")
    assert PASSWORD.encode() not in answer.body


def test_a_login_is_not_read(client: Client) -> None:
    must_be_problem(client.ask(LOGIN), 405, "method-not-allowed")


def test_somebody_with_a_place_elsewhere_only_is_told_that_role_and_may_nothing_here(
    client: Client, queue: str, restaurant: Restaurant
) -> None:
    name = f"host-of-{restaurant.slug}"
    added = client.post(
        f"/v1/venues/{restaurant.slug}/staff",
        {"username": name, "role": "staff", "password": PASSWORD},
        bearer=restaurant.owner,
    )
    assert added.status == 201, added

    session = login(client, username=name).json

    assert session["user"] == {"username": name, "role": "staff"}
    must_be_problem(client.post(CALL, {"clinic": queue}, bearer=session["token"]), 404, "unknown-venue")
    assert restaurant.client.get(restaurant.admin, bearer=session["token"]).status == 200


def test_whoever_is_disabled_loses_the_session_at_once_and_does_not_get_in_again(
    client: Client, restaurant: Restaurant
) -> None:
    name = f"gone-from-{restaurant.slug}"
    staff = f"/v1/venues/{restaurant.slug}/staff"
    client.post(staff, {"username": name, "role": "staff", "password": PASSWORD}, bearer=restaurant.owner)
    session = login(client, username=name).json["token"]
    assert client.get(restaurant.admin, bearer=session).status == 200

    client.post(f"{staff}/{name}/disable", {}, bearer=restaurant.owner)

    must_be_problem(client.get(restaurant.admin, bearer=session), 401, "credentials-invalid")
    must_be_problem(login(client, username=name), 401, "wrong-credentials")


def login(client: Client, *, username: str = OWNER, password: str = PASSWORD) -> Answer:
    return client.post(LOGIN, {"username": username, "password": password})


def refused_login(client: Client, username: str) -> None:
    must_be_problem(login(client, username=username, password="not the password"), 401, "wrong-credentials")

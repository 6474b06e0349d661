"""Tokens over HTTP: for programs, kiosks and displays; told once, and ended at once."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.world import Api
from tests.running import must_be_problem

OWNER, MANAGER = "owner@clinic", "manager@clinic"
TOKENS = "/v1/venues/clinic/tokens"


def make(api: Api, *, by: str = OWNER, **given: object) -> dict[str, Any]:
    answer = api.post(TOKENS, {"kind": "api", "name": "A program", "role": "staff", **given}, by=by)
    assert answer.status == 201, answer
    return answer.json


@pytest.mark.parametrize(("kind", "role"), [("api", "owner"), ("api", "viewer"), ("kiosk", None), ("display", None)])
def test_a_token_opens_what_its_role_may(api: Api, kind: str, role: str | None) -> None:
    made = make(api, kind=kind, role=role, name="At the door")

    me = api.get("/v1/me", by=made["bearer"]).json

    assert me["actor"] == f"token:{made['token']['token']}"
    assert (me["username"], me["token_kind"]) == (None, kind)
    assert me["venues"] == [{"venue": "clinic", "role": role or "viewer"}]
    assert (made["token"]["name"], made["token"]["made_by"]) == ("At the door", f"staff:{OWNER}")


def test_the_secret_is_told_once_and_never_again(api: Api) -> None:
    made = make(api)
    secret = made["bearer"].partition(".")[2].encode()

    listed = api.get(f"{TOKENS}?limit=100", by=MANAGER)
    revoked = api.post(f"{TOKENS}/{made['token']['token']}/revoke", {}, by=OWNER)
    audit = api.get("/v1/venues/clinic/audit?limit=100", by=OWNER)

    assert made["token"]["token"] in [token["token"] for token in listed.json["items"]]
    for answer in (listed, revoked, audit):
        assert secret not in answer.body


def test_a_replay_makes_no_second_token_and_tells_no_secret(api: Api) -> None:
    given = {"kind": "display", "name": "The wall"}

    first = api.post(TOKENS, given, by=OWNER, key="wall")
    again = api.post(TOKENS, given, by=OWNER, key="wall")

    assert (again.status, again.json) == (201, {**first.json, "bearer": None})
    assert again.headers["idempotency-replayed"] == "true"
    assert api.get("/v1/me", by=first.json["bearer"]).status == 200


def test_revocation_counts_from_the_next_request(api: Api) -> None:
    made = make(api)
    assert api.get("/v1/me", by=made["bearer"]).status == 200

    revoked = api.post(f"{TOKENS}/{made['token']['token']}/revoke", {"reason": "lost"}, by=MANAGER)

    assert revoked.json["revoked_at"] is not None
    must_be_problem(api.get("/v1/me", by=made["bearer"]), 401, "credentials-invalid")
    must_be_problem(api.post("/v1/queues/clinic:lab/tickets", {}, by=made["bearer"]), 401, "credentials-invalid")


def test_a_token_revoked_twice_stays_as_it_was(api: Api) -> None:
    path = f"{TOKENS}/{make(api)['token']['token']}/revoke"

    first, again = api.post(path, {}, by=OWNER), api.post(path, {}, by=OWNER)

    assert first.json == again.json


def test_nobody_makes_a_token_above_their_own_role(api: Api) -> None:
    given = {"kind": "api", "name": "Too much", "role": "owner"}

    must_be_problem(api.post(TOKENS, given, by=MANAGER), 403, "role-too-low")


def test_nobody_revokes_a_token_above_their_own_role(api: Api) -> None:
    made = make(api, role="owner")

    must_be_problem(api.post(f"{TOKENS}/{made['token']['token']}/revoke", {}, by=MANAGER), 403, "role-too-low")

    assert api.get("/v1/me", by=made["bearer"]).status == 200


@pytest.mark.parametrize("kind", ["kiosk", "display"])
@pytest.mark.parametrize("role", ["staff", "manager", "owner"])
def test_a_device_has_no_role_of_staff(api: Api, kind: str, role: str) -> None:
    answer = api.post(TOKENS, {"kind": kind, "name": "A device", "role": role}, by=OWNER)

    must_be_problem(answer, 422, "invalid-value")


@pytest.mark.parametrize("name", ["   ", "\u0000", "a\nb", "\u202enoor", "\u200b"])
def test_a_tokens_name_can_be_shown(api: Api, name: str) -> None:
    must_be_problem(api.post(TOKENS, {"kind": "kiosk", "name": name}, by=OWNER), 422, "invalid-value")


@pytest.mark.parametrize("name", ["", "x" * 81])
def test_a_tokens_name_is_neither_empty_nor_long(api: Api, name: str) -> None:
    must_be_problem(api.post(TOKENS, {"kind": "kiosk", "name": name}, by=OWNER), 422, "invalid-body")


def test_an_api_token_says_its_role(api: Api) -> None:
    must_be_problem(api.post(TOKENS, {"kind": "api", "name": "A program"}, by=OWNER), 422, "invalid-value")


def test_a_token_that_is_not_there_is_not_found(api: Api) -> None:
    must_be_problem(api.post(f"{TOKENS}/nothing/revoke", {}, by=OWNER), 404, "unknown-token")


def test_the_list_of_tokens_is_paged_from_the_oldest(api: Api) -> None:
    made = [make(api)["token"]["token"] for _ in range(3)]
    seen: list[str] = []
    path: str | None = f"{TOKENS}?limit=2"

    while path is not None:
        page = api.get(path, by=MANAGER).json
        seen += [token["token"] for token in page["items"]]
        path = None if page["next"] is None else f"{TOKENS}?limit=2&cursor={page['next']}"

    assert len(seen) == len(set(seen))
    assert [token for token in seen if token in made] == made


WRONG: dict[str, Callable[[str], str]] = {
    "another secret": lambda bearer: f"{bearer[:-4]}xxxx",
    "no secret": lambda bearer: bearer.partition(".")[0],
    "a token of nothing": lambda _: "dwt_nowher-x.y",
    "no token": lambda _: "dwt_",
    "very long": lambda bearer: bearer + "x" * 500,
    "not ASCII": lambda bearer: bearer + "é",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_bearer_that_is_no_good_is_refused_even_where_anybody_may(api: Api, wrong: str) -> None:
    bearer = WRONG[wrong](api.world.tokens["owner@clinic"])

    for path in ("/v1/me", "/v1/venues/clinic"):
        answer = api.get(path, by=bearer)
        must_be_problem(answer, 401, "credentials-invalid")
        assert answer.headers["www-authenticate"] == 'Bearer realm="dawr"'


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic b3duZXI6cGFzcw==", "bearer  ", "Digest x"])
def test_a_header_that_is_no_bearer_is_refused(api: Api, header: str) -> None:
    must_be_problem(api.get("/v1/me", headers={"Authorization": header}), 401, "credentials-invalid")


def test_the_word_bearer_is_read_in_any_case(api: Api) -> None:
    headers = {"Authorization": f"bEaReR {api.bearer('token:viewer@clinic')}"}

    assert api.get("/v1/me", headers=headers).status == 200

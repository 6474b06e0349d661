"""Who answers for a token, over HTTP: it may never more than they may now, and an owner may take it over."""

from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.world import PASSWORD, Api
from tests.builders import a_new
from tests.running import Answer, must_be_problem

OWNER = "owner@clinic"
STAFF, TOKENS = "/v1/venues/clinic/staff", "/v1/venues/clinic/tokens"


@pytest.fixture
def manager(api: Api) -> str:
    """Somebody who manages the clinic, and may be shut out."""
    username = a_new("manager")
    given = {"username": username, "role": "manager", "password": PASSWORD}
    assert api.post(STAFF, given, by=OWNER).status == 201
    return username


def make(api: Api, by: str, kind: str = "api", role: str | None = "manager") -> dict[str, Any]:
    answer = api.post(TOKENS, {"kind": kind, "name": a_new("token"), "role": role}, by=by)
    assert answer.status == 201, answer
    return {**answer.json["token"], "bearer": answer.json["bearer"]}


def change(api: Api, username: str, verb: str, by: str = OWNER, **given: object) -> Answer:
    answer = api.post(f"{STAFF}/{username}/{verb}", given, by=by)
    assert answer.status == 200, answer
    return answer


def take_over(api: Api, token: dict[str, Any], by: str = OWNER) -> dict[str, Any]:
    answer = api.post(f"{TOKENS}/{token['token']}/take-over", {"reason": "they left"}, by=by)
    assert answer.status == 200, answer
    return answer.json


def role_of(api: Api, token: dict[str, Any]) -> str | None:
    """What the token's bearer may at the clinic; None: it opens nothing."""
    me = api.get("/v1/me", by=token["bearer"])
    if me.status == 200:
        return str(me.json["venues"][0]["role"])
    must_be_problem(me, 401, "credentials-invalid")
    return None


def listed(api: Api, token: dict[str, Any]) -> tuple[str | None, str | None]:
    """Who answers for it and what it may, as the list of tokens says."""
    path: str | None = f"{TOKENS}?limit=100"
    while path is not None:
        page = api.get(path, by=OWNER).json
        for one in page["items"]:
            if one["token"] == token["token"]:
                return one["account"], one["may"]
        path = None if page["next"] is None else f"{TOKENS}?limit=100&cursor={page['next']}"
    pytest.fail("it is not in the list")


def test_a_disabled_manager_does_not_come_back_by_their_own_token(api: Api, manager: str) -> None:
    token = make(api, api.sign_in(manager))
    assert role_of(api, token) == "manager"

    change(api, manager, "disable")

    for verb, given in (("enable", {}), ("role", {"role": "manager"})):
        answer = api.post(f"{STAFF}/{manager}/{verb}", given, by=token["bearer"])
        must_be_problem(answer, 401, "credentials-invalid")
    must_be_problem(api.post("/v1/queues/clinic:lab/tickets", {}, by=token["bearer"]), 401, "credentials-invalid")
    assert listed(api, token) == (manager, None)


@pytest.mark.parametrize(("role", "may"), [("staff", "staff"), ("viewer", "viewer"), ("owner", "manager")])
def test_a_token_may_no_more_than_whoever_answers_for_it_may_now(api: Api, manager: str, role: str, may: str) -> None:
    token = make(api, api.sign_in(manager))
    assert role_of(api, token) == "manager"

    change(api, manager, "role", role=role)

    assert (role_of(api, token), listed(api, token)) == (may, (manager, may))
    change(api, manager, "role", role="manager")
    assert role_of(api, token) == "manager"


@pytest.mark.parametrize("kind", ["kiosk", "display"])
def test_a_device_stops_with_whoever_answers_for_it_and_goes_on_with_them(api: Api, manager: str, kind: str) -> None:
    device = make(api, api.sign_in(manager), kind, None)

    change(api, manager, "role", role="viewer")
    assert role_of(api, device) == "viewer"
    change(api, manager, "disable")
    assert role_of(api, device) is None
    change(api, manager, "enable")

    assert role_of(api, device) == "viewer"


def test_whoever_changes_somebody_is_told_which_tokens_that_concerns(api: Api, manager: str) -> None:
    session = api.sign_in(manager)
    program, kiosk, revoked = make(api, session), make(api, session, "kiosk", None), make(api, session)
    api.post(f"{TOKENS}/{revoked['token']}/revoke", {}, by=OWNER)

    demoted, disabled, again, enabled = (
        change(api, manager, verb, **given)
        for verb, given in (("role", {"role": "staff"}), ("disable", {}), ("disable", {}), ("enable", {}))
    )

    told = [
        [(one["token"], one["name"], one["kind"], one["role"], one["may"]) for one in answer.json["tokens"]]
        for answer in (demoted, disabled, again, enabled)
    ]
    a_program, a_kiosk = ((one["token"], one["name"], one["kind"], one["role"]) for one in (program, kiosk))
    for said, of_program, of_kiosk in zip(
        told, ("staff", None, None, "staff"), ("viewer", None, None, "viewer"), strict=True
    ):
        assert said == [(*a_program, of_program), (*a_kiosk, of_kiosk)]


def test_what_nobody_answers_for_any_more_an_owner_takes_over(api: Api, manager: str) -> None:
    token = make(api, api.sign_in(manager))
    change(api, manager, "disable")
    version = api.audit()[-1]["version"]

    taken = take_over(api, token)

    assert (taken["account"], taken["may"], taken["made_by"]) == (OWNER, "manager", f"staff:{manager}")
    assert role_of(api, token) == "manager"
    assert change(api, manager, "enable").json["tokens"] == []
    (event, *_) = api.audit(after=version)
    assert (event["kind"], event["actor"], event["reason"]) == ("token.taken_over", f"staff:{OWNER}", "they left")
    assert (event["facts"]["token"], event["facts"]["answers"]) == (token["token"], OWNER)


def test_taking_over_what_is_ones_own_or_was_revoked_changes_nothing(api: Api, manager: str) -> None:
    own, revoked = make(api, OWNER), make(api, api.sign_in(manager))
    api.post(f"{TOKENS}/{revoked['token']}/revoke", {}, by=OWNER)
    version = api.audit()[-1]["version"]

    assert take_over(api, own)["account"] == OWNER
    assert take_over(api, revoked)["account"] == manager

    assert role_of(api, revoked) is None
    assert api.audit(after=version) == []
    must_be_problem(api.post(f"{TOKENS}/nothing/take-over", {}, by=OWNER), 404, "unknown-token")


def test_a_token_of_the_command_line_depends_on_nobody(api: Api) -> None:
    (program, *_) = (one for one in api.get(TOKENS, by=OWNER).json["items"] if one["made_by"] == "command line")

    assert (program["account"], program["may"]) == (None, program["role"])


@pytest.mark.parametrize("role", ["manager", "owner"])
def test_no_token_changes_staff_or_makes_another_whatever_its_role(api: Api, manager: str, role: str) -> None:
    token, victim = make(api, OWNER, role=role), make(api, OWNER, role="viewer")
    asked: dict[str, dict[str, object]] = {
        STAFF: {"username": a_new("new"), "role": "viewer", "password": PASSWORD},
        f"{STAFF}/{manager}/role": {"role": "viewer"},
        f"{STAFF}/{manager}/disable": {},
        f"{STAFF}/{manager}/enable": {},
        TOKENS: {"kind": "display", "name": "A wall"},
    }

    for path, given in asked.items():
        must_be_problem(api.post(path, given, by=token["bearer"]), 403, "not-an-account")
    revoked = api.post(f"{TOKENS}/{victim['token']}/revoke", {}, by=token["bearer"])

    assert revoked.json["revoked_at"] is not None
    assert api.get("/v1/me", by=api.sign_in(manager)).json["venues"] == [{"venue": "clinic", "role": "manager"}]


def test_what_a_token_watches_ends_with_whoever_answers_for_it(api: Api, manager: str, queue: str) -> None:
    """A stream that was open tells nothing that happens after."""
    token = make(api, api.sign_in(manager), role="viewer")
    connection = HTTPConnection("127.0.0.1", urlsplit(api.url).port, timeout=60)
    headers = {"Authorization": f"Bearer {token['bearer']}"}
    connection.request("GET", "/v1/events?venue=clinic", headers=headers)
    stream = connection.getresponse()
    begun = b""
    while b"event: snapshot" not in begun or not begun.endswith(b"\n\n"):
        begun += stream.read1()

    change(api, manager, "disable")
    api.take(queue, name="Somebody")

    assert b"ticket.issued" not in stream.read()
    connection.close()

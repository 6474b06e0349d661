"""Staff over HTTP: who adds whom, with which role, and what the disabled lose."""

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.world import PASSWORD, Api
from tests.builders import a_new
from tests.running import Answer, eventually, must_be_problem

OWNER, MANAGER = "owner@clinic", "manager@clinic"
STAFF = "/v1/venues/clinic/staff"


def add(api: Api, role: str = "staff", *, by: str = OWNER, name: str | None = None, venue: str = "clinic") -> str:
    username = name or a_new("person")
    answer = api.post(f"/v1/venues/{venue}/staff", {"username": username, "role": role, "password": PASSWORD}, by=by)
    assert answer.status == 201, answer
    return username


def change(api: Api, username: str, verb: str, by: str = OWNER, **given: object) -> Answer:
    return api.post(f"{STAFF}/{username}/{verb}", given, by=by)


def test_somebody_who_is_added_signs_in_with_their_role(api: Api) -> None:
    username = a_new("person")

    answer = api.post(STAFF, {"username": username.upper(), "role": "staff", "password": PASSWORD}, by=MANAGER)

    assert answer.status == 201
    assert (answer.json["username"], answer.json["role"], answer.json["disabled_at"]) == (username, "staff", None)
    assert PASSWORD.encode() not in answer.body
    session = api.sign_in(username)
    assert api.get("/v1/me", by=session).json["venues"] == [{"venue": "clinic", "role": "staff"}]


def test_the_list_of_staff_is_paged_by_name(api: Api) -> None:
    names = {add(api, "viewer") for _ in range(3)}
    seen: list[str] = []
    path: str | None = f"{STAFF}?limit=2"

    while path is not None:
        page = api.get(path, by=MANAGER).json
        assert len(page["items"]) <= 2
        seen += [member["username"] for member in page["items"]]
        path = None if page["next"] is None else f"{STAFF}?limit=2&cursor={page['next']}"

    assert seen == sorted(set(seen))
    assert names | {OWNER, MANAGER} <= set(seen)
    assert not any(name.endswith("@bistro") for name in seen)


def test_a_role_is_changed_and_counts_at_once(api: Api) -> None:
    username = add(api, "viewer")
    session = api.sign_in(username)
    must_be_problem(api.post("/v1/queues/clinic:lab/call-next", {}, by=session), 403, "role-too-low")

    changed = change(api, username, "role", role="staff")

    assert changed.json["role"] == "staff"
    assert api.post("/v1/queues/clinic:lab/call-next", {}, by=session).status == 200
    change(api, username, "role", role="viewer")
    must_be_problem(api.post("/v1/queues/clinic:lab/call-next", {}, by=session), 403, "role-too-low")


def test_a_manager_grants_up_to_manager_and_not_above(api: Api) -> None:
    assert add(api, "manager", by=MANAGER)
    helper = add(api, "viewer", by=MANAGER)

    must_be_problem(
        api.post(STAFF, {"username": a_new("x"), "role": "owner", "password": PASSWORD}, by=MANAGER),
        403,
        "role-too-low",
    )
    must_be_problem(change(api, helper, "role", MANAGER, role="owner"), 403, "role-too-low")


@pytest.mark.parametrize(("verb", "given"), [("role", {"role": "viewer"}), ("disable", {}), ("enable", {})])
def test_a_manager_changes_nobody_above_them(api: Api, verb: str, given: dict[str, str]) -> None:
    boss = add(api, "owner")

    must_be_problem(change(api, boss, verb, MANAGER, **given), 403, "role-too-low")

    assert api.get("/v1/me", by=api.sign_in(boss)).json["venues"] == [{"venue": "clinic", "role": "owner"}]


@pytest.fixture
def alone(api: Api) -> str:
    """A venue whose one owner is the clinic's."""
    slug = a_new("place")
    document = {"name": {"en": "A place"}, "zone": "Asia/Qatar"}
    assert api.ask("PUT", f"/v1/venues/{slug}/set-up", document, by=OWNER).status == 201
    return slug


@pytest.mark.parametrize(("verb", "given"), [("role", {"role": "manager"}), ("disable", {})])
def test_the_last_owner_stays(api: Api, alone: str, verb: str, given: dict[str, str]) -> None:
    path = f"/v1/venues/{alone}/staff/{OWNER}/{verb}"

    must_be_problem(api.post(path, given, by=OWNER), 409, "last-owner")

    assert {"venue": alone, "role": "owner"} in api.get("/v1/me", by=OWNER).json["venues"]


def test_an_owner_beside_another_may_go(api: Api, alone: str) -> None:
    other = add(api, "owner", venue=alone)

    answer = api.post(f"/v1/venues/{alone}/staff/{OWNER}/role", {"role": "viewer"}, by=api.sign_in(other))

    assert answer.json["role"] == "viewer"


def test_a_disabled_member_loses_every_session_at_once(api: Api) -> None:
    username = add(api)
    sessions = [api.sign_in(username), api.sign_in(username)]

    disabled = change(api, username, "disable", reason="left us")

    assert disabled.json["disabled_at"] is not None
    for session in sessions:
        must_be_problem(api.get("/v1/me", by=session), 401, "credentials-invalid")
    must_be_problem(api.post("/v1/login", {"username": username, "password": PASSWORD}), 401, "wrong-credentials")


def test_a_disabled_member_who_is_enabled_signs_in_again(api: Api) -> None:
    username = add(api)
    lost = api.sign_in(username)
    change(api, username, "disable")

    enabled = change(api, username, "enable")

    assert enabled.json["disabled_at"] is None
    must_be_problem(api.get("/v1/me", by=lost), 401, "credentials-invalid")
    assert api.get("/v1/me", by=api.sign_in(username)).status == 200


def test_a_disabled_member_watches_no_more(api: Api, queue: str) -> None:
    """A stream that was open tells nothing that happens after."""
    username = add(api)
    connection = HTTPConnection("127.0.0.1", urlsplit(api.url).port, timeout=60)
    headers = {"Authorization": f"Bearer {api.sign_in(username)}"}
    connection.request("GET", "/v1/events?venue=clinic", headers=headers)
    stream = connection.getresponse()
    begun = b""
    while b"event: snapshot" not in begun or not begun.endswith(b"\n\n"):
        begun += stream.read1()

    change(api, username, "disable")
    api.take(queue, name="Somebody")

    rest = stream.read()
    assert b"ticket.issued" not in rest
    connection.close()


def test_disabled_at_one_venue_is_disabled_there_only(api: Api, alone: str) -> None:
    username = add(api)
    api.post(f"/v1/venues/{alone}/staff", {"username": username, "role": "staff"}, by=OWNER)
    session = api.sign_in(username)

    change(api, username, "disable")

    for signed_in in (session, api.sign_in(username)):
        assert api.get("/v1/me", by=signed_in).json["venues"] == [{"venue": alone, "role": "staff"}]
        must_be_problem(api.get("/v1/queues/clinic:lab/tickets", by=signed_in), 404, "unknown-venue")


def test_who_is_disabled_again_and_again_stays_signed_in_elsewhere(api: Api, alone: str) -> None:
    username = add(api)
    api.post(f"/v1/venues/{alone}/staff", {"username": username, "role": "staff"}, by=OWNER)
    session = api.sign_in(username)

    for _ in range(3):
        change(api, username, "disable", MANAGER)

        assert api.get("/v1/me", by=session).json["venues"] == [{"venue": alone, "role": "staff"}]


def test_a_session_that_opens_nothing_any_more_does_not_come_back(api: Api, alone: str) -> None:
    username = add(api)
    api.post(f"/v1/venues/{alone}/staff", {"username": username, "role": "staff"}, by=OWNER)
    session = api.sign_in(username)
    places = (f"{STAFF}/{username}", f"/v1/venues/{alone}/staff/{username}")

    for verb in ("disable", "enable"):
        for place in places:
            assert api.post(f"{place}/{verb}", {}, by=OWNER).status == 200

    must_be_problem(api.get("/v1/me", by=session), 401, "credentials-invalid")
    assert len(api.get("/v1/me", by=api.sign_in(username)).json["venues"]) == 2


def test_whom_one_manages_elsewhere_is_added_without_a_password(api: Api, alone: str) -> None:
    username = add(api)

    answer = api.post(f"/v1/venues/{alone}/staff", {"username": username, "role": "viewer"}, by=OWNER)

    assert answer.status == 201
    assert len(api.get("/v1/me", by=api.sign_in(username)).json["venues"]) == 2


@pytest.mark.parametrize("given", [{}, {"password": PASSWORD}, {"password": "another password"}])
def test_the_account_of_strangers_is_a_name_that_is_taken(api: Api, given: dict[str, str]) -> None:
    answer = api.post(STAFF, {"username": "staff@bistro", "role": "staff", **given}, by=OWNER)

    must_be_problem(answer, 409, "username-taken")
    assert api.get("/v1/me", by="staff@bistro").json["venues"] == [{"venue": "bistro", "role": "staff"}]


def test_nobody_is_added_twice(api: Api) -> None:
    username = add(api)

    again = api.post(STAFF, {"username": username, "role": "viewer", "password": PASSWORD}, by=OWNER)

    must_be_problem(again, 409, "already-staff")


def test_adding_somebody_is_retried_safely(api: Api) -> None:
    given = {"username": a_new("person"), "role": "viewer", "password": PASSWORD}

    first, again = (api.post(STAFF, given, by=OWNER, key=f"add-{given['username']}") for _ in range(2))

    assert (first.status, first.body) == (again.status, again.body) == (201, first.body)


FAULTS: dict[str, dict[str, Any]] = {
    "a short password": {"password": "short"},
    "a password that is tried first": {"password": "password123"},
    "no password": {"password": None},
    "a name of one letter": {"username": "x"},
    "a name with a space": {"username": "two words"},
    "an Arabic name": {"username": "نور"},
    "a name that ends a line": {"username": "noor\nadmin"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_account_that_does_not_fit_is_refused(api: Api, fault: str) -> None:
    given = {"username": a_new("person"), "role": "viewer", "password": PASSWORD, **FAULTS[fault]}

    answer = api.post(STAFF, given, by=OWNER)

    must_be_problem(answer, 422, "invalid-value")
    assert json.dumps(given["password"]).encode() not in answer.body or given["password"] is None


@pytest.mark.parametrize(("verb", "given"), [("role", {"role": "staff"}), ("disable", {}), ("enable", {})])
def test_somebody_who_does_not_work_here_is_not_found(api: Api, verb: str, given: dict[str, str]) -> None:
    must_be_problem(change(api, "nobody", verb, **given), 404, "unknown-staff")
    must_be_problem(change(api, "staff@bistro", verb, **given), 404, "unknown-staff")
    assert api.get("/v1/me", by="staff@bistro").status == 200


def test_a_session_that_ended_stays_ended_while_others_are_asked(api: Api) -> None:
    """Nothing that knew the session a moment ago answers for it."""
    username = add(api)
    session = api.sign_in(username)
    assert all(api.get("/v1/me", by=session).status == 200 for _ in range(3))

    change(api, username, "disable")

    eventually(lambda: api.get("/v1/me", by=OWNER).status == 200)
    assert [api.get("/v1/me", by=session).status for _ in range(3)] == [401, 401, 401]

"""Who may do what: every operation of the OpenAPI document, asked by everybody, at their own venue and another's.

What is expected is computed from what the document says of the operation and from the order of roles.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import pytest

from dawr.domain.staff import ROLES, Role, at_least
from dawr.web.openapi import document
from dawr.web.table import ROUTES
from tests.api.world import KINDS, PASSWORD, Api, secret_of
from tests.builders import a_new
from tests.running import Answer

DOCUMENT = document(ROUTES)
OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}

NEEDED_AT_THE_VENUE: Mapping[str, Role] = {"set-up-venue": "owner"}
"""Where the venue may be one that is not there yet, the document can only say that one must be signed in."""

FOR_PEOPLE_ONLY = {"change-password"}
"""A token is known, but has no password to change."""

Place = Literal["own", "foreign"]
Expected = Literal["allowed"] | int


class Actor(NamedTuple):
    name: str
    kind: Literal["nobody", "visitor", "session", "token", "lost"]
    by: str | None = None
    role: Role | None = None


class Asked(NamedTuple):
    """How an operation is asked so that only who asks may stand in the way."""

    params: Mapping[str, str]
    body: object = None
    query: str = ""


class Things(NamedTuple):
    """What there is at the clinic to be asked for."""

    queue: str
    code: str
    ticket: str
    visitor: str
    visit: str
    token: str
    set_up: dict[str, Any]
    version: int
    """The venue's, when all this was there."""


def asked_for(things: Things) -> dict[str, Asked]:
    """Every operation has its line here. A route that has none fails the first test below."""
    queue, ticket, visit = {"queue": things.queue}, {"ticket": things.ticket}, {"visit": things.visit}
    venue = {"venue": "clinic"}
    member, token = {**venue, "username": "target"}, {**venue, "token": things.token}
    plain = {"live", "ready", "clinic-health", "openapi", "me"}
    verbs = ("call", "recall", "start", "finish", "miss", "rejoin", "hold", "resume", "leave")
    at_door = {"clinic": things.code, "user": things.visitor}
    joining = {"name": "A party", "mobileNumber": "+97433001122", "partySize": 2}
    return {
        **{name: Asked({}) for name in plain},
        **{f"{verb}-ticket": Asked(ticket, {}) for verb in verbs},
        **{f"{verb}-queue": Asked(queue, {}) for verb in ("open", "pause", "resume", "close", "reset")},
        "look-at-queue": Asked(queue),
        "list-tickets": Asked(queue),
        "take-ticket": Asked(queue, {}),
        "call-next-from-queue": Asked(queue, {}),
        "call-next": Asked({"desk": things.queue}, {}),
        "look-at-ticket": Asked(ticket),
        "start-visit": Asked(venue, {"queue": things.code}),
        "look-at-visit": Asked(visit),
        "leave-visit": Asked(visit, {}),
        "rejoin-visit": Asked(visit, {}),
        "look-at-venue": Asked(venue),
        "look-at-set-up": Asked(venue),
        "set-up-venue": Asked(venue, things.set_up),
        "look-at-audit": Asked(venue),
        "login": Asked({}, {"username": "who may sign in is tested elsewhere"}),
        "logout": Asked({}, {}),
        "change-password": Asked({}, {"old": PASSWORD, "new": "short"}),
        "list-staff": Asked(venue),
        "add-staff": Asked(venue, {"username": a_new("new"), "role": "viewer", "password": PASSWORD}),
        "change-role": Asked(member, {"role": "viewer"}),
        "disable-staff": Asked(member, {}),
        "enable-staff": Asked(member, {}),
        "list-tokens": Asked(venue),
        "make-token": Asked(venue, {"kind": "display", "name": "A wall"}),
        "revoke-token": Asked(token, {}),
        "queue-enter": Asked({}, at_door),
        "queue-status": Asked({}, query=f"?clinic={things.code}"),
        "queue-call": Asked({}, {"clinic": things.code}),
        "queue-done": Asked({}, at_door),
        "queue-reset": Asked({}, {"clinic": things.code}),
        "queue-position": Asked({}, query=f"?clinic={things.code}&user={things.visitor}"),
        "admin-login": Asked({}, {"username": "who may sign in is tested elsewhere"}),
        "restaurant-join": Asked(venue, joining),
        "restaurant-queue-status": Asked(venue, query=f"?entryId={things.ticket}&secret={things.visit}"),
        "restaurant-list": Asked(venue),
        "restaurant-call-next": Asked(venue, {}),
        "restaurant-change-status": Asked({**venue, "entry": things.ticket}, {"status": "CALLED"}),
    }


BY_LINK = {"look-at-visit", "leave-visit", "rejoin-visit", "restaurant-queue-status"}
"""Whoever holds the link, and nobody else whatever their role."""


def everybody_at(venue: str) -> list[Actor]:
    return [
        Actor("nobody", "nobody"),
        Actor("visitor", "visitor"),
        *(Actor(f"{kind} token", "token", f"token:{kind}@{venue}", "viewer") for kind in KINDS),
        *(Actor(role, "session", f"{role}@{venue}", role) for role in ROLES),
        *(Actor(f"{role} token", "token", f"token:{role}@{venue}", role) for role in ROLES),
        Actor("expired session", "lost"),
        Actor("revoked token", "lost"),
    ]


def expected_of(name: str, operation: Mapping[str, Any], actor: Actor, place: Place) -> Expected:
    who = NEEDED_AT_THE_VENUE.get(name, operation["x-who"])
    if actor.kind == "lost":
        return 401
    if name in BY_LINK:
        return "allowed" if actor.kind == "visitor" and place == "own" else 404
    if who == "anyone":
        return "allowed"
    if actor.role is None:
        return 401
    if who == "signed-in":
        return 403 if name in FOR_PEOPLE_ONLY and actor.kind == "token" else "allowed"
    if place == "foreign":
        return 404
    return "allowed" if at_least(actor.role, who) else 403


@pytest.fixture(scope="module", autouse=True)
def target(everybody: Api) -> None:
    """Somebody at the clinic to be promoted and shut out."""
    added = {"username": "target", "role": "viewer", "password": PASSWORD}
    assert everybody.post("/v1/venues/clinic/staff", added, by="owner@clinic").status == 201


@pytest.fixture(scope="module")
def set_up(everybody: Api) -> dict[str, Any]:
    found = everybody.get("/v1/venues/clinic/set-up", by="owner@clinic").json
    return {name: value for name, value in found.items() if name not in {"id", "slug"}}


@pytest.fixture(scope="module")
def token(everybody: Api) -> str:
    made = everybody.post("/v1/venues/clinic/tokens", {"kind": "display", "name": "A wall"}, by="owner@clinic")
    return str(made.json["token"]["token"])


@pytest.fixture(scope="module")
def shared_code(fresh_codes: Iterator[str]) -> str:
    return next(fresh_codes)


@pytest.fixture
def things(everybody: Api, shared_code: str, set_up: dict[str, Any], token: str) -> Things:
    """A ticket that waits, in a queue that is open: the operation before may have left it otherwise."""
    queue, visitor = f"clinic:{shared_code}", a_new("visitor")
    for verb in ("open", "resume"):
        everybody.post(f"/v1/queues/{queue}/{verb}", {}, by="owner@clinic")
    taken = everybody.take(queue, visitor=visitor)
    version = everybody.look(taken["ticket"])["version"]
    return Things(queue, shared_code, taken["ticket"], visitor, secret_of(taken["link"]), token, set_up, version)


def test_every_operation_is_asked_by_everybody(things: Things) -> None:
    assert asked_for(things).keys() == OPERATIONS.keys()


def test_the_document_that_is_served_is_the_one_that_is_tested(api: Api) -> None:
    assert api.get("/openapi.json").json == json.loads(json.dumps(DOCUMENT))


@pytest.mark.parametrize("place", ["own", "foreign"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_for_those_it_says(api: Api, things: Things, name: str, place: Place) -> None:
    method, path, operation = OPERATIONS[name]
    actors = everybody_at("clinic" if place == "own" else "bistro")
    expected = {actor.name: expected_of(name, operation, actor, place) for actor in actors}
    refused = [actor for actor in actors if expected[actor.name] != "allowed"]
    allowed = [actor for actor in actors if expected[actor.name] == "allowed"]

    found = {actor.name: outcome(ask(api, things, name, actor, place)) for actor in refused}
    left_behind = api.audit(after=things.version) if refused else []
    found |= {actor.name: outcome(ask(api, things, name, actor, place)) for actor in allowed}

    assert found == expected, f"{method} {path}"
    assert left_behind == []


def ask(api: Api, things: Things, name: str, actor: Actor, place: Place) -> Answer:
    method, path, _ = OPERATIONS[name]
    known = things if actor.kind == "visitor" else things._replace(visit=with_another_secret(things.visit))
    if place == "foreign":
        known = known._replace(visit=with_another_secret(things.visit))
    asked = asked_for(known)[name]
    by = bearer_of(api, actor)
    if name == "queue-done":
        api.post("/api/v1/queue/enter", asked.body)  # whoever asked before may have seen them off
    if name == "logout" and actor.kind == "session":
        by = api.sign_in(str(actor.by))  # others still need the session that everybody shares
    return api.ask(method, path.format(**asked.params) + asked.query, asked.body, by=by)


def bearer_of(api: Api, actor: Actor) -> str | None:
    if actor.kind == "lost":
        return api.world.expired if actor.name == "expired session" else api.world.revoked
    return actor.by


def with_another_secret(visit: str) -> str:
    return f"{visit.partition('.')[0]}.{'x' * 22}"


def outcome(answer: Answer) -> Expected:
    assert answer.status < 500 or answer.json["code"] == "queue-full", answer
    return answer.status if answer.status in {401, 403, 404} else "allowed"


@pytest.mark.parametrize("by", ["owner@bistro", "token:owner@bistro", "viewer@bistro"])
@pytest.mark.parametrize(
    "name", [name for name, (_, path, operation) in OPERATIONS.items() if "{" in path and operation["x-who"] in ROLES]
)
def test_what_another_venue_has_is_as_if_it_were_not_there(api: Api, things: Things, name: str, by: str) -> None:
    method, path, _ = OPERATIONS[name]
    asked = asked_for(things)[name]

    there = api.ask(method, path.format(**asked.params), asked.body, by=by)

    for nothing in what_is_not_there(api, asked.params):
        nowhere = api.ask(method, path.format(**nothing), asked.body, by=by)
        assert without_ids(nowhere, nothing) == without_ids(there, asked.params)
        assert nowhere.status == 404


def what_is_not_there(api: Api, params: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The same, at a venue that does not exist; and something that does not exist at the other venue."""
    if "ticket" in params:
        made_up = "0P6W88RNLOznoXM8Y5B6ceRlMtTbypzW"
        yield {"ticket": f"{api.world.venue_ids['clinic']}-{made_up}"}
        yield {"ticket": f"nowher-{made_up}"}
        return
    yield {name: value.replace("clinic", "nowher") for name, value in params.items()}
    for name in ("queue", "desk"):
        if name in params:
            yield {name: "clinic:nothing"}
    for name in ("username", "token", "entry"):
        if name in params:
            yield {**params, name: "nothing"}


def without_ids(answer: Answer, params: Mapping[str, str]) -> dict[str, Any]:
    """The body, with `…` where it says what was asked for."""
    venue = params.get("venue") or next(iter(params.values())).partition(":")[0]
    body = {name: value for name, value in answer.json.items() if name != "correlation_id"}
    return {name: value.replace(venue, "…") if isinstance(value, str) else value for name, value in body.items()}


@pytest.mark.parametrize("kind", ["username", "token", "entry"])
def test_what_another_venue_has_is_not_found_through_ones_own(api: Api, things: Things, kind: str) -> None:
    path, theirs, body = {
        "username": ("/v1/venues/bistro/staff/{}/disable", "staff@clinic", {}),
        "token": ("/v1/venues/bistro/tokens/{}/revoke", things.token, {}),
        "entry": ("/api/admin/bistro/queue/{}", things.ticket, {"status": "CALLED"}),
    }[kind]
    nobodys = f"{theirs[:-3]}xyz"

    there = api.post(path.format(theirs), body, by="owner@bistro")
    nowhere = api.post(path.format(nobodys), body, by="owner@bistro")

    assert there.status == nowhere.status == 404
    assert said(there, theirs) == said(nowhere, nobodys)
    assert api.look(things.ticket)["state"] == "waiting"


def said(answer: Answer, about: str) -> dict[str, Any]:
    body = {name: value for name, value in answer.json.items() if name != "correlation_id"}
    return {name: value.replace(about, "…") if isinstance(value, str) else value for name, value in body.items()}


def test_a_venue_of_others_is_not_named_to_whoever_knows_its_id(api: Api) -> None:
    venue_id = api.world.venue_ids["clinic"]

    answer = api.get(f"/v1/venues/{venue_id}/staff", by="owner@bistro")

    assert answer.status == 404
    assert b"clinic" not in answer.body

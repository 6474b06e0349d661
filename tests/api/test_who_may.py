"""Who may do what: every operation of the OpenAPI document, asked by everybody, at their own venue and another's.

What is expected is computed from what the document says of the operation and from the order of roles.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import pytest

from dawr.domain.staff import ROLES, Role, at_least
from dawr.web.table import ROUTES
from tests.api.operations import DOCUMENT, OPERATIONS, Things, asked_for
from tests.api.world import KINDS, Api
from tests.running import Answer, must_be_problem

NEEDED_AT_THE_VENUE: Mapping[str, Role] = {"set-up-venue": "owner"}
"""Where the venue may be one that is not there yet, the document can only say that one must be signed in."""

FOR_PEOPLE_ONLY = {
    *("change-password", "add-staff", "change-role", "disable-staff", "enable-staff"),
    *("make-token", "take-token-over"),
}
"""No token, whatever its role, changes a password or the staff, or makes or takes over a token."""

OF_EVERY_VENUE = {
    *("look-at-traffic", "refresh-traffic-snapshot", "list-traffic-paths", "look-at-traffic-path"),
    *("look-at-traffic-timeseries", "list-traffic-alerts", "look-at-traffic-health"),
}
"""For whoever manages every venue of the installation; nobody does in these tests."""

AT_A_DESK_ONLY = {"show-pin", "rotate-pin", "pin-rotate"}
"""Staff who sit at a desk of the queue, and managers; nobody sits there in these tests."""

JOINS = {
    *("take-ticket", "start-visit", "start-journey", "enter-visit", "rejoin-visit", "finish-stage"),
    *("queue-enter", "queue-done", "patient-login", "patient-verify-pin", "path-enter", "restaurant-join"),
}
"""Every operation that may give a number. A display's token is refused there, at its own venue and at others."""

Place = Literal["own", "foreign"]
Expected = Literal["allowed"] | int


class Actor(NamedTuple):
    name: str
    kind: Literal["nobody", "visitor", "session", "token", "device", "lost"]
    by: str | None = None
    role: Role | None = None


BY_LINK = {
    *("look-at-visit", "leave-visit", "rejoin-visit", "enter-visit", "finish-stage", "restaurant-queue-status"),
    *("patient-status", "my-position", "patient-my-position", "path-enter", "undo-leave-visit"),
}
"""Whoever holds the link, and nobody else whatever their role."""


def everybody_at(venue: str) -> list[Actor]:
    return [
        Actor("nobody", "nobody"),
        Actor("visitor", "visitor"),
        *(Actor(f"{kind} token", "device", f"token:{kind}@{venue}", "viewer") for kind in KINDS),
        *(Actor(role, "session", f"{role}@{venue}", role) for role in ROLES),
        *(Actor(f"{role} token", "token", f"token:{role}@{venue}", role) for role in ROLES),
        Actor("expired session", "lost"),
        Actor("revoked token", "lost"),
    ]


def expected_of(name: str, operation: Mapping[str, Any], actor: Actor, place: Place) -> Expected:
    who = NEEDED_AT_THE_VENUE.get(name, operation["x-who"])
    if actor.kind == "lost" or (who != "anyone" and actor.role is None):
        return 401
    sits_nowhere = name in AT_A_DESK_ONLY and place == "own" and actor.role == "staff"
    if sits_nowhere or (name in JOINS and actor.name == "display token"):
        return 403
    if name in BY_LINK:
        return "allowed" if actor.kind == "visitor" and place == "own" else 404
    is_for_others = name in FOR_PEOPLE_ONLY and actor.kind in {"token", "device"}
    if who == "signed-in":
        return 403 if name in OF_EVERY_VENUE or is_for_others else "allowed"
    if who == "anyone" or actor.role is None:
        return "allowed"
    is_allowed = is_enough(actor, actor.role, who) and not is_for_others
    return 404 if place == "foreign" else "allowed" if is_allowed else 403


def is_enough(actor: Actor, role: Role, needed: Role) -> bool:
    """A device stands where anybody can touch it: names and phone numbers are not for it, whatever its role."""
    return actor.kind != "device" and at_least(role, needed)


def test_every_operation_is_asked_by_everybody(things: Things) -> None:
    assert asked_for(things).keys() == OPERATIONS.keys()


FOR_ANYBODY = {
    *("live", "ready", "health", "clinic-health", "clinic-backend", "openapi", "login", "admin-login"),
    *("look-at-venue", "look-at-queue", "take-ticket", "start-visit", "look-at-visit", "leave-visit", "rejoin-visit"),
    *("start-journey", "look-at-choice", "enter-visit", "finish-stage", "undo-leave-visit"),
    *("queue-enter", "queue-status", "queue-position", "queue-done", "restaurant-join", "restaurant-queue-status"),
    *("patient-login", "patient-verify-pin", "patient-status", "my-position", "patient-my-position"),
    *("path-choose", "path-enter", "pin-status"),
}
"""By hand, so that an operation becomes everybody's only on purpose."""


def test_anybody_may_do_what_a_visitor_needs_and_nothing_more() -> None:
    open_to_all = {name for name, (_, _, operation) in OPERATIONS.items() if operation["x-who"] == "anyone"}

    assert open_to_all == FOR_ANYBODY


def test_whatever_gives_a_number_refuses_displays() -> None:
    join_limits = {"join", "clinic-join"}
    joins = {route.name.replace("/", "-") for route in ROUTES if route.joins and route.kind == "application/json"}

    assert joins == JOINS
    assert {route.name for route in ROUTES if route.limit in join_limits and not route.joins} == {"make-owner"}


def test_a_display_takes_no_number_by_the_form_of_the_page(api: Api) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}

    refused = api.ask("POST", "/v/clinic", b"queue=lab", by="token:display@clinic", headers=form)

    must_be_problem(refused, 403, "role-too-low")


def test_only_staff_and_above_change_what_is_others() -> None:
    changes = {
        name: operation["x-who"]
        for name, (method, path, operation) in OPERATIONS.items()
        if method != "GET" and ("{" in path or path.startswith("/api"))
    }

    for name in changes.keys() - FOR_ANYBODY - NEEDED_AT_THE_VENUE.keys():
        assert changes[name] in {"staff", "manager", "owner"}, name


def test_the_document_that_is_served_is_the_one_that_is_tested(api: Api) -> None:
    assert api.get("/openapi.json").json == DOCUMENT


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
    known = things
    if actor.kind != "visitor" or place == "foreign":
        known = things._replace(visit=with_another_secret(things.visit), planned=with_another_secret(things.planned))
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
    made_up = "0P6W88RNLOznoXM8Y5B6ceRlMtTbypzW"
    for name in ("ticket", "visit"):
        if name in params:
            yield {name: f"{api.world.venue_ids['clinic']}-{made_up}"}
            yield {name: f"nowher-{made_up}"}
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

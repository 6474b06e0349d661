"""The audit trail: who changed what, when, and why."""

import time
from typing import Any

import pytest

from tests.api.world import PASSWORD, Api
from tests.builders import a_new
from tests.running import must_be_problem

OWNER = "owner@clinic"
AUDIT = "/v1/venues/clinic/audit"


def now() -> int:
    return time.time_ns() // 1_000_000


def changes(api: Api, queue: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Every change that staff make, with the event it is known by: what has no reason field is asked without one."""
    ticket, other, third = (api.take(queue)["ticket"] for _ in range(3))
    person = a_new("person")
    made = api.post("/v1/venues/clinic/tokens", {"kind": "kiosk", "name": "Door"}, by=OWNER).json["token"]["token"]
    staff = "/v1/venues/clinic/staff"
    return [
        ("ticket.called", f"/v1/tickets/{ticket}/call", {}),
        ("ticket.recalled", f"/v1/tickets/{ticket}/recall", {}),
        ("ticket.missed", f"/v1/tickets/{ticket}/miss", {}),
        ("ticket.rejoined", f"/v1/tickets/{ticket}/rejoin", {"where": "first"}),
        ("ticket.held", f"/v1/tickets/{ticket}/hold", {}),
        ("ticket.resumed", f"/v1/tickets/{ticket}/resume", {}),
        ("ticket.left", f"/v1/tickets/{ticket}/leave", {}),
        ("ticket.called", f"/v1/tickets/{other}/call", {}),
        ("ticket.started", f"/v1/tickets/{other}/start", {}),
        ("ticket.finished", f"/v1/tickets/{other}/finish", {}),
        ("ticket.called", f"/api/admin/clinic/queue/{third}", {"status": "CALLED"}),
        ("queue.paused", f"/v1/queues/{queue}/pause", {}),
        ("queue.resumed", f"/v1/queues/{queue}/resume", {}),
        ("queue.closed", f"/v1/queues/{queue}/close", {}),
        ("queue.opened", f"/v1/queues/{queue}/open", {}),
        ("queue.reset", f"/v1/queues/{queue}/reset", {}),
        ("staff.added", staff, {"username": person, "role": "viewer", "password": PASSWORD}),
        ("staff.role_changed", f"{staff}/{person}/role", {"role": "staff"}),
        ("staff.disabled", f"{staff}/{person}/disable", {}),
        ("staff.enabled", f"{staff}/{person}/enable", {}),
        ("token.revoked", f"/v1/venues/clinic/tokens/{made}/revoke", {}),
    ]


def test_every_change_by_staff_says_who_when_what_and_why(api: Api, queue: str) -> None:
    asked = changes(api, queue)
    start = api.audit()[-1]["version"]
    began = now()

    for number, (_, path, given) in enumerate(asked):
        headers = {"X-Correlation-Id": f"change-{number}"}
        answer = api.post(path, {**given, "reason": f"because {number}"}, by=OWNER, headers=headers)
        assert answer.status in {200, 201}, (path, answer)
    trail = [event for event in api.audit(after=start) if event["actor"] != "clock"]

    of_requests = [event for event in trail if event["kind"] != "ticket.expired"]
    assert [event["kind"] for event in of_requests] == [kind for kind, _, _ in asked]
    for number, event in enumerate(of_requests):
        assert event["actor"] == f"staff:{OWNER}"
        assert event["reason"] == f"because {number}"
        assert event["correlation_id"] == f"change-{number}"
        assert began <= event["at"] <= now()


def test_calling_next_setting_up_and_making_a_token_are_in_the_trail(api: Api, queue: str) -> None:
    api.take(queue)
    start = api.audit()[-1]["version"]
    document = api.get("/v1/venues/clinic/set-up", by=OWNER).json

    api.post(f"/v1/queues/{queue}/call-next", {}, by="token:staff@clinic")
    api.ask("PUT", "/v1/venues/clinic/set-up", {**document, "name": {"en": a_new("Clinic")}}, by=OWNER)
    api.post("/v1/venues/clinic/tokens", {"kind": "kiosk", "name": "Door"}, by=OWNER)

    called, set_up, made = api.audit(after=start)
    assert (called["kind"], called["queue"]) == ("ticket.called", queue)
    assert called["actor"].startswith("token:")
    assert (set_up["kind"], set_up["actor"]) == ("venue.set_up", f"staff:{OWNER}")
    assert (made["kind"], made["actor"], made["facts"]["token_kind"]) == ("token.made", f"staff:{OWNER}", "kiosk")


def test_what_visitors_do_is_shown_only_when_asked_for(api: Api, queue: str) -> None:
    taken = api.take(queue)
    version = api.look(taken["ticket"])["version"]
    api.post(f"/v1/tickets/{taken['ticket']}/call", {}, by="staff@clinic")

    plain = api.get(f"{AUDIT}?cursor={version - 1}", by=OWNER).json["items"]
    everything = api.get(f"{AUDIT}?cursor={version - 1}&everything=true", by=OWNER).json["items"]

    assert [event["kind"] for event in plain] == ["ticket.called"]
    assert [(event["kind"], event["actor"]) for event in everything] == [
        ("ticket.issued", "visitor"),
        ("ticket.called", "staff:staff@clinic"),
    ]


def test_the_trail_is_paged_in_order_and_without_a_gap(api: Api, queue: str) -> None:
    for _ in range(7):
        api.take(queue)
        api.post(f"/v1/queues/{queue}/call-next", {}, by="staff@clinic")
    start = api.audit()[-1]["version"] - 14
    seen: list[int] = []
    cursor: str | None = str(start)

    while cursor is not None:
        page = api.get(f"{AUDIT}?limit=3&cursor={cursor}", by=OWNER).json
        seen += [event["version"] for event in page["items"]]
        cursor = page["next"]

    assert len(seen) == 7
    assert seen == sorted(set(seen))


def test_a_refused_change_is_not_in_the_trail(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]
    version = api.look(ticket)["version"]

    api.post(f"/v1/tickets/{ticket}/finish", {"reason": "no"}, by=OWNER)
    api.post(f"/v1/tickets/{ticket}/call", {"reason": "no"}, by="viewer@clinic")
    api.post(f"/v1/tickets/{ticket}/call", {"reason": "no"})

    assert api.audit(after=version) == []


def test_a_retry_is_in_the_trail_once(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]
    version = api.look(ticket)["version"]

    for _ in range(3):
        api.post(f"/v1/tickets/{ticket}/call", {}, by=OWNER, key="called")

    assert len(api.audit(after=version)) == 1


@pytest.mark.parametrize("reason", ["x" * 500, "two\nlines", "سبب واضح", "理由", ""])
def test_a_reason_is_text_of_five_hundred_characters(api: Api, queue: str, reason: str) -> None:
    ticket = api.take(queue)["ticket"]

    assert api.post(f"/v1/tickets/{ticket}/call", {"reason": reason}, by=OWNER).status == 200

    assert api.audit(after=api.look(ticket)["version"] - 1)[0]["reason"] == (reason or None)


@pytest.mark.parametrize(
    ("reason", "refusal"),
    [("x" * 501, "invalid-body"), ("\x00", "invalid-value"), ("\u202eback", "invalid-value"), (7, "invalid-body")],
)
def test_another_reason_is_refused(api: Api, queue: str, reason: object, refusal: str) -> None:
    ticket = api.take(queue)["ticket"]

    must_be_problem(api.post(f"/v1/tickets/{ticket}/call", {"reason": reason}, by=OWNER), 422, refusal)

    assert api.look(ticket)["state"] == "waiting"


@pytest.mark.parametrize(
    "query", ["cursor=-1", "cursor=x", "limit=0", "everything=perhaps", "cursor=99999999999999999999"]
)
def test_a_query_of_the_trail_that_does_not_fit_is_refused(api: Api, query: str) -> None:
    must_be_problem(api.get(f"{AUDIT}?{query}", by=OWNER), 422, "invalid-query")

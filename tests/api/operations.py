"""Every operation of the OpenAPI document, and how it is asked for things that are there."""

import itertools
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dawr.web.openapi import document
from dawr.web.table import ROUTES
from tests.api.world import PASSWORD
from tests.builders import a_new

DOCUMENT: Final[dict[str, Any]] = json.loads(json.dumps(document(ROUTES)))
STREAMS: Final = ("/v1/events", "/api/v1/events/stream")
"""They have no end, and tests of their own."""
OPERATIONS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if path not in STREAMS
}


_patients = itertools.count(10_000)


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
    planned: str
    """A visit with a plan, by its link; staff need not know the secret in it."""
    token: str
    set_up: dict[str, Any]
    version: int
    """The venue's, when all this was there."""


def asked_for(things: Things) -> dict[str, Asked]:
    """Every operation has its line here. A route that has none fails the first test below."""
    queue, ticket, visit = {"queue": things.queue}, {"ticket": things.ticket}, {"visit": things.visit}
    venue = {"venue": "clinic"}
    member, token = {**venue, "username": "target"}, {**venue, "token": things.token}
    plain = {"live", "ready", "health", "clinic-health", "clinic-backend", "openapi", "me"}
    verbs = ("call", "recall", "extend", "start", "finish", "miss", "rejoin", "put-back", "hold", "resume", "leave")
    planned, desk = {"visit": things.planned}, {"desk": "clinic:room"}
    edits = ("unlock", "enter-stage", "remove", "end", "reset-path", "renew-link")
    of_lab = {"queue": "lab"}
    at_door = {"clinic": things.code, "user": things.visitor}
    at_clinic = {"patientId": str(next(_patients))}
    joining = {"name": "A party", "mobileNumber": "+97433001122", "partySize": 2}
    return {
        **{name: Asked({}) for name in plain},
        **{f"{verb}-ticket": Asked(ticket, {}) for verb in verbs},
        **{f"{verb}-queue": Asked(queue, {}) for verb in ("open", "pause", "resume", "close", "reset")},
        "look-at-queue": Asked(queue),
        "list-tickets": Asked(queue),
        "take-ticket": Asked(queue, {}),
        "call-next-from-queue": Asked(queue, {}),
        "call-next": Asked(desk, {}),
        **{name: Asked(planned, {}) for name in edits},
        **{name: Asked(planned, of_lab) for name in ("add-stage", "skip-stage", "complete-stage")},
        **{f"{verb}-desk": Asked(desk, {}) for verb in ("open", "close")},
        "break-desk": Asked(desk, {"until": 1}),
        "look-at-desk": Asked(desk),
        "look-at-console": Asked(desk),
        "note": Asked(planned, {"note": "Speaks Chinese"}),
        "change-path": Asked(planned, {"journey": "recruitment"}),
        "look-at-whole-visit": Asked(planned),
        "find-visitors": Asked(venue, query="?find=nobody"),
        "list-done": Asked(queue),
        "look-at-slip": Asked(ticket),
        "look-at-fairness": Asked(venue),
        "look-at-choice": Asked(venue, query="?journey=recruitment"),
        "start-journey": Asked(venue, {"journey": "recruitment", "visitor": a_new("visitor")}),
        "finish-stage": Asked(planned, {"queue": "xray", "pin": "11"}),
        "enter-visit": Asked(visit, {}),
        "show-pin": Asked(queue, {}),
        "rotate-pin": Asked(queue, {}),
        "renew-pins": Asked(venue, {}),
        "prioritize-ticket": Asked(ticket, {"priority": 1, "why": "elderly"}),
        "transfer-ticket": Asked(ticket, {"queue": "xray"}),
        "undo-ticket": Asked(ticket, {"version": 0}),
        "look-at-ticket": Asked(ticket),
        "start-visit": Asked(venue, {"queue": things.code}),
        "look-at-visit": Asked(visit),
        "leave-visit": Asked(visit, {}),
        "undo-leave-visit": Asked(visit, {}),
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
        "take-token-over": Asked(token, {}),
        "revoke-token": Asked(token, {}),
        **{f"look-at-traffic{what}": Asked({}) for what in ("", "-timeseries", "-health")},
        "refresh-traffic-snapshot": Asked({}, {}),
        "list-traffic-paths": Asked({}),
        "look-at-traffic-path": Asked({}, query="?path=/health"),
        "list-traffic-alerts": Asked({}),
        "queue-enter": Asked({}, at_door),
        "queue-status": Asked({}, query=f"?clinic={things.code}"),
        "queue-call": Asked({}, {"clinic": things.code}),
        "queue-done": Asked({}, at_door),
        "queue-reset": Asked({}, {"clinic": things.code}),
        "queue-position": Asked({}, query=f"?clinic={things.code}&user={things.visitor}"),
        "patient-login": Asked({}, {**at_clinic, "gender": "male", "examType": "recruitment"}),
        "patient-verify-pin": Asked({}, {**at_clinic, "clinic": "lab", "pin": "1", "queueNumber": 1}),
        "patient-status": Asked({}, query=f"?ticket={things.planned}"),
        "my-position": Asked({}, query=f"?ticket={things.planned}"),
        "patient-my-position": Asked({}, query=f"?ticket={things.planned}"),
        "path-choose": Asked({}, query="?examType=recruitment"),
        "path-enter": Asked({}, {"ticket": things.planned}),
        "admin-edit-patient": Asked({}, {**at_clinic, "action": "add"}),
        "pin-status": Asked({"clinic": things.code}),
        "pin-assign": Asked({}, {"clinic": things.code}),
        "pin-rotate": Asked({}, {"clinic": things.code}),
        "pin-renew": Asked({}, {}),
        "admin-login": Asked({}, {"username": "who may sign in is tested elsewhere"}),
        "restaurant-join": Asked(venue, joining),
        "restaurant-queue-status": Asked(venue, query=f"?entryId={things.ticket}&secret={things.visit}"),
        "restaurant-list": Asked(venue),
        "restaurant-call-next": Asked(venue, {}),
        "restaurant-change-status": Asked({**venue, "entry": things.ticket}, {"status": "CALLED"}),
    }

"""Requests made from the OpenAPI document, and what may be answered to them.

Event streams are not in the document. The requests are the same in every run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CheckFunction
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import positive_data_acceptance

from dawr.web.table import ROUTES
from tests.api.operations import DOCUMENT, STREAMS
from tests.api.world import FRESH, PASSWORD, Api, create_world, secret_of
from tests.running import DawrServer

SHORT: Final = 60
"""What is longer may be so on purpose."""

SAME_EVERY_TIME: Final[dict[str, Any]] = {
    # What a server answered before would make the next request another one in each run.
    "phases": {
        "examples": {"extra-data-sources": {"responses": False}},
        "coverage": {"extra-data-sources": {"responses": False}},
        "fuzzing": {"extra-data-sources": {"responses": False}, "error-feedback": {"enabled": False}},
    },
    "seed": 1,
    # Who asks is said by the test; what comes of no credentials or bad ones is in test_who_may.
    "generation": {"with-security-parameters": False},
}

WITHOUT_STREAMS = deepcopy(  # schemathesis changes the examples of what it is given
    DOCUMENT | {"paths": {path: methods for path, methods in DOCUMENT["paths"].items() if path not in {*STREAMS}}}
)

AnyCase = schemathesis.Case[Any]
Schema = schemathesis.schemas.BaseSchema


def described(*, thoroughly: bool) -> Schema:
    """Without thoroughness, no value is tried for being at the edge of what is allowed."""
    phases = SAME_EVERY_TIME["phases"]
    config = SAME_EVERY_TIME | {"phases": phases | {"coverage": phases["coverage"] | {"enabled": thoroughly}}}
    return schemathesis.openapi.from_dict(WITHOUT_STREAMS, config=schemathesis.Config.from_dict(config))


often = settings(
    max_examples=12,
    derandomize=True,
    database=None,
    deadline=None,  # the machine may be busy with other tests
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
seldom = settings(often, max_examples=4)


class Real:
    """Things that are there. Without them, nearly every request would be answered by 404."""

    def __init__(self, api: Api) -> None:
        taken = [api.take(f"clinic:{code}") for code in FRESH[-20:]]
        made = api.post("/v1/venues/clinic/tokens", {"kind": "display", "name": "A wall"}, by="owner@clinic")
        self._to_name: dict[str, list[str]] = {
            "venue": ["clinic"],
            "queue": [f"clinic:{code}" for code in FRESH],
            "desk": ["clinic:room"],
            "ticket": [one["ticket"] for one in taken],
            "entry": [one["ticket"] for one in taken],
            "visit": [secret_of(one["link"]) for one in taken],
            "username": ["target"],
            "token": [made.json["token"]["token"]],
        }
        self._to_ask_for = {"clinic": list(FRESH)}
        self._to_send = {"clinic": list(FRESH), "queue": list(FRESH), "zone": ["Asia/Qatar"]}

    def put_into(self, case: AnyCase) -> None:
        """Name what is there in three of four requests; always in the same ones."""
        if isinstance(case.body, dict) and "idempotencyKey" in case.body:
            case.headers.pop("Idempotency-Key", None)  # two that differ are refused, and rightly
        chance = crc32(repr((case.path, case.path_parameters, case.body, case.query)).encode())
        if chance % 4 == 0:
            return
        for given, things in (
            (case.path_parameters, self._to_name),
            (case.query, self._to_ask_for),
            (case.body, self._to_send),
        ):
            if isinstance(given, dict):
                for name in given.keys() & things.keys():
                    said = given[name]
                    if isinstance(said, str) and 0 < len(said) <= SHORT:
                        given[name] = things[name][chance % len(things[name])]


@contextmanager
def served_to_all(directory: Path) -> Iterator[Api]:
    """A server of their own: they change whatever they can."""
    world = create_world(directory / "data")
    settings = {"DAWR_LOG_LEVEL": "warning", "DAWR_CLINIC_VENUE": "clinic"}  # they make more clinics
    with DawrServer(directory, "serve", DAWR_DATA=directory / "data", **settings) as server:
        api = Api(server.url, world)
        added = {"username": "target", "role": "viewer", "password": PASSWORD}
        assert api.post("/v1/venues/clinic/staff", added, by="owner@clinic").status == 201
        yield api


FOR_PEOPLE: Final = {"/v1/me", "/v1/venues/{venue}/set-up", *(route.path for route in ROUTES if route.for_people)}
"""A token changes no people and makes no venue. It signs nobody out, so the session stays good."""


def ask_as_owner(case: AnyCase, served: Api, real: Real) -> None:
    by = "owner@clinic" if case.operation.path in FOR_PEOPLE else "token:owner@clinic"
    _ask_and_check(case, served, real, {"Authorization": f"Bearer {served.bearer(by)}"})


def ask_as_nobody(case: AnyCase, served: Api, real: Real) -> None:
    _ask_and_check(case, served, real, {})


def _ask_and_check(case: AnyCase, served: Api, real: Real, headers: dict[str, str]) -> None:
    real.put_into(case)
    response = case.call(base_url=served.url, headers=headers)

    case.validate_response(
        response,
        headers=headers,
        excluded_checks=_not_for(response),
        transport_kwargs={"base_url": served.url, "headers": headers},
    )


BY_THE_RULES: Final = {"invalid-value", "idempotency-key-reused"}
"""Said of a request that has the right form: a name that cannot be shown, a zone that is none, a key used before."""

OTHERWISE_RIGHT: Final = (
    {"why": "kind", "expected": "number"},
    {"why": "cursor"},
    {"why": "choice", "field": "status"},
)
"""JSON Schema calls 1.0 an integer, and here people are counted 1; a cursor is text that only a page gives; and the
restaurant's list takes several states in one text."""


def _not_for(response: Response) -> list[CheckFunction]:
    """Every check is on but this one, where an answer is right that it would call wrong."""
    if response.status_code != 422:
        return []
    problem = response.json()
    is_right = problem["code"] in BY_THE_RULES or any(facts.items() <= problem.items() for facts in OTHERWISE_RIGHT)
    return [positive_data_acceptance] if is_right else []

"""The OpenAPI 3.1 document, made from the same table that serves."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from dawr import __version__
from dawr.web.described_fields import Examples, Fields, Json, describe, described
from dawr.web.problems import code_of, status_of
from dawr.web.routes import Route

SCHEMAS = "#/components/schemas/{name}"
PARAMETER = re.compile(r"{(\w+)}")

EXPLAINED = {
    "venue": "The venue's slug.",
    "queue": "`venue:code`, such as `clinic:lab`.",
    "clinic": "The queue's code or an alias, such as `lab`.",
    "desk": "`venue:code`, such as `clinic:room-101`.",
    "ticket": "The ticket's id.",
    "visit": "What stands behind `/t/` in the visitor's link: visit and secret.",
    "username": "The staff member's name.",
    "token": "The token's id.",
    "entry": "The entry's id.",
    "file": "The file's name.",
}

JSON = "application/json"
DESCRIBED_KINDS = {JSON, "text/event-stream"}
"""Pages and their files are for people, who see them."""


class Problem(msgspec.Struct, frozen=True):
    """RFC 9457. Facts of the refusal come along as further members."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    correlation_id: str


class Known(NamedTuple):
    """What every operation's description is made with."""

    references: Mapping[Any, Json]
    examples: Examples
    fields: Fields


def document(routes: Iterable[Route]) -> Json:
    """Everything that can be asked for, and every answer to it."""
    shown = [route for route in routes if route.kind in DESCRIBED_KINDS]
    kinds = [kind for route in shown for kind in (route.body, route.answer) if kind is not None]
    schemas, components = msgspec.json.schema_components([*kinds, Problem], ref_template=SCHEMAS)
    fields = Fields.read()
    describe(components, [*kinds, Problem], fields)
    known = Known(dict(zip(kinds, schemas, strict=False)), Examples(components, fields), fields)
    components["Problem"]["additionalProperties"] = True
    components["Problem"]["examples"] = [known.examples.answered("", schemas[-1])]
    paths: dict[str, Json] = {}
    for route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dawr",
            "version": __version__,
            "summary": "A queue for places where people wait. Every number once.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": SECURITY_SCHEMES},
    }


SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A session or a token."},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "__Host-dawr", "description": "A browser's session."},
}


def _operation(route: Route, known: Known) -> Json:
    operation: Json = {
        "operationId": _id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": [*_path_parameters(route), *_query_parameters(route, known.fields), *_headers(route)],
        "responses": {str(status): answer for status, answer in sorted(_responses(route, known).items())},
        "x-who": route.who,
    }
    if route.body is not None:
        needed = bool(_schema(route.body).get("required"))
        reference = known.references[route.body]
        content = {"schema": reference, "example": known.examples.asked(reference)}
        operation["requestBody"] = {"required": needed, "content": {JSON: content}}
    if route.who != "anyone":
        operation["security"] = [{"bearer": []}, {"cookie": []}]
    return operation


def _id(route: Route) -> str:
    return route.name.replace("/", "-")


def _path_parameters(route: Route) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": EXPLAINED[name],
            "schema": {"type": "string", "minLength": 1},
        }
        for name in PARAMETER.findall(route.path)
    ]


def _query_parameters(route: Route, fields: Fields) -> list[Json]:
    if route.query is None:
        return []
    schema = _schema(route.query)
    describe({schema["title"]: schema}, [route.query], fields)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": described(rule),
            "schema": rule,
        }
        for name, rule in schema["properties"].items()
    ]


def _headers(route: Route) -> list[Json]:
    if not route.takes_key:
        return []
    rule = {"type": "string", "pattern": '^("[!#-~]{1,255}"|[!#-~]{1,255})$'}
    sentence = "A retry under the same key gets the same answer, and has no second effect."
    return [{"name": "Idempotency-Key", "in": "header", "required": False, "description": sentence, "schema": rule}]


def _responses(route: Route, known: Known) -> dict[int, Json]:
    success: Json = {"description": route.summary}
    if route.answer is not None:
        reference = known.references[route.answer]
        example = known.examples.answered(_id(route), reference)
        success["content"] = {JSON: {"schema": reference, "example": example}}
    elif route.kind != JSON:
        success["content"] = {route.kind: {"schema": {"type": "string"}, "example": known.fields.streams[route.name]}}
    answers = {route.status: success}
    if route.also_status is not None:
        answers[route.also_status] = success
    for status, codes in codes_of(route).items():
        answers[status] = {
            "description": ", ".join(f"`{code}`" for code in sorted(codes)),
            "content": answers.get(status, {}).get("content", {})
            | {"application/problem+json": {"schema": {"$ref": SCHEMAS.format(name="Problem")}}},
        }
    return answers


def codes_of(route: Route) -> Mapping[int, set[str]]:
    """What may go wrong, by status: what the rules may say, and what may happen to any request of this kind."""
    codes: defaultdict[int, set[str]] = defaultdict(set)
    for applies, told in _told_of_kinds(route):
        for status, named in told.items() if applies else ():
            codes[status].update(named)
    for refusal in route.refusals:
        codes[status_of(refusal, route.statuses)].add(code_of(refusal))
    for status, code in route.other_codes:
        codes[status].add(code)
    return codes


def _told_of_kinds(route: Route) -> tuple[tuple[bool, Mapping[int, set[str]]], ...]:
    """Whether the route is of a kind, and what may happen to any request of that kind."""
    of_key = {400: {"invalid-idempotency-key"}, 409: {"idempotency-in-progress"}, 422: {"idempotency-key-reused"}}
    of_body = {
        400: {"malformed-json", "disconnected"},
        413: {"body-too-large"},
        415: {"not-json"},
        422: {"invalid-body", "invalid-value", "unstorable"},
    }
    away = {"busy", "stopping", "store-away", "store-damaged", "clock-untrusted"}
    return (
        (True, {401: {"credentials-invalid"}, 503: away}),
        (route.who != "anyone", {401: {"not-signed-in"}, 403: {"role-too-low"}}),
        (route.for_people, {403: {"not-an-account"}}),
        (route.joins, {403: {"role-too-low"}}),
        (route.is_write, {403: {"cross-site"}, 408: {"request-timeout"}, 503: {"outcome-unknown"}}),
        (route.body is not None, of_body),
        (route.takes_key, of_key),
        (route.query is not None, {422: {"invalid-query"}}),
        (route.limit is not None, {429: {"quota-exceeded"}}),
        (PARAMETER.search(route.path) is not None, {404: {"no-such-path"}}),
    )


def _schema(kind: Any) -> Json:  # noqa: ANN401 - any type that msgspec knows
    """The rules of a type, in place: of a query, or to see what is required."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    rules: Json = components.get(schema.get("$ref", ""), schema)
    return rules

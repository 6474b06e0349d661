"""The API's documentation: the OpenAPI document, and a page made from it that needs nothing from elsewhere."""

import asyncio
from functools import cache
from typing import Any

import msgspec

from dawr.web.openapi import document
from dawr.web.pages.rendering import rendered
from dawr.web.response import HTML, SAME_ORIGIN, Response
from dawr.web.routes import Parts, Request, Route
from dawr.web.wording import ENGLISH

Json = dict[str, Any]


async def openapi(_: Parts, __: Request[None]) -> Response:
    return Response(200, await asyncio.to_thread(_document))


async def docs(_: Parts, __: Request[None]) -> Response:
    return await asyncio.to_thread(_page)


@cache
def _document() -> bytes:
    """Made when the first one asks, in a thread: it takes as long as hundreds of requests."""
    from dawr.web.table import ROUTES as TABLE  # noqa: PLC0415 - this page is itself a row of the table

    return msgspec.json.encode(document(TABLE))


@cache
def _page() -> Response:
    described: Json = msgspec.json.decode(_document())
    tags: dict[str, list[Json]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            entry = {**operation, "method": method.upper(), "path": path}
            tags.setdefault(operation["tags"][0], []).append(entry)
    schemas = {name: _fields(schema) for name, schema in sorted(described["components"]["schemas"].items())}
    facts = {"info": described["info"], "tags": tags, "schemas": schemas, "kind": _kind, "shown": _shown}
    return Response(200, rendered("docs.html", ENGLISH, **facts), (SAME_ORIGIN,), HTML)


def _fields(schema: Json) -> list[Json]:
    needed = schema.get("required", ())
    return [
        {"name": name, "kind": _kind(rule), "needed": name in needed, "about": rule.get("description", "")}
        for name, rule in schema.get("properties", {}).items()
    ]


def _shown(example: object) -> str:
    """An example as people read it; a stream's is text already."""
    return example if isinstance(example, str) else msgspec.json.format(msgspec.json.encode(example), indent=2).decode()


def _kind(rule: Json) -> str:
    """A schema in a few words."""
    if "$ref" in rule:
        return str(rule["$ref"]).rpartition("/")[2]
    if "anyOf" in rule:
        return " or ".join(_kind(part) for part in rule["anyOf"])
    if "enum" in rule:
        return " | ".join(str(value) for value in rule["enum"])
    if rule.get("type") == "array":
        return f"list of {_kind(rule.get('items', {}))}"
    return str(rule.get("type", "anything"))


ROUTES = (
    Route(
        method="GET",
        path="/openapi.json",
        name="openapi",
        summary="This document",
        tag="documentation",
        handler=openapi,
        answer=dict[str, Any],
    ),
    Route(
        method="GET",
        path="/docs",
        name="docs",
        summary="The API's documentation",
        tag="documentation",
        handler=docs,
        kind="text/html",
    ),
)

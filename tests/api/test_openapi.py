"""The OpenAPI document and the documentation page: complete, true, and usable without any other site."""

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from dawr.web.table import ROUTES
from tests.api.operations import OPERATIONS
from tests.api.pages import Page
from tests.api.world import Api

SUCCESS_KINDS = {"application/json", "text/event-stream"}
PAGES = {"/", "/docs", "/first-run", "/static/{file}"}


def every(node: object, name: str) -> Iterator[Any]:
    """Every value under this name, however deep."""
    if isinstance(node, dict):
        if name in node:
            yield node[name]
        for value in node.values():
            yield from every(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from every(value, name)


def test_every_route_is_described_but_pages(api: Api) -> None:
    described = api.get("/openapi.json").json

    assert described["openapi"] == "3.1.0"
    assert described["paths"].keys() | PAGES == {route.path for route in ROUTES}


def test_every_operation_says_who_may_and_every_answer_it_gives(api: Api) -> None:
    paths = api.get("/openapi.json").json["paths"]
    operations = [operation for methods in paths.values() for operation in methods.values()]

    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["x-who"] in {"anyone", "signed-in", "viewer", "staff", "manager", "owner"}
        assert ("security" in operation) == (operation["x-who"] != "anyone")
        for status, answer in operation["responses"].items():
            kinds = SUCCESS_KINDS if status.startswith("2") else {"application/problem+json"}
            assert answer["content"].keys() <= kinds
            assert answer["content"]


def test_every_reference_leads_to_something_in_the_document(api: Api) -> None:
    described = api.get("/openapi.json").json

    for reference in every(described, "$ref"):
        assert reference.startswith("#/")
        node = described
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


def test_every_input_refuses_unknown_fields(api: Api) -> None:
    described = api.get("/openapi.json").json
    bodies = {
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for _, _, operation in OPERATIONS.values()
        if "requestBody" in operation
    }

    for name in bodies:
        assert described["components"]["schemas"][name]["additionalProperties"] is False, name


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
def test_the_documentation_needs_nobody_signed_in_and_nothing_from_elsewhere(api: Api, path: str) -> None:
    answer = api.get(path)

    assert answer.status == 200
    assert b"http://" not in answer.body
    assert b"https://" not in answer.body


def test_the_page_shows_every_operation_and_every_type(api: Api) -> None:
    text = unescape(api.get("/docs").body.decode())

    for name, (method, path, operation) in OPERATIONS.items():
        assert f'id="{name}"' in text
        assert f'<span class="method">{method}</span> <code>{path}</code>' in text
        assert operation["summary"] in text
    for name in api.get("/openapi.json").json["components"]["schemas"]:
        assert f'id="type-{name}"' in text


def test_every_link_of_the_page_leads_somewhere(api: Api) -> None:
    page = Page(api.get("/docs").body)

    for link in page.links:
        if link.startswith("#"):
            assert link.removeprefix("#") in page.ids, link
        else:
            assert api.get(link).status == 200, link


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/v1/venues/clinic", "/health/live", "/static/page.css"])
def test_what_can_be_got_can_be_asked_about(api: Api, path: str) -> None:
    got, asked = api.get(path), api.ask("HEAD", path)

    assert (asked.status, asked.body) == (200, b"")
    assert asked.headers["content-length"] == str(len(got.body))
    assert asked.headers["content-type"] == got.headers["content-type"]

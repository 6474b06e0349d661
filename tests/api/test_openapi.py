"""The OpenAPI document and the documentation page: complete, true, and usable without any other site."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import jsonschema_rs
import pytest

from dawr.web.described_fields import Fields
from dawr.web.pages.assets import address_of
from dawr.web.table import ROUTES
from tests.api.operations import OPERATIONS
from tests.api.pages import Page
from tests.api.world import Api

SUCCESS_KINDS = {"application/json", "text/event-stream"}
PROBLEM_KINDS = {"application/problem+json"}
ALSO_OF = {"clinic-backend": {"application/json"}}
"""Whoever asks how the backend fares is answered in its own form, however it fares."""
PAGES = {
    "/",
    "/docs",
    "/first-run",
    "/sign-in",
    "/sign-out",
    "/t/{visit}",
    "/d/{venue}",
    "/d/{venue}/token",
    "/v/{venue}",
    "/v/{venue}/in-line",
    "/staff/{venue}",
    "/staff/{venue}/{desk}",
    "/staff/{venue}/{desk}/desk",
    "/staff/{venue}/{desk}/latest",
    "/staff/{venue}/{desk}/pins",
    "/staff/{venue}/{desk}/tickets/{ticket}",
    "/staff/{venue}/{desk}/walk-in",
    "/static/{file}",
    "/hue/{file}",
    "/favicon.ico",
}


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
            if status.startswith("2"):
                assert answer["content"].keys() <= SUCCESS_KINDS
                assert answer["content"]
            else:
                assert answer["content"].keys() - ALSO_OF.get(operation["operationId"], set()) == PROBLEM_KINDS


def test_every_reference_leads_to_something_in_the_document(api: Api) -> None:
    described = api.get("/openapi.json").json

    for reference in every(described, "$ref"):
        assert reference.startswith("#/")
        node = described
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


def test_every_input_of_ours_refuses_unknown_fields_and_no_input_of_a_door_does(api: Api) -> None:
    schemas = api.get("/openapi.json").json["components"]["schemas"]
    bodies = {
        (path.startswith("/v1/"), operation["requestBody"]["content"]["application/json"]["schema"]["$ref"])
        for _, path, operation in OPERATIONS.values()
        if "requestBody" in operation
    }

    for is_ours, reference in bodies:
        takes_more = schemas[reference.rpartition("/")[2]].get("additionalProperties", True)
        assert takes_more is not is_ours, reference


def test_every_type_has_a_name_of_its_own_that_generators_take(api: Api) -> None:
    described = api.get("/openapi.json").json

    assert [name for name in described["components"]["schemas"] if not re.fullmatch(r"\w+", name)] == []
    assert not list(every(described, "prefixItems"))


def test_every_property_and_every_parameter_is_described(api: Api) -> None:
    described = api.get("/openapi.json").json

    properties = {
        f"{name}.{field}": rule.get("description")
        for name, schema in described["components"]["schemas"].items()
        for field, rule in schema.get("properties", {}).items()
    }
    parameters = {
        f"{operation['operationId']}.{parameter['name']}": parameter.get("description")
        for operation in operations_of(described)
        for parameter in operation["parameters"]
    }

    assert len(properties) > 600
    assert [name for name, said in (properties | parameters).items() if not said or not said[0].isprintable()] == []
    assert [name for name, said in (properties | parameters).items() if said and "None" in said] == []


def test_no_description_speaks_of_a_null_that_cannot_be(api: Api) -> None:
    described = api.get("/openapi.json").json

    assert [
        f"{name}.{field}"
        for name, schema in described["components"]["schemas"].items()
        for field, rule in schema.get("properties", {}).items()
        if "; null" in rule["description"] and "null" not in json.dumps({**rule, "description": ""})
    ] == []


def test_every_operation_has_an_example_of_what_is_sent_and_of_what_comes_back_that_fits(api: Api) -> None:
    described = api.get("/openapi.json").json

    for operation in operations_of(described):
        contents = [operation["requestBody"]["content"]] if "requestBody" in operation else []
        contents += [answer["content"] for status, answer in operation["responses"].items() if status.startswith("2")]
        for content in contents:
            for kind in SUCCESS_KINDS & content.keys():
                must_fit(described, content[kind]["schema"], content[kind]["example"], operation["operationId"])
    must_fit(
        described,
        {"$ref": "#/components/schemas/Problem"},
        described["components"]["schemas"]["Problem"]["examples"][0],
        "Problem",
    )


def test_no_description_or_example_is_of_something_that_is_not_there(api: Api) -> None:
    """What is renamed takes its line in the file with it."""
    described = api.get("/openapi.json").json
    schemas = described["components"]["schemas"]
    named = {field for schema in schemas.values() for field in schema.get("properties", {})}
    named |= {f"{schema['title']}.{field}" for schema in schemas.values() for field in schema.get("properties", {})}
    for operation in operations_of(described):
        named |= {parameter["name"] for parameter in operation["parameters"]}
    written = Fields.read()

    assert set(written.fields) - named == set()
    assert set(written.types) - {schema["title"] for schema in schemas.values()} == set()
    assert set(written.routes) - {operation["operationId"] for operation in operations_of(described)} == set()


def operations_of(described: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for methods in described["paths"].values() for operation in methods.values()]


def must_fit(described: dict[str, Any], schema: dict[str, Any], example: object, about: str) -> None:
    whole = {**schema, "components": described["components"]}
    faults = [fault.message for fault in jsonschema_rs.Draft202012Validator(whole).iter_errors(example)]
    assert faults == [], about


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
    for name, schema in api.get("/openapi.json").json["components"]["schemas"].items():
        assert f'id="type-{name}"' in text
        for rule in schema.get("properties", {}).values():
            assert rule["description"] in text


def test_the_page_shows_every_example(api: Api) -> None:
    text = unescape(api.get("/docs").body.decode())

    for example in every(api.get("/openapi.json").json["paths"], "example"):
        shown = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
        assert shown in text


def test_every_link_of_the_page_leads_somewhere(api: Api) -> None:
    page = Page(api.get("/docs").body)

    for link in page.links:
        if link.startswith("#"):
            assert link.removeprefix("#") in page.ids, link
        else:
            assert api.get(link).status == 200, link


@pytest.mark.parametrize(
    "path", ["/docs", "/openapi.json", "/v1/venues/clinic", "/health/live", address_of("base.css")]
)
def test_what_can_be_got_can_be_asked_about(api: Api, path: str) -> None:
    got, asked = api.get(path), api.ask("HEAD", path)

    assert (asked.status, asked.body) == (200, b"")
    assert asked.headers["content-length"] == str(len(got.body))
    assert asked.headers["content-type"] == got.headers["content-type"]

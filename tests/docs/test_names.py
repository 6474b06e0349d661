"""Whatever a document names of the product is there: routes, metrics, settings, alerts, events and lines of the log."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dawr.observe.metrics.families import FAMILIES
from dawr.settings import PREFIX, Settings
from dawr.web.openapi import document as openapi
from dawr.web.table import ROUTES
from tests.deploy.files import yaml_of
from tests.docs import source
from tests.docs.pages import ROOT, documents, text_of
from tests.docs.test_observe import logged_events

NAMED = re.compile(r"`([^`\n]+)`")
ROUTE = re.compile(r"(GET|POST|PUT|PATCH|DELETE|HEAD) (/[^\s?#]*)")
METRIC = re.compile(r"dawr_[a-z_]+")
SETTING = re.compile(rf"{PREFIX}[A-Z_]+")
ALERT = re.compile(r"Dawr[A-Z][A-Za-z]+")
EVENT = re.compile(r"[a-z]+(?:-[a-z]+)*\.[a-z_-]+")

OF_ANOTHER_TIME = {"CHANGELOG.md"}
OF_ANOTHER_PROGRAM = ("docs/adr", "docs/kit")
"""Decisions name what was thought of, and the kit's pages what its user writes."""

every_page = pytest.mark.parametrize(
    "page",
    [
        page
        for page in documents()
        if page.name not in OF_ANOTHER_TIME and not str(page.relative_to(ROOT)).startswith(OF_ANOTHER_PROGRAM)
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)


def named_in(page: Path) -> Iterator[str]:
    yield from NAMED.findall(page.read_text(encoding="utf-8"))


@every_page
def test_every_route_that_is_named_is_in_the_table(page: Path) -> None:
    asked = {found for name in named_in(page) for found in ROUTE.findall(name)}

    assert not [f"{method} {path}" for method, path in asked if not leads_somewhere(method, path)]


def leads_somewhere(method: str, path: str) -> bool:
    """By its template, or with something in the place of what is in braces. `…` stands for what the reader knows."""
    if "…" in path or path == "/metrics":
        return True
    wanted = path.rstrip("/").split("/")
    return any(
        route.method == {"HEAD": "GET"}.get(method, method)
        and len(parts := route.path.rstrip("/").split("/")) == len(wanted)
        and all(part == given or part.startswith("{") for part, given in zip(parts, wanted, strict=True))
        for route in ROUTES
    )


@every_page
def test_every_metric_setting_and_alert_that_is_named_is_there(page: Path) -> None:
    metrics = {family.name for family in FAMILIES}
    metrics |= {f"{family.name}_{end}" for family in FAMILIES if family.bounds for end in ("bucket", "sum", "count")}
    settings = {f"{PREFIX}{name.upper()}" for name in Settings.__struct_fields__}
    alerts = {rule["alert"] for group in yaml_of("prometheus/alerts.yml")["groups"] for rule in group["rules"]}
    text = " ".join(named_in(page))

    assert not set(METRIC.findall(text)) - metrics - {"dawr_restored"}
    assert not {name for name in SETTING.findall(text) if not name.endswith("_") and "_TEST_" not in name} - settings
    assert not set(ALERT.findall(text)) - alerts


def test_every_event_that_a_page_for_operators_names_happens() -> None:
    """What has a dot in it and is no file, on the pages about running it."""
    pages = [page for page in documents() if page.parent.name == "run"]
    named = {name for page in pages for name in named_in(page) if EVENT.fullmatch(name)}
    files = {
        name for name in named if name.startswith(("dawr.", "control.", "traffic.sqlite", "constraints.", "upstream."))
    }

    assert not named - files - source.event_kinds() - set(logged_events())


def test_what_the_reference_leaves_out_is_said() -> None:
    described = set(openapi(ROUTES)["paths"])
    (left_out,) = re.findall(r"leave out pages for people \(([^)]*)\)", text_of("docs/api.md"))

    assert set(NAMED.findall(left_out)) == {route.path for route in ROUTES} - described

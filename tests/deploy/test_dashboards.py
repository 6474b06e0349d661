"""deploy/grafana and deploy/prometheus ask for metrics that there are."""

import json
import re
from itertools import combinations
from typing import Any

import pytest

from dawr.observe.metrics.families import FAMILIES
from tests.deploy.files import ROOT, text_of, yaml_of
from tests.deploy.promql import families_in, faults_in, labels_kept_by

DASHBOARD: dict[str, Any] = json.loads(text_of("grafana/dawr.json"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ASKED = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
(GROUP,) = yaml_of("prometheus/alerts.yml")["groups"]
ALERTS: list[dict[str, Any]] = GROUP["rules"]


@pytest.mark.parametrize(("title", "target"), ASKED, ids=[f"{title} {target['refId']}" for title, target in ASKED])
def test_a_panel_asks_for_what_there_is(title: str, target: dict[str, Any]) -> None:
    assert not list(faults_in(target["expr"]))
    assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels_kept_by(target["expr"])


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {family for _, target in ASKED for family in families_in(target["expr"])}

    assert {family.name for family in shown} == {family.name for family in FAMILIES}


def test_the_choices_at_its_top_are_those_that_its_panels_use() -> None:
    choices = {choice["name"]: choice for choice in DASHBOARD["templating"]["list"]}
    used = {name for _, target in ASKED for name in re.findall(r'"\$(\w+)"', target["expr"])}

    assert used | {"datasource"} == set(choices)
    assert {panel["datasource"]["uid"] for panel in PANELS} == {"${datasource}"}
    for name in used:
        metric, label = re.findall(r"label_values\((\w+), (\w+)\)", choices[name]["query"]["query"])[0]
        assert label == name
        assert not list(faults_in(f"rate({metric}[5m])" if metric.endswith("_total") else metric))


def test_no_panel_lies_on_another_or_has_its_number() -> None:
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]

    assert len(set(numbers)) == len(numbers)
    assert not [(one, other) for one, other in combinations(places, 2) if _overlap(one, other)]
    assert all(place["x"] + place["w"] <= 24 for place in places)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_asks_for_what_there_is_and_says_what_to_do(alert: dict[str, Any]) -> None:
    named = set(re.findall(r"\$labels\.(\w+)", alert["annotations"]["summary"]))

    assert not list(faults_in(alert["expr"]))
    assert named <= labels_kept_by(alert["expr"])
    assert alert["labels"]["severity"] in {"page", "look"}
    assert re.fullmatch(r"\d+[smh]", alert["for"])
    assert f"`{alert['alert']}`" in (ROOT / "docs/run/trouble.md").read_text(encoding="utf-8")


def test_no_alert_has_the_name_of_another() -> None:
    names = [alert["alert"] for alert in ALERTS]

    assert len(set(names)) == len(names) >= 8


def test_prometheus_is_given_rules_that_are_there() -> None:
    assert yaml_of("prometheus/scrape.yml")["rule_files"] == ["alerts.yml"]


@pytest.mark.parametrize(
    "expression",
    [
        "sum(rate(dawr_joinings_total[5m]))",
        "sum(dawr_joins_total)",
        "rate(dawr_lane_depth[5m])",
        "rate(dawr_commit_seconds[5m])",
        "sum by (queue) (dawr_watchers)",
        'dawr_watchers{venue="clinic"}',
        "histogram_quantile(0.5, sum by (venue) (rate(dawr_wait_seconds_bucket[5m])))",
        "sum(rate(dawr_joins_total[5m])",
        "1 + 1",
    ],
)
def test_an_expression_that_asks_for_something_else_is_noticed(expression: str) -> None:
    assert list(faults_in(expression))


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )

"""As much of PromQL as it takes to see whether an expression asks for something that is there."""

import re
from collections.abc import Iterator

from dawr.observe.metrics.families import FAMILIES, Family

OF_PROMETHEUS = {"instance", "job"}
SUFFIXES = {"counter": {""}, "gauge": {""}, "histogram": {"_bucket", "_sum", "_count"}}

_SERIES = re.compile(r"\b(?P<before>rate\()?(?P<name>(?:dawr_\w+|up))(?P<selector>\{[^}]*\})?(?P<range>\[[^\]]+\])?")
_GROUPED = re.compile(r"\bby \(([^)]*)\)")
_LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')

BY_NAME = {family.name + suffix: family for family in FAMILIES for suffix in SUFFIXES[family.kind]}


def families_in(expression: str) -> set[Family]:
    return {BY_NAME[found["name"]] for found in _SERIES.finditer(expression) if found["name"] in BY_NAME}


def labels_kept_by(expression: str) -> set[str]:
    """What each of its answers is labelled with: of the outermost grouping, else whatever the series have."""
    groups = _GROUPED.findall(expression)
    if groups:
        return {label.strip() for label in groups[0].split(",")} - {"le"}
    return OF_PROMETHEUS if "dawr_" not in expression else set()


def faults_in(expression: str) -> Iterator[str]:
    """What is wrong with it."""
    for opening, closing in ("()", "[]", "{}"):
        if expression.count(opening) != expression.count(closing):
            yield f"{opening}{closing} do not match"
    found = list(_SERIES.finditer(expression))
    if not found:
        yield "asks for nothing"
    there: set[str] = {"le"} | OF_PROMETHEUS
    for series in found:
        if series["name"] == "up":
            continue
        family = BY_NAME.get(series["name"])
        if family is None:
            yield f"there is no {series['name']}"
            continue
        there |= set(family.labels)
        yield from _faults_of(family, series)
    for group in _GROUPED.findall(expression):
        yield from (f"nothing has a {label.strip()}" for label in group.split(",") if label.strip() not in there)
        if "_bucket" in expression and "le" not in group:
            yield "a quantile needs le"


def _faults_of(family: Family, series: "re.Match[str]") -> Iterator[str]:
    is_rate = bool(series["before"] and series["range"])
    if is_rate != (family.kind != "gauge"):
        yield f"{series['name']} is a {family.kind}"
    for label in _LABEL.findall(series["selector"] or ""):
        if label not in {*family.labels, *OF_PROMETHEUS}:
            yield f"{series['name']} has no {label}"

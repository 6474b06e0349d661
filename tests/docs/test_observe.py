"""Every metric and every log event is explained, and nothing that is gone."""

import ast
from collections.abc import Iterator
from pathlib import Path

from dawr.observe import access_log, logs, operation_log
from dawr.observe.metrics.families import FAMILIES
from tests.docs.pages import names_in, rows_of, sections_of, text_of
from tests.docs.source import SOURCE

LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error", "exception": "error"}
PAGE = "docs/observe.md"


def test_every_metric_has_its_row_with_its_kind_and_labels() -> None:
    written = {name: (kind, labels) for name, kind, labels, _ in rows_of(sections_of(text_of(PAGE))["Metrics"])}

    assert written == {family.name: (family.kind, ", ".join(family.labels) or "none") for family in FAMILIES}


def test_every_event_of_the_log_has_its_row_with_its_levels() -> None:
    sections = sections_of(text_of(PAGE))
    rows = rows_of(sections["What happens"] + "\n" + sections["How the service fares"])
    written = {event: set(levels.split(", ")) for event, levels, _ in rows}

    assert written == logged_events()


def test_the_page_says_which_feature_brings_what_is_not_there_yet() -> None:
    page = text_of(PAGE)

    assert "notification.sent" not in names_in(page)
    assert "`notification.sent` comes with" in page


def logged_events() -> dict[str, set[str]]:
    """The lines of structlog by their calls, and those of the buffer by their structs."""
    found: dict[str, set[str]] = {
        "request": {"info"},
        "library": {"warning", "error"},
        **{event: {"info"} for event in (*operation_log.EVENT_OF.values(),)},
        **{event: {"info"} for event in (operation_log.STATUS_CHANGED, operation_log.VENUE_CHANGED)},
        str(access_log.Replayed.__struct_config__.tag): {"info"},
        str(access_log.Failed.__struct_config__.tag): {"warning"},
        str(logs.Lost.__struct_config__.tag): {"warning"},
    }
    for event, level in _calls():
        found.setdefault(event, set()).add(LEVELS[level])
    return found


def _calls() -> Iterator[tuple[str, str]]:
    for file in sorted(Path(SOURCE).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="log"), attr=level), args=[ast.Constant(value=str(event)), *_]
                ) if level in LEVELS:
                    yield event, level
                case ast.Call(
                    func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=ast.Name(id="structlog"))), attr=level),
                    args=[ast.Constant(value=str(event)), *_],
                ) if level in LEVELS:
                    yield event, level

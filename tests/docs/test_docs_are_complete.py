"""The documents name everything a user or a developer can meet, and nothing that is gone."""

import re
from pathlib import Path

import msgspec
import pytest

from dawr.domain.events import Event, TicketFacts
from dawr.domain.hours import Hours
from dawr.domain.journey import Journey, Stage
from dawr.domain.queue import Queue
from dawr.domain.venue import Desk, Venue
from tests.docs import diagrams, source
from tests.docs.pages import (
    ROOT,
    anchors_of,
    documents,
    drawings_in,
    links_in,
    names_in,
    paths_in,
    rows_of,
    sections_of,
    text_of,
)

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|root|Users)/(?!dawr\b)\w+")
"""An account of the product's own name is an example, and nobody's."""

every_document = pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))


def test_every_setting_has_its_row_with_variable_default_and_range() -> None:
    written = {name: tuple(cells[:3]) for name, *cells in rows_of(text_of("docs/settings.md"))}

    assert written == source.settings()


def test_every_problem_has_its_row_with_its_status() -> None:
    written = {code: cells[0] for code, *cells in rows_of(text_of("docs/problems.md"))}

    assert written == source.problems()


def test_no_problem_has_two_rows() -> None:
    codes = [row[0] for row in rows_of(text_of("docs/problems.md"))]

    assert len(codes) == len(set(codes))


def test_every_event_has_its_row() -> None:
    written = {name for name in names_in(text_of("docs/events.md")) if "." in name}

    assert written == source.event_kinds()


@pytest.mark.parametrize(
    ("section", "struct"), [("Every event", Event), ("A ticket's events", TicketFacts)], ids=["event", "ticket"]
)
def test_every_fact_of_an_event_has_its_row(section: str, struct: type[msgspec.Struct]) -> None:
    written = {name for name in names_in(sections_of(text_of("docs/events.md"))[section]) if "." not in name}

    assert written == set(struct.__struct_fields__)


@pytest.mark.parametrize("struct", [Venue, Queue, Hours, Desk, Journey, Stage], ids=lambda struct: struct.__name__)
def test_every_field_of_a_venues_file_has_its_row(struct: type[msgspec.Struct]) -> None:
    written = names_in(sections_of(text_of("docs/venue.md"))[struct.__name__])

    assert written == set(struct.__struct_fields__)


def test_every_command_has_its_section_with_its_options() -> None:
    written = {
        title.strip("`"): set(re.findall(r"--[a-z-]+", section))
        for title, section in sections_of(text_of("docs/cli.md")).items()
        if title.startswith("`dawr ")
    }

    assert written == source.commands()


def test_every_endpoint_has_its_section() -> None:
    written = {title.strip("`") for title in sections_of(text_of("docs/api.md")) if title.startswith("`")}

    assert written == source.endpoints()


def test_every_complaint_about_an_installation_is_explained() -> None:
    explained = text_of("docs/run/trouble.md").replace("`", "")
    missing = {fixed: file for fixed, file in source.complaints().items() if fixed.replace("`", "") not in explained}

    assert not missing


def test_the_states_are_drawn_as_the_tables_have_them() -> None:
    assert drawings_in(text_of("docs/glossary.md")) == [diagrams.of_tickets(), diagrams.of_queues()]


def test_every_decision_is_in_the_list_of_decisions() -> None:
    listed = {target for target in links_in(text_of("docs/adr/README.md")) if re.match(r"\d", target)}

    assert listed == {page.name for page in (ROOT / "docs" / "adr").glob("[0-9]*.md")}


@every_document
def test_every_link_leads_somewhere(document: Path) -> None:
    broken = [target for target in links_in(document.read_text(encoding="utf-8")) if not _is_there(document, target)]

    assert not broken


@every_document
def test_every_file_that_is_named_is_there(document: Path) -> None:
    gone = [path for path in paths_in(document.read_text(encoding="utf-8")) if not (ROOT / path).exists()]

    assert not gone


@pytest.mark.parametrize(("page", "most"), [("README.md", 100), ("ARCHITECTURE.md", 300)])
def test_what_is_read_first_is_short(page: str, most: int) -> None:
    assert len(text_of(page).splitlines()) <= most


def test_no_text_names_a_place_on_somebodys_machine() -> None:
    named = {
        f"{file.relative_to(ROOT)}: {found[0]}"
        for file in source.texts()
        for found in MACHINE_PATH.finditer(file.read_text(encoding="utf-8"))
    }

    assert not named


def test_the_page_on_performance_names_the_commit_that_the_gate_compares_with() -> None:
    revision = re.search(r"^REV \?= (\w+)$", text_of("Makefile"), re.MULTILINE)
    section = sections_of(text_of("docs/performance.md"))["The gate: this tree against a fixed commit"]

    assert revision is not None
    assert f"one fixed commit, `{revision[1]}`" in section


def _is_there(document: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    page = (document.parent / path).resolve() if path else document
    if not page.exists():
        return False
    return not anchor or anchor in anchors_of(page.read_text(encoding="utf-8"))

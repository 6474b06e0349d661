"""Reads the documents: tables, sections, drawings, links."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<rest>.*) \|$", re.MULTILINE)
_HEADING = re.compile(r"^#+ (?P<title>.*)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_DRAWING = re.compile(r"^```mermaid\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`(?P<path>(?:src/dawr|tests|benchmarks|docs)(?:/[\w.-]+)*)`")


def documents() -> list[Path]:
    top = ROOT.glob("*.md")
    return sorted([*top, *(ROOT / "docs").rglob("*.md")])


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def rows_of(text: str) -> list[tuple[str, ...]]:
    """Table rows whose first cell is one name in backquotes: that name, and the other cells."""
    return [(row["name"], *_cells(row["rest"])) for row in _ROW.finditer(_FENCED.sub("", text))]


def names_in(text: str) -> set[str]:
    return {row[0] for row in rows_of(text)}


def sections_of(text: str) -> dict[str, str]:
    """Title → what stands below it, up to the next title of any depth."""
    plain = _FENCED.sub("", text)
    headings = list(_HEADING.finditer(plain))
    ends = [heading.start() for heading in headings[1:]] + [len(plain)]
    return {heading["title"]: plain[heading.end() : end].strip() for heading, end in zip(headings, ends, strict=True)}


def drawings_in(text: str) -> list[list[str]]:
    return [[line.strip() for line in drawing["lines"].splitlines()] for drawing in _DRAWING.finditer(text)]


def links_in(text: str) -> Iterator[str]:
    """Where links lead that stay in this repository."""
    for link in _LINK.finditer(_FENCED.sub("", text)):
        if not re.match(r"[a-z]+:", link["target"]):
            yield link["target"]


def anchors_of(text: str) -> set[str]:
    """The names that titles are linked by."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in sections_of(text)}


def paths_in(text: str) -> set[str]:
    """Files and folders of ours that are named."""
    return {path["path"] for path in _PATH.finditer(_FENCED.sub("", text))}


def _cells(rest: str) -> list[str]:
    return [cell.strip() for cell in rest.split(" | ")]

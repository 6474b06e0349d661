"""Line numbers of the values in a venue's file, for complaints about them."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dawr.domain.errors import Fact
from dawr.domain.queue import LONGEST_CODE

Path = tuple[str | int, ...]

STEP = re.compile(r"\[(?P<index>\d+|\.\.\.)\]|(?P<name>[^.\[\]]+)")
JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
TOML_SKIPPED = re.compile(
    r"""(?P<lines>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5})|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\#[^\n]*""", re.DOTALL
)
"""Strings and comments. Only a string in three quotes goes over several lines."""
TOML_NAME = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
TOML_NAMES = rf"{TOML_NAME}(?:\s*\.\s*{TOML_NAME})*"
TOML_TABLE = re.compile(rf"\s*(?P<brackets>\[\[?)\s*(?P<names>{TOML_NAMES})\s*\]")
TOML_KEY = re.compile(rf"\s*(?P<names>{TOML_NAMES})\s*=")
LISTS = {"queue": "queues", "desk": "desks", "journey": "journeys"}


def line_of(document: str, path: Path) -> int | None:
    """Return the line of a value, or of the innermost table around it that can be found."""
    read = _lines_of_json if document.lstrip().startswith("{") else _lines_of_toml
    lines: dict[Path, int] = {}
    for found, line in read(document):
        lines.setdefault(found, line)
    around = (path[:length] for length in range(len(path), 0, -1))
    return next((lines[part] for part in around if part in lines), None)


def path_of_field(field: str) -> Path:
    """Read a path like `queues[0].name`. It ends where a name is not known."""
    steps = [step["name"] or step["index"] for step in STEP.finditer(field)]
    known = steps[: steps.index("...")] if "..." in steps else steps
    return tuple(int(step) if step.isdecimal() else step for step in known)


def path_of_refusal(facts: Mapping[str, Fact], described: Mapping[str, Any]) -> Path:
    """Find the value that a rule refuses by its field and by the code of its queue, desk or journey."""
    field = str(facts["field"])
    if facts.get("rule") == "code":
        return _path_of_code(str(facts["kind"]), str(facts["code"]), described)
    kind = str(facts.get("kind", next((kind for kind, listed in LISTS.items() if listed == field), "queue")))
    listed, code = LISTS.get(kind, ""), facts.get("code", facts.get(kind))
    for number, one in reversed([*enumerate(described.get(listed, ()))]):  # of two alike, the second is refused
        if one["id"] == code:
            return (listed, number) if field == listed else (listed, number, field)
    return (field,)


def _path_of_code(kind: str, code: str, described: Mapping[str, Any]) -> Path:
    """Find a code, also among the aliases. The refusal has the beginning of one that is too long."""
    if kind not in LISTS:
        return ("slug",)
    for number, one in enumerate(described.get(LISTS[kind], ())):
        if str(one["id"])[:LONGEST_CODE] == code:
            return (LISTS[kind], number, "id")
        if any(str(alias)[:LONGEST_CODE] == code for alias in one.get("aliases", ())):
            return (LISTS[kind], number, "aliases")
    return (LISTS[kind],)


def line_with(document: str, text: str) -> int | None:
    return next((line for line, said in enumerate(document.split("\n"), 1) if text in said), None)


def _lines_of_toml(document: str) -> Iterator[tuple[Path, int]]:
    tables: dict[Path, int] = {}
    table: Path = ()
    for line, said in enumerate(TOML_SKIPPED.sub(_emptied, document).split("\n"), 1):
        if header := TOML_TABLE.match(said):
            *outer, last = _names(header["names"])
            table = (*_inside((), outer, tables), last)
            if header["brackets"] == "[[":
                tables[table] = tables.get(table, -1) + 1
                yield table, line
            table = _inside(table[:-1], [last], tables)
            yield table, line
        elif key := TOML_KEY.match(said):
            for length, _ in enumerate(names := _names(key["names"]), 1):
                yield (*table, *names[:length]), line


def _emptied(found: re.Match[str]) -> str:
    """Keep the lines of a string, and nothing that stands in them."""
    return found[0] if found["lines"] is None else "\n" * found[0].count("\n")


def _names(dotted: str) -> list[str]:
    return [name.strip("\"'") for name in re.findall(TOML_NAME, dotted)]


def _inside(path: Path, names: list[str], tables: Mapping[Path, int]) -> Path:
    """Go down to a table. Of an array of tables the latest one is meant."""
    for name in names:
        path = (*path, name)
        path = (*path, tables[path]) if path in tables else path
    return path


def _lines_of_json(document: str) -> Iterator[tuple[Path, int]]:
    place: list[str | int | None] = []
    line, counted = 1, 0
    for token in JSON_TOKEN.finditer(document):
        line, counted = line + document.count("\n", counted, token.start()), token.start()
        said = token[0]
        if said in "]}":
            place.pop()
            continue
        yield tuple(step for step in place if step is not None), line
        if said in "[{":
            place.append(0 if said == "[" else None)
        elif said == ",":
            place[-1] = place[-1] + 1 if isinstance(place[-1], int) else None
        elif place[-1] is None:
            place[-1] = json.loads(said)

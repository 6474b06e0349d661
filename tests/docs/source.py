"""Collects what the documents must name: settings, problem codes, event kinds, commands, endpoints."""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import click
import msgspec

from dawr.cli import main
from dawr.domain import errors
from dawr.domain.queue import QUEUE_VERBS
from dawr.domain.ticket import VERBS
from dawr.domain.visit import DONE_WITH, VisitState
from dawr.ports.faults import Busy, Stopping
from dawr.reliability.idempotency import ClaimLost, InProgress, KeyReused
from dawr.settings import PREFIX, Settings
from dawr.web.openapi import codes_of
from dawr.web.problems import CODE_OF_FAULT, STATUS_OF
from dawr.web.table import ROUTES
from tests.docs.pages import ROOT

SOURCE = ROOT / "src" / "dawr"

KIND = re.compile(r"[a-z]+\.[a-z_]+")
KINDS_MADE: dict[str, Collection[str]] = {
    "visit.": [state for state in get_args(VisitState) if state != "open"],
    "visit.stage_": DONE_WITH,
}
"""How the name of an event begins → the states that it may end with."""

COMPLAINING = {
    "AddressTaken",
    "BackupFailed",
    "ClickException",
    "ControlFailed",
    "DataDirectoryUnfit",
    "MoveFailed",
    "SchemaUnfit",
    "SettingUnfit",
    "faults.append",
    "report.wrong",
    "super().__init__",
}


def settings() -> dict[str, tuple[str, str, str]]:
    """Name → variable, default, range, as the page writes them."""
    hints = get_type_hints(Settings, include_extras=True)
    return {
        field.name: (f"`{PREFIX}{field.name.upper()}`", _default(field.default), _range(hints[field.name]))
        for field in msgspec.structs.fields(Settings)
    }


def problems() -> dict[str, str]:
    """Code → status: of the rules, of the table of routes, and of what a handler or the server refuses by itself.

    A door may have another status for it by its contract.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for leaf in _leaves(errors.Refused):
        found[leaf.code].add(_status(leaf))
    for kind in (KeyReused, InProgress, ClaimLost, Busy, Stopping):
        found[kind.code].add(_status(kind))
    for fault, code in CODE_OF_FAULT.items():
        found[code].add(_status(fault))
    for route in ROUTES:
        for status, codes in codes_of(route).items():
            for code in codes:
                found[code].add(str(status))
    for number, code in (*_refusals_in_code(), *_refusals_by_name()):
        found[code].add(str(number))
    return {code: ", ".join(sorted(statuses)) for code, statuses in found.items()}


def event_kinds() -> set[str]:
    """Of the tables of verbs, and those that an operation records by name."""
    recorded = {
        kind
        for call in calls(SOURCE / "operations", {"happened", "_put", "rewrite", "tell"})
        for argument in call.args
        for kind in _kinds_in(argument)
    }
    return {change.event for change in VERBS.values()} | {change.event for change in QUEUE_VERBS.values()} | recorded


def _kinds_in(argument: ast.expr) -> Iterator[str]:
    """`"queue.reset"`, either side of an `if`, and what is made of a beginning and a state."""
    match argument:
        case ast.Constant(value=str(text)) if KIND.fullmatch(text):
            yield text
        case ast.JoinedStr(values=[ast.Constant(value=str(beginning)), _]) if "." in beginning:
            yield from (f"{beginning}{state}" for state in KINDS_MADE[beginning])
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_kinds_in(body), *_kinds_in(orelse))
        case ast.BoolOp(values=values):
            yield from (kind for value in values for kind in _kinds_in(value))


def commands() -> dict[str, set[str]]:
    """Command → its long options."""
    return dict(_commands("dawr", main))


def endpoints() -> set[str]:
    return {f"{route.method} {route.path}" for route in ROUTES}


def complaints() -> dict[str, str]:
    """The longest fixed part of the first sentence of each complaint about an installation → the file it is in."""
    folders = [SOURCE / name for name in ("bootstrap", "cli", "stores", "web/server")]
    assert all(folder.is_dir() for folder in folders)
    return {
        fixed: str(file.relative_to(ROOT))
        for file in [SOURCE / "settings.py", *(file for folder in folders for file in sorted(folder.rglob("*.py")))]
        for call in calls(file, COMPLAINING)
        if call.args and (fixed := _longest_fixed_part(call.args[0]))
    }


def texts() -> Iterator[Path]:
    """Every text file of the repository, but for what is made by running it."""
    made = {"build", "data", "dist", "htmlcov", "__pycache__"}
    kinds = {".md", ".py", ".sql", ".toml", ".txt", ".json", ".yml", ".yaml", ".ini", ".service", ""}
    for path in sorted(ROOT.iterdir()):
        if path.name.startswith(".") and path.name != ".ci":
            continue
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and file.suffix in kinds and made.isdisjoint(file.relative_to(ROOT).parts):
                yield file


def _refusals_in_code() -> Iterator[tuple[int, str]]:
    """`BadRequest(413, "body-too-large", …)`, and what derives from it."""
    for call in calls(SOURCE / "web", {"BadRequest", "_told", "super().__init__"}):
        match call.args:
            case [ast.Constant(value=int(status)), ast.Constant(value=str(code)), *_]:
                yield status, code


def _refusals_by_name() -> Iterator[tuple[int, str]]:
    """`LATE = (408, "request-timeout", …)`, raised as `BadRequest(*LATE)`."""
    for file in sorted((SOURCE / "web").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        named = {
            target.id: node.value.elts
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in calls(file, {"BadRequest"}):
            match call.args:
                case [ast.Starred(value=ast.Name(id=name))]:
                    status, code, *_ = (element.value for element in named[name] if isinstance(element, ast.Constant))
                    yield cast("int", status), cast("str", code)


def _default(value: object) -> str:
    return "empty" if value == "" else f"`{value}`"


def _range(hint: Any) -> str:  # noqa: ANN401 - an annotation is of no one type
    kind, meta = get_args(hint)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if kind is int:
        return f"{meta.ge:,}–{meta.le:,}"
    assert kind is str, f"A setting of a new kind, {kind}: say here how its range is written."
    return "not empty" if meta.min_length else "may be empty"


def _status(kind: type[Exception]) -> str:
    return str(next(STATUS_OF[base] for base in kind.__mro__ if base in STATUS_OF))


def _leaves(kind: type[errors.Refused]) -> Iterator[type[errors.Refused]]:
    below = kind.__subclasses__()
    for child in below:
        yield from _leaves(child)
    if not below and kind.__module__ == errors.__name__:
        yield kind


def calls(where: Path, names: set[str]) -> Iterator[ast.Call]:
    """Calls of these names, or of names that end with one of them after a dot."""
    for file in [where] if where.is_file() else sorted(where.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and any(f".{ast.unparse(node.func)}".endswith(f".{name}") for name in names):
                yield node


def _longest_fixed_part(sentence: ast.expr) -> str:
    match sentence:
        case ast.Constant(value=str(text)):
            pieces = [text]
        case ast.JoinedStr(values=values):
            pieces = [str(value.value) if isinstance(value, ast.Constant) else "\0" for value in values]
        case _:
            return ""
    first_sentence = re.split(r"(?<=[.;]) ", "".join(pieces))[0]
    return max(first_sentence.split("\0"), key=len).strip(" .")


def _commands(name: str, command: click.Command) -> Iterator[tuple[str, set[str]]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from _commands(f"{name} {child}", found)
    else:
        yield name, {option for parameter in command.params for option in parameter.opts if option.startswith("--")}

"""What is wrong with a body or a query that does not fit its type, as facts that a sentence can be made of.

The decoder's own words are for whoever wrote the type: they show regular expressions and `$.paths`.
"""

import re
from typing import Any

import msgspec
from msgspec import inspect

from dawr.web.problems import Fact

PART = re.compile(r"\.([^.\[]+)|\[(?:\d+|\.\.\.)\]")
FIELD = re.compile(r"(missing required|contains unknown) field `([^`]*)`")
Kind = inspect.Type


def misfit(error: msgspec.ValidationError, kind: type[Any]) -> dict[str, Fact]:
    """The field, why it does not fit, and what would."""
    sentence, _, path = str(error).partition(" - at `$")
    path = path.removesuffix("`")
    if named := FIELD.search(sentence):
        which = "missing" if named[1].startswith("missing") else "unknown"
        path = f"{path}.{named[2]}"
        expected = _expected(_at(inspect.type_info(kind), path)) if which == "missing" else {}
        return {"field": path.lstrip("."), **_told(expected, which)}
    field = path.lstrip(".")
    expected = _expected(_at(inspect.type_info(kind), path))
    return {"field": field or "body", **_told(expected, _why(sentence, expected))}


def _told(expected: dict[str, Fact], why: str) -> dict[str, Fact]:
    return {name: fact for name, fact in expected.items() if name != "rule"} | {"why": why}


def _why(sentence: str, expected: dict[str, Fact]) -> str:
    if "matching regex" in sentence:
        return str(expected.get("rule", "pattern"))
    if "choices" in expected and ("enum value" in sentence or "got" not in sentence):
        return "choice"
    if "of length" in sentence:
        return "length"
    if "got `" in sentence:
        return "kind"
    if "`int`" in sentence or "`float`" in sentence:
        return "range"
    return "other"


def _at(found: Kind | None, path: str) -> Kind | None:
    """The type at a path of the decoder's; None where it leads through something that has no fields."""
    for part in PART.finditer(path):
        found = _inside(found, part[1])
    return found


def _inside(outer: Kind | None, name: str | None) -> Kind | None:
    for kind in _alternatives(outer):
        if isinstance(kind, inspect.StructType) and name is not None:
            return next((field.type for field in kind.fields if field.encode_name == name), None)
        if isinstance(kind, inspect.DictType) and name is None:
            return kind.value_type
        if isinstance(kind, inspect.VarTupleType | inspect.ListType) and name is None:
            return kind.item_type
    return None


def _alternatives(kind: Kind | None) -> tuple[Kind, ...]:
    """Without what was said about it: a choice of types is each of them."""
    if isinstance(kind, inspect.Metadata):
        return _alternatives(kind.type)
    if isinstance(kind, inspect.UnionType):
        return tuple(inner for one in kind.types for inner in _alternatives(one))
    return () if kind is None or isinstance(kind, inspect.NoneType) else (kind,)


def _expected(kind: Kind | None) -> dict[str, Fact]:
    """What a value of this type looks like."""
    told: dict[str, Fact] = {}
    if isinstance(kind, inspect.Metadata):
        told = _noted(kind)
    for one in _alternatives(kind):
        told.setdefault("expected", NAMES.get(type(one), "other"))
        if isinstance(one, inspect.LiteralType):
            told["choices"] = [str(value) for value in one.values]
        if isinstance(one, inspect.IntType | inspect.FloatType):
            told |= _bounds(one.ge, one.le)
        if isinstance(one, inspect.StrType):
            told |= _bounds(one.min_length, one.max_length)
    return told


def _noted(kind: inspect.Metadata) -> dict[str, Fact]:
    examples = (kind.extra_json_schema or {}).get("examples") or ()
    told: dict[str, Fact] = {"example": str(examples[0])} if examples else {}
    rule = (kind.extra or {}).get("rule")
    return told if rule is None else {**told, "rule": str(rule)}


def _bounds(least: float | None, most: float | None) -> dict[str, Fact]:
    told: dict[str, Fact] = {}
    if least is not None:
        told["least"] = int(least)
    if most is not None:
        told["most"] = int(most)
    return told


NAMES: dict[type[Kind], str] = {
    inspect.StrType: "text",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "truth",
    inspect.StructType: "object",
    inspect.DictType: "object",
    inspect.ListType: "list",
    inspect.VarTupleType: "list",
    inspect.LiteralType: "choice",
}

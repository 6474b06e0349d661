"""What is wrong with a body or a query that does not fit its type, as facts that a sentence can be made of.

The decoder's own words are for whoever wrote the type: they show regular expressions and `$.paths`.
"""

import re
from typing import Any

import msgspec
from msgspec import inspect

from dawr.web.problems import Fact

PART = re.compile(r"\.([^.\[]+)|\[(?:\d+|\.\.\.)\]")
MISSING = re.compile(r"missing required field `(.*)`")
UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$(.*)`)?", re.DOTALL)
LONGEST_FIELD = 64
Kind = inspect.Type


def misfit(error: msgspec.ValidationError, kind: type[Any]) -> dict[str, Fact]:
    """The field, why it does not fit, and what would."""
    if unknown := UNKNOWN.fullmatch(str(error)):
        return {"field": _field(f"{unknown[2] or ''}.{unknown[1]}"), "why": "unknown"}
    sentence, _, path = str(error).rpartition(" - at `")
    sentence, path = (sentence, path.rpartition("$")[2].removesuffix("`")) if sentence else (path, "")
    missing = MISSING.search(sentence)
    if missing:
        path = f"{path}.{missing[1]}"
    expected = _expected(_at(inspect.type_info(kind), path))
    return {"field": _field(path), **_told(expected, "missing" if missing else _why(sentence, expected))}


def list_fields(kind: type[Any], path: str) -> list[str]:
    """Return the fields that the value at a path of the decoder's may have."""
    found = _alternatives(_at(inspect.type_info(kind), path))
    return [field.encode_name for one in found if isinstance(one, inspect.StructType) for field in one.fields]


def given_twice(key: str) -> dict[str, Fact]:
    return {"field": _field(key), "why": "repeated"}


def _field(path: str) -> str:
    """As it can be told: whoever sends a field names it, at any length and in any characters."""
    begins = path.lstrip(".")[: 4 * LONGEST_FIELD]
    shown = "".join(letter for letter in begins if letter.isprintable() and letter != "`").strip()
    return shown[:LONGEST_FIELD] or "body"


def _told(expected: dict[str, Fact], why: str) -> dict[str, Fact]:
    return {name: fact for name, fact in expected.items() if name != "rule"} | {"why": why}


def _why(sentence: str, expected: dict[str, Fact]) -> str:
    has_bounds = not expected.keys().isdisjoint({"least", "most"})
    if "choices" in expected and (sentence.startswith("Invalid enum value") or "got" not in sentence):
        return "choice"
    if "matching regex" in sentence:
        return str(expected.get("rule", "pattern"))
    if "of length" in sentence and has_bounds:
        return "missing" if sentence.endswith("of length >= 1") else "length"
    if "got `" in sentence:
        return "kind"
    return "range" if expected.get("expected") == "number" and has_bounds else "other"


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
        if isinstance(one, inspect.IntType):
            told |= _bounds(one.ge, one.le if one.lt is None else one.lt - 1)
        if isinstance(one, inspect.FloatType):
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

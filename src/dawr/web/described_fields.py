"""What the OpenAPI document says of every field, and an example of every type.

A field is described where it is declared: by its `Meta`, or by the text under it. What a name means
wherever it stands is written once in `openapi_fields.json`, with an example; what it means in one type
only, there as `Type.field`. All of this is read when the document is made, and by nobody else.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, get_args, get_origin

import msgspec
from msgspec import inspect as types

Json = dict[str, Any]

NONE = re.compile(r"\bNone\b")
WHEN_NULL = re.compile(r"; null\b[^.]*")
REFERENCE = "$ref"
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
OF_A_KIND: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0.0, "boolean": False, "array": [], "object": {}}


class Written(msgspec.Struct, frozen=True, array_like=True):
    """Of one field."""

    about: str | None
    example: Any


class Fields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    fields: Mapping[str, Written]
    types: Mapping[str, Any]
    """A whole example, where one that is put together from its fields would not make sense."""
    routes: Mapping[str, Json]
    """What is otherwise in the answer of one operation."""
    streams: Mapping[str, str]

    @classmethod
    def read(cls) -> "Fields":
        return msgspec.json.decode((files("dawr.web") / "openapi_fields.json").read_bytes(), type=cls)

    def of(self, owner: str, name: str) -> Written | None:
        return self.fields.get(f"{owner}.{name}") or self.fields.get(name)


def describe(components: Mapping[str, Json], kinds: Iterable[Any], fields: Fields) -> None:
    """Give every property of these schemas its description."""
    for struct in structs_of(kinds):
        component = components.get(_name(struct.cls), {})
        texts = _texts(get_origin(struct.cls) or struct.cls)
        for field in struct.fields:
            rule = component.get("properties", {}).get(field.encode_name)
            if rule is not None:
                said = _said(rule, component["title"], field.encode_name, texts.get(field.name), fields)
                rule["description"] = NONE.sub("null", said) if _may_be_null(rule) else WHEN_NULL.sub("", said)


def _may_be_null(rule: Json) -> bool:
    return any(one.get("type") == "null" for one in rule.get("anyOf", ())) or None in rule.get("enum", ())


def _name(cls: Any) -> str:  # noqa: ANN401 - a type, or a generic one of something
    """As msgspec calls its component: a page of tickets is `Page_TicketAnswer_`."""
    of = "".join(f"_{argument.__name__}_" for argument in get_args(cls))
    return f"{cls.__name__}{of}"


def _said(rule: Json, owner: str, name: str, text: str | None, fields: Fields) -> str:
    """The nearer, the better: of this field alone, beside it, wherever a field is called so."""
    own, shared = fields.fields.get(f"{owner}.{name}"), fields.fields.get(name)
    said = (own and own.about) or described(rule) or text or (shared and shared.about)
    return said or ""


def described(rule: Json) -> str:
    """What may be left out has its own among those of what it may be."""
    said: str = rule.get("description") or next(filter(None, map(described, rule.get("anyOf", ()))), "")
    return said


class Examples:
    """Puts an example together for any schema."""

    def __init__(self, components: Mapping[str, Json], fields: Fields) -> None:
        self._components = components
        self._fields = fields

    def asked(self, reference: Json) -> Any:  # noqa: ANN401 - JSON
        """Of a body: what is needed, unless the file has more."""
        component = self._component(reference)
        return self._of_struct(component, component.get("required", ()))

    def answered(self, operation: str, reference: Json) -> Any:  # noqa: ANN401 - JSON
        return _merged(self._of(reference, "", ""), self._fields.routes.get(operation, {}))

    def _component(self, reference: Json) -> Json:
        return self._components[reference[REFERENCE].rpartition("/")[2]]

    def _of_struct(self, component: Json, names: Iterable[str]) -> Any:  # noqa: ANN401 - JSON
        owner = component["title"]
        if owner in self._fields.types:
            return self._fields.types[owner]
        return {name: self._of(component["properties"][name], owner, name) for name in names}

    def _of(self, rule: Json, owner: str, name: str) -> Any:  # noqa: ANN401 - JSON
        if REFERENCE in rule:
            component = self._component(rule)
            return self._of_struct(component, component.get("properties", ()))
        written = self._fields.of(owner, name)
        if written is not None and written.example is not None and _fits(written.example, rule):
            return written.example
        alternatives = rule.get("anyOf", ())
        if any(REFERENCE in one for one in alternatives):
            return self._of(next(one for one in alternatives if REFERENCE in one), owner, name)
        if any(one.get("type") == "null" for one in alternatives):
            return None
        if REFERENCE in rule.get("items", {}):
            return [self._of(rule["items"], owner, name)]
        return rule["enum"][0] if "enum" in rule else OF_A_KIND.get(rule.get("type", "object"))


def _merged(example: Any, otherwise: Any) -> Any:  # noqa: ANN401 - JSON
    """What is otherwise, however deep it lies; of a list, in each of its items."""
    if isinstance(example, dict) and isinstance(otherwise, dict):
        return {**example, **{name: _merged(example.get(name), value) for name, value in otherwise.items()}}
    if isinstance(example, list) and isinstance(otherwise, dict):
        return [_merged(item, otherwise) for item in example]
    return otherwise


def _fits(example: object, rule: Json) -> bool:
    """Whether a name's usual example is one of this type too."""
    if "anyOf" in rule:
        return any(_fits(example, one) for one in rule["anyOf"])
    if "enum" in rule:
        return example in rule["enum"]
    if rule.get("type") == "array" and isinstance(example, list):
        return all(_fits(one, rule["items"]) for one in example)
    kind = KINDS.get(rule.get("type", ""))
    is_truth = isinstance(example, bool)
    return REFERENCE not in rule and (kind is None or (isinstance(example, kind) and is_truth == (kind is bool)))


def structs_of(kinds: Iterable[Any]) -> Iterator[types.StructType]:
    """Every struct that is part of these types, once."""
    seen: set[Any] = set()
    todo: list[Any] = list(types.multi_type_info(kinds))
    while todo:
        kind = todo.pop()
        if isinstance(kind, types.StructType):
            if kind.cls in seen:
                continue
            seen.add(kind.cls)
            yield kind
            todo += [field.type for field in kind.fields]
        for part in ("type", "item_type", "value_type"):
            todo += [inner] if (inner := getattr(kind, part, None)) is not None else []
        todo += [*getattr(kind, "types", ()), *getattr(kind, "item_types", ())]


def _texts(cls: type) -> dict[str, str]:
    """The texts under the fields of a struct and of what it inherits from."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("dawr."):
            texts |= _texts_in(base.__module__).get(base.__name__, {})
    return texts


@cache
def _texts_in(module: str) -> dict[str, dict[str, str]]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_texts_of(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _texts_of(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            yield field.target.id, inspect.cleandoc(text.value.value).replace("\n", " ")

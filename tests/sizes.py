"""How large a test is. `make quick` leaves out whatever needs more than this process and SQLite.

Nobody has to mark such a test: what it would start is read from its code, that of its fixtures, and that of
the functions of `tests` they call. What takes long is marked `slow` by hand.
"""

from collections.abc import Callable, Iterator
from functools import cache
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any

import pytest

STARTS_SOMETHING = {
    *("DawrServer", "PostgresServer", "ValkeyServer", "Installation", "Network"),
    *("dawr_process", "subprocess", "Popen", "create_subprocess_exec", "PROGRAM", "fork"),
    *("postgres_server", "postgres_url", "migrated_url", "valkey_server", "serve"),
}
ON_A_SERVER = ("postgres", "scaled", "asyncpg", "valkey", "shared", "server")


def needs_servers(item: pytest.Item) -> bool:
    """A database server, or a process of its own."""
    if not isinstance(item, pytest.Function):
        return True
    if not STARTS_SOMETHING.isdisjoint(item.fixturenames):
        return True
    if any(word in str(given) for given in _parameters(item) for word in ON_A_SERVER):
        return True
    fixtures = (
        made.func for name in item.fixturenames for made in item._fixtureinfo.name2fixturedefs.get(name, ())[-1:]
    )
    return any(_starts_something(function) for function in (item.function, *fixtures))


def _parameters(item: pytest.Function) -> list[object]:
    callspec = getattr(item, "callspec", None)
    return [] if callspec is None else [given for given in callspec.params.values() if isinstance(given, str)]


def _starts_something(function: Callable[..., Any]) -> bool:
    inner = unwrap(function)
    return isinstance(inner, FunctionType) and _reaches_server(inner)


@cache
def _reaches_server(function: FunctionType) -> bool:
    return any(not STARTS_SOMETHING.isdisjoint(_names(each.__code__)) for each in _called_by(function))


def _called_by(function: FunctionType) -> set[FunctionType]:
    """The function, and all that it calls by their names."""
    found, open_ones = set[FunctionType](), [function]
    while open_ones:
        one = open_ones.pop()
        if one not in found:
            found.add(one)
            open_ones += [
                called for name in _names(one.__code__) for called in _functions_of(one.__globals__.get(name))
            ]
    return found


def _functions_of(thing: object) -> Iterator[FunctionType]:
    if getattr(thing, "__module__", "").startswith("tests."):
        inner = unwrap(thing) if callable(thing) else thing
        if isinstance(inner, FunctionType):
            yield inner
        elif isinstance(inner, type):
            yield from (part for part in vars(inner).values() if isinstance(part, FunctionType))


def _names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return {*code.co_names}.union(*(_names(one) for one in inner))

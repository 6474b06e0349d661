"""Dependencies point inwards, and what must come in as an argument does.

Every rule is a function from a module's source to what it finds wrong, so that each is
shown to find something before it is trusted to have found nothing.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dawr
from dawr import domain

SRC = Path(dawr.__file__).parent
MODULES = sorted(SRC.rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 40

CORE = {"dawr.operations", "dawr.ports", "dawr.domain", "dawr.reliability"}
MAY_IMPORT = {
    "dawr.domain": {"dawr.domain"},
    "dawr.ports": {"dawr.domain", "dawr.reliability.correlation", "dawr.reliability.lease"},
    "dawr.operations": {"dawr.operations", "dawr.ports", "dawr.domain", "dawr.reliability.idempotency"},
    "dawr.reliability": {"dawr.reliability"},
    "dawr.settings": set(),
    "dawr.version": set(),
    "dawr.stores": {"dawr.stores", "dawr.ports", "dawr.domain", "dawr.reliability"},
    "dawr.engine": {"dawr.engine", *CORE},
    "dawr.accounts": {"dawr.accounts", "dawr.engine", *CORE},
    "dawr.live": {"dawr.live", "dawr.ports", "dawr.domain", "dawr.reliability"},
    "dawr.observe": {
        "dawr.observe",
        "dawr.__version__",
        "dawr.settings",
        "dawr.ports",
        "dawr.domain",
        "dawr.reliability",
    },
    "dawr.sample": {"dawr.sample", "dawr.accounts", "dawr.engine", "dawr.ports", "dawr.domain", "dawr.operations"},
    "dawr.traffic": {"dawr.traffic", "dawr.reliability"},
    "dawr.web": {
        "dawr.web",
        "dawr.__version__",
        "dawr.accounts",
        "dawr.engine",
        "dawr.live",
        "dawr.observe",
        "dawr.settings",
        "dawr.traffic",
        *CORE,
    },
    "dawr.bootstrap": {"dawr"},
    "dawr.cli": {"dawr"},
}
"""Of Dawr, and nothing else of it."""
MAY_KNOW_STORES = {"dawr.stores", "dawr.bootstrap", "dawr.cli"}
PURE = {"dawr.domain", "dawr.operations"}
IMPURE = {"time", "random", "secrets", "uuid", "os", "socket", "threading", "asyncio"}
MAY_LOOK_OUTSIDE = {"dawr.bootstrap", "dawr.settings", "dawr.observe.logs", "dawr.cli"}
LOOKS_OUTSIDE = re.compile(
    r"(datetime\.(datetime|date)\.(now|utcnow|today)|time\.time(_ns)?|os\.(environ|getenv|urandom)|(uuid|secrets|random)\.\w+)"
)
ONLY_NAMED = {"random.Random"}
"""A type of what is handed in: naming it is no look outside, calling it is."""
SPREADS_RETRIES = ("dawr.stores.postgres", "random.uniform")
"""The one exception: so that two processes that collided do not collide again."""
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|COPY|TRUNCATE|SET|VACUUM|ATTACH)\s")


def name_of(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def inside(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def imported(tree: ast.AST) -> dict[str, str]:
    """What each name of a module stands for, by where it comes from."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def forbidden_imports(module: str, source: str) -> Iterator[str]:
    """Of Dawr, what this module may not know."""
    allowed = [may for package, may in MAY_IMPORT.items() if inside(module, {package})]
    for origin in imported(ast.parse(source)).values():
        of_stores = inside(origin, {"dawr.stores"}) and not inside(module, MAY_KNOW_STORES)
        if inside(origin, {"dawr"}) and (of_stores or any(not inside(origin, may) for may in allowed)):
            yield f"{module} imports {origin}"


def imported_by_a_longer_way(module: str, source: str) -> Iterator[str]:
    """What the domain names for everybody has one way in."""
    if inside(module, {"dawr.domain"}):
        return
    for name, origin in imported(ast.parse(source)).items():
        if name in domain.__all__ and inside(origin, {"dawr.domain"}) and origin != f"dawr.domain.{name}":
            yield f"{module} imports {origin} instead of dawr.domain.{name}"


def impurities(module: str, source: str) -> Iterator[str]:
    """What waits, or comes from outside, where everything is decided by arguments."""
    if not inside(module, PURE):
        return
    tree = ast.parse(source)
    for origin in imported(tree).values():
        if origin.partition(".")[0] in IMPURE:
            yield f"{module} imports {origin}"
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield f"{module}:{node.lineno} waits"


def looks_outside(module: str, source: str) -> Iterator[str]:
    """Clocks, chance and the environment, read anywhere but at the root."""
    if inside(module, MAY_LOOK_OUTSIDE):
        return
    tree = ast.parse(source)
    names = imported(tree)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            first, _, rest = ast.unparse(node).partition(".")
            origin = f"{names.get(first, first)}.{rest}".rstrip(".")
            harmless = (module, origin) == SPREADS_RETRIES or (origin in ONLY_NAMED and id(node) not in called)
            if first in names and LOOKS_OUTSIDE.fullmatch(origin) and not harmless:
                yield f"{module}:{node.lineno} uses {origin}"


def too_long(module: str, source: str) -> Iterator[str]:
    lines = len(source.splitlines())
    if lines > LONGEST_FILE:
        yield f"{module} has {lines} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{module}.{node.name} has {lines} lines"


def built_sql(module: str, source: str) -> Iterator[str]:
    """SQL that is put together from parts. PRAGMA is left out: it takes no parameters and no data."""
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.expr] = []
        if isinstance(node, ast.JoinedStr) and any(isinstance(part, ast.FormattedValue) for part in node.values):
            parts = node.values
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            parts = [node.func.value]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and SQL.match(part.value):
                yield f"{module}:{part.lineno} builds {part.value.strip()!r}"


def skipped_locks(module: str, source: str) -> Iterator[str]:
    """SKIP LOCKED lets one desk take the second visitor while another still holds the first."""
    for number, line in enumerate(source.splitlines(), start=1):
        if re.search(r"skip\s+locked", line, re.IGNORECASE):
            yield f"{module}:{number} skips locked rows"


Rule = Callable[[str, str], Iterator[str]]


@pytest.mark.parametrize(
    "rule",
    [forbidden_imports, imported_by_a_longer_way, impurities, looks_outside, too_long, built_sql, skipped_locks],
    ids=lambda r: r.__name__,
)
def test_no_module_breaks_a_rule(rule: Rule) -> None:
    broken = [wrong for path in MODULES for wrong in rule(name_of(path), path.read_text(encoding="utf-8"))]

    assert not broken


def test_no_statement_skips_locked_rows() -> None:
    files = sorted(SRC.rglob("*.sql"))

    assert len(files) > 10
    assert not [wrong for path in files for wrong in skipped_locks(path.name, path.read_text(encoding="utf-8"))]


def test_every_package_has_a_row_that_says_what_it_may_import() -> None:
    packages = {".".join(name_of(path).split(".")[:2]) for path in MODULES} - {"dawr"}

    assert packages == set(MAY_IMPORT)


def test_every_part_that_has_a_rule_is_there() -> None:
    names = {name_of(path) for path in MODULES}

    for package in {*MAY_IMPORT, *MAY_KNOW_STORES, *MAY_LOOK_OUTSIDE, SPREADS_RETRIES[0]}:
        assert any(inside(name, {package}) for name in names), package


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (forbidden_imports, "dawr.domain.ticket", "from dawr.ports import Wants"),
        (forbidden_imports, "dawr.domain.ticket", "import dawr.engine"),
        (forbidden_imports, "dawr.domain.ticket", "from dawr import engine"),
        (forbidden_imports, "dawr.domain.ticket", "from dawr.domain_of_others import x"),
        (forbidden_imports, "dawr.operations.visitor", "from dawr.reliability.fingerprint import fingerprint"),
        (forbidden_imports, "dawr.operations.visitor", "from dawr import engine as lanes"),
        (forbidden_imports, "dawr.ports", "from dawr.operations.visitor import Issue"),
        (forbidden_imports, "dawr.reliability.idempotency", "from dawr.domain.day import Day"),
        (forbidden_imports, "dawr.stores.sqlite", "from dawr.operations.visitor import Issue"),
        (forbidden_imports, "dawr.engine", "from dawr.stores.sqlite import SqliteStore"),
        (forbidden_imports, "dawr.engine", "from dawr.settings import Settings"),
        (forbidden_imports, "dawr.live.hub", "from dawr.engine import Engine"),
        (forbidden_imports, "dawr.live.feed", "from dawr.operations.snapshots import LookAtQueue"),
        (forbidden_imports, "dawr.live.past", "from dawr.stores.sqlite import SqliteStore"),
        (forbidden_imports, "dawr.web.app", "def late() -> None:\n    from dawr.stores import sqlite"),
        (forbidden_imports, "dawr.engine.clockwork", "import dawr.stores.postgres"),
        (imported_by_a_longer_way, "dawr.web.app", "from dawr.domain.ticket import Ticket"),
        (impurities, "dawr.domain.day", "import time"),
        (impurities, "dawr.domain.day", "import os.path"),
        (impurities, "dawr.operations.staff", "from random import choice"),
        (impurities, "dawr.operations.staff", "async def call() -> None: ..."),
        (looks_outside, "dawr.engine", "import time\nnow = time.time()"),
        (looks_outside, "dawr.engine", "from time import time_ns as now\nprint(now())"),
        (looks_outside, "dawr.engine", "from datetime import UTC, datetime\ndatetime.now(UTC)"),
        (looks_outside, "dawr.engine", "import datetime\ndatetime.date.today()"),
        (looks_outside, "dawr.web.app", "import os\nos.environ['DAWR_X']"),
        (looks_outside, "dawr.web.app", "from uuid import uuid4\nuuid4()"),
        (looks_outside, "dawr.web.app", "from random import Random\nRandom()"),
        (looks_outside, "dawr.stores.postgres", "import random\nrandom.choice([1])"),
        (looks_outside, "dawr.stores.sqlite", "import random\nrandom.uniform(0, 1)"),
        (too_long, "dawr.web.app", "\n" * 401),
        (too_long, "dawr.web.app", "def long() -> None:\n" + "    x = 1\n" * 40),
        (built_sql, "dawr.stores.sqlite", "f'SELECT * FROM {table}'"),
        (built_sql, "dawr.stores.sqlite", "'DELETE FROM tickets WHERE id = ' + key"),
        (built_sql, "dawr.stores.sqlite", "'UPDATE tickets SET state = %s' % state"),
        (built_sql, "dawr.stores.sqlite", "'SELECT {}'.format(column)"),
        (skipped_locks, "dawr.stores.sqlite", "sql = 'SELECT 1 FOR UPDATE\\n skip  locked'"),
    ],
)
def test_each_rule_finds_what_breaks_it(rule: Rule, module: str, source: str) -> None:
    assert list(rule(module, source))


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (forbidden_imports, "dawr.operations.visitor", "from dawr.reliability.idempotency import Answer"),
        (forbidden_imports, "dawr.cli.serve", "from dawr.stores.sqlite import SqliteStore"),
        (forbidden_imports, "dawr.domain.ticket", "import msgspec"),
        (imported_by_a_longer_way, "dawr.web.app", "from dawr.domain import Ticket"),
        (imported_by_a_longer_way, "dawr.web.app", "from dawr.domain.ticket import VERBS"),
        (imported_by_a_longer_way, "dawr.domain.line", "from dawr.domain.ticket import Ticket"),
        (impurities, "dawr.engine", "import asyncio\nasync def run() -> None: ..."),
        (looks_outside, "dawr.bootstrap", "import time\ntime.time()"),
        (looks_outside, "dawr.stores.postgres", "import random\nrandom.uniform(0, 1)"),
        (
            looks_outside,
            "dawr.sample",
            "from random import Random\ndef f(chance: Random) -> float: return chance.random()",
        ),
        (looks_outside, "dawr.engine", "def f(time: int) -> int: return time.time"),
        (too_long, "dawr.web.app", "def short() -> None:\n" + "    x = 1\n" * 39),
        (built_sql, "dawr.stores.sqlite", "f'PRAGMA wal_autocheckpoint = {pages}'"),
        (built_sql, "dawr.stores.sqlite", "f'Select a queue, {visitor}'"),
    ],
)
def test_no_rule_forbids_what_is_meant(rule: Rule, module: str, source: str) -> None:
    assert not list(rule(module, source))

"""docs/traffic.md is a program: what it shows is what happens, up to what a traffic process has counted."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL, SIGTERM
from types import ModuleType
from typing import Any

import apsw
import pytest

from dawr.traffic import alert_rules
from dawr.traffic.directory import traffic_in
from tests.docs.pages import sections_of, text_of
from tests.docs.test_kit_pages import programs_in
from tests.running import PROGRAM, dawr, eventually
from tests.servers.process import Child

PAGE = "docs/traffic.md"
COUNTED = [
    ("-", "GET", 404),
    ("/dishes/{dish}", "GET", 200),
    ("/dishes/{dish}", "GET", 422),
    ("/menu", "GET", 200),
    ("/tables/{table}/order", "POST", 200),
    ("/tables/{table}/order", "POST", 200),
]
"""What the programs of the page ask for: in Starlette, and in FastAPI once more for a repeat."""


def test_what_the_page_shows_is_what_is_counted(module: ModuleType, tmp_path: Path) -> None:
    for program in programs_in(text_of(PAGE)):
        exec(compile(program, PAGE, "exec"), module.__dict__)

    count(tmp_path / "data", tmp_path)

    assert details_in(tmp_path / "data") == COUNTED
    verified = dawr("traffic", "verify", "--data", tmp_path / "data")
    assert verified.exit_code == 0, verified


def test_the_page_shows_its_use_in_starlette_and_in_fastapi() -> None:
    shown = "\n".join(programs_in(text_of(PAGE)))

    assert "from starlette" in shown
    assert "from fastapi" in shown
    assert shown.count("assert ") > 5


def test_every_alert_has_its_row() -> None:
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", sections_of(text_of(PAGE))["Alerts"], re.MULTILINE)
    written = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}

    source = Path(alert_rules.__file__).read_text(encoding="utf-8")
    assert written == set(re.findall(r'Condition\(\s*"([a-z-]+)"', source))


def count(data: Path, directory: Path) -> None:
    """What was written down, by a traffic process of its own."""
    command = ["/usr/bin/env", "DAWR_TRAFFIC_BATCH_SECONDS=1", PROGRAM, "consume", "--data", str(data)]
    process = Child(command, directory, uid=None, abort=SIGKILL)
    try:
        eventually(lambda: len(details_in(data)) >= len(COUNTED))
    finally:
        process.send(SIGTERM)
        process.wait()
        process.release()


def details_in(data: Path) -> list[Any]:
    """None while the tables are not made yet."""
    try:
        connection = apsw.Connection(str(traffic_in(data).database), flags=apsw.SQLITE_OPEN_READONLY)
        return [*connection.execute("SELECT path, method, status FROM traffic_events ORDER BY 1, 2, 3")]
    except (apsw.CantOpenError, apsw.SQLError, apsw.BusyError):
        return []


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """What the page's programs are run in. It can be imported, since types look for the module they are of."""
    module = ModuleType("the_page_of_traffic")
    vars(module)["data"] = tmp_path / "data"
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]

"""The pages of the reliability kit are programs: what they show is what happens.

All `python` blocks of a page run in their order, as one module. They find `database_path`
(a new SQLite file), `postgres_url` (an empty database) and `redis_url` (an empty server).
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import redis

from dawr.reliability.shared import Shared
from tests.docs.pages import ROOT, links_in
from tests.servers import ValkeyServer

KIT = ROOT / "docs" / "kit"
PAGES = sorted(page for page in KIT.glob("*.md") if page.name != "README.md")
LONGEST_PAGE = 120

_PROGRAM = re.compile(r"^```python\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@every_page
def test_what_a_page_shows_is_what_happens(page: Path, module: ModuleType) -> None:
    for program in programs_in(page.read_text(encoding="utf-8")):
        exec(compile(program, str(page), "exec"), module.__dict__)


@every_page
def test_a_page_shows_its_use_in_starlette_and_in_fastapi(page: Path) -> None:
    shown = "\n".join(programs_in(page.read_text(encoding="utf-8")))

    assert "from starlette" in shown
    assert "from fastapi" in shown
    assert "assert " in shown


@every_page
def test_a_page_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= LONGEST_PAGE


def test_every_page_is_in_the_list_of_pages() -> None:
    listed = {target for target in links_in((KIT / "README.md").read_text(encoding="utf-8")) if "/" not in target}

    assert {page.name for page in PAGES} <= listed


def test_a_page_that_is_wrong_is_noticed_where_it_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nsum_of = 2 + 2\n```\n\nand\n\n```python\nassert sum_of == 5\n```\n")
    module = ModuleType("wrong")

    with pytest.raises(AssertionError) as wrong:
        test_what_a_page_shows_is_what_happens(page, module)

    assert (wrong.traceback[-1].path, wrong.traceback[-1].lineno + 1) == (page, 10)


def programs_in(text: str) -> Iterator[str]:
    """Each block, moved down to where it stands in the page, so that a fault is told with the page's line."""
    for program in _PROGRAM.finditer(text):
        above = text.count("\n", 0, program.start("lines"))
        yield "\n" * above + program["lines"]


@pytest.fixture
def module(
    tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """What a page's blocks are run in. It can be imported, since types look for the module they are of.

    The server is waited for longer than by default: on a busy machine it may be slow, and is not away for that.
    """
    monkeypatch.setitem(vars(Shared)["open"].__func__.__kwdefaults__, "patience_seconds", 30)
    with redis.Redis.from_url(valkey_server.url) as server:
        server.flushall()
    module = ModuleType("a_page_of_the_kit")
    given = {"database_path": tmp_path / "page.db", "postgres_url": postgres_url, "redis_url": valkey_server.url}
    vars(module).update(given)
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]

"""How much of our scripts the browser tests run, block by block, as Chromium counts it.

`-p tests.browser.scripts --scripts 85` measures, and fails the run if less than that was run of any module. Each
process of a run writes down what it saw; the one that started them adds it up.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import CDPSession, Error

from dawr.web.pages.assets import _assets
from tests.servers.run import NAME

COMMENT = re.compile(r"^\s*(//.*|/\*[\s\S]*?\*/)", re.MULTILINE)


class Recorder:
    """What this process has seen run: for each script, whether each of its characters was."""

    def __init__(self) -> None:
        self.seen: dict[str, bytes] = {}

    def note(self, scripts: Iterable[dict[str, Any]]) -> None:
        for script in scripts:
            name = script["url"].rpartition("/")[2]
            if script["url"].count("/static/") and name in _assets().served:
                self.add(name, _ran(script, len(_assets().served[name].body.decode())))

    def add(self, name: str, ran: bytes) -> None:
        before = self.seen.get(name, b"")
        self.seen[name] = (int.from_bytes(before) | int.from_bytes(ran)).to_bytes(len(ran))


class Module(msgspec.Struct, frozen=True):
    name: str
    percent: float
    missed: str
    """Lines of which nothing was run."""


recorder: Recorder | None = None


def arguments() -> list[str]:
    """Chromium forgets what was run in a page that is left, unless the next one takes its place in the same frame."""
    return [] if recorder is None else ["--disable-features=RenderDocument"]


def measure(session: CDPSession) -> None:
    """From now on, in this page and in all that it goes on to."""
    if recorder is not None:
        session.send("Profiler.enable")
        session.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})


def measured(session: CDPSession) -> None:
    """What was run in it so far is put down; of a page that was left since the last time some may be forgotten."""
    if recorder is not None:
        with suppress(Error):  # the window may be closed meanwhile
            recorder.note(session.send("Profiler.takePreciseCoverage")["result"])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scripts", type=float, metavar="PERCENT", help="fail if less of any script was run by tests")


def pytest_configure() -> None:
    global recorder  # noqa: PLW0603 -- one for the process, like the browser
    recorder = Recorder()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if recorder is not None and recorder.seen:
        written = {name: ran.hex() for name, ran in recorder.seen.items()}
        (_directory() / f"scripts-{os.getpid()}.json").write_text(json.dumps(written), encoding="utf-8")
    wanted = session.config.getoption("--scripts")
    is_worker = hasattr(session.config, "workerinput")
    if wanted is not None and not is_worker and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = max(pytest.ExitCode.TESTS_FAILED * (m.percent < wanted) for m in _modules())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    wanted = terminalreporter.config.getoption("--scripts")
    if wanted is not None:
        terminalreporter.section(f"scripts that the browser ran, at least {wanted:g} % of each")
        for module in _modules():
            missed = f"  not run: {module.missed}" if module.missed else ""
            terminalreporter.line(f"{module.percent:5.1f} %  {module.name}{missed}")


def _modules() -> Iterator[Module]:
    """All there are, whether a page has them or not."""
    total = Recorder()
    for file in _directory().glob("scripts-*.json"):
        for name, ran in json.loads(file.read_text(encoding="utf-8")).items():
            total.add(name, bytes.fromhex(ran))
    for name, full in sorted(_assets().names.items()):
        if name.endswith(".js"):
            source = _assets().served[full].body.decode()
            yield _judged(name, source, total.seen.get(full, bytes(len(source))))


def _judged(name: str, source: str, ran: bytes) -> Module:
    comments = {place for found in COMMENT.finditer(source) for place in range(*found.span())}
    places: dict[int, list[bool]] = {}
    line = 1
    for place, letter in enumerate(source):
        line += letter == "\n"
        if not letter.isspace() and place not in comments:
            places.setdefault(line, []).append(bool(ran[place]))
    letters = [one for each in places.values() for one in each]
    missed = [line for line, each in places.items() if not any(each)]
    return Module(name, 100 * sum(letters) / max(1, len(letters)), _runs_of(missed))


def _runs_of(lines: list[int]) -> str:
    """`3-5, 9` of 3, 4, 5 and 9."""
    runs = [[line for _, line in run] for _, run in groupby(enumerate(lines), lambda pair: pair[1] - pair[0])]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _ran(script: dict[str, Any], length: int) -> bytes:
    """Inner blocks overrule outer ones."""
    ran = bytearray(length)
    blocks = [block for function in script["functions"] for block in function["ranges"]]
    for block in sorted(blocks, key=lambda block: (block["startOffset"], -block["endOffset"])):
        start, end = block["startOffset"], block["endOffset"]
        ran[start:end] = bytes([block["count"] > 0]) * (end - start)
    return bytes(ran)


def _directory() -> Path:
    return Path(os.environ[NAME])

"""A command that is killed for real, or meets a full disk, before it touches files of a directory for the nth time.

Python reports each `open`, `rename`, `remove` and `mkdir` before it is done. A process that is forked from one which
has imported the program already takes a tenth of the time of a new one, so every such moment can be tried.
"""

import errno
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dawr.cli import main
from tests.running import _environment

SECONDS = 120
WATCHED = frozenset({"open", "os.rename", "os.remove", "os.mkdir"})
FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["dawr.cli.restore", "dawr.cli.migrate"])


class Moment(msgspec.Struct, frozen=True):
    """When to kill: before the nth event of the directory of this kind, and of a file of this name."""

    directory: Path
    nth: int = 1
    event: str = ""
    name: str = ""
    fails: bool = False
    """Whether the disk is full at that moment, and the command goes on. Otherwise it is killed."""

    def is_of(self, event: str, path: Path) -> bool:
        is_inside = self.directory in (path, *path.parents)
        return is_inside and self.event in ("", event) and self.name in ("", path.name)


def run_killed(moment: Moment, *arguments: str | Path, **settings: str | Path) -> bool:
    """Run a command until that moment. Return False if it ended before."""
    return _run([*map(str, arguments)], settings, moment, None) == -signal.SIGKILL


def run_failing(moment: Moment, *arguments: str | Path, **settings: str | Path) -> int:
    """Run a command that meets a full disk at that moment. Return its exit code."""
    return _run([*map(str, arguments)], settings, msgspec.structs.replace(moment, fails=True), None)


def run_without_room(file_bytes: int, *arguments: str | Path, **settings: str | Path) -> int:
    """Run a command that can make no file larger than this. Return its exit code."""
    return _run([*map(str, arguments)], settings, None, file_bytes)


def _run(arguments: list[str], settings: Mapping[str, str | Path], moment: Moment | None, limit: int | None) -> int:
    child = FORKED.Process(target=_be_killed, args=(arguments, _environment(settings), moment, limit))
    child.start()
    child.join(SECONDS)
    assert child.exitcode is not None, "The command did not end."
    return child.exitcode


def _be_killed(arguments: list[str], environment: dict[str, str], moment: Moment | None, limit: int | None) -> None:
    os.environ.clear()
    os.environ.update(environment)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if moment is not None:
        _kill_at(moment)
    main(arguments, prog_name="dawr")


def _kill_at(moment: Moment) -> None:
    seen = 0

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in WATCHED and isinstance(given[0], str | os.PathLike) and moment.is_of(event, Path(given[0])):
            seen += 1
            if seen == moment.nth and moment.fails:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if seen == moment.nth:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)

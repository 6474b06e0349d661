"""Reads systemd units, and looks at what a traced process did."""

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.deploy.files import DEPLOY
from tests.running import PROGRAM

INSTALLED = "/opt/dawr/.venv/bin/dawr"
SYSTEMD_ANALYZE = shutil.which("systemd-analyze")
STRACE = shutil.which("strace")

Section = Mapping[str, Sequence[str]]

_TRACED = re.compile(r"^\d+ +(?P<name>\w+)\((?P<given>.*)$", re.MULTILINE)


def unit(name: str) -> dict[str, dict[str, list[str]]]:
    """Section → name → its values in their order: a name may stand there more than once."""
    sections: dict[str, dict[str, list[str]]] = {}
    current: dict[str, list[str]] = defaultdict(list)
    for line in (DEPLOY / "systemd" / name).read_text(encoding="utf-8").splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            current = sections[header[1]] = defaultdict(list)
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals, f"{name} has a line that says nothing: {line}"
            current[key].append(value)
    return sections


def service(name: str) -> Section:
    return unit(name)["Service"]


def as_installed_here(directory: Path, **places: Path) -> list[Path]:
    """Copies of all units whose program is ours, and whose directories are the test's."""
    copies = []
    for original in sorted((DEPLOY / "systemd").iterdir()):
        text = original.read_text(encoding="utf-8").replace(INSTALLED, PROGRAM)
        for name, place in places.items():
            text = text.replace(f"/var/lib/{name.replace('_', '-')}", str(place))
        copies.append(directory / original.name)
        copies[-1].write_text(text, encoding="utf-8")
    return copies


def analyzed(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What systemd itself says."""
    assert SYSTEMD_ANALYZE is not None
    return subprocess.run(
        [SYSTEMD_ANALYZE, "--no-pager", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60
    )


def calls_allowed_by(filters: Sequence[str]) -> set[str]:
    """System calls of `SystemCallFilter=@group` lines, less those of `~@group` lines."""
    allowed: set[str] = set()
    for each in filters:
        named = {call for group in each.removeprefix("~").split() for call in _calls_in(group)}
        allowed = allowed - named if each.startswith("~") else allowed | named
    return allowed


def traced(trace: Path) -> list[tuple[str, str]]:
    """System call and what it was given, of every process."""
    return [(call["name"], call["given"]) for call in _TRACED.finditer(trace.read_text(errors="replace"))]


def _calls_in(group: str) -> set[str]:
    """A group may hold other groups."""
    found: set[str] = set()
    listed = analyzed("syscall-filter", group)
    assert listed.returncode == 0, listed.stderr
    for line in listed.stdout.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            found |= _calls_in(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return found

"""Finds the commands that the documents tell people to type, and types them."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.running import PROGRAM, Finished, _environment
from tests.servers.place import free_port

_BLOCK = re.compile(r"^(?P<indent> *)```bash\n(?P<lines>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(dawr [^`]+)`")
_TYPED = re.compile(r"(?:^|[\s(|]|bin/)dawr (?P<given>[a-z][^|&;()]*)")
_COMMENT = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)

NOT_OF_THIS_MACHINE = {
    "createdb": "PostgreSQL's client programs need not be installed",
    "createuser": "the same",
    "curl": "it asks a proxy that is not there",
    "env/bin/pip": "it installs from the network",
    "export PATH": "the program is found already",
    "git": "there is no next version to get",
    "make": "it installs from the network",
    "pg_restore": "as createdb",
    "psql": "as createdb",
    "python3": "it makes an environment for pip",
    "scp": "there is no other host",
}
"""How a line begins that is not run, and why."""
OF_ANOTHER_SYSTEM = ("docker ", "systemctl ", "useradd ")
"""A block with one of these is for a machine that has them; tests/deploy looks at what it names."""

SHIM = f"""#!{sys.executable}
import os, signal, subprocess, sys

if sys.argv[1:2] not in (["serve"], ["demo"]):
    os.execv({PROGRAM!r}, ["dawr", *sys.argv[1:]])
child = subprocess.Popen([{PROGRAM!r}, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
for line in child.stdout:
    sys.stdout.write(line)
    if line.startswith("Dawr is ready at "):
        child.send_signal(signal.SIGTERM)
sys.exit(child.wait())
"""
"""`dawr`, but whoever would serve for ever stops as soon as it is ready."""


def blocks_in(text: str) -> list[str]:
    """What stands between ```bash and ```, without its indentation."""
    return [
        "".join(line.removeprefix(block["indent"]) for line in block["lines"].splitlines(keepends=True))
        for block in _BLOCK.finditer(text)
    ]


def commands_in(text: str) -> Iterator[list[str]]:
    """The words after every `dawr` that is typed in a block, or named in the text."""
    for block in blocks_in(text):
        for typed in _TYPED.finditer(_COMMENT.sub("", block.replace("\\\n", " "))):
            yield shlex.split(typed["given"].splitlines()[0])
    for named in _INLINE.findall(text):
        yield named.split()[1:]


def what_can_be_run(block: str) -> str:
    """The block without the lines that this machine has no program for; nothing, if it is for another system."""
    if any(name in block for name in OF_ANOTHER_SYSTEM):
        return ""
    kept = [line for line in block.splitlines() if not line.startswith(tuple(NOT_OF_THIS_MACHINE))]
    return "\n".join(kept) if any("dawr" in _COMMENT.sub("", line) for line in kept) else ""


def run(block: str, directory: Path, replaced: Mapping[str, str], **settings: str | Path) -> Finished:
    """In a shell of its own that stops at the first command that fails, in the directory."""
    for name, value in replaced.items():
        block = block.replace(name, value)
    bin_ = directory / "bin"
    bin_.mkdir(exist_ok=True)
    (bin_ / "dawr").write_text(SHIM)
    (bin_ / "dawr").chmod(0o755)
    environment = _environment({"DAWR_PORT": str(free_port()), **settings})
    done = subprocess.run(
        ["/bin/bash", "-e", "-o", "pipefail", "-c", block],
        cwd=directory,
        env={**environment, "PATH": f"{bin_}:{environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return Finished(done.returncode, done.stdout, done.stderr)

"""Install what `make bench-gate` compares: a commit and this tree, each into an environment of its own under build/.

Both get what the service needs and no development tools, so that they differ in their code alone.
"""

import io
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

INSTALL_TIMEOUT_SECONDS = 600
COMMIT_DIGITS = 12


class CannotCompare(Exception):
    """A comparison that cannot run. The sentence says why."""


def install_commit(repository: Path, revision: str, directory: Path) -> Path:
    """Return the `dawr` of a commit. Install it if it is not there yet."""
    commit = resolve_commit(repository, revision)
    source = directory / commit[:COMMIT_DIGITS] / "source"
    if not source.exists():
        _check_out(repository, commit, source)
    return install(source, source.parent)


def resolve_commit(repository: Path, revision: str) -> str:
    """Return the whole id of a commit."""
    shallow = _git(repository, "rev-parse", "--is-shallow-repository")
    if shallow.returncode != 0:
        raise CannotCompare(f"git cannot read the history of {repository}: {shallow.stderr.decode().strip()}")
    found = _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if found.returncode == 0:
        return found.stdout.decode().strip()
    if shallow.stdout.strip() == b"true":
        raise CannotCompare(f"This clone is shallow and has no commit {revision}: run `git fetch --unshallow` first.")
    raise CannotCompare(f"This repository has no commit {revision}.")


def install(source: Path, directory: Path) -> Path:
    """Return the `dawr` of a source tree. Install it again only when its requirements changed."""
    environment, stamp = directory / ".venv", directory / "installed"
    python = environment / "bin" / "python"
    requirements = sha256(b"".join((source / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")))
    if not (stamp.exists() and stamp.read_text(encoding="ascii") == requirements.hexdigest()):
        print(f"Installing {source} into {environment} ...", file=sys.stderr)
        options = ("-qq", "--disable-pip-version-check", "--constraint", source / "constraints.txt")
        _run(sys.executable, "-m", "venv", "--clear", environment)
        _run(python, "-m", "pip", "install", *options, "hatchling", "editables")
        _run(python, "-m", "pip", "install", *options, "--no-build-isolation", "--editable", source)
        stamp.write_text(requirements.hexdigest(), encoding="ascii")
    return environment / "bin" / "dawr"


def _check_out(repository: Path, commit: str, directory: Path) -> None:
    archive = _git(repository, "archive", "--format=tar", commit)
    if archive.returncode != 0:
        raise CannotCompare(f"git cannot check out {commit}: {archive.stderr.decode().strip()}")
    partial = directory.with_name("partial")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(partial, filter="data")
    partial.rename(directory)


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_SECONDS, check=False)
    if done.returncode != 0:
        raise CannotCompare(f"`{' '.join(map(str, command))}` failed:\n{done.stderr.strip()}")


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise CannotCompare("The commit is taken from git, which is not installed.") from None

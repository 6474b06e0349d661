"""Install what `make bench-gate` compares: a commit and this tree, each into an environment of its own under build/.

Both get what the service needs and no development tools, so that they differ in their code alone.
"""

import io
import os
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
    """Return the `dawr` of a source tree, and no other. Install it when its requirements or place changed."""
    environment, stamp = directory / ".venv", directory / "installed"
    python = environment / "bin" / "python"
    installed = stamp_of(source, environment)
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == installed):
        print(f"Installing {source} into {environment} ...", file=sys.stderr)
        options = ("-qq", "--disable-pip-version-check", "--constraint", source / "constraints.txt")
        _run(sys.executable, "-m", "venv", "--clear", environment)
        _run(python, "-m", "pip", "install", *options, "hatchling", "editables")
        _run(python, "-m", "pip", "install", *options, "--no-build-isolation", "--editable", source)
        stamp.write_text(installed, encoding="utf-8")
    ensure_imports(python, source)
    return environment / "bin" / "dawr"


def stamp_of(source: Path, environment: Path) -> str:
    """Return what an installation depends on. An environment that was copied still runs the code of its original."""
    requirements = sha256(b"".join((source / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")))
    return f"{requirements.hexdigest()}\n{environment.resolve()}\n{source.resolve()}\n"


def ensure_imports(python: Path, source: Path) -> None:
    """Refuse to measure an environment that runs the code of another directory."""
    expected = (source / "src" / "dawr").resolve()
    imported = Path(_run(python, "-I", "-c", "import dawr; print(dawr.__file__)").strip()).resolve().parent
    if imported != expected:
        raise CannotCompare(f"{python} runs the code in {imported}, and {expected} was to be measured.")


def clean_environment() -> dict[str, str]:
    """Return the environment without variables that let Python import other code, or run it in another way."""
    unwanted = python_variables()
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def python_variables() -> set[str]:
    return {name for name in os.environ if name.startswith("PYTHON")}


def _check_out(repository: Path, commit: str, directory: Path) -> None:
    archive = _git(repository, "archive", "--format=tar", commit)
    if archive.returncode != 0:
        raise CannotCompare(f"git cannot check out {commit}: {archive.stderr.decode().strip()}")
    partial = directory.with_name("partial")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(partial, filter="data")
    partial.rename(directory)


def _run(*command: str | Path) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT_SECONDS,
            check=False,
            env=clean_environment(),
        )
    except OSError as error:
        raise CannotCompare(f"{command[0]} cannot be run: {error.strerror}.") from error
    if done.returncode != 0:
        raise CannotCompare(f"`{' '.join(map(str, command))}` failed:\n{done.stderr.strip()}")
    return done.stdout


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise CannotCompare("The commit is taken from git, which is not installed.") from None

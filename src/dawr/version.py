"""The version: the release that this program leads to, and the commit that it is.

A source tree is asked once in each process, so `git pull` shows without another installation. A wheel has the version
of the tree that it was built from. The build runs this file alone, so it needs the standard library only.
"""

import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

RELEASE = "0.2.0"
ARCHIVED = "$Format:%ct %h$"
"""Time and commit. `git archive` fills them in."""
GIT_TIMEOUT_SECONDS = 10


@cache
def version() -> str:
    """Return the release, the minute of the commit, and the commit: `0.2.0.dev202611181340+gc036407`.

    A copied tree without history has the minute of its newest file and no commit.
    """
    tree = Path(__file__).resolve().parents[2]
    if not (tree / "pyproject.toml").exists():
        return metadata.version("dawr")
    known = _committed(tree) if "$" in ARCHIVED else ARCHIVED
    seconds, _, commit = (known or _newest_file(tree)).partition(" ")
    minute = datetime.fromtimestamp(int(seconds), UTC).strftime("%Y%m%d%H%M")
    # Without the g, a commit of digits alone would be a number and lose its leading zeros.
    return f"{RELEASE}.dev{minute}" + (f"+g{commit}" if commit else "")


def _committed(tree: Path) -> str:
    """Return time and commit, or nothing without history or git."""
    history = tree / ".git"
    if not history.exists():  # git would look for one around the tree, which is that of something else
        return ""
    command = ["git", f"--git-dir={history}", "-c", "log.showSignature=false", "log", "-1", "--format=%ct %h"]
    try:
        return subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, check=True, timeout=GIT_TIMEOUT_SECONDS
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _newest_file(tree: Path) -> str:
    # A directory changes when Python keeps what it has compiled in it.
    files = (path for path in (tree / "src").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return str(int(max(file.stat().st_mtime for file in files)))

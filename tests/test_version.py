"""The version of a clone, an archive, a copy and an installation."""

import importlib.util
import os
import re
import shutil
import subprocess
import tarfile
from importlib import metadata
from io import BytesIO
from pathlib import Path

import pytest
from packaging.version import Version

from dawr import __version__
from dawr import version as ours
from tests.running import dawr_process

SOURCE = Path(ours.__file__)
ATTRIBUTES = SOURCE.parents[2] / ".gitattributes"
FIRST, SECOND = 1_763_460_000, 1_763_470_000
"""2025-11-18 10:00 and 12:46, UTC."""


def version_of(tree: Path) -> str:
    """Return what a process that starts now would find."""
    spec = importlib.util.spec_from_file_location("version_of_tree", tree / "src" / "dawr" / "version.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.version())


def git(tree: Path, *arguments: str, at: int = FIRST) -> bytes:
    environment = {**os.environ, "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"}
    author = ("-c", "user.name=Dawr", "-c", "user.email=dawr@example.org")
    command = ["git", "-C", str(tree), *author, *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a source tree without history."""
    made = tmp_path / "tree"
    (made / "src" / "dawr").mkdir(parents=True)
    shutil.copy(SOURCE, made / "src" / "dawr")
    shutil.copy(ATTRIBUTES, made)
    (made / "pyproject.toml").touch()
    return made


@pytest.fixture
def clone(tree: Path) -> Path:
    git(tree, "init")
    git(tree, "add", ".")
    git(tree, "commit", "-m", "First")
    return tree


def test_a_clone_says_its_commit_and_grows_with_each_without_being_installed_again(clone: Path) -> None:
    before = version_of(clone)
    git(clone, "commit", "--allow-empty", "-m", "Second", at=SECOND)

    after = version_of(clone)

    assert before.startswith(f"{ours.RELEASE}.dev202511181000+g")
    assert after.startswith(f"{ours.RELEASE}.dev202511181246+g")
    assert git(clone, "rev-parse", "HEAD").decode().startswith(after.partition("+g")[2])
    assert Version(after) > Version(before) > Version("0.1.0")


def test_an_archive_says_the_commit_that_it_was_made_of(clone: Path, tmp_path: Path) -> None:
    with tarfile.open(fileobj=BytesIO(git(clone, "archive", "HEAD"))) as archive:
        archive.extractall(tmp_path / "archive", filter="data")

    assert version_of(tmp_path / "archive") == version_of(clone)


def test_a_copy_without_history_says_the_minute_of_its_newest_file(tree: Path) -> None:
    os.utime(tree / "src" / "dawr" / "version.py", (SECOND, SECOND))

    assert version_of(tree) == f"{ours.RELEASE}.dev202511181246"


def test_a_copy_inside_another_repository_does_not_say_its_commit(tree: Path) -> None:
    git(tree.parent, "init")
    git(tree.parent, "commit", "--allow-empty", "-m", "Something else")

    assert "+" not in version_of(tree)


def test_what_is_installed_says_what_it_was_built_from(tmp_path: Path) -> None:
    (tmp_path / "src" / "dawr").mkdir(parents=True)
    shutil.copy(SOURCE, tmp_path / "src" / "dawr")

    assert version_of(tmp_path) == metadata.version("dawr")


def test_the_command_line_says_the_version_of_this_tree() -> None:
    assert dawr_process("--version").said == f"dawr, version {version_of(SOURCE.parents[2])}\n"
    assert re.fullmatch(rf"{re.escape(ours.RELEASE)}\.dev\d{{12}}(\+g[0-9a-f]+)?", __version__)

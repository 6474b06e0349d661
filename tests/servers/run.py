"""What the processes of one test run share: a directory in memory where there is one, and what was made once.

`pytest` starts several processes. The first one makes the directory, its children find its name in their
environment, and the first one removes it.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.servers.account import may_run, unprivileged

NAME = "DAWR_TEST_RUN"
IN_MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 1024**3


@contextlib.contextmanager
def directory_of_run() -> Iterator[None]:
    """From here on, temporary files are in memory where that is possible, and `shared` has a place."""
    if NAME in os.environ:
        yield
        return
    if "TMPDIR" not in os.environ and _is_fit(IN_MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)
    with tempfile.TemporaryDirectory(prefix="dawr-run-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o1777)
        os.environ[NAME] = directory
        try:
            yield
        finally:
            del os.environ[NAME]


@contextlib.contextmanager
def shared() -> Iterator[Path | None]:
    """The directory, for one process at a time; none outside of a test run."""
    if NAME not in os.environ:
        yield None
        return
    directory = Path(os.environ[NAME])
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield directory


def _is_fit(directory: Path) -> bool:
    """Large enough, open to the servers' account, and one that programs may be run from."""
    if not directory.is_dir() or not may_run(directory, unprivileged()):
        return False
    no_programs = os.statvfs(directory).f_flag & os.ST_NOEXEC
    return not no_programs and os.access(directory, os.W_OK) and shutil.disk_usage(directory).free >= ENOUGH_BYTES

"""What a figure depends on: the machine, its disk, and the versions of what ran."""

import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

import apsw
import msgspec

from dawr.stores.data_directory import file_system_of

IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
SYNCS = 200
PAGE = bytes(4096)


class NotADisk(Exception):
    """Nothing durable can be measured there; the sentence says what to do."""


class Machine(msgspec.Struct, frozen=True):
    cores: int
    python: str
    sqlite: str
    postgres: str
    file_system: str
    fsync_us: float
    """Median of writing one page at the end of a file and waiting for the disk."""
    load_average: float
    """Over the last minute, before we began: whatever else ran here."""

    def sentence(self) -> str:
        return (
            f"{self.cores} cores, Python {self.python}, SQLite {self.sqlite}, {self.postgres}, "
            f"{self.file_system} with fsync in {self.fsync_us:.0f} µs, load {self.load_average:.1f} before"
        )


def look_at_machine(directory: Path, *, postgres: str) -> Machine:
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        python=f"{platform.python_version()} ({platform.python_build()[0]}, {platform.python_compiler()})",
        sqlite=apsw.sqlite_lib_version(),
        postgres=postgres,
        file_system=file_system_of(directory) or "unknown file system",
        fsync_us=_fsync_us(directory),
        load_average=os.getloadavg()[0],
    )


def must_be_disk(directory: Path) -> None:
    """A commit that waits for memory proves nothing."""
    kind = file_system_of(directory)
    if kind in IN_MEMORY:
        raise NotADisk(f"{directory} is in memory ({kind}): name a directory on a disk with --directory.")


def _fsync_us(directory: Path) -> float:
    taken = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(SYNCS):
            file.write(PAGE)
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return 1e6 * statistics.median(taken)

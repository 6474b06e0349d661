"""What the statistics keep on a host: spools, the key of the day, the embedded database, archives."""

import os
from pathlib import Path
from tempfile import TemporaryFile

from dawr.reliability.disk import OTHERS, make_directory, mode_of
from dawr.traffic.spool_file import counters_beside


class TrafficDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "traffic.sqlite"
        self.spools = path / "spool"
        self.counters = counters_beside(self.spools)
        """How many answers were sent. Verification compares the spools with it."""
        self.archive = path / "archive"
        self.key = path / "key"
        """Of visitors' hashes. No backup may have it."""
        self.lock = path / "lock"
        self.socket = path / "control.sock"

    def prepare(self) -> None:
        """Only its owner may look in, also where an older version left them open."""
        for folder in (self.path, self.spools, self.counters, self.archive):
            make_directory(folder)
            if (mode := mode_of(folder)) & OTHERS:
                folder.chmod(mode & ~OTHERS)

    def count_unwritable(self) -> int:
        """Count the directories, of the two that servers write to, in which no file can be written."""
        return sum(not _can_write_in(folder) for folder in (self.spools, self.counters))


def _can_write_in(folder: Path) -> bool:
    """Write a file without a name, because permissions say nothing of a disk that is full or read-only."""
    try:
        make_directory(folder)
        with os.scandir(folder), TemporaryFile(buffering=0, dir=folder) as probe:
            return probe.write(b"probe") > 0
    except OSError:
        return False


def traffic_in(data: str | Path) -> TrafficDirectory:
    """That of an installation: `traffic` in its data directory."""
    return TrafficDirectory(Path(data).absolute() / "traffic")

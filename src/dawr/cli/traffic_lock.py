"""The lock of the traffic process, taken by a tool: nobody ships or counts meanwhile."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dawr.stores.data_directory import DataDirectoryUnfit
from dawr.traffic.directory import TrafficDirectory

TRIES = 10
SECONDS_BETWEEN_TRIES = 0.05


class TrafficProcessRuns(DataDirectoryUnfit):
    """A traffic process has the statistics."""

    def __init__(self, directory: TrafficDirectory) -> None:
        super().__init__(
            f"A traffic process runs in {directory.path}, and nobody else may write there. It ends with its server; "
            "if it is `dawr consume`, stop that one too."
        )


@contextmanager
def no_traffic_process(directory: TrafficDirectory) -> Iterator[None]:
    """One that starts during the block waits for its end."""
    try:
        directory.prepare()
        handle = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DataDirectoryUnfit(f"{directory.path} cannot be written to: {error.strerror}.") from error
    try:
        if not _is_locked(handle):
            raise TrafficProcessRuns(directory)
        yield
    finally:
        os.close(handle)


def _is_locked(handle: int) -> bool:
    """Try for a moment: the process of a server that was killed needs one to see that it is alone."""
    for _ in range(TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(SECONDS_BETWEEN_TRIES)
        else:
            return True
    return False

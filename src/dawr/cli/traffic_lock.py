"""The lock of the traffic process, taken by a tool: nobody ships or counts meanwhile."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from dawr.reliability.file_lock import lock_soon
from dawr.stores.data_directory import DataDirectoryUnfit
from dawr.traffic.directory import TrafficDirectory

TRIES = 10


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
        # The process of a server that was killed needs a moment to see that it is alone.
        if not lock_soon(handle, tries=TRIES):
            raise TrafficProcessRuns(directory)
        yield
    finally:
        os.close(handle)

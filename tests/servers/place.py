"""Where a server lives: its directory and its port."""

import contextlib
import random
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.servers.account import may_run, unprivileged
from tests.servers.process import ServerFailed


@contextlib.contextmanager
def server_directory() -> Iterator[Path]:
    """A new directory that any server's account can reach. Removed at the end."""
    parents = [
        parent for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp") if may_run(Path(parent), unprivileged())
    ]
    if not parents:
        raise ServerFailed("The tests need a temporary directory open to everyone: set TMPDIR to one.")
    with tempfile.TemporaryDirectory(prefix="dawr-", dir=parents[0], ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def free_port() -> int:
    """A port that nobody listens on, below those the system gives to outgoing connections.

    While a server is down, no client that tries to reconnect can be given its port.
    """
    while True:
        port = random.randint(15_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port

"""A private Valkey, or Redis."""

import socket
from collections.abc import Sequence
from pathlib import Path

from tests.servers.programs import find_valkey
from tests.servers.server import Server


class ValkeyServer(Server):
    """Valkey or Redis. With `appendonly`, what it acknowledged is on disk."""

    def __init__(
        self, directory: Path, *, appendonly: bool = False, host: str | None = None, address: str = "127.0.0.1"
    ) -> None:
        super().__init__(directory, host=host, address=address)
        self.appendonly = appendonly

    @property
    def url(self) -> str:
        return f"redis://{self.address}:{self.port}/0"

    def _prepare(self) -> None:
        self._program = find_valkey()

    def _command(self) -> Sequence[str]:
        settings = {
            "bind": "127.0.0.1" if self.host is None else "*",
            "protected-mode": "yes" if self.host is None else "no",
            "port": str(self.port),
            "dir": str(self.directory),
            "save": "",
            "appendonly": "yes" if self.appendonly else "no",
            "appendfsync": "always",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return [str(self._program), *options]

    def _accepts(self) -> bool:
        try:
            with socket.create_connection((self.address, self.port), timeout=5) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False

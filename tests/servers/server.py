"""What PostgreSQL and Valkey have in common: start, stop, kill, and start again."""

import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.servers.place import free_port
from tests.servers.process import Child, ServerFailed

START_SECONDS = 60.0


class Server(ABC):
    """A server that can be started, stopped, killed and started again on the same port and directory.

    With a `host` it runs in that network namespace, and we reach it at `address`.
    """

    #: Ends the server at once when the test run is gone.
    abort_signal = signal.SIGKILL
    #: Asks for an orderly end.
    stop_signal = signal.SIGTERM

    def __init__(self, directory: Path, *, host: str | None = None, address: str = "127.0.0.1") -> None:
        self.directory = directory
        self.host = host
        self.address = address
        self.port = free_port()
        self._child: Child | None = None

    def start(self) -> None:
        """Start, and return when connections are accepted."""
        self._prepare()
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self._child = Child(
                self._command(), self.directory, uid=self._uid(), abort=self.abort_signal, host=self.host
            )
            if self._comes_up(self._child, deadline):
                return
            # A server that was killed may have left something behind that goes away in a moment.
            self._child.release()
            self._child = None
            time.sleep(0.25)
        raise ServerFailed(f"{type(self).__name__} does not start. Its log ends:\n{self._end_of_log()}")

    def stop(self) -> None:
        """An orderly end. Nothing happens if the server is not running."""
        if self._child is not None:
            self._child.send(self.stop_signal)
            self._forget(self._child)

    def kill(self) -> None:
        """`kill -9`, and return when the last process of the server is gone."""
        if self._child is None:
            raise ServerFailed(f"{type(self).__name__} is not running.")
        self._child.send(signal.SIGKILL)
        self._forget(self._child)

    @property
    def pid(self) -> int:
        if self._child is None:
            raise ServerFailed(f"{type(self).__name__} is not running.")
        return self._child.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _comes_up(self, child: Child, deadline: float) -> bool:
        while child.is_running():
            if self._accepts():
                return True
            if time.monotonic() > deadline:
                child.send(signal.SIGKILL)
                child.wait()
            time.sleep(0.02)
        return False

    def _forget(self, child: Child) -> None:
        self._child = None
        try:
            child.wait()
        finally:
            child.send(signal.SIGKILL)
            child.release()

    def _end_of_log(self) -> str:
        return "\n".join((self.directory / "server.log").read_text(errors="replace").splitlines()[-15:])

    def _uid(self) -> int | None:
        """The account to run as, when it is not our own."""
        return None

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    @abstractmethod
    def _accepts(self) -> bool: ...

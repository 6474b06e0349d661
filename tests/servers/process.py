"""One child process and those it starts, none of which outlives the test run."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.servers.account import account

STOP_SECONDS = 60.0


class ServerFailed(RuntimeError):
    """A server did not do what it was told."""


class Child:
    """A running server. It does not outlive the test run, even one that was killed."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        *,
        uid: int | None,
        abort: signal.Signals,
        host: str | None = None,
    ) -> None:
        if host is not None:
            command, uid = on_host(host, command, uid), None
        # Every process of the server holds the pipe's other end: the pipe closes when the last one is gone.
        self._lifeline, held = os.pipe()
        with (directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[held],
                start_new_session=True,
                **account(uid),
            )
        os.close(held)
        # The guard reads until we say so (leave the server alone) or until we are gone (end it).
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _ || kill -s "$1" "$2"', "sh", abort.name[3:], str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_running(self) -> bool:
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> None:
        """Until the process, and every process it started, is gone."""
        self._process.wait(STOP_SECONDS)
        closing = select.poll()
        closing.register(self._lifeline)
        if not closing.poll(STOP_SECONDS * 1000):
            raise ServerFailed(f"Processes of the server {self.pid} still run {STOP_SECONDS:.0f} s after its end.")

    def release(self) -> None:
        """Let go of a child that is gone."""
        os.close(self._lifeline)
        with contextlib.suppress(BrokenPipeError):
            self._guard.communicate(b"\n")


def on_host(name: str, command: Sequence[str], uid: int | None = None) -> list[str]:
    """The same command in a network namespace; only root may enter one, so the account is changed inside."""
    account_there = [] if uid is None else ["--setuid", str(uid), "--setgid", str(uid)]
    return ["nsenter", f"--net=/run/netns/{name}", *account_there, "--", *command]


def environment() -> dict[str, str]:
    """Ours, without what would lead PostgreSQL elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"LC_ALL": "C"}

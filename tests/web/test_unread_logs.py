"""Whoever reads the log may stop reading: the service goes on, stops in order, and says what was lost."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dawr.observe.log_writer import MOST_WAITING
from tests.running import PROGRAM, Client, _environment, dawr, eventually, venue_document
from tests.servers import ValkeyServer
from tests.servers.place import free_port

pytestmark = pytest.mark.slow

STOP_SECONDS = 3.0
PIPE_HOLDS = 64 * 1024
AT_ONCE = 50
LONGEST_ID = 128
"""Every line is longer than that."""


class Server:
    """`dawr serve`, whose standard error is a pipe that nobody reads yet."""

    def __init__(self, settings: Mapping[str, str | Path], *arguments: str) -> None:
        self.port = free_port()
        self._process = subprocess.Popen(
            [PROGRAM, "serve", "--port", str(self.port), *arguments],
            env=_environment({"DAWR_LOG_FORMAT": "json", **settings}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert b"ready at" in self._process.stdout.readline()

    @property
    def workers(self) -> set[int]:
        pid = self._process.pid
        return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))

    def answer(self, count: int) -> None:
        """So many requests, some at once, on one connection."""
        ids = f"{'x' * LONGEST_ID}\r\n\r\n"
        asked = f"GET /health/live HTTP/1.1\r\nHost: here\r\nX-Correlation-Id: {ids}".encode() * AT_ONCE
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            for _ in range(count // AT_ONCE):
                connection.sendall(asked)
                answers = 0
                while answers < AT_ONCE:
                    received = connection.recv(1 << 20)
                    assert received
                    answers += received.count(b"HTTP/1.1 200")

    def read(self, lines: list[dict[str, Any]]) -> threading.Thread:
        """Begin to read, until the end."""
        assert self._process.stderr is not None
        pipe = self._process.stderr
        reader = threading.Thread(target=lambda: lines.extend(map(json.loads, pipe)))
        reader.start()
        return reader

    def stop(self) -> tuple[int, float]:
        """The exit code, and how many seconds it took."""
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(20), time.monotonic() - began

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def serving(settings: Mapping[str, str | Path], *arguments: str) -> Iterator[Server]:
    server = Server(settings, *arguments)
    try:
        yield server
    finally:
        server.end()


def test_a_log_that_nobody_reads_keeps_no_request_and_no_end_waiting(tmp_path: Path) -> None:
    with serving({"DAWR_DATA": tmp_path}) as server:
        server.answer(20 * PIPE_HOLDS // LONGEST_ID)
        with Client(f"http://127.0.0.1:{server.port}") as client:
            assert client.ask("/health").status == 200

        code, seconds = server.stop()

    assert code == 0
    assert seconds < STOP_SECONDS


def test_whoever_reads_again_gets_whole_lines_and_is_told_how_many_were_lost(tmp_path: Path) -> None:
    asked = (MOST_WAITING + 10 * PIPE_HOLDS) // (2 * LONGEST_ID) // AT_ONCE * AT_ONCE
    lines: list[dict[str, Any]] = []
    with serving({"DAWR_DATA": tmp_path}) as server:
        server.answer(asked)
        reader = server.read(lines)
        eventually(lambda: any(line["event"] == "log.lost" for line in lines))
        server.answer(AT_ONCE)
        code, _ = server.stop()
        reader.join()

    lost = sum(line["lines"] for line in lines if line["event"] == "log.lost")
    assert code == 0
    assert lost > 0
    assert lost + sum(line["event"] == "request" for line in lines) == asked + AT_ONCE


def test_whoever_reads_gets_a_line_for_every_request(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    with serving({"DAWR_DATA": tmp_path}) as server:
        reader = server.read(lines)
        server.answer(3000)
        assert server.stop()[0] == 0
        reader.join()

    assert sum(line["event"] == "request" for line in lines) == 3000
    assert not [line for line in lines if line["event"] == "log.lost"]


def test_workers_are_looked_after_though_nobody_reads_their_log(
    tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer
) -> None:
    settings = {"DAWR_DATABASE_URL": postgres_url, "DAWR_REDIS_URL": valkey_server.url}
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0
    with serving(settings, "--workers", "2") as server:
        for _ in range(8):
            server.answer(4 * PIPE_HOLDS // LONGEST_ID)
        before = server.workers
        os.kill(min(before), signal.SIGKILL)
        eventually(lambda: len(server.workers - before) == 1)
        with Client(f"http://127.0.0.1:{server.port}") as client:
            assert client.enter("lab", "somebody").status == 200

        code, seconds = server.stop()

    assert code == 0
    assert seconds < STOP_SECONDS

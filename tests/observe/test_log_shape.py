"""The log as a machine reads it: every line is JSON of one shape, whatever went wrong in whichever process."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, eventually, set_up, venue_document
from tests.servers import ValkeyServer, server_directory

Moment = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+([._-][a-z]+)*$")]
Value = str | int | float | bool | list[int | None] | None


END_SESSIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Line(msgspec.Struct):
    event: Name
    at: Moment
    level: Literal["debug", "info", "warning", "error", "critical"]


def read(line: str) -> Line:
    """It begins with event, time and level, and everything else is a plain value."""
    facts = msgspec.json.decode(line, type=dict[str, Value])
    assert list(facts)[:3] == ["event", "at", "level"], line
    return msgspec.convert(facts, Line)


def read_all(log: str) -> list[Line]:
    return [read(line) for line in log.splitlines()]


@pytest.fixture
def valkey_server() -> Iterator[ValkeyServer]:
    """One that may be killed."""
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


class ServerWithItsLogApart(DawrServer):
    """What it logs goes to a file of its own; what it says to people stays where it was."""

    @property
    def errors(self) -> Path:
        return self.log.with_name("errors.log")

    def _command(self) -> list[str]:
        return ["/bin/sh", "-c", 'exec "$@" 2>>"$0"', str(self.errors), *super()._command()]


def children_of(pid: int) -> list[int]:
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def events_in(server: ServerWithItsLogApart) -> set[str]:
    whole = server.errors.read_text().rpartition("\n")[0]
    return {line.event for line in read_all(whole)}


def send_nonsense(server: DawrServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"\x16\x03\x01 this is no request\r\n\r\n")
        while connection.recv(4096):
            pass


@pytest.mark.slow
def test_whatever_goes_wrong_in_whichever_process_every_line_of_the_log_has_one_shape(
    tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer
) -> None:
    settings = {"DAWR_DATABASE_URL": postgres_url, "DAWR_REDIS_URL": valkey_server.url, "DAWR_DATA": str(tmp_path)}
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings)
    told = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_LOG": "on", "DAWR_LOG_LEVEL": "debug", "DAWR_LOG_FORMAT": "json"}
    with ServerWithItsLogApart(tmp_path, "serve", "--workers", "2", **settings, **told) as server:
        with Client(server.url) as client:
            for _ in range(2):
                assert client.enter("lab", "Amna", key="k").status == 200
            assert client.enter("no-such", "Amna").status == 404
        send_nonsense(server)
        (traffic,) = [child for worker in children_of(server.pid) for child in children_of(worker)]
        os.kill(traffic, signal.SIGKILL)
        eventually(lambda: "work.failed" in events_in(server))
        valkey_server.kill()
        eventually(lambda: "shared.away" in events_in(server))
        victim = children_of(server.pid)[1]
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: "worker.ended" in events_in(server))
        rows_of(postgres_url, END_SESSIONS)

    events = events_in(server)
    assert events >= {"request", "queue.joined", "idempotency.replayed", "lease.taken", "traffic.followed"}
    assert all(not line.startswith("{") for line in server.log.read_text().splitlines())


FAULTS = """
import asyncio, logging, sys, threading, warnings
from dawr.observe import logs
from dawr.settings import Settings
logs.configure_server(Settings(log_format="json"))

class Careless:
    def __del__(self):
        raise ValueError("of 'Amna'")

async def forget():
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)

def fail():
    raise KeyError("+97455123456")

warnings.warn("'Amna' is deprecated")
Careless()
thread = threading.Thread(target=fail, name="a thread")
thread.start()
thread.join()
asyncio.run(forget())
logging.getLogger("uvicorn.error").critical("cannot go on")
logging.getLogger("asyncpg").warning("two\\nlines")
raise RuntimeError("at the end of “Amna”")
"""


def test_what_python_and_libraries_say_has_that_shape_too_and_quotes_nobody() -> None:
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=False, timeout=60)

    lines = read_all(done.stderr)
    assert done.returncode == 1
    assert [(line.event, line.level) for line in lines] == [
        ("library", "warning"),
        ("fault", "error"),
        ("fault", "error"),
        ("library", "error"),
        ("library", "critical"),
        ("library", "warning"),
        ("fault", "error"),
    ]
    assert "Amna" not in done.stderr
    assert "97455123456" not in done.stderr

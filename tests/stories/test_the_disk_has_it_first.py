"""Nobody is told a number before the disk has it."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_head, a_venue
from tests.running import PROGRAM, READY, Client, eventually
from tests.serving import installed, quiet, served

TAKES = 100
UNLIMITED = {**os.environ, "DAWR_RATE_LIMITS": "off"}
TRACED = "trace=read,recvfrom,recvmsg,write,writev,sendto,sendmsg,fsync,fdatasync"
SYNCED = re.compile(r"(fsync|fdatasync)(\(\d+\)| resumed>\)?)\s+= 0")

Log = list[str]


class WatchedVFS(apsw.VFS):
    """SQLite's own way to the disk, with a note of every sync of a log or database."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.own = apsw.vfs_names()[0]
        """The one that does the work."""
        super().__init__("watched", base=self.own, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "WatchedFile":  # noqa: N802 - SQLite's
        return WatchedFile(self.log, self.own, name, flags)


class WatchedFile(apsw.VFSFile):
    def __init__(self, log: Log, vfs: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.log = log
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__(vfs, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        super().xSync(flags)
        if self.name.endswith("-wal"):
            self.log.append("sync")


class WatchedApp:
    """An app with a note of every request that was read, and of every answer that goes out."""

    def __init__(self, app: ASGIApp, log: Log) -> None:
        self.app = app
        self.log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noted_receive() -> Message:
            message = await receive()
            self.log.append("request")
            return message

        cycle = scope["extensions"]["dawr.cycle"]
        cycle.transport = WatchedTransport(cycle.transport, self.log)
        await self.app(scope, noted_receive, send)


class WatchedTransport:
    """The way out of one answer, with a note of what is written."""

    def __init__(self, transport: asyncio.Transport, log: Log) -> None:
        self._transport = transport
        self._log = log

    def write(self, data: bytes) -> None:
        self._log.append(f"answer {data.split(maxsplit=2)[1].decode()}")
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a transport does
        return getattr(self._transport, name)


@asynccontextmanager
async def watched_store(path: Path, log: Log) -> AsyncIterator[SqliteStore]:
    """A store whose writer goes to the disk under our eyes; readers, who come later, go as always."""
    vfs = WatchedVFS(log)
    store = SqliteStore(path, clock=DrivenClock())
    await store.migrate()
    apsw.set_default_vfs(vfs.own)
    try:
        yield store
    finally:
        await store.close()
        vfs.unregister()


async def test_a_number_is_on_disk_before_it_is_told(tmp_path: Path) -> None:
    log: Log = []
    venue = a_venue()
    async with watched_store(tmp_path / "dawr.sqlite", log) as store:
        await store.add_venue(venue, a_head(venue))
        async with (
            installed(store, DrivenClock(), quiet(clinic_venue=venue.slug)) as dawr,
            served(dawr, lambda app: WatchedApp(app, log)) as url,
        ):
            log.clear()

            await asyncio.to_thread(take_numbers, url)
            happened = list(log)

    assert answered_after_a_sync(happened) == TAKES


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed; the test above shows the same")
def test_the_system_calls_of_the_server_show_it_too(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-s", "64", "-e", TRACED, "-o", str(trace), PROGRAM, "demo", "--port", "0"]
    with (
        (tmp_path / "said").open("w") as said,
        subprocess.Popen([*command, "--data", tmp_path / "data"], stdout=said, env=UNLIMITED),
    ):
        try:
            eventually(lambda: READY.search((tmp_path / "said").read_text()) is not None, seconds=60)
            ready = READY.search((tmp_path / "said").read_text())
            assert ready is not None

            take_numbers(ready[1])
        finally:
            os.kill(int((tmp_path / "data" / "dawr.lock").read_text()), signal.SIGTERM)

    assert answered_after_a_sync(events_in(trace.read_text(errors="replace"))) == TAKES


def take_numbers(url: str) -> None:
    """One after the other."""
    with Client(url) as client:
        for number in range(1, TAKES + 1):
            assert client.enter("lab", f"visitor {number}").json["number"] == number


def events_in(trace: str) -> Log:
    """The requests, syncs and answers among the system calls."""
    happened = []
    for line in trace.splitlines():
        if '"POST /api/v1/queue/enter' in line:
            happened.append("request")
        elif SYNCED.search(line):
            happened.append("sync")
        elif '"HTTP/1.1 200 OK' in line:
            happened.append("answer 200")
    return happened


def answered_after_a_sync(happened: Log) -> int:
    """How many answers had a sync between them and their request. One without is a failure."""
    answers, synced = 0, False
    for event in happened:
        if event == "request":
            synced = False
        elif event == "sync":
            synced = True
        else:
            assert event == "answer 200"
            assert synced, f"answer {answers + 1} went out before the disk had it"
            answers += 1
    return answers


def test_an_answer_before_the_sync_would_be_noticed() -> None:
    with pytest.raises(AssertionError, match="answer 2 went out before the disk had it"):
        answered_after_a_sync(["request", "sync", "answer 200", "request", "answer 200", "sync"])

"""Dawr as its users meet it: a process of its own, reached by the command line and over HTTP."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import urlencode, urlsplit

from click.testing import CliRunner

from dawr.cli import main
from tests.servers.place import free_port
from tests.servers.process import Child

T = TypeVar("T")
A = TypeVar("A")

PROGRAM = str(Path(sys.executable).with_name("dawr"))
READY = re.compile(r"^Dawr is ready at (https?://\S+)$", re.MULTILINE)
READY_SECONDS = 90.0
STANDARD_TYPES = {"quota-exceeded": "https://iana.org/assignments/http-problem-types#quota-exceeded"}
PROBLEM_FIELDS = {"type", "title", "status", "detail", "code", "retryable", "correlation_id"}


class Finished(NamedTuple):
    """What a command said, and how it ended."""

    exit_code: int
    said: str
    complained: str


def dawr(*arguments: str | Path, stdin: str = "", **settings: str | Path) -> Finished:
    """Run a command to its end, in the test's own process if that says and leaves the same: it is much quicker."""
    needs_process = not {"serve", "demo", "restore"}.isdisjoint(arguments[:1])  # they keep a lock, or would serve
    return (dawr_process if needs_process else dawr_here)(*arguments, stdin=stdin, **settings)


def set_up(*arguments: str | Path, stdin: str = "", **settings: str | Path) -> str:
    """What a command that has to succeed said. A database that a busy machine kept waiting is asked again."""
    done = dawr(*arguments, stdin=stdin, **settings)
    for _ in range(4):
        if '"fault": "StoreAway"' in done.complained:
            sys.stderr.write(done.complained)
            done = dawr(*arguments, stdin=stdin, **settings)
    assert done.exit_code == 0, done
    return done.said


def dawr_here(*arguments: str | Path, stdin: str = "", **settings: str | Path) -> Finished:
    """In a thread, because the test may be inside an event loop. One at a time: it takes over standard output."""
    environment = _environment(settings)
    changes = {name: environment.get(name) for name in {*os.environ, *environment}}
    given = io.BytesIO(stdin.encode())
    given.name = "<stdin>"
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(CliRunner().invoke, main, [*map(str, arguments)], input=given, env=changes, prog_name="dawr")
        done = run.result()
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Finished(done.exit_code, done.stdout, done.stderr)


def dawr_process(*arguments: str | Path, stdin: str = "", **settings: str | Path) -> Finished:
    """In a process of its own."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        input=stdin,
        env=_environment(settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


class DawrServer:
    """`dawr serve` or `dawr demo`, which can be stopped, killed, and started again on the same port."""

    program: tuple[str, ...] = (PROGRAM,)

    def __init__(self, directory: Path, *arguments: str | Path, **settings: str | Path) -> None:
        self.port = free_port()
        self.log = directory / "server.log"
        self._directory = directory
        self._arguments = [*map(str, arguments), "--port", str(self.port)]
        self._settings = settings
        self._child: Child | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        """Start, and return when it says that it is ready."""
        said_before = len(self._said())
        self._child = Child(self._command(), self._directory, uid=None, abort=signal.SIGKILL)
        eventually(
            lambda: READY.search(self._said()[said_before:]) is not None or not self._running().is_running(),
            seconds=READY_SECONDS,
        )
        assert self.is_running(), f"Dawr ended before it was ready:\n{self._said()[said_before:]}"

    def is_running(self) -> bool:
        return self._child is not None and self._child.is_running()

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """SIGKILL: as if the power had gone out."""
        return self._end(signal.SIGKILL)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self.stop()

    def _end(self, number: signal.Signals) -> int:
        child, self._child = self._running(), None
        child.send(number)
        try:
            child.wait()
        finally:
            child.send(signal.SIGKILL)
            child.release()
        return int(child._process.returncode)

    def _running(self) -> Child:
        assert self._child is not None
        return self._child

    def _said(self) -> str:
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def _command(self) -> list[str]:
        given = [f"{name}={value}" for name, value in _environment(self._settings).items() if name.startswith("DAWR_")]
        removed = [part for name in os.environ if name.startswith("DAWR_") for part in ("-u", name)]
        return ["/usr/bin/env", *removed, *given, *self.program, *self._arguments]


def _environment(settings: Mapping[str, str | Path]) -> dict[str, str]:
    """Ours without its settings of Dawr, and with the given ones. All tests have one address, so limits are off.

    The traffic process is a process more for every server: whoever wants it says so.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DAWR_")}
    off = {"DAWR_RATE_LIMITS": "off", "DAWR_TRAFFIC": "off", "DAWR_MOST_VENUES_PER_ACCOUNT": "100000"}
    return kept | off | {name: str(value) for name, value in settings.items()}


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Their names in lower case."""
    body: bytes
    cookies: tuple[str, ...] = ()
    """Each as it is set, in order."""

    @property
    def json(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded

    @property
    def numbers(self) -> set[str]:
        """Those that are said in it. Any digits may be in a correlation id."""
        body = self.body.decode().replace(self.headers["x-correlation-id"], "")
        return set(re.findall(r"\d+", body))


MAX_IDLE_SECONDS = 4.0
"""The server closes a connection that is idle for longer, perhaps at the moment at which it is used again."""


class Client:
    """One keep-alive connection, made anew after a pause."""

    def __init__(self, url: str, *, seconds: float = 60) -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        self._connection = HTTPConnection(address.hostname, address.port, timeout=seconds)
        self._used_at = time.monotonic()

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        if time.monotonic() - self._used_at > MAX_IDLE_SECONDS:
            self._connection.close()
        self._connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = self._connection.getresponse()
        said = {name.lower(): value for name, value in answer.getheaders()}
        body = answer.read()
        self._used_at = time.monotonic()
        return Answer(answer.status, said, body, tuple(answer.headers.get_all("set-cookie", ())))

    def post(
        self,
        path: str,
        given: object = None,
        *,
        key: str | None = None,
        bearer: str | None = None,
        method: str = "POST",
        **headers: str,
    ) -> Answer:
        """Send JSON; a header is named with low lines for its hyphens."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | _bearing(bearer)
        if key is not None:
            sent["Idempotency-Key"] = key
        body = None if given is None else json.dumps(given).encode()
        return self.ask(path, method=method, body=body, headers=sent | {"Content-Type": "application/json"})

    def get(self, path: str, *, bearer: str | None = None, **query: object) -> Answer:
        return self.ask(f"{path}?{urlencode(query)}" if query else path, headers=_bearing(bearer))

    def enter(self, clinic: str, user: str, *, key: str | None = None) -> Answer:
        """Take a number at the clinic's door."""
        return self.send(json.dumps({"clinic": clinic, "user": user}).encode(), key=key)

    def send(self, body: bytes, *, key: str | None = None, kind: str = "application/json") -> Answer:
        """Send bytes to where numbers are taken."""
        headers = {"Content-Type": kind} | ({} if key is None else {"Idempotency-Key": key})
        return self.ask("/api/v1/queue/enter", method="POST", body=body, headers=headers)

    def status(self, clinic: str) -> Answer:
        return self.ask(f"/api/v1/queue/status?clinic={clinic}")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _bearing(bearer: str | None) -> dict[str, str]:
    return {} if bearer is None else {"Authorization": f"Bearer {bearer}"}


def at_once(work: Callable[[A], T], arguments: Iterable[A]) -> list[T]:
    """Do it for all of them at the same time, each in a thread of its own; answers in the given order."""
    given = list(arguments)
    with ThreadPoolExecutor(len(given)) as pool:
        return list(pool.map(work, given))


def eventually(holds: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Return as soon as it holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"It did not come true within {seconds:g} s."
        time.sleep(0.01)


def must_take_as_long(*ways: Callable[[], object]) -> None:
    """Of some tries the quickest counts: others may keep this machine busy, and nothing makes it quicker."""
    took = [60.0] * len(ways)
    for _ in range(30):
        for number, way in enumerate(ways):
            began = time.perf_counter()
            way()
            took[number] = min(took[number], time.perf_counter() - began)
        if min(took) > max(took) / 2:
            return
    raise AssertionError(f"One takes longer than another: {took}")


def must_be_problem(answer: Answer, status: int, code: str) -> None:
    """Every refusal looks the same, and shows nothing of the inside."""
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json"), answer
    problem = answer.json
    assert problem.keys() >= PROBLEM_FIELDS
    assert (problem["status"], problem["code"]) == (status, code), problem
    assert problem["type"] == STANDARD_TYPES.get(code, f"urn:dawr:problem:{code}")
    assert problem["correlation_id"] == answer.headers["x-correlation-id"]
    assert problem["title"]
    assert problem["detail"]
    assert (answer.headers.get("retry-after") is not None) == problem["retryable"]
    for inside in (b"Traceback", b"SELECT", b"sqlite", b"asyncpg", b"site-packages", b".py"):
        assert inside not in answer.body
    for jargon in ("at `$", "regex", "Expected `"):
        assert jargon not in problem["detail"], problem


def venue_document(*queues: Mapping[str, Any], slug: str = "clinic", zone: str | None = None) -> str:
    """A venue as `dawr venue apply` reads it, where it is noon unless said otherwise: no day ends during a test."""
    named = [{"name": {"en": queue["id"]}, **queue} for queue in queues]
    venue = {"slug": slug, "name": {"en": "A clinic"}, "zone": zone or zone_where_it_is_noon(), "queues": named}
    return json.dumps(venue)


def zone_where_it_is_noon() -> str:
    """Between twelve and one. `Etc/GMT-3` is three hours ahead of UTC."""
    ahead = 12 - datetime.now(UTC).hour
    return f"Etc/GMT{-ahead:+}" if ahead else "Etc/GMT"

"""Two hosts that serve one clinic, and the people there: who take numbers, who call, and who watch.

Everybody keeps at it as a real client would: under the same key, from the last id, at either host.
"""

import contextlib
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cli.databases import rows_of
from tests.running import Answer, Client, DawrServer, dawr, eventually, must_be_problem, venue_document

WORKERS = 2
SECONDS = 60.0
TRANSIENT = {"store-away", "outcome-unknown", "stopping", "busy", "idempotency-in-progress"}
"""What may be said while something is away; all of it says when to come again."""


class Hosts:
    """`dawr serve` twice, each with its own workers, on one PostgreSQL and one Valkey."""

    def __init__(self, directory: Path, database_url: str, redis_url: str) -> None:
        self.settings = {"DAWR_DATABASE_URL": database_url, "DAWR_REDIS_URL": redis_url, "DAWR_HOSTS": "2"}
        self.database_url = database_url
        self.servers = [self._server(directory / name) for name in ("one", "two")]
        assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **self.settings).exit_code == 0
        made = dawr("token", "new", "--kind", "api", "--role", "staff", "--name", "Desks", **self.settings)
        self.bearer = made.said.strip()

    @property
    def urls(self) -> list[str]:
        return [server.url for server in self.servers]

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server)
            yield
        assert "Traceback" not in "".join(server.log.read_text() for server in self.servers)

    def health(self) -> list[Answer]:
        """Of each host several times: another worker may answer."""
        return [health(url) for url in self.urls for _ in range(3 * WORKERS)]

    def are(self, code: int, /, **facts: str | int) -> bool:
        """Whether all say so."""
        return all(answer.status == code and facts.items() <= answer.json.items() for answer in self.health())

    def kill_a_worker(self, server: DawrServer) -> None:
        """And return when another has its place."""
        before = workers_of(server)
        os.kill(min(before), signal.SIGKILL)
        eventually(lambda: len(workers_of(server) - before) == 1, seconds=30)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return rows_of(self.database_url, sql)

    def _server(self, directory: Path) -> DawrServer:
        directory.mkdir()
        return DawrServer(directory, "serve", "--workers", str(WORKERS), **self.settings)


def workers_of(server: DawrServer) -> set[int]:
    return {int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()}


def health(url: str) -> Answer:
    with Client(url) as client:
        return client.ask("/health")


class Person(threading.Thread):
    """Does one thing again and again until told to stop; what goes wrong is told to the test."""

    def __init__(self, over: threading.Event, faults: list[BaseException]) -> None:
        super().__init__(daemon=True)
        self.over = over
        self.faults = faults
        self.refusals: Counter[str] = Counter()
        self.replays = 0

    def run(self) -> None:
        try:
            self.live()
        except BaseException as fault:  # noqa: BLE001 - told to the test, which ends
            self.faults.append(fault)

    def live(self) -> None:
        raise NotImplementedError

    def ask_until_answered(self, urls: list[str], ask: Callable[[Client], Answer]) -> Answer:
        """At one host after the other, always the same."""
        deadline = time.monotonic() + SECONDS
        turn = 0
        while time.monotonic() < deadline:
            with Client(urls[turn % len(urls)]) as client, contextlib.suppress(OSError, HTTPException):
                answer = ask(client)
                if answer.status == 200:
                    self.replays += "idempotency-replayed" in answer.headers
                    return answer
                assert answer.json["code"] in TRANSIENT, answer
                must_be_problem(answer, answer.status, answer.json["code"])
                assert answer.headers["retry-after"]
                self.refusals[answer.json["code"]] += 1
            turn += 1
            time.sleep(0.02)
        raise TimeoutError(f"no answer within {SECONDS:g} s")


class Visitor(Person):
    """One after the other, each with a key of their own."""

    def __init__(self, hosts: Hosts, lane: int, over: threading.Event, faults: list[BaseException]) -> None:
        super().__init__(over, faults)
        self.numbers: dict[str, int] = {}
        """Who → the number they were told."""
        self._urls = hosts.urls[lane % 2 :] + hosts.urls[: lane % 2]
        self._lane = lane

    def live(self) -> None:
        turn = 0
        while not self.over.is_set():
            self.take(f"visitor-{self._lane}-{turn}")
            turn += 1

    def take(self, name: str) -> None:
        answer = self.ask_until_answered(self._urls, lambda client: client.enter("lab", name, key=name))
        self.numbers[name] = int(answer.json["number"])


class Desk(Person):
    """Calls whoever is next."""

    def __init__(self, hosts: Hosts, lane: int, over: threading.Event, faults: list[BaseException]) -> None:
        super().__init__(over, faults)
        self.called: list[int] = []
        self._bearer = hosts.bearer
        self._urls = hosts.urls[lane % 2 :] + hosts.urls[: lane % 2]
        self._lane = lane

    def live(self) -> None:
        turn = 0
        while not self.over.wait(0.02):
            self.call(f"call-{self._lane}-{turn}")
            turn += 1

    def call(self, key: str) -> None:
        answer = self.ask_until_answered(
            self._urls,
            lambda client: client.post("/api/v1/queue/call", {"clinic": "lab"}, key=key, bearer=self._bearer),
        )
        if answer.json["current"] is not None:
            self.called.append(int(answer.json["current"]))


class Onlooker(Person):
    """Watches the venue through one host, and comes back with the last id when the stream breaks."""

    def __init__(self, url: str, over: threading.Event, faults: list[BaseException]) -> None:
        super().__init__(over, faults)
        self.seen: list[int] = []
        self.notices: list[str] = []
        self.streams = 0
        self._url = url
        self._last_id = ""

    @property
    def newest(self) -> int:
        return self.seen[-1] if self.seen else -1

    def live(self) -> None:
        while not self.over.is_set():
            with contextlib.suppress(OSError, HTTPException):
                self._watch()
            self.over.wait(0.05)

    def _watch(self) -> None:
        address = urlsplit(self._url)
        connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
        with contextlib.closing(connection):
            resume = {"Last-Event-ID": self._last_id} if self._last_id else {}
            connection.request("GET", "/v1/events?venue=clinic", headers=resume)
            stream = connection.getresponse()
            if stream.status != 200:
                code = json.loads(stream.read())["code"]
                assert code in TRANSIENT, code
                return
            self.streams += 1
            fields: dict[str, str] = {}
            while not self.over.is_set() and (line := stream.readline()):
                if line.strip():
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    fields[name] = value
                else:
                    self._take(fields)
                    fields = {}

    def _take(self, block: dict[str, str]) -> None:
        """One block of the stream. Every change is the one after the last."""
        event, at = block.get("event", ""), block.get("id", self._last_id)
        if event in {"stale", "fresh"}:
            self.notices.append(event)
        elif event:
            version = int(at.partition(".")[2])
            assert (event == "snapshot") == (not self.seen), (event, at, self.seen[-3:])
            assert not self.seen or version == self.seen[-1] + 1, (event, at, self.seen[-3:])
            self.seen.append(version)
        self._last_id = at


class Morning:
    """Everybody at once, until the block ends; then all are waited for, and nothing went wrong."""

    def __init__(self, hosts: Hosts, *, visitors: int = 4, desks: int = 2, onlookers: int = 3) -> None:
        over, self.faults = threading.Event(), list[BaseException]()
        self._hosts = hosts
        self._working, self._watching = threading.Event(), over
        self.visitors = [Visitor(hosts, lane, self._working, self.faults) for lane in range(visitors)]
        self.desks = [Desk(hosts, lane, self._working, self.faults) for lane in range(desks)]
        self.onlookers = [Onlooker(url, over, self.faults) for url in hosts.urls for _ in range(onlookers)]

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """The onlookers alone; at the end each has seen everything."""
        for onlooker in self.onlookers:
            onlooker.start()
        eventually(lambda: self._well(all(onlooker.seen for onlooker in self.onlookers)), seconds=SECONDS)
        try:
            yield
            self.all_have_seen(self.version())
        finally:
            self._watching.set()
        assert self.faults == []

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """People come and are called."""
        working: list[Person] = [*self.visitors, *self.desks]
        for person in working:
            person.start()
        try:
            yield
        finally:
            self._working.set()
            for person in working:
                person.join()
        assert self.faults == []

    def all_have_seen(self, version: int) -> None:
        eventually(lambda: self._well(all(one.newest >= version for one in self.onlookers)), seconds=SECONDS)

    def so_many_more_come(self, number: int) -> None:
        before = self.told
        eventually(lambda: self._well(self.told >= before + number), seconds=SECONDS)

    @property
    def told(self) -> int:
        return sum(len(visitor.numbers) for visitor in self.visitors)

    @property
    def refusals(self) -> Counter[str]:
        return sum((person.refusals for person in (*self.visitors, *self.desks)), Counter())

    @property
    def replays(self) -> int:
        return sum(person.replays for person in (*self.visitors, *self.desks))

    def version(self) -> int:
        ((version,),) = self._hosts.rows("SELECT version FROM heads")
        return int(version)

    def must_be_whole(self) -> None:
        """Who was told a number has it; no number twice, none left out; each called once, and seen by all."""
        told = {name: number for visitor in self.visitors for name, number in visitor.numbers.items()}
        called = [number for desk in self.desks for number in desk.called]
        tickets = self._hosts.rows("SELECT visitor, number, state FROM tickets ORDER BY number")
        assert {visitor: number for visitor, number, _ in tickets} == told
        assert [number for _, number, _ in tickets] == list(range(1, len(tickets) + 1))
        assert sorted(called) == [number for _, number, state in tickets if state == "called"]
        versions = [version for (version,) in self._hosts.rows("SELECT version FROM events ORDER BY version")]
        assert versions == list(range(1, self.version() + 1))
        for onlooker in self.onlookers:
            assert onlooker.seen == list(range(onlooker.seen[0], self.version() + 1))
        assert dawr("check", **self._hosts.settings).exit_code == 0

    def _well(self, holds: bool) -> bool:  # noqa: FBT001 - passed through
        if self.faults:
            raise self.faults[0]
        return holds

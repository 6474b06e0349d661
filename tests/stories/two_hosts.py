"""Two hosts that serve one clinic, the database on a third, and people at both of them.

Two visitors at a time stay with the first host, two with the second, and two go to either; so do the desks.
Who is not answered asks again under the same key, at the other host if they go to either. Watchers
come back with the last id that they saw.
"""

import contextlib
import http.client
import json
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.cli.databases import rows_of
from tests.running import Answer, Client, DawrServer, eventually, must_be_problem, set_up, venue_document
from tests.servers import PostgresServer, ValkeyServer, server_directory
from tests.servers.network import Network, Port
from tests.servers.process import on_host

STAYING = ((0,), (0,), (1,), (1,), (0, 1), (1, 0))
"""For each visitor at a time, the hosts that they ask in turn."""
CALLING = ((0,), (1,), (0, 1), (1, 0))
"""The same for each desk."""
PAUSE_SECONDS = 0.25
"""Slow enough that an outage is not longer than what a stream can resume: 1,000 changes."""
ANSWER_SECONDS = 6.0
IMPATIENT_SECONDS = 0.01
CONNECT_SECONDS = 2.0
EVENTS_UNTIL_ON = 25
SILENCE_SECONDS = 17.0
"""A heartbeat comes every 15 s."""
UNTIL_ANSWERED_SECONDS = 60.0
NO_LIMIT = "1000000"


class Host(DawrServer):
    """`dawr serve --workers 2` on a host of its own."""

    def __init__(self, name: str, namespace: str, front: Port, back: Port, directory: Path, **settings: str) -> None:
        super().__init__(directory, "serve", "--workers", "2", "--host", front.address, **settings)
        self.name = name
        self.front = front
        self.back = back
        self._namespace = namespace

    @property
    def url(self) -> str:
        return f"http://{self.front.address}:{self.port}"

    @property
    def workers(self) -> set[int]:
        return {int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()}

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException), Client(self.url, seconds=2) as client:
            return client.ask("/health/ready").status == 200
        return False

    def _command(self) -> list[str]:
        return on_host(self._namespace, super()._command())


class Clinic(NamedTuple):
    network: Network
    postgres: PostgresServer
    valkey: ValkeyServer
    database: str
    hosts: tuple[Host, Host]
    bearer: str
    """Of staff."""


@contextlib.contextmanager
def open_clinic(directory: Path) -> Iterator[Clinic]:
    """Three machines: one with PostgreSQL and Valkey, two that serve. We reach all of them."""
    with Network() as network, contextlib.ExitStack() as stack:
        front, back, db = network.switch("front"), network.switch("back"), network.host("db")
        network.plug(front)
        network.plug(back)
        at = network.plug(back, db).address
        place, other = (stack.enter_context(server_directory()) for _ in range(2))
        postgres = stack.enter_context(PostgresServer(place, host=db, address=at))
        valkey = stack.enter_context(ValkeyServer(other, host=db, address=at))
        settings = _settings(postgres.create_database("dawr"), valkey.url)
        set_up("venue", "apply", "-", stdin=_venue(), **settings)
        bearer = set_up("token", "new", "--kind", "api", "--role", "staff", "--name", "desks", **settings).strip()
        hosts = []
        for name in ("host1", "host2"):
            namespace = network.host(name)
            visible, inner = network.plug(front, namespace), network.plug(back, namespace)
            (directory / name).mkdir()
            hosts.append(Host(name, namespace, visible, inner, directory / name, **settings))
        for host in hosts:
            stack.enter_context(host)
        yield Clinic(network, postgres, valkey, settings["DAWR_DATABASE_URL"], (hosts[0], hosts[1]), bearer)


def _settings(database: str, redis: str) -> dict[str, str]:
    limits = dict.fromkeys(("DAWR_LIMIT_CLINIC_JOIN", "DAWR_LIMIT_LOOK", "DAWR_LIMIT_CALLER"), NO_LIMIT)
    return {
        "DAWR_DATABASE_URL": database,
        "DAWR_REDIS_URL": redis,
        "DAWR_HOSTS": "2",
        "DAWR_RATE_LIMITS": "on",  # so that each request asks Valkey too
        "DAWR_TRUSTED_PROXIES": "",
        **limits,
    }


def _venue() -> str:
    venue = json.loads(venue_document({"id": "lab"}))
    desks = [{"id": f"desk-{n}", "name": {"en": f"Desk {n}"}, "queues": ["lab"]} for n in range(len(CALLING))]
    return json.dumps(venue | {"desks": desks})


class People:
    """Visitors who take numbers, desks that call them, watchers who look on; until it is enough."""

    def __init__(self, clinic: Clinic) -> None:
        self.numbers: dict[str, int] = {}
        """Visitor → the number they were told."""
        self.called: dict[str, int] = {}
        """Key → the number that was called under it."""
        self.answered: defaultdict[str, list[float]] = defaultdict(list)
        """Host → when it did what it was asked for."""
        self.refused: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Host → the codes of its problems, and the kinds of its silence."""
        self.replays = 0
        self.faults: list[BaseException] = []
        self.watchers = [Watcher(clinic, first) for first in (0, 1)] + [Watcher(clinic, 0, roams=True)]
        self._clinic = clinic
        self._pause_seconds = PAUSE_SECONDS
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._guarded, args=(work,)) for work in self._works()]

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Until the block ends; then everybody who asked is waited for, and the watchers have seen it."""
        looking = [threading.Thread(target=self._guarded, args=(watcher.watch,)) for watcher in self.watchers]
        for thread in (*looking, *self._threads):
            thread.start()
        try:
            yield
        finally:
            self._enough.set()
            for thread in self._threads:
                thread.join()
            for watcher in self.watchers:
                watcher.last_words()
            for thread in looking:
                thread.join()
        self.must_be_well()

    @contextlib.contextmanager
    def hurry(self) -> Iterator[None]:
        """Nobody pauses for a second before the block and in it, so that much is under way."""
        self._pause_seconds = 0.0
        time.sleep(1.0)
        try:
            yield
        finally:
            self._pause_seconds = PAUSE_SECONDS

    def answers_of(self, host: Host) -> int:
        self.must_be_well()
        return len(self.answered[host.name])

    def must_be_well(self) -> None:
        if self.faults:
            raise self.faults[0]

    def _works(self) -> Iterator[Callable[[], None]]:
        yield from (partial(self._visit, lane, ways) for lane, ways in enumerate(STAYING))
        yield from (partial(self._call, desk, ways) for desk, ways in enumerate(CALLING))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as fault:  # noqa: BLE001 - told to the test, which ends
            self.faults.append(fault)

    def _visit(self, lane: int, ways: Sequence[int]) -> None:
        for turn in range(1_000_000):
            if self._enough.wait(self._pause_seconds):
                return
            visitor = f"visitor-{lane}-{turn}"
            answer = self._until_answered(turn, ways, partial(_enter, visitor))
            self.numbers[visitor] = int(answer.json["number"])

    def _call(self, desk: int, ways: Sequence[int]) -> None:
        for turn in range(1_000_000):
            if self._enough.wait(self._pause_seconds):
                return
            key = f"call-{desk}-{turn}"
            answer = self._until_answered(turn, ways, partial(_call_next, desk, key, self._clinic.bearer))
            if answer.json["ticket"] is not None:
                self.called[key] = int(answer.json["ticket"]["number"])

    def _until_answered(self, turn: int, ways: Sequence[int], ask: Callable[[Client], Answer]) -> Answer:
        """At one host, then at the next, and so on, always under the same key. Some hang up at once the first time."""
        deadline = time.monotonic() + UNTIL_ANSWERED_SECONDS
        patience = IMPATIENT_SECONDS if turn % 3 == 0 else ANSWER_SECONDS
        while time.monotonic() < deadline:
            host, turn = self._clinic.hosts[ways[turn % len(ways)]], turn + 1
            try:
                with Client(host.url, seconds=patience) as client:
                    answer = ask(client)
            except (OSError, http.client.HTTPException) as error:
                self.refused[host.name]["hung up" if patience < ANSWER_SECONDS else type(error).__name__] += 1
                patience = ANSWER_SECONDS
                continue
            if answer.status == 200:
                self.answered[host.name].append(time.monotonic())
                self.replays += "idempotency-replayed" in answer.headers
                return answer
            must_be_problem(answer, 503, answer.json["code"])
            assert int(answer.headers["retry-after"]) >= 1
            self.refused[host.name][answer.json["code"]] += 1
            time.sleep(PAUSE_SECONDS)
        raise TimeoutError(f"Nobody answered within {UNTIL_ANSWERED_SECONDS:g} s.")


def _enter(visitor: str, client: Client) -> Answer:
    return client.enter("lab", visitor, key=visitor)


def _call_next(desk: int, key: str, bearer: str, client: Client) -> Answer:
    return client.post(f"/v1/desks/clinic:desk-{desk}/call-next", {}, key=key, bearer=bearer)


class Watcher:
    """Reads the staff's stream of the venue, and resumes it where it broke off.

    One who roams hangs up after every `EVENTS_UNTIL_ON`, and goes on at the other host.
    """

    def __init__(self, clinic: Clinic, first: int, *, roams: bool = False) -> None:
        self.began_at = 0
        """The version of the first picture."""
        self.versions: list[int] = []
        """Of every event, in the order they came."""
        self.words: Counter[str] = Counter()
        """How often each kind of event came."""
        self.openings = 0
        self._clinic = clinic
        self._turn = first
        self._roams = roams
        self._last_id = ""
        self._until: int | None = None
        self._give_up_at = 0.0

    @property
    def at(self) -> int:
        """The version up to which everything was sent; heartbeats say it too."""
        return _version(self._last_id) if self._last_id else 0

    def watch(self) -> None:
        while not self._is_done():
            host = self._clinic.hosts[self._turn % 2]
            self._turn += self._roams
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._read(host)
            time.sleep(PAUSE_SECONDS)

    def last_words(self) -> None:
        """Nothing more happens: whoever has seen all of it may go."""
        ((self._until,),) = rows_of(self._clinic.database, "SELECT version FROM heads")
        self._give_up_at = time.monotonic() + UNTIL_ANSWERED_SECONDS

    def _is_done(self) -> bool:
        if self._until is None:
            return False
        assert time.monotonic() < self._give_up_at, f"A watcher stopped at version {self.at} of {self._until}."
        return self.at >= self._until

    def _read(self, host: Host) -> None:
        connection = http.client.HTTPConnection(host.front.address, host.port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
            connection.sock.settimeout(SILENCE_SECONDS)
            resume = {"Last-Event-ID": self._last_id} if self._last_id else {}
            bearing = {"Authorization": f"Bearer {self._clinic.bearer}"}
            connection.request("GET", "/v1/events?venue=clinic", headers=bearing | resume)
            stream = connection.getresponse()
            if stream.status != 200:
                assert stream.status == 503, stream.read()
                return
            self.openings += 1
            self._take_all(stream)
        finally:
            connection.close()

    def _take_all(self, stream: http.client.HTTPResponse) -> None:
        block: dict[str, str] = {}
        before = len(self.versions)
        while not self._is_done():
            if self._roams and len(self.versions) - before >= EVENTS_UNTIL_ON:
                return
            line = stream.readline().decode()
            if not line:
                return
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                block[name] = value
            else:
                self._take(block)
                block = {}

    def _take(self, block: dict[str, str]) -> None:
        self._last_id = block.get("id", self._last_id)
        word = block.get("event")
        if word is None:
            return
        self.words[word] += 1
        if word == "snapshot":
            self.began_at = _version(block["id"])
        elif re.match(r"ticket\.", word):
            self.versions.append(_version(block["id"]))


def _version(event_id: str) -> int:
    return int(event_id.rpartition(".")[2])


def seconds_until(holds: Callable[[], bool], *, most: float) -> float:
    began = time.monotonic()
    eventually(holds, seconds=most)
    return time.monotonic() - began

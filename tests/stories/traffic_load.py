"""Requests that are remembered from outside: which were sent, and which were answered.

Most have an id of their own, as a proxy in front would give it (`CF-Ray`); the others are known by their correlation
id. What was not answered is not sent again: it may have been counted or not. Some that were answered are repeated,
over another connection.
"""

import contextlib
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from tests.running import eventually

LANES = 4
REPEATED = 0.0125
"""Of those that have an id: 1 % of all."""
ANSWER_SECONDS = 60.0
DOWN_SECONDS = 90.0
WITHOUT_ID = 0.2
HEAD = "GET {path} HTTP/1.1\r\nhost: localhost\r\n{name}: {ray}\r\ncf-connecting-ip: {client}\r\n\r\n"


class Load:
    """So many requests over several connections that are kept alive, opened again when they break."""

    def __init__(self, port: int, requests: int, paths: list[str], *, seed: str) -> None:
        self.requests = requests
        self.sent: dict[str, str] = {}
        """Request id → the path that was asked for."""
        self.answered: dict[str, int] = {}
        """Request id → the status of its answer."""
        self.repeated = Counter[str]()
        """Request id → how often it was answered again."""
        self._port = port
        self._paths = paths
        self._faults: list[BaseException] = []
        self._lanes = [threading.Thread(target=self._run, args=(lane, f"{seed} {lane}")) for lane in range(LANES)]

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Until all were sent; then nobody is waited for any more."""
        for lane in self._lanes:
            lane.start()
        try:
            yield
        finally:
            for lane in self._lanes:
                lane.join()
        assert self._faults == []

    def until(self, share: float) -> None:
        """Wait until this share of all was answered or given up."""
        eventually(lambda: bool(self._faults) or len(self.sent) >= share * self.requests, seconds=600)
        assert self._faults == []

    def _run(self, lane: int, seed: str) -> None:
        try:
            self._send_all(lane, random.Random(seed))
        except BaseException as fault:  # noqa: BLE001 - told to the test, which ends
            self._faults.append(fault)

    def _send_all(self, lane: int, chance: random.Random) -> None:
        connection = Connection(self._port)
        for number in range(self.requests // LANES):
            ray = f"ray-{lane}-{number}"
            path = chance.choice(self._paths).format(number=f"{lane}-{number}")
            has_id = chance.random() >= WITHOUT_ID
            name = "cf-ray" if has_id else "x-correlation-id"
            client = f"10.{lane}.{number // 250 % 16}.{number % 250}"
            request = HEAD.format(path=path, name=name, ray=ray, client=client).encode()
            self._ask(connection, ray, path, request)
            if has_id and chance.random() < REPEATED and ray in self.answered:
                again = Connection(self._port)
                self.repeated[ray] += self._ask(again, ray, path, request)
                again.close()
        connection.close()

    def _ask(self, connection: "Connection", ray: str, path: str, request: bytes) -> bool:
        """Whether it was answered."""
        connection.open()
        self.sent[ray] = path
        status = connection.ask(request)
        if status is not None:
            self.answered[ray] = status
        return status is not None


class Connection:
    """One that is kept alive. Python's own client would take longer than the server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """A server that is down is waited for."""
        eventually(lambda: self._socket is not None or self._connect(), seconds=DOWN_SECONDS)

    def ask(self, request: bytes) -> int | None:
        """The status, once the whole answer is here. None: there was none."""
        assert self._socket is not None
        with contextlib.suppress(OSError):
            self._socket.sendall(request)
            status = self._whole_answer(self._socket.recv)
            if status is not None:
                return status
        self.close()
        return None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> bool:
        with contextlib.suppress(OSError):
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=ANSWER_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket is not None

    @staticmethod
    def _whole_answer(receive: Callable[[int], bytes]) -> int | None:
        data = b""
        while b"\r\n\r\n" not in data:
            part = receive(65_536)
            if not part:
                return None
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        missing = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0] or 0) - len(body)
        while missing > 0:
            part = receive(65_536)
            if not part:
                return None
            missing -= len(part)
        return int(head.split(b" ", 2)[1])

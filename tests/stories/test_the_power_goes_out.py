"""The power goes out again and again while people take numbers. Nobody loses a number, and nobody gets two.

Visitors keep asking under the same Idempotency-Key until they are answered, as a kiosk would.
"""

import contextlib
import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, dawr, eventually, must_be_problem, venue_document
from tests.servers import PostgresServer, server_directory

pytestmark = pytest.mark.slow

KILLS = 8
MANY_KILLS = 200
VISITORS_AT_ONCE = 8
SECONDS_UNTIL_ANSWERED = 60

Outage = Callable[[], None]


class Crowd:
    """Visitors who come one after the other, a few at a time, each with a key that is used until it is answered."""

    def __init__(self, url: str) -> None:
        self.numbers: dict[str, int] = {}
        """Visitor → the number they were told."""
        self.refusals: Counter[str] = Counter()
        self.replays = 0
        self.faults: list[BaseException] = []
        self._url = url
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._come, args=(lane,)) for lane in range(VISITORS_AT_ONCE)]

    @contextlib.contextmanager
    def coming(self) -> Iterator[None]:
        """People come until the block ends; then everybody who came is waited for."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._enough.set()
            for thread in self._threads:
                thread.join()
        assert self.faults == []

    def has_grown(self, before: int, *, by: int) -> bool:
        assert self.faults == []
        return len(self.numbers) >= before + by

    def _come(self, lane: int) -> None:
        try:
            for turn in range(1_000_000):
                if self._enough.is_set():
                    return
                visitor = f"visitor {lane}-{turn}"
                self.numbers[visitor] = self._enter_until_answered(visitor, key=f"key-{lane}-{turn}")
        except BaseException as fault:  # noqa: BLE001 - told to the test, which ends
            self.faults.append(fault)

    def _enter_until_answered(self, visitor: str, *, key: str) -> int:
        deadline = time.monotonic() + SECONDS_UNTIL_ANSWERED
        while time.monotonic() < deadline:
            with Client(self._url) as client, contextlib.suppress(OSError, http.client.HTTPException):
                answer = client.enter("lab", visitor, key=key)
                if answer.status == 200:
                    self.replays += "idempotency-replayed" in answer.headers
                    return int(answer.json["number"])
                code = answer.json["code"]
                must_be_problem(answer, 503, code)
                assert answer.json["retryable"]
                self.refusals[code] += 1
            time.sleep(0.02)
        raise TimeoutError(f"{visitor} was not answered within {SECONDS_UNTIL_ANSWERED} s.")


def outlive(crowd: Crowd, outage: Outage, *, kills: int) -> None:
    """So many outages at random moments, always with people on the way."""
    chance = random.Random(f"{kills} kills")
    with crowd.coming():
        for _ in range(kills):
            before = len(crowd.numbers)
            eventually(lambda: crowd.has_grown(before, by=chance.randint(1, 40)), seconds=30)  # noqa: B023 - now
            time.sleep(chance.uniform(0, 0.05))
            outage()
        last = len(crowd.numbers)
        eventually(lambda: crowd.has_grown(last, by=20), seconds=30)


def must_be_whole(database: Path | str, crowd: Crowd) -> None:
    """Everybody who was told a number has it, and the numbers and events are without hole or double."""
    tickets = rows_of(database, "SELECT visitor, number FROM tickets ORDER BY number")
    versions = rows_of(database, "SELECT version FROM events ORDER BY version")
    heads = rows_of(database, "SELECT version FROM heads")

    assert dict(tickets) == crowd.numbers
    assert [number for _, number in tickets] == list(range(1, len(tickets) + 1))
    assert [version for (version,) in versions] == list(range(1, len(versions) + 1))
    assert heads == [(len(versions),)]


def settle(database: Path | str, crowd: Crowd, what: str, kills: int, **settings: Any) -> None:  # noqa: ANN401
    must_be_whole(database, crowd)
    checked = dawr("check", **settings)
    assert checked.exit_code == 0, checked
    print(  # noqa: T201
        f"{what}: {kills} kills, {len(crowd.numbers)} numbers acknowledged, "
        f"{crowd.replays} of them replayed, refused meanwhile: {dict(crowd.refusals)}"
    )


def create_venue(**settings: str | Path) -> None:
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0


@pytest.fixture(params=[KILLS, pytest.param(MANY_KILLS, marks=pytest.mark.prove)])
def kills(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_killing_the_server_on_sqlite_loses_and_doubles_no_number(tmp_path: Path, kills: int) -> None:
    create_venue(DAWR_DATA=tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path) as server:
        crowd = Crowd(server.url)

        def outage() -> None:
            server.kill()
            server.start()

        outlive(crowd, outage, kills=kills)

    settle(tmp_path / "dawr.sqlite", crowd, "the server on SQLite", kills, DAWR_DATA=tmp_path)


def test_killing_the_server_on_postgresql_loses_and_doubles_no_number(
    tmp_path: Path, postgres_url: str, kills: int
) -> None:
    create_venue(DAWR_DATABASE_URL=postgres_url)
    with DawrServer(tmp_path, "serve", DAWR_DATABASE_URL=postgres_url) as server:
        crowd = Crowd(server.url)

        def outage() -> None:
            server.kill()
            server.start()

        outlive(crowd, outage, kills=kills)

    settle(postgres_url, crowd, "the server on PostgreSQL", kills, DAWR_DATABASE_URL=postgres_url)


def test_killing_postgresql_under_a_living_server_loses_and_doubles_no_number(tmp_path: Path, kills: int) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        url = postgres.create_database("dawr")
        create_venue(DAWR_DATABASE_URL=url)
        with DawrServer(tmp_path, "serve", DAWR_DATABASE_URL=url) as server:
            pid, crowd = server.pid, Crowd(server.url)

            def outage() -> None:
                refused = sum(crowd.refusals.values())
                postgres.kill()
                eventually(lambda: sum(crowd.refusals.values()) > refused, seconds=30)
                postgres.start()

            outlive(crowd, outage, kills=kills)

            assert (server.pid, server.is_running()) == (pid, True)
            assert crowd.refusals.keys() <= {"store-away", "outcome-unknown"}
        settle(url, crowd, "PostgreSQL itself", kills, DAWR_DATABASE_URL=url)

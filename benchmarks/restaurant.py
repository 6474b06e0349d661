"""`make bench`, the restaurant's part: an evening rush at its own pace, five joins a second, each sent twice at once.

Meanwhile three hosts call the next party at the same moments. The bars are the contract's: p95 below 20 ms, no
token twice, no party called twice, no deadlock. The exit code is 1 when one is missed.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import uvloop

from tests.running import Answer, Client, DawrServer, dawr, venue_document
from tests.servers import PostgresServer, server_directory

JOINS_PER_SECOND = 5
HOSTS = 3
CALLS_PER_SECOND = 1
MOST_P95_MS = 20
SLUG = "rush"


class Evening:
    """What was asked, how long the answers took, and what they said."""

    def __init__(self, server: DawrServer, bearer: str) -> None:
        self._server = server
        self._bearer = bearer
        self._local = threading.local()
        self.joins: list[float] = []
        self.calls: list[float] = []
        self.tokens: dict[str, set[bytes]] = {}
        self.called: list[int] = []

    def join(self, number: int) -> None:
        given = {"name": f"Party {number}", "mobileNumber": f"+9743{number:07}", "partySize": 1 + number % 8}
        answer, took = self._timed(
            lambda client: client.post(f"/api/public/{SLUG}/queue", given | {"idempotencyKey": f"form-{number}"})
        )
        assert answer.status == 201, answer
        self.joins.append(took)
        self.tokens.setdefault(f"form-{number}", set()).add(answer.body)

    def call_next(self, _: int) -> None:
        answer, took = self._timed(
            lambda client: client.post(f"/api/admin/{SLUG}/queue/call-next", {}, bearer=self._bearer)
        )
        assert answer.status == 200, answer
        self.calls.append(took)
        if (party := answer.json["data"]) is not None:
            self.called.append(party["tokenNumber"])

    def _timed(self, ask: Callable[[Client], Answer]) -> tuple[Answer, float]:
        if not hasattr(self._local, "client"):
            self._local.client = Client(self._server.url)
        began = time.perf_counter()
        answer = ask(self._local.client)
        return answer, 1000 * (time.perf_counter() - began)


def rush(evening: Evening, seconds: int) -> None:
    """At its own pace, whether or not the answers keep up."""
    with ThreadPoolExecutor(2 * JOINS_PER_SECOND + HOSTS) as people:
        began = time.perf_counter()
        waiting = []
        for tick in range(seconds * JOINS_PER_SECOND):
            time.sleep(max(0.0, began + tick / JOINS_PER_SECOND - time.perf_counter()))
            waiting += [people.submit(evening.join, tick) for _ in range(2)]
            if tick % (JOINS_PER_SECOND // CALLS_PER_SECOND) == 0:
                waiting += [people.submit(evening.call_next, host) for host in range(HOSTS)]
        for done in waiting:
            done.result()


def judged(name: str, evening: Evening, deadlocks: int) -> bool:
    numbers = sorted(json.loads(body)["data"]["tokenNumber"] for [body] in evening.tokens.values())
    join, call = _p95(evening.joins), _p95(evening.calls)
    twice = len(evening.called) - len(set(evening.called))
    holes = sum(number != place for place, number in enumerate(numbers, start=1))
    held = join < MOST_P95_MS and call < MOST_P95_MS and not (twice or holes or deadlocks)
    print(
        f"{name}: {len(evening.joins)} joins of {len(numbers)} parties p95 {join:.1f} ms, {len(evening.calls)} calls "
        f"p95 {call:.1f} ms; numbers out of place {holes}, called twice {twice}, deadlocks {deadlocks}: "
        f"{'held' if held else 'MISSED'}"
    )
    return held


def _p95(latencies: list[float]) -> float:
    return sorted(latencies)[len(latencies) * 95 // 100]


@contextmanager
def restaurant(directory: Path, **settings: str | Path) -> Iterator[Evening]:
    settings = {"DAWR_DATA": directory / "data", "DAWR_RATE_LIMITS": "off", **settings}
    document = venue_document({"id": "waitlist"}, slug=SLUG)
    assert dawr("venue", "apply", "-", stdin=document, **settings).exit_code == 0
    asked = ("token", "new", "--venue", SLUG, "--kind", "api", "--role", "staff", "--name", "hosts")
    made = dawr(*asked, stdin="", **settings)
    bearer = next(word for word in made.said.split() if word.startswith("dwt_"))
    with DawrServer(directory, "serve", **settings) as server:
        evening = Evening(server, bearer)
        evening.call_next(0)  # nobody waits yet: this opens the connections
        evening.calls.clear()
        yield evening


def main() -> int:
    given = _arguments()
    held = []
    with tempfile.TemporaryDirectory(dir=given.directory) as inside, restaurant(Path(inside)) as evening:
        rush(evening, given.seconds)
        held.append(judged("SQLite", evening, 0))
    with (
        server_directory() as of_server,
        PostgresServer(of_server) as server,
        server.lend_database() as url,
        tempfile.TemporaryDirectory(dir=given.directory) as inside,
        restaurant(Path(inside), DAWR_DATABASE_URL=url) as evening,
    ):
        rush(evening, given.seconds)
        held.append(judged("PostgreSQL", evening, uvloop.run(_deadlocks(url))))
    return 0 if all(held) else 1


async def _deadlocks(url: str) -> int:
    connection = await asyncpg.connect(url, ssl=False)
    try:
        found: int = await connection.fetchval(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
        return found
    finally:
        await connection.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restaurant", description=__doc__)
    parser.add_argument("--seconds", type=int, default=30, help="how long the rush lasts on each database")
    parser.add_argument(
        "--directory", type=Path, default=Path("/var/tmp"), help="where the database is made: on a disk"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

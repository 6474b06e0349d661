"""Whatever is killed, each answered request is counted exactly once in the traffic statistics.

Meanwhile some messages are no events, some lines come a second time, and some requests are repeated.
"""

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.databases import rows_of
from tests.running import DawrServer, dawr, eventually, set_up, venue_document
from tests.servers import PostgresServer, ValkeyServer, server_directory
from tests.stories.several import workers_of
from tests.stories.traffic_audit import ledger, must_add_up, must_be_counted_once, must_be_exactly_dead
from tests.stories.traffic_chaos import (
    REFUSING,
    framed,
    kill_the_traffic_process,
    leave_a_spool,
    poison,
    shipped_lines,
)
from tests.stories.traffic_load import Load

PATHS = ["/favicon.ico", "/v1/venues/clinic?n={number}", "/api/v1/queue/status?clinic=lab", "/nowhere/{number}"]
POISONED, REDELIVERED, COPIES = 0.01, 0.10, 4
TRIES = 4
ON = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1"}

Outage = Callable[[], None]


class Story:
    """A server, its statistics, and what goes wrong with them while requests come."""

    def __init__(self, server: DawrServer, data: Path, database: Path | str, requests: int) -> None:
        self.seed = f"{requests} requests"
        self.server = server
        self.database = database
        self.spools = data / "traffic" / "spool"
        self.load = Load(server.port, requests, PATHS, seed=self.seed)
        self.poison: list[str] = []
        self.copied = 0

    def outlive(self, outages: list[Outage]) -> None:
        """All outages in any order, spread over the requests; lines come again in between."""
        requests, chance = self.load.requests, random.Random(self.seed)
        self.poison = poison(int(requests * POISONED))
        leave_a_spool(self.spools, [framed(body) for body in self.poison])
        happenings = [*outages, *[self._redeliver] * COPIES]
        chance.shuffle(happenings)
        with self.load.running():
            for number, happens in enumerate(happenings, start=1):
                self.load.until((number - chance.random()) / (len(happenings) + 1))
                happens()
        eventually(lambda: self.copied >= requests * REDELIVERED or self._redeliver() > 0, seconds=60)

    def settle(self) -> None:
        eventually(self._is_settled, seconds=300)
        unanswered = must_be_counted_once(self.database, self.load)
        must_be_exactly_dead(self.database, self.poison, tries=TRIES)
        must_add_up(self.database)
        load = self.load
        assert ledger(self.database, "duplicates") >= self.copied + load.repeated.total()
        assert ledger(self.database, "lost") == ledger(self.database, "damaged") == 0
        assert len(load.sent) == load.requests
        print(  # noqa: T201
            f"seed {self.seed!r}: {len(load.sent)} sent, {len(load.answered)} answered, {unanswered} counted without "
            f"an answer, {load.repeated.total()} repeated, {self.copied} redelivered, {len(self.poison)} dead"
        )

    def _is_settled(self) -> bool:
        """Nothing waits, and all spools but those in use are gone."""
        ((waiting,),) = rows_of(self.database, "SELECT count(*) FROM traffic_queue")
        ((counted,),) = rows_of(self.database, "SELECT count(*) FROM traffic_events")
        return bool(waiting == 0 and counted >= len(self.load.answered))

    def _redeliver(self) -> int:
        most = int(self.load.requests * REDELIVERED / COPIES)
        lines = shipped_lines(self.database, self.spools, most)
        leave_a_spool(self.spools, lines)
        self.copied += len(lines)
        return self.copied

    def kill_the_service(self) -> None:
        self.server.kill()
        self.server.start()

    def kill_the_traffic_process(self) -> None:
        kill_the_traffic_process(self.server)


class Size(NamedTuple):
    requests: int
    consumers: int
    """How often the traffic process is killed."""
    services: int
    databases: int


@pytest.fixture(
    params=[
        pytest.param(Size(10_000, 3, 2, 1), marks=pytest.mark.slow),
        pytest.param(Size(100_000, 10, 5, 3), marks=pytest.mark.prove),
    ],
    ids=lambda size: f"{size.requests}",
)
def size(request: pytest.FixtureRequest) -> Size:
    return Size(*request.param)


def test_on_one_machine_whatever_is_killed(tmp_path: Path, size: Size) -> None:
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)
    database = tmp_path / "traffic" / "traffic.sqlite"
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON) as server:
        eventually((tmp_path / "traffic" / "control.sock").exists)
        rows_of(database, REFUSING)
        story = Story(server, tmp_path, database, size.requests)

        story.outlive([story.kill_the_traffic_process] * size.consumers + [story.kill_the_service] * size.services)

        story.settle()
        must_be_verified(story, DAWR_DATA=str(tmp_path))


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with server_directory() as directory, PostgresServer(directory) as server:
        yield server


def test_with_two_workers_on_postgresql_whatever_is_killed(
    tmp_path: Path, postgres: PostgresServer, valkey_server: ValkeyServer, size: Size
) -> None:
    url = postgres.create_database("dawr")
    settings = {"DAWR_DATABASE_URL": url, "DAWR_REDIS_URL": valkey_server.url, "DAWR_DATA": str(tmp_path)}
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings)
    with DawrServer(tmp_path, "serve", "--workers", "2", **settings, **ON) as server:
        eventually((tmp_path / "traffic" / "control.sock").exists)
        story = Story(server, tmp_path, url, size.requests)

        def kill_postgres() -> None:
            postgres.kill()
            postgres.start()

        def kill_a_worker() -> None:
            before = workers_of(server)
            os.kill(min(before), signal.SIGKILL)
            eventually(lambda: len(workers_of(server) - before) == 1)

        story.outlive(
            [story.kill_the_traffic_process] * size.consumers
            + [story.kill_the_service] * size.services
            + [kill_postgres] * size.databases
            + [kill_a_worker]
        )

        story.settle()
        must_be_verified(story, **settings)


def must_be_verified(story: Story, **settings: str) -> None:
    """By our own command, too; and it notices one row that is missing."""
    checked = dawr("traffic", "verify", **settings)
    assert checked.exit_code == 0, checked

    rows_of(story.database, "DELETE FROM traffic_events WHERE id = (SELECT max(id) FROM traffic_events)")
    checked = dawr("traffic", "verify", **settings)
    assert checked.exit_code == 1, checked

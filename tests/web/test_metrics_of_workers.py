"""Several workers count as one, and go on counting when one of them is killed."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.installations import Installation
from tests.running import Client, DawrServer, eventually
from tests.servers import ValkeyServer
from tests.servers.place import free_port
from tests.web.scraping import Samples, scrape, total, value

pytestmark = pytest.mark.slow

WORKERS = 2
JOINS = 40
SHORT_LIVES = 3
"""After them the next one is waited with for most of a second."""


@pytest.fixture
def scaled(tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer) -> Installation:
    settings = {
        "DAWR_DATABASE_URL": postgres_url,
        "DAWR_REDIS_URL": valkey_server.url,
        "DAWR_METRICS_PORT": str(free_port()),
    }
    return Installation(settings, postgres_url, tmp_path)


def workers_of(server: DawrServer) -> list[int]:
    return sorted(map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()))


def scraped(scaled: Installation) -> Samples:
    """By whichever worker answers."""
    with Client(f"http://127.0.0.1:{scaled.settings['DAWR_METRICS_PORT']}") as scraper:
        return scrape(scraper)


def take(server: DawrServer, first: int) -> None:
    """Each over a connection of its own, so that all workers get some."""
    for number in range(first, first + JOINS):
        with Client(server.url) as client:
            assert client.enter("lab", f"visitor {number}").status == 200


def requests_by_worker(server: DawrServer) -> int:
    return server.log.read_text().count('"route":"/api/v1/queue/enter"')


def test_whichever_worker_is_asked_tells_of_all_and_a_killed_one_takes_nothing_along(scaled: Installation) -> None:
    scaled.create_venue()
    with scaled.serve("--workers", str(WORKERS)) as server:
        take(server, 0)
        for _ in range(8):
            told = scraped(scaled)
            assert value(told, "dawr_joins_total", venue="clinic", queue="lab") == JOINS
            assert value(told, "dawr_workers") == WORKERS
            assert value(told, "dawr_shared_up") == value(told, "dawr_store_up") == 1

        before = scraped(scaled)
        victim = workers_of(server)[0]
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: len(set(workers_of(server)) - {victim}) == WORKERS)
        eventually(lambda: value(scraped(scaled), "dawr_workers") == WORKERS)
        take(server, JOINS)

        after = scraped(scaled)
        assert server.stop() == 0

    assert value(after, "dawr_joins_total", venue="clinic", queue="lab") == 2 * JOINS
    assert value(after, "dawr_requests_total", route="/api/v1/queue/enter", method="POST", status="200") == 2 * JOINS
    counters = [key for key in before if key[0].endswith(("_total", "_count", "_bucket", "_sum"))]
    assert [key for key in counters if after[key] < before[key]] == []
    assert total(after, "dawr_watchers") == 0


def test_a_place_that_is_empty_serves_nobody_and_has_no_watchers(scaled: Installation) -> None:
    scaled.create_venue()
    with scaled.serve("--workers", str(WORKERS)) as server:
        stays, victim = workers_of(server)
        for _ in range(SHORT_LIVES):
            os.kill(victim, signal.SIGKILL)
            victim = the_one_after(server, stays, victim)
        eventually(lambda: value(scraped(scaled), "dawr_workers") == WORKERS)
        os.kill(stays, signal.SIGSTOP)  # so that the other one gets the watcher
        watcher = Client(server.url)
        watcher._connection.request("GET", "/v1/events?venue=clinic")
        assert watcher._connection.getresponse().status == 200
        os.kill(stays, signal.SIGCONT)
        eventually(lambda: value(scraped(scaled), "dawr_watchers") == 1)

        os.kill(victim, signal.SIGKILL)
        eventually(lambda: workers_of(server) == [stays])
        told = scraped(scaled)
        watcher.close()

    assert value(told, "dawr_workers") == WORKERS - 1
    assert value(told, "dawr_watchers") == 0


def the_one_after(server: DawrServer, stays: int, victim: int) -> int:
    eventually(lambda: not set(workers_of(server)) <= {stays, victim})
    (successor,) = set(workers_of(server)) - {stays, victim}
    return successor


def test_the_watchers_of_a_killed_worker_are_not_counted_any_more(scaled: Installation) -> None:
    scaled.create_venue()
    with scaled.serve("--workers", str(WORKERS)) as server:
        watchers = [Client(server.url) for _ in range(12)]
        for watcher in watchers:
            watcher._connection.request("GET", "/v1/events?venue=clinic")
            assert watcher._connection.getresponse().status == 200
        eventually(lambda: value(scraped(scaled), "dawr_watchers") == len(watchers))

        for worker in workers_of(server):
            os.kill(worker, signal.SIGKILL)
            eventually(lambda gone=worker: len(set(workers_of(server)) - {gone}) == WORKERS)  # type: ignore[misc]
        eventually(lambda: value(scraped(scaled), "dawr_workers") == WORKERS)

        assert value(scraped(scaled), "dawr_watchers") == 0
        for watcher in watchers:
            watcher.close()

"""How many wait in each queue, and for how long, as those who watch the service are told."""

import os
import signal
from pathlib import Path

import pytest

from dawr.observe.metrics import families
from dawr.observe.metrics.metrics import MOST_SERIES, OTHER, Metrics
from dawr.observe.metrics.region import Region
from tests.running import Client, DawrServer, eventually, set_up, venue_document
from tests.servers import ValkeyServer
from tests.servers.place import free_port
from tests.web.scraping import TOKEN, Samples, parsed, scrape, total, value

LAB, XRAY = {"venue": "clinic", "queue": "lab"}, {"venue": "clinic", "queue": "xray"}


def test_a_queue_that_is_gone_is_told_no_more_and_one_that_comes_is() -> None:
    metrics = Metrics()
    metrics.measure({families.WATCHERS: 1.0})

    metrics.tabulate(families.WAITING, {("clinic", "lab"): 3.0, ("clinic", "xray"): 0.0})
    before = parsed(metrics.text("1"))
    metrics.tabulate(families.WAITING, {("clinic", "lab"): 4.0})
    after = parsed(metrics.text("1"))
    metrics.tabulate(families.WAITING, {})
    at_last = parsed(metrics.text("1"))

    assert series_of(before) == {("clinic", "lab"): 3.0, ("clinic", "xray"): 0.0}
    assert series_of(after) == {("clinic", "lab"): 4.0}
    assert series_of(at_last) == {}


def test_what_a_process_saw_goes_with_it_though_another_takes_its_slot() -> None:
    regions = [Region(), Region()]
    first = Metrics(regions, 0)
    first.measure({families.WATCHERS: 1.0})
    first.tabulate(families.WAITING, {("clinic", "lab"): 3.0})

    reborn, other = Metrics(regions, 0), Metrics(regions, 1)
    reborn.measure({families.WATCHERS: 1.0})
    other.measure({families.WATCHERS: 1.0})
    other.tabulate(families.WAITING, {("clinic", "lab"): 5.0})

    assert series_of(parsed(other.text("1"))) == {("clinic", "lab"): 5.0}


def test_with_too_many_queues_the_last_share_a_series_that_says_how_many_wait_in_all_of_them() -> None:
    metrics = Metrics()
    metrics.measure({families.WATCHERS: 1.0})
    queues = [("clinic", f"queue-{number}") for number in range(MOST_SERIES + 50)]

    for _ in range(2):
        metrics.tabulate(families.WAITING, dict.fromkeys(queues, 2.0))
        metrics.tabulate(families.LONGEST_WAIT_SECONDS, {queue: float(at) for at, queue in enumerate(queues)})

    told = parsed(metrics.text("1"))
    assert value(told, "dawr_waiting", venue=OTHER, queue=OTHER) == 100
    assert total(told, "dawr_waiting") == 2 * len(queues)
    assert value(told, "dawr_longest_wait_seconds", venue=OTHER, queue=OTHER) == len(queues) - 1


def series_of(samples: Samples) -> dict[tuple[str, str], float]:
    return {
        (dict(labels)["venue"], dict(labels)["queue"]): number
        for (name, labels), number in samples.items()
        if name == "dawr_waiting"
    }


def test_who_waits_and_for_how_long_is_told_of_each_queue_and_survives_a_restart(tmp_path: Path) -> None:
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}, {"id": "xray"}), DAWR_DATA=tmp_path / "data")
    server = DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data", DAWR_METRICS_TOKEN=TOKEN)
    with server, Client(server.url) as client:
        for name in ("Amna", "Basma", "Huda"):
            assert client.enter("lab", name).status == 200
        eventually(lambda: value(scrape(client, bearer=TOKEN), "dawr_waiting", **LAB) == 3)
        first = scrape(client, bearer=TOKEN)
        eventually(lambda: longest(client) > longest_in(first))
    with server, Client(server.url) as client:
        eventually(lambda: longest(client) > longest_in(first))
        again = scrape(client, bearer=TOKEN)

    assert series_of(first) == series_of(again) == {("clinic", "lab"): 3.0, ("clinic", "xray"): 0.0}
    assert 0 < longest_in(first) < 600
    assert value(first, "dawr_longest_wait_seconds", **XRAY) == 0


def longest(client: Client) -> float:
    return longest_in(scrape(client, bearer=TOKEN))


def longest_in(samples: Samples) -> float:
    return value(samples, "dawr_longest_wait_seconds", **LAB)


@pytest.mark.slow
def test_one_of_all_processes_tells_it_and_when_that_one_is_killed_another_does(
    tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer
) -> None:
    """Two hosts: whoever adds up what they say counts nobody twice."""
    ports = [free_port(), free_port()]
    settings = {"DAWR_DATABASE_URL": postgres_url, "DAWR_REDIS_URL": valkey_server.url, "DAWR_HOSTS": "2"}
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings)
    hosts = []
    for port in ports:
        home = tmp_path / str(port)
        home.mkdir()
        hosts.append(DawrServer(home, "serve", "--workers", "2", **settings, DAWR_METRICS_PORT=str(port)))

    def waiting() -> list[float]:
        """What is told anywhere."""
        told = []
        for port in ports:
            with Client(f"http://127.0.0.1:{port}") as scraper:
                told.append(scrape(scraper))
        return [samples[key] for samples in told for key in samples if key[0] == "dawr_waiting"]

    with hosts[0] as first, hosts[1], Client(first.url) as client:
        assert client.enter("lab", "Amna").status == 200
        eventually(lambda: waiting() == [1.0])
        for host in hosts:
            for worker in Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split():
                os.kill(int(worker), signal.SIGKILL)
        eventually(lambda: all(answers(port) for port in ports))
        assert waiting() in ([], [1.0])
        eventually(lambda: waiting() == [1.0])


def answers(port: int) -> bool:
    try:
        with Client(f"http://127.0.0.1:{port}") as scraper:
            return value(scrape(scraper), "dawr_workers") == 2
    except OSError:
        return False

"""What is counted, and how it is told."""

import math
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr import __version__
from dawr.observe.metrics import families
from dawr.observe.metrics.families import FAMILIES
from dawr.observe.metrics.metrics import MOST_SERIES, OTHER, Metrics
from dawr.observe.metrics.region import NOWHERE, SIZE, Region
from dawr.observe.metrics.text import merged
from dawr.web.table import ROUTES
from tests.deploy.test_dashboards import ALERTS
from tests.running import Client, DawrServer, dawr, eventually, must_be_problem, venue_document
from tests.servers import PostgresServer, server_directory
from tests.servers.place import free_port
from tests.web.scraping import TOKEN, Samples, parsed, scrape, total, value

MS = 1_000_000


def test_a_request_is_counted_by_its_route_and_timed() -> None:
    metrics = Metrics()

    metrics.answered("GET", "/health/live", 200, 2 * MS)
    metrics.answered("GET", "/health/live", 200, 3_000 * MS)
    metrics.answered("POST", "/health/live", 405, 0)

    told = parsed(metrics.text("1"))
    assert value(told, "dawr_requests_total", route="/health/live", method="GET", status="200") == 2
    assert value(told, "dawr_requests_total", route="/health/live", method="POST", status="405") == 1
    assert value(told, "dawr_request_seconds_count", route="/health/live") == 3
    assert value(told, "dawr_request_seconds_sum", route="/health/live") == pytest.approx(3.002)
    buckets = [value(told, "dawr_request_seconds_bucket", route="/health/live", le=le) for le in ("0.001", "0.0025")]
    assert buckets == [1, 2]
    assert value(told, "dawr_request_seconds_bucket", route="/health/live", le="2.5") == 2
    assert value(told, "dawr_request_seconds_bucket", route="/health/live", le="+Inf") == 3


def test_a_stream_is_counted_and_not_timed() -> None:
    metrics = Metrics(untimed={"/v1/events"})

    metrics.answered("GET", "/v1/events", 200, 300_000 * MS)

    told = parsed(metrics.text("1"))
    assert value(told, "dawr_requests_total", route="/v1/events", method="GET", status="200") == 1
    assert total(told, "dawr_request_seconds_count") == 0


@given(st.lists(st.floats(0, 100), max_size=30))
def test_a_histogram_counts_each_value_in_every_bucket_that_it_fits(values: list[float]) -> None:
    metrics = Metrics()

    for seconds in values:
        metrics.ran(1, seconds)

    told = parsed(metrics.text("1"))
    for bound in families.COMMIT_BOUNDS:
        fitting = sum(seconds <= bound for seconds in values)
        assert value(told, "dawr_commit_seconds_bucket", le=repr(bound)) == fitting
    assert value(told, "dawr_commit_seconds_count") == len(values)
    assert math.isclose(value(told, "dawr_commit_seconds_sum"), sum(values), abs_tol=1e-9)


@given(st.text(max_size=20), st.text(max_size=20))
def test_whatever_a_label_is_it_is_told_as_it_is(venue: str, queue: str) -> None:
    venue, queue = (name.encode(errors="replace").decode().replace("\r", "") for name in (venue, queue))
    metrics = Metrics()

    metrics._add(families.JOINS, venue, queue)

    assert value(parsed(metrics.text("1")), "dawr_joins_total", venue=venue, queue=queue) == 1


def test_the_numbers_of_all_slots_are_added_and_one_never_goes_down_when_its_worker_dies() -> None:
    regions = [Region(), Region()]
    first, second = Metrics(regions, 0), Metrics(regions, 1)
    first.limit_hit("join")
    second.limit_hit("join")
    second.limit_hit("look")
    second.measure({families.WATCHERS: 5.0, families.STORE_UP: 1.0})
    first.measure({families.WATCHERS: 2.0, families.STORE_UP: 0.0, families.LIMITS_LOCAL: 1.0})
    before = parsed(first.text("1"))

    regions[1].die()
    after_death = parsed(first.text("1"))
    reborn = Metrics(regions, 1)
    reborn.limit_hit("join")
    reborn.measure({families.WATCHERS: 1.0, families.STORE_UP: 1.0})
    after = parsed(reborn.text("1"))

    assert [value(told, "dawr_limit_hits_total", policy="join") for told in (before, after_death, after)] == [2, 2, 3]
    assert [value(told, "dawr_limit_hits_total", policy="look") for told in (before, after_death, after)] == [1, 1, 1]
    assert [value(told, "dawr_watchers") for told in (before, after_death, after)] == [7, 2, 3]
    assert [value(told, "dawr_workers") for told in (before, after_death, after)] == [2, 1, 2]
    assert [value(told, "dawr_store_up") for told in (before, after_death, after)] == [0, 0, 0]
    assert value(after, "dawr_limits_local") == 1


def test_a_process_killed_while_it_counts_leaves_all_that_it_counted() -> None:
    region, (heard, said) = Region(), os.pipe()
    pid = os.fork()
    if pid == 0:
        metrics = Metrics([region])
        for turn in range(1000):
            metrics.limit_hit(f"policy-{turn % 7}")
        os.write(said, b"!")
        while True:
            metrics.failed("some-code")
    assert os.read(heard, 1) == b"!"
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(heard)
    os.close(said)

    next_one = Metrics([region])
    counted = value(parsed(next_one.text("1")), "dawr_errors_total", code="some-code")
    next_one.failed("some-code")

    told = parsed(next_one.text("1"))
    assert total(told, "dawr_limit_hits_total") == 1000
    assert value(told, "dawr_errors_total", code="some-code") == counted + 1


def test_a_series_that_was_not_finished_when_its_writer_died_is_as_if_it_had_not_begun() -> None:
    region = Region()
    first = Metrics([region])
    first.limit_hit("join")
    end = int(region.words[0])
    region.words[end], region.words[end + 1], region.words[end + 4] = 1, 9, 77.0

    second = Metrics([region])
    second.limit_hit("b")

    told = parsed(second.text("1"))
    assert {key for key in told if key[0] == "dawr_limit_hits_total"} == {
        ("dawr_limit_hits_total", frozenset({("policy", "join")})),
        ("dawr_limit_hits_total", frozenset({("policy", "b")})),
    }
    assert total(told, "dawr_limit_hits_total") == 2


def test_the_last_of_too_many_queues_are_counted_together() -> None:
    metrics = Metrics()

    for number in range(MOST_SERIES + 50):
        metrics._add(families.JOINS, "clinic", f"queue-{number}")

    told = parsed(metrics.text("1"))
    series = [key for key in told if key[0] == "dawr_joins_total"]
    assert len(series) == MOST_SERIES + 1
    assert value(told, "dawr_joins_total", venue=OTHER, queue=OTHER) == 50
    assert total(told, "dawr_joins_total") == MOST_SERIES + 50


def test_all_series_that_there_may_be_have_room() -> None:
    longest = "x" * 400
    region = Region()
    for family in FAMILIES:
        metrics = Metrics([region])
        for number in range(MOST_SERIES + 1 if family.labels else 1):
            labels = [f"{number} {longest}" for _ in family.labels]
            assert metrics._offset(family, *labels) != NOWHERE, family.name

    assert region.words[0] * 8 <= SIZE


def test_without_room_it_is_counted_nowhere_and_nobody_is_harmed() -> None:
    region = Region(4096)
    metrics = Metrics([region])
    metrics.limit_hit("join")

    for number in range(200):
        metrics.answered("GET", f"/{number}", 200, MS)

    assert value(parsed(metrics.text("1")), "dawr_limit_hits_total", policy="join") == 1


def test_gauges_of_several_processes_come_to_what_they_mean() -> None:
    regions = [Region(), Region()]
    for region, number in zip(regions, (3.0, 1.0), strict=True):
        Metrics([region]).measure(dict.fromkeys((family for family in FAMILIES if family.kind == "gauge"), number))

    together = {family: samples[()][0] for family, samples in merged(regions).items() if family.kind == "gauge"}

    assert {family.name: number for family, number in together.items() if number != 4.0} == {
        "dawr_waiting": 3.0,
        "dawr_limits_local": 3.0,
        "dawr_longest_wait_seconds": 3.0,
        "dawr_store_up": 1.0,
        "dawr_shared_up": 1.0,
        **{f"dawr_traffic_{name}": 3.0 for name in ("alerts", "backlog", "dead_letters", "lag_seconds", "spool_bytes")},
    }


def test_every_route_fits_into_a_label() -> None:
    assert max(len(route.path) for route in ROUTES) <= 100


def test_every_family_follows_the_rules_for_names() -> None:
    for family in FAMILIES:
        assert family.name.startswith("dawr_")
        assert family.name.endswith("_total") == (family.kind == "counter")
        assert bool(family.bounds) == (family.kind == "histogram")
        assert list(family.bounds) == sorted(set(family.bounds))
        assert "\n" not in family.says
        assert "\\" not in family.says


def test_what_people_do_is_counted_where_they_do_it(tmp_path: Path) -> None:
    with (
        DawrServer(
            tmp_path, "demo", "--data", tmp_path / "data", "--password", "a long walk", DAWR_METRICS_TOKEN=TOKEN
        ) as demo,
        Client(demo.url) as client,
    ):
        assert client.enter("lab", "Amna", key="once").status == 200
        assert client.enter("lab", "Amna", key="once").headers["idempotency-replayed"] == "true"
        assert client.enter("lab", "Basma").status == 200
        assert client.enter("lab", "Huda", key="once").json["code"] == "idempotency-key-reused"
        assert client.enter("nowhere", "Amna").status == 404
        staff = client.post("/v1/login", {"username": "demo", "password": "a long walk"}).json["session"]
        assert client.post("/v1/queues/clinic:lab/call-next", {}, bearer=staff).status == 200

        told = scrape(client, bearer=TOKEN)

    assert value(told, "dawr_joins_total", venue="clinic", queue="lab") == 2
    assert value(told, "dawr_calls_total", venue="clinic", queue="lab") == 1
    assert value(told, "dawr_wait_seconds_count", venue="clinic") == 1
    assert value(told, "dawr_idempotency_total", outcome="replay") == 1
    assert value(told, "dawr_idempotency_total", outcome="conflict") == 1
    assert value(told, "dawr_refusals_total", code="unknown-queue") == 1
    assert total(told, "dawr_errors_total") == 0
    assert value(told, "dawr_requests_total", route="/api/v1/queue/enter", method="POST", status="200") == 3
    assert value(told, "dawr_requests_total", route="/api/v1/queue/enter", method="POST", status="404") == 1
    assert value(told, "dawr_build_info", version=__version__) == 1
    assert value(told, "dawr_workers") == value(told, "dawr_store_up") == value(told, "dawr_limits_local") == 1
    assert value(told, "dawr_batch_commands_count") == value(told, "dawr_commit_seconds_count") > 3
    assert not any(name.startswith("dawr_shared_up") for name, _ in told)


def test_watchers_and_the_lag_of_what_they_are_told_are_measured(tmp_path: Path) -> None:
    with (
        DawrServer(tmp_path, "demo", "--data", tmp_path / "data", DAWR_METRICS_TOKEN=TOKEN) as demo,
        Client(demo.url) as client,
        Client(demo.url) as watcher,
    ):
        watcher._connection.request("GET", "/v1/events?venue=clinic")
        assert watcher._connection.getresponse().status == 200
        assert client.enter("lab", "Amna").status == 200

        told = scrape(client, bearer=TOKEN)

    assert value(told, "dawr_watchers") == 1
    assert value(told, "dawr_event_lag_seconds_count") == 1
    assert value(told, "dawr_event_lag_seconds_bucket", le="30.0") == 1


def test_without_its_token_nothing_is_told_and_without_a_token_there_is_nothing(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as client:
        must_be_problem(client.ask("/metrics"), 404, "no-such-path")
        must_be_problem(client.post("/metrics", {}), 404, "no-such-path")
        must_be_problem(client.ask("/metrics", headers={"Authorization": "Bearer "}), 404, "no-such-path")
    with (
        DawrServer(tmp_path, "demo", "--data", tmp_path / "data", DAWR_METRICS_TOKEN=TOKEN) as demo,
        Client(demo.url) as client,
    ):
        for wrong in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": TOKEN}):
            must_be_problem(client.ask("/metrics", headers=wrong), 401, "credentials-invalid")
        assert client.get("/metrics", bearer=TOKEN).status == 200
        must_be_problem(client.post("/metrics", {}, bearer=TOKEN), 405, "method-not-allowed")


def test_whoever_tries_tokens_is_held_back(tmp_path: Path) -> None:
    settings = {"DAWR_METRICS_TOKEN": TOKEN, "DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_LOOK": "3"}
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", **settings) as demo, Client(demo.url) as client:
        tried = [client.get("/metrics", bearer=f"guess {turn}").status for turn in range(5)]

        assert tried == [401, 401, 401, 429, 429]
        told = scrape(client, bearer=TOKEN)
        assert value(told, "dawr_limit_hits_total", policy="look") == 2


def test_a_port_of_its_own_shows_metrics_to_whoever_reaches_it_and_nothing_else(tmp_path: Path) -> None:
    port = free_port()
    with (
        DawrServer(tmp_path, "demo", "--data", tmp_path / "data", DAWR_METRICS_PORT=str(port)) as demo,
        Client(demo.url) as client,
        Client(f"http://127.0.0.1:{port}") as scraper,
    ):
        assert client.enter("lab", "Amna").status == 200
        assert value(scrape(scraper), "dawr_joins_total", venue="clinic", queue="lab") == 1
        must_be_problem(scraper.enter("lab", "Basma"), 404, "no-such-path")
        must_be_problem(scraper.ask("/health/live"), 404, "no-such-path")
        must_be_problem(client.ask("/metrics"), 404, "no-such-path")
        assert demo.stop() == 0


def test_another_address_with_the_same_port_is_not_mistaken_for_it(tmp_path: Path) -> None:
    demo = DawrServer(tmp_path, "demo", "--data", tmp_path / "data")
    demo._settings = {"DAWR_METRICS_HOST": "127.0.0.2", "DAWR_METRICS_PORT": str(demo.port)}
    with demo, Client(demo.url) as client, Client(f"http://127.0.0.2:{demo.port}") as scraper:
        assert client.enter("lab", "Amna").status == 200
        must_be_problem(client.ask("/metrics"), 404, "no-such-path")
        assert value(scrape(scraper), "dawr_joins_total", venue="clinic", queue="lab") == 1
        must_be_problem(scraper.enter("lab", "Basma"), 404, "no-such-path")


def test_a_database_that_is_away_is_seen_and_is_seen_to_be_back(tmp_path: Path) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        url = postgres.create_database("dawr")
        dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATABASE_URL=url)
        with (
            DawrServer(tmp_path, "serve", DAWR_DATABASE_URL=url, DAWR_METRICS_TOKEN=TOKEN) as server,
            Client(server.url) as client,
        ):
            assert value(scrape(client, bearer=TOKEN), "dawr_store_up") == 1

            postgres.kill()
            assert client.enter("lab", "Amna").status == 503
            away = scrape(client, bearer=TOKEN)

            postgres.start()
            eventually(lambda: value(scrape(client, bearer=TOKEN), "dawr_store_up") == 1)

    assert value(away, "dawr_store_up") == 0
    assert value(away, "dawr_errors_total", code="store-away") >= 1
    assert value(away, "dawr_refusals_total", code="store-away") == 0
    assert fails({}, away)


def test_a_full_queue_pages_nobody(tmp_path: Path) -> None:
    """The clinic's contract has 503 for it, and it is no failure all the same."""
    dawr("venue", "apply", "-", "--data", tmp_path, stdin=venue_document({"id": "tiny", "capacity": 1}))
    with (
        DawrServer(tmp_path, "serve", "--data", tmp_path, DAWR_METRICS_TOKEN=TOKEN) as server,
        Client(server.url) as client,
    ):
        before = scrape(client, bearer=TOKEN)
        at_the_door = [client.enter("tiny", f"visitor {number}").status for number in range(10)]
        native = client.post("/v1/queues/clinic:tiny/tickets", {"visitor": "one more"})
        after = scrape(client, bearer=TOKEN)

    assert at_the_door == [200] + [503] * 9
    must_be_problem(native, 409, "queue-full")
    assert value(after, "dawr_refusals_total", code="queue-full") == 10
    assert total(after, "dawr_errors_total") == 0
    assert not fails(before, after)
    assert '"api.error"' not in server.log.read_text()


def fails(before: Samples, after: Samples) -> bool:
    """Whether the alert `DawrFails` would say so, if what lies between the two lasted."""
    (rule,) = (alert for alert in ALERTS if alert["alert"] == "DawrFails")
    of_all = r"sum by \(instance\) \(rate\((\w+)\[5m\]\)\)"
    asked = re.fullmatch(rf"{of_all} / {of_all} > ([\d.]+)", rule["expr"])
    assert asked is not None, rule["expr"]
    failed, answered = (total(after, name) - total(before, name) for name in (asked[1], asked[2]))
    return failed / answered > float(asked[3])

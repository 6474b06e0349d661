"""`dawr check` on limits: whether they are on, who counts them, and what the running server says."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest
import redis

from dawr.cli.check import server as server_check
from dawr.cli.check.findings import Report
from dawr.cli.check.limits import look_at_limits, look_at_shared_clock, look_at_shared_info
from dawr.cli.check.server import Health, look_at_health, look_at_server
from dawr.settings import Settings
from dawr.stores.postgres import CONNECT_SECONDS, TRANSACTION_SECONDS
from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.running import Client, DawrServer, eventually
from tests.servers import ValkeyServer, server_directory

SCALED = "postgresql://nowhere/dawr"
SHARED = {"redis_version": "7.2.4", "valkey_version": "9.1.0", "role": "master", "maxmemory": 0}
KEEPS = {"maxmemory": 1_000_000, "maxmemory_policy": "noeviction"}


def limits_of(settings: Settings) -> list[tuple[str, str]]:
    report = Report()
    asyncio.run(look_at_limits(settings, report))
    assert {found.about for found in report.findings} == {"limits"}
    return [(found.level, found.sentence) for found in report.findings]


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    """One that may be stopped."""
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


def test_limits_that_are_off_are_named() -> None:
    assert limits_of(Settings(rate_limits="off")) == [
        (
            "warning",
            "Limits are off (DAWR_RATE_LIMITS=off): nobody is held back. Remove it when the load run is over.",
        )
    ]


@pytest.mark.parametrize("settings", [{"workers": 2}, {"hosts": 2}], ids=["workers", "hosts"])
def test_processes_that_share_nothing_are_named(settings: dict[str, int]) -> None:
    ((level, sentence),) = limits_of(Settings(database_url=SCALED, **settings))  # type: ignore[arg-type]

    assert level == "wrong"
    assert sentence.startswith("2 processes ")
    assert "Set DAWR_REDIS_URL" in sentence


def test_a_valkey_that_an_embedded_installation_has_no_use_for_is_named() -> None:
    ((level, sentence),) = limits_of(Settings(redis_url="redis://127.0.0.1:1/0"))

    assert level == "wrong"
    assert "the embedded database has one process" in sentence


def test_a_valkey_that_answers_counts_for_all(valkey_server: ValkeyServer) -> None:
    ((level, sentence),) = limits_of(Settings(database_url=SCALED, redis_url=valkey_server.url, workers=4))

    assert level == "fine"
    assert sentence.endswith(" answers, and all processes count limits there together.")


def test_a_valkey_that_was_stopped_is_named(own_valkey: ValkeyServer) -> None:
    own_valkey.kill()

    ((level, sentence),) = limits_of(
        Settings(database_url=SCALED, redis_url=f"redis://:hunter2@127.0.0.1:{own_valkey.port}/0")
    )

    assert level == "wrong"
    assert sentence.startswith("Redis or Valkey cannot be reached (")
    assert "each process counts limits by itself" in sentence
    assert "hunter2" not in sentence


def test_a_valkey_that_hangs_is_named(own_valkey: ValkeyServer) -> None:
    """Connected, and silent: it is asked for some seconds and no longer."""
    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        ((level, _),) = limits_of(Settings(database_url=SCALED, redis_url=own_valkey.url))
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)

    assert level == "wrong"


def test_a_valkey_that_is_full_is_named(own_valkey: ValkeyServer) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "1kb")

    ((level, sentence),) = limits_of(Settings(database_url=SCALED, redis_url=own_valkey.url))

    assert level == "wrong"
    assert " of 1 kB), so it takes no writes" in sentence


def test_an_address_that_cannot_be_used_is_named_without_its_password() -> None:
    ((level, sentence),) = limits_of(Settings(database_url=SCALED, redis_url="redis://:hun/ter2@host:6379/0"))

    assert level == "wrong"
    assert "hun" not in sentence
    assert "ter2" not in sentence


@pytest.mark.parametrize(
    ("info", "level", "sentence"),
    [
        (SHARED, "fine", "Valkey 9.1.0 answers"),
        ({"redis_version": "6.2.14"}, "wrong", "Redis 6.2.14 is too old: Dawr needs Redis 7 or newer, or Valkey."),
        (SHARED | {"role": "slave"}, "wrong", "Valkey 9.1.0 is a replica"),
        (SHARED | {"maxmemory": 10**8, "maxmemory_policy": "allkeys-lru"}, "warning", "Valkey 9.1.0 may forget limits"),
        (SHARED | KEEPS | {"used_memory": 899_999}, "fine", "Valkey 9.1.0 answers"),
        (SHARED | KEEPS | {"used_memory": 900_000}, "warning", "Valkey 9.1.0 is nearly full (878 of 976 kB)"),
        (SHARED | KEEPS | {"used_memory": 1_000_000}, "wrong", "Valkey 9.1.0 is full (976 of 976 kB), so it"),
    ],
    ids=["fit", "old", "replica", "forgets", "does not forget", "nearly full", "full"],
)
def test_a_shared_store_that_is_unfit_is_named(info: dict[str, object], level: str, sentence: str) -> None:
    report = Report()

    look_at_shared_info(info, report)

    assert [found.level for found in report.findings] == [level]
    assert report.findings[0].sentence.startswith(sentence)


@pytest.mark.parametrize(("shared_now", "found"), [(7_999, 0), (8_000, 0), (12_500, 0), (7_000, 1), (12_501, 1)])
def test_a_clock_that_is_off_is_named(shared_now: int, found: int) -> None:
    report = Report()

    look_at_shared_clock(shared_now, 9_999, 10_500, report)

    assert len(report.findings) == found


WELL = Health(version="0", shared="there", processes=1, stale=False)


@pytest.mark.parametrize(
    ("health", "sentence"),
    [
        (Health("0", "away", 1, stale=False), "That server does not reach its Redis or Valkey"),
        (Health("0", "there", 1, stale=True), "Streams of that server show what may be out of date"),
        (
            Health("0", "there", 5, stale=False),
            "5 processes serve this installation, but DAWR_WORKERS times DAWR_HOSTS",
        ),
    ],
    ids=["shared", "stale", "processes"],
)
def test_what_the_server_says_of_itself_is_passed_on(health: Health, sentence: str) -> None:
    well, unwell = Report(), Report()

    look_at_health(WELL, Settings(workers=4), well)
    look_at_health(health, Settings(workers=4), unwell)

    assert sentence not in repr(well.findings)
    assert sentence in unwell.findings[-1].sentence


def test_a_running_server_that_lost_its_valkey_is_named(scaled: Installation, own_valkey: ValkeyServer) -> None:
    settings = {**scaled.settings, "DAWR_REDIS_URL": own_valkey.url}
    with DawrServer(scaled.directory, "serve", **settings) as server, Client(server.url) as client:
        asked = {"DAWR_REDIS_URL": own_valkey.url, "DAWR_PORT": str(server.port)}
        before = run_here(scaled, "check", **asked)
        own_valkey.kill()
        eventually(lambda: client.get("/health").json["shared"] == "away")
        after = run_here(scaled, "check", **asked)
    stopped = run_here(scaled, "check", **asked)

    assert (before.exit_code, after.exit_code) == (0, 1)
    assert f"✓  The server at http://127.0.0.1:{server.port} can store." in before.said
    assert "!  That server does not reach its Redis or Valkey: each process counts limits by itself" in after.said
    assert "✗  Redis or Valkey cannot be reached" in after.said
    assert f"✓  No server answers at http://127.0.0.1:{server.port}." in stopped.said


def test_a_server_that_hangs_is_named(scaled: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the connection, and says nothing: that is not the same as no server."""
    monkeypatch.setattr(server_check, "SECONDS", 1)
    with DawrServer(scaled.directory, "serve", **scaled.settings) as server:
        os.kill(server.pid, signal.SIGSTOP)
        try:
            done = run_here(scaled, "check", DAWR_PORT=str(server.port))
        finally:
            os.kill(server.pid, signal.SIGCONT)

    assert done.exit_code == 1
    assert f"✗  The server at http://127.0.0.1:{server.port} does not answer within 1 s" in done.said


def test_a_server_is_given_the_time_to_find_that_postgresql_hangs() -> None:
    assert server_check.SECONDS > TRANSACTION_SECONDS + CONNECT_SECONDS


def test_a_name_that_leads_nowhere_is_not_called_a_server_that_is_stopped() -> None:
    report = Report()

    look_at_server(Settings(database_url=SCALED, host="nowhere.invalid"), report)

    assert [found.level for found in report.findings] == ["warning"]
    assert report.findings[0].sentence.startswith("The server at http://nowhere.invalid:")


def test_another_program_at_the_address_is_named(scaled: Installation, own_valkey: ValkeyServer) -> None:
    run_here(scaled, "migrate")

    done = run_here(scaled, "check", DAWR_PORT=str(own_valkey.port))

    assert f"http://127.0.0.1:{own_valkey.port}" in done.said
    assert done.exit_code == 0

"""`dawr serve`: what it refuses, in a sentence."""

import json
from pathlib import Path

import pytest

from dawr import __version__
from tests.cli.installations import Installation, take_numbers
from tests.running import Client, dawr, dawr_here


def test_an_installation_is_served_and_made_on_the_way(installation: Installation) -> None:
    with installation.serve() as server, Client(server.url) as client:
        assert client.ask("/health/ready").status == 200


def test_a_second_server_on_one_embedded_database_is_refused(embedded: Installation) -> None:
    embedded.create_venue()
    with embedded.serve() as first:
        second = embedded.dawr("serve", "--port", "0")

        assert second.exit_code == 1
        assert second.complained == (
            f"Error: The data directory {embedded.settings['DAWR_DATA']} is in use by process {first.pid}: one server "
            "writes to it at a time. Stop that one first, or choose another directory with --data.\n"
        )
        take_numbers(first, 3)


def test_a_second_server_on_one_postgresql_gives_numbers_of_the_same_line(scaled: Installation, tmp_path: Path) -> None:
    scaled.create_venue()
    other = Installation(scaled.settings, scaled.database, tmp_path / "other")
    other.directory.mkdir()
    with scaled.serve() as first, other.serve() as second, Client(first.url) as here, Client(second.url) as there:
        numbers = [(here if turn % 2 else there).enter("lab", f"visitor {turn}").json["number"] for turn in range(9)]

    assert numbers == list(range(1, 10))


def test_a_killed_server_leaves_nothing_in_the_way_of_the_next(embedded: Installation) -> None:
    embedded.create_venue()
    with embedded.serve() as server:
        take_numbers(server, 5)
        server.kill()

        server.start()

        take_numbers(server, 7)
    assert embedded.dawr("check").exit_code == 0
    assert embedded.rows("SELECT max(number) FROM tickets") == [(7,)]


def test_several_workers_cannot_share_an_embedded_database(embedded: Installation) -> None:
    done = embedded.dawr("serve", "--workers", "2")

    assert done.exit_code == 1
    assert "one writer, so 2 workers cannot share it" in done.complained
    assert "DAWR_DATABASE_URL" in done.complained


@pytest.mark.parametrize(
    ("settings", "options", "processes"),
    [({}, ["--workers", "3"], 3), ({"DAWR_HOSTS": "2"}, [], 2), ({"DAWR_HOSTS": "2", "DAWR_WORKERS": "3"}, [], 6)],
)
def test_several_processes_without_redis_are_told_what_to_do(
    settings: dict[str, str], options: list[str], processes: int
) -> None:
    done = dawr_here("serve", *options, DAWR_DATABASE_URL="postgresql://127.0.0.1:1/dawr", **settings)

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: {processes} processes (DAWR_WORKERS on each of DAWR_HOSTS) need a Redis")
    assert "Set DAWR_REDIS_URL" in done.complained


def test_a_redis_url_that_cannot_be_read_is_named_without_its_password(scaled: Installation) -> None:
    done = scaled.dawr("serve", "--workers", "2", DAWR_REDIS_URL="redis://dawr:hunter2#1@localhost:6379/0")

    assert done.exit_code == 1
    assert done.complained.startswith("Error: DAWR_REDIS_URL cannot be used: ")
    assert "hunter2" not in done.complained


@pytest.mark.parametrize(
    ("settings", "options", "sentence"),
    [
        ({"DAWR_PORT": "abc"}, [], "DAWR_PORT (port='abc') cannot be used: Expected `int`"),
        ({"DAWR_PORT": "70000"}, [], "DAWR_PORT (port='70000') cannot be used: Expected `int` <= 65535"),
        ({}, ["--port", "70000"], "DAWR_PORT (port=70000) cannot be used: Expected `int` <= 65535"),
        ({"DAWR_LANES": "0"}, [], "DAWR_LANES (lanes='0') cannot be used: Expected `int` >= 1"),
        ({"DAWR_BATCH_LIMIT": "1.5"}, [], "DAWR_BATCH_LIMIT (batch_limit='1.5') cannot be used"),
        ({"DAWR_LOG_LEVEL": "loud"}, [], "DAWR_LOG_LEVEL (log_level='loud') cannot be used"),
        ({"DAWR_ANSWERS_KEPT_HOURS": "1"}, [], "DAWR_ANSWERS_KEPT_HOURS (answers_kept_hours='1') cannot be used"),
        ({"DAWR_HOST": " "}, [], "DAWR_HOST (host='') cannot be used"),
        ({}, ["--workers", "0"], "DAWR_WORKERS (workers=0) cannot be used"),
        (
            {"DAWR_TRUSTED_PROXIES": "10.0.0.1/8"},
            [],
            "DAWR_TRUSTED_PROXIES cannot be used: 10.0.0.1/8 has host bits set",
        ),
        ({"DAWR_DATABASE_URL": "mysql://root@x/dawr"}, [], "DAWR_DATABASE_URL must begin with postgresql://"),
        ({"DAWR_DATABASE_URL": "postgresql://x:port/dawr"}, [], "DAWR_DATABASE_URL cannot be used: "),
        ({"DAWR_REDIS_URL": "http://x"}, [], "DAWR_REDIS_URL must begin with redis://"),
        ({"DAWR_REDIS_URL": "redis://x"}, [], "DAWR_REDIS_URL is for several processes on PostgreSQL"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    tmp_path: Path, settings: dict[str, str], options: list[str], sentence: str
) -> None:
    done = dawr_here("serve", "--data", tmp_path, *options, **settings)

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: {sentence}")
    assert done.complained.count("\n") == 1


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()

    done = dawr("serve", "--data", tmp_path / "a-file" / "data")

    assert done.exit_code == 1
    assert done.complained == f"Error: The data directory {tmp_path}/a-file/data cannot be made: Not a directory.\n"


def test_a_postgresql_that_is_away_at_the_start_is_named(tmp_path: Path) -> None:
    done = dawr("serve", DAWR_DATABASE_URL="postgresql://dawr:hunter2@127.0.0.1:1/dawr")

    assert done.exit_code == 1
    assert done.complained.startswith("Error: PostgreSQL: ")
    assert "hunter2" not in done.complained


def test_a_slip_of_the_pen_in_a_setting_is_logged_with_what_was_probably_meant(embedded: Installation) -> None:
    settings = {**embedded.settings, "DAWR_CLINIC_VENEU": "north", "DAWR_TEST_ANYTHING": "1"}
    with Installation(settings, embedded.database, embedded.directory).serve() as server:
        lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]

    said = [line for line in lines if line["event"] == "setting.unknown"]
    assert [(line["level"], line["setting"]) for line in said] == [("warning", "DAWR_CLINIC_VENEU")]
    assert said[0]["reason"].endswith("do you mean DAWR_CLINIC_VENUE?")


def test_the_ready_lines_name_the_version_and_where_the_data_is(embedded: Installation) -> None:
    with embedded.serve() as server:
        said = server.log.read_text()

    assert f"This is version {__version__}; its data is in {embedded.settings['DAWR_DATA']}." in said


@pytest.mark.parametrize(
    ("settings", "is_warned"),
    [
        ({}, False),
        ({"DAWR_HOST": "0.0.0.0"}, True),
        ({"DAWR_HOST": "0.0.0.0", "DAWR_TRUSTED_PROXIES": "127.0.0.0/8,10.0.0.2/32"}, False),
    ],
)
def test_whoever_listens_to_others_without_tls_is_told_that_browsers_cannot_sign_in(
    embedded: Installation, settings: dict[str, str], *, is_warned: bool
) -> None:
    with Installation({**embedded.settings, **settings}, embedded.database, embedded.directory).serve() as server:
        said = server.log.read_text()

    assert ("Browsers on other machines cannot sign in here" in said) == is_warned
    assert ("--tls-cert FILE --tls-key FILE" in said) == is_warned

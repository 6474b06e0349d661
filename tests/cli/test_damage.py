"""A database file that is damaged: nobody is told that it is ready, and everybody learns the way out."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.running import Client, DawrServer, must_be_problem

PAGE = 4096


@pytest.fixture
def used(embedded: Installation, ten_numbers: Path) -> Installation:
    shutil.copytree(ten_numbers, embedded.settings["DAWR_DATA"])
    return embedded


@pytest.fixture
def damaged(used: Installation, tmp_path: Path) -> Iterator[tuple[DawrServer, Client]]:
    """A server whose file is damaged while it runs. A backup was made before."""
    assert run_here(used, "backup", tmp_path / "backup").exit_code == 0
    with used.serve() as server, Client(server.url) as client:
        damage(used)
        yield server, client


def damage(installation: Installation, first_page: int = 1) -> None:
    """From this page on; page 0 has the schema's beginning."""
    path = Path(installation.database)
    with path.open("r+b") as file:
        file.seek(first_page * PAGE)
        file.write(b"\xa5" * (path.stat().st_size - first_page * PAGE))


@pytest.mark.parametrize("first_page", [0, 1, 20], ids=["no database at all", "every page", "some pages"])
def test_a_server_does_not_start_on_a_damaged_file(used: Installation, first_page: int) -> None:
    damage(used, first_page)

    done = used.dawr("serve", "--port", "0")

    assert done.exit_code == 1
    assert "Dawr is ready" not in done.said
    assert f"Error: The database {used.database} is damaged (" in done.complained
    assert f"`dawr restore --replace --data {used.settings['DAWR_DATA']} BACKUP`" in done.complained


def test_nor_where_only_a_page_is_damaged_that_a_start_does_not_read(used: Installation) -> None:
    ((root,),) = used.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'overtakings'")
    with Path(used.database).open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xa5" * PAGE)

    done = used.dawr("serve", "--port", "0")

    assert done.exit_code == 1
    assert f"Error: The database {used.database} is damaged (" in done.complained


def test_damage_that_is_met_while_running_is_told_and_not_retryable(damaged: tuple[DawrServer, Client]) -> None:
    server, client = damaged

    joined = client.enter("lab", "somebody", key="once")
    ready, health, clinic = (client.ask(path) for path in ("/health/ready", "/health", "/api/v1/health/status"))
    again = client.enter("lab", "somebody", key="once")

    for answer in (joined, ready, health, clinic, again):
        must_be_problem(answer, 503, "store-damaged")
        assert answer.json["retryable"] is False
        assert "dawr restore" in answer.json["detail"]
    assert health.json["version"]
    assert client.ask("/health/live").status == 200
    logged = [json.loads(line) for line in server.log.read_text().splitlines() if '"store.damaged"' in line]
    assert [line["level"] for line in logged] == ["error"]


@pytest.mark.parametrize(("language", "words"), [("ar", "نسخة احتياطية"), ("zh-CN", "恢复备份")])
def test_visitors_are_told_in_their_language(damaged: tuple[DawrServer, Client], language: str, words: str) -> None:
    _, client = damaged
    client.enter("lab", "somebody")

    answer = client.ask("/health/ready", headers={"Accept-Language": language})

    must_be_problem(answer, 503, "store-damaged")
    assert words in answer.json["detail"]


def test_check_says_what_the_server_cannot_do(used: Installation, damaged: tuple[DawrServer, Client]) -> None:
    _, client = damaged
    client.enter("lab", "somebody")

    done = run_here(used, "check", "--expect-server")

    assert done.exit_code == 1
    assert f"✗  A server holds {used.settings['DAWR_DATA']}, but is not well. The database " in done.said
    assert "can store" not in done.said
    assert done.said.count(f"The database {used.database} is damaged (") >= 2
    assert "btree" not in done.said.partition("(")[0]


def test_check_finds_damage_that_no_server_has_met(used: Installation) -> None:
    damage(used)

    done = run_here(used, "check")

    assert done.exit_code == 1
    assert f"✗  The database {used.database} is damaged (" in done.said
    assert "`dawr restore --replace --data " in done.said


def test_a_backup_is_the_way_out(used: Installation, damaged: tuple[DawrServer, Client], tmp_path: Path) -> None:
    server, client = damaged
    must_be_problem(client.enter("lab", "somebody"), 503, "store-damaged")

    assert server.stop() == 0
    restored = used.dawr("restore", "--replace", tmp_path / "backup")
    server.start()

    assert restored.exit_code == 0, restored
    with Client(server.url) as again:
        assert again.ask("/health/ready").status == 200
        assert again.enter("lab", "somebody").json["number"] == 11

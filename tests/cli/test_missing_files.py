"""Files of the data directory that are removed or replaced under a running server: no number is given then."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.here import run_here
from tests.cli.installations import Installation, take_numbers
from tests.running import Client, DawrServer, at_once, must_be_problem, venue_document

TRIES = 25


@pytest.fixture
def used(embedded: Installation, ten_numbers: Path) -> Installation:
    shutil.copytree(ten_numbers, embedded.settings["DAWR_DATA"])
    return embedded


@pytest.fixture
def data(used: Installation) -> Path:
    return Path(used.settings["DAWR_DATA"])


def remove_database(data: Path) -> None:
    for file in data.glob("dawr.sqlite*"):
        file.unlink()


def remove_all_of_ours(data: Path) -> None:
    for file in data.glob("dawr.*"):
        file.unlink()


def remove_log(data: Path) -> None:
    (data / "dawr.sqlite-wal").unlink()


def replace_database(data: Path) -> None:
    shutil.copy(data / "dawr.sqlite", data / "another")
    (data / "another").rename(data / "dawr.sqlite")


def move_directory(data: Path) -> None:
    data.rename(data.with_name("elsewhere"))


def enter(server: DawrServer, user: str) -> int:
    with Client(server.url) as client:
        return client.enter("lab", user).status


WAYS = (remove_database, remove_all_of_ours, remove_log, replace_database, move_directory)


@pytest.mark.parametrize("lose", WAYS, ids=lambda way: way.__name__)
def test_no_number_is_given_into_files_that_are_gone(
    used: Installation, data: Path, lose: Callable[[Path], None]
) -> None:
    with used.serve() as server, Client(server.url) as client:
        assert client.enter("lab", "the last one", key="before").json["number"] == 11
        lose(data)
        entered = at_once(lambda number: enter(server, f"late {number}"), range(TRIES))
        kept = client.enter("lab", "the last one", key="before")
        looked = [client.ask(path) for path in ("/health/ready", "/health", "/api/v1/health/status")]

        assert entered == [503] * TRIES
        for answer in (kept, *looked):
            must_be_problem(answer, 503, "store-missing")
            assert answer.json["retryable"] is False
            assert "removed or replaced" in answer.json["detail"]
        assert client.ask("/health/live").status == 200
        assert (data / "dawr.sqlite").exists() == (lose in {remove_log, replace_database})
    assert (data / "dawr.sqlite").exists() == (lose in {remove_log, replace_database})
    logged = [json.loads(line) for line in server.log.read_text().splitlines() if '"store.damaged"' in line]
    assert [line["level"] for line in logged] == ["error"]
    assert str(data / "dawr.sqlite") in logged[0]["reason"]


@pytest.mark.parametrize(("language", "words"), [("ar", "حُذفت"), ("zh-CN", "被删除或替换")])
def test_visitors_are_told_in_their_language(used: Installation, data: Path, language: str, words: str) -> None:
    with used.serve() as server, Client(server.url) as client:
        remove_database(data)
        client.enter("lab", "somebody")

        answer = client.ask("/health/ready", headers={"Accept-Language": language})

    must_be_problem(answer, 503, "store-missing")
    assert words in answer.json["detail"]


@pytest.mark.parametrize("lose", [remove_database, remove_all_of_ours], ids=lambda way: way.__name__)
def test_a_start_does_not_begin_at_one_where_a_database_was(
    embedded: Installation, ten_numbers: Path, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    """Also where the first server that ever ran there was killed."""
    data = Path(embedded.settings["DAWR_DATA"])
    assert run_here(embedded, "backup", tmp_path / "backup", DAWR_DATA=str(ten_numbers)).exit_code == 0
    with embedded.serve() as server:
        lose(data)
        server.kill()

    served = embedded.dawr("serve", "--port", "0")
    written = run_here(embedded, "venue", "apply", "-", stdin=venue_document({"id": "lab"}))
    checked = run_here(embedded, "check")
    restored = embedded.dawr("restore", tmp_path / "backup")

    for done in (served, written):
        assert done.exit_code == 1
        assert f"The database {data / 'dawr.sqlite'} is gone" in done.complained
        assert f"`dawr restore --data {data} BACKUP`" in done.complained
    assert checked.said.count("is gone: had-database says that there was one") == 1
    assert not (data / "dawr.sqlite-wal").exists()
    assert restored.exit_code == 0, restored
    with embedded.serve() as server, Client(server.url) as client:
        assert client.enter("lab", "somebody").json["number"] == 11


def test_who_wants_to_begin_anew_can(used: Installation, data: Path) -> None:
    with used.serve():
        pass
    remove_database(data)
    (data / "had-database").unlink()

    assert run_here(used, "migrate").exit_code == 0


def test_what_only_the_removed_log_had_is_not_lost_with_the_process(used: Installation, data: Path) -> None:
    with used.serve() as server, Client(server.url) as client:
        take_numbers(server, 20)
        remove_log(data)
        must_be_problem(client.enter("lab", "somebody"), 503, "store-missing")
        server.kill()
        server.start()

        with Client(server.url) as again:
            assert again.enter("lab", "somebody").json["number"] == 21


def test_without_its_lock_file_a_directory_still_has_one_writer(used: Installation, data: Path) -> None:
    with used.serve() as server:
        (data / "dawr.lock").unlink()

        second = used.dawr("serve", "--port", "0")
        migrated = run_here(used, "migrate")
        paused = run_here(used, "queue", "pause", "lab")
        resumed = run_here(used, "queue", "resume", "lab")
        checked = run_here(used, "check")
        take_numbers(server, 12)

    for done in (second, migrated):
        assert done.exit_code == 1
        assert f"The data directory {data} is in use by another process: one server writes to it" in done.complained
    assert (paused.exit_code, resumed.exit_code) == (0, 0), paused
    assert "A server runs here and can store." in checked.said
    assert used.rows("SELECT max(number) FROM tickets") == [(12,)]

"""`dawr migrate --to`: an embedded installation moved to PostgreSQL, and the directory that stays behind."""

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dawr.stores.data_directory import DataDirectory
from tests.cli.here import run_here
from tests.cli.installations import Installation, take_numbers
from tests.running import Client, DawrServer, Finished, venue_document
from tests.servers import PostgresServer, ValkeyServer
from tests.web.streams import Reader

PASSWORD = "a long walk to the sea"
EXPECTED_SHAPE = re.compile(r"^(?P<table>\w+) +(?P<here>[\d,]+) +(?P<there>[\d,]+)  [0-9a-f]{32} equal$", re.MULTILINE)


@pytest.fixture
def used(embedded: Installation, ten_numbers: Path) -> Installation:
    shutil.copytree(ten_numbers, embedded.settings["DAWR_DATA"])
    return embedded


@pytest.fixture
def moved(used: Installation, scaled: Installation) -> Installation:
    done = move(used, scaled)
    assert done.exit_code == 0, done
    return used


@pytest.fixture(scope="module")
def left_behind(
    tmp_path_factory: pytest.TempPathFactory, ten_numbers: Path, postgres_server: PostgresServer
) -> Iterator[Installation]:
    """A directory that has moved, for all who only look how it refuses."""
    data = tmp_path_factory.mktemp("moved") / "data"
    shutil.copytree(ten_numbers, data)
    installation = Installation({"DAWR_DATA": data}, data / "dawr.sqlite", data.parent)
    with postgres_server.lend_database() as url:
        assert run_here(installation, "migrate", "--to", url).exit_code == 0
        yield installation


def move(source: Installation, target: Installation, **more: str) -> Finished:
    return run_here(source, "migrate", "--to", str(target.database), **more)


def test_an_installation_is_moved_and_the_copy_is_proved(used: Installation, scaled: Installation) -> None:
    done = move(used, scaled)

    assert (done.exit_code, done.complained) == (0, "")
    rows = {found["table"]: (found["here"], found["there"]) for found in EXPECTED_SHAPE.finditer(done.said)}
    assert rows["tickets"] == rows["events"] == rows["visits"] == ("10", "10")
    assert "The copy is proved: " in done.said
    assert "Event streams resume where they were." in done.said
    assert f"{used.settings['DAWR_DATA']} has moved to {scaled.database}, and gives no numbers any more." in done.said
    assert run_here(scaled, "check", DAWR_PORT="0").exit_code == 0
    assert scaled.rows("SELECT number, label, state FROM tickets ORDER BY number") == used.rows(
        "SELECT number, label, state FROM tickets ORDER BY number"
    )


async def test_whoever_used_it_before_notices_nothing(
    embedded: Installation, scaled: Installation, valkey_server: ValkeyServer
) -> None:
    """Keys replay, tokens and sessions work, the next number is the next, streams resume."""
    before = await asyncio.to_thread(_used_for_real, embedded)
    with embedded.serve() as server:
        before["stream"] = (await _seen(server, "", 1))[0].id
        await asyncio.to_thread(_join_two_more, server)

    done = await asyncio.to_thread(move, embedded, scaled)

    assert done.exit_code == 0, done
    settings = {**scaled.settings, "DAWR_REDIS_URL": valkey_server.url}
    with DawrServer(scaled.directory, "serve", **settings) as server:
        await asyncio.to_thread(_goes_on, server, before)
        resumed = await _seen(server, before["stream"], 2)
    assert [(sent.event, sent.data["number"]) for sent in resumed] == [("ticket.issued", 4), ("ticket.issued", 5)]
    epoch, version = before["stream"].split(".")
    assert [sent.id for sent in resumed] == [f"{epoch}.{int(version) + step}" for step in (1, 2)]


def _used_for_real(embedded: Installation) -> dict[str, Any]:
    embedded.create_venue()
    added = embedded.dawr("staff", "add", "boss", "--role", "owner", "--password-stdin", stdin=PASSWORD)
    token = embedded.dawr("token", "new", "--kind", "api", "--role", "manager", "--name", "Reports").said.split()[-1]
    assert added.exit_code == 0, added
    with embedded.serve() as server, Client(server.url) as client:
        entered = client.enter("lab", "first", key="key-1")
        client.enter("lab", "second")
        client.enter("lab", "third")
        session = client.post("/v1/login", {"username": "boss", "password": PASSWORD}).json["session"]
        called = client.post("/api/v1/queue/call", {"clinic": "lab"}, key="key-2", bearer=token)
        assert (entered.status, called.json["current"]) == (200, 1)
    return {"token": token, "session": session, "entered": entered, "called": called}


def _join_two_more(server: DawrServer) -> None:
    with Client(server.url) as client:
        assert [client.enter("lab", f"late {number}").json["number"] for number in (4, 5)] == [4, 5]


def _goes_on(server: DawrServer, before: dict[str, Any]) -> None:
    with Client(server.url) as client:
        entered = client.enter("lab", "first", key="key-1")
        called = client.post("/api/v1/queue/call", {"clinic": "lab"}, key="key-2", bearer=before["token"])
        other = client.enter("lab", "somebody else", key="key-1")
        login = client.post("/v1/login", {"username": "boss", "password": PASSWORD})
        audit = client.get("/v1/venues/clinic/audit", bearer=before["session"])
        new = client.enter("lab", "somebody new")

    assert (entered.status, entered.body) == (before["entered"].status, before["entered"].body)
    assert (called.status, called.body) == (before["called"].status, before["called"].body)
    assert other.status == 422
    assert (login.status, audit.status) == (200, 200)
    assert {"staff.added", "token.made", "ticket.called"} <= {entry["kind"] for entry in audit.json["items"]}
    assert new.json["number"] == 6


async def _seen(server: DawrServer, last: str, count: int) -> list[Any]:
    """The first events of the queue's stream, which is resumed if there is something to resume from."""
    headers = {"Last-Event-ID": last} if last else {}
    reader = await Reader.open(server.url, "/v1/events?queue=clinic:lab", headers)
    try:
        return [await reader.event() for _ in range(count)]
    finally:
        await reader.close()


WRITING = [
    ("migrate",),
    ("queue", "pause", "lab"),
    ("staff", "add", "boss", "--role", "owner"),
    ("token", "new", "--kind", "kiosk", "--name", "Door"),
    ("venue", "apply", "-"),
]


@pytest.mark.parametrize("command", WRITING, ids=lambda command: command[0])
def test_no_tool_writes_to_a_directory_that_has_moved(left_behind: Installation, command: tuple[str, ...]) -> None:
    must_say_where_it_went(run_here(left_behind, *command, stdin=venue_document({"id": "x"})), left_behind)


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_no_number_is_given_from_a_directory_that_has_moved(left_behind: Installation, command: str) -> None:
    data = left_behind.settings["DAWR_DATA"]

    must_say_where_it_went(left_behind.dawr(command, "--port", "0", "--data", data), left_behind)


def must_say_where_it_went(done: Finished, left_behind: Installation) -> None:
    data = left_behind.settings["DAWR_DATA"]
    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: The installation in {data} has moved to postgresql://dawr@127.0.0.1:")
    assert "Set DAWR_DATABASE_URL to that database." in done.complained
    assert "`dawr migrate --back`" in done.complained


def test_a_directory_that_has_moved_can_still_be_read(left_behind: Installation, tmp_path: Path) -> None:
    checked = run_here(left_behind, "check")
    backed_up = run_here(left_behind, "backup", tmp_path / "backup")
    shown = run_here(left_behind, "venue", "show", "clinic")

    assert checked.exit_code == 0
    assert "!  This installation has moved to postgresql://" in checked.said
    assert (backed_up.exit_code, shown.exit_code) == (0, 0)


def test_what_has_moved_is_not_moved_again(moved: Installation, scaled: Installation) -> None:
    again = move(moved, scaled)

    assert again.exit_code == 1
    assert "has moved to postgresql://" in again.complained


def test_the_way_back_begins_new_epochs(moved: Installation, scaled: Installation) -> None:
    epoch = moved.epoch()

    back = run_here(moved, "migrate", "--back")
    started = run_here(moved, "migrate")
    again = run_here(moved, "migrate", "--back")

    assert back.exit_code == 0
    assert "gives numbers again, from where it stopped when it moved to postgresql://" in back.said
    assert "its event streams begin new epochs" in started.said
    assert moved.epoch() != epoch
    assert scaled.epoch() == epoch
    assert "has not moved: it gives numbers as before" in again.complained


def test_the_mark_goes_where_the_database_goes(moved: Installation, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    run_here(moved, "backup", backup)
    data = Path(moved.settings["DAWR_DATA"])
    (tmp_path / "old").mkdir()
    for file in data.glob("dawr.sqlite*"):
        file.rename(tmp_path / "old" / file.name)

    restored = moved.dawr("restore", backup)
    served_old = run_here(moved, "migrate", DAWR_DATA=str(tmp_path / "old"))

    assert restored.exit_code == 0
    assert run_here(moved, "migrate").exit_code == 0
    assert "has moved to" in served_old.complained


def test_a_running_server_is_not_moved_from_under_its_visitors(used: Installation, scaled: Installation) -> None:
    with used.serve() as server:
        done = move(used, scaled)
        take_numbers(server, 12)

    assert done.exit_code == 1
    assert f"is in use by process {server_pid_of(done)}: one server writes to it at a time" in done.complained
    assert scaled.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


def server_pid_of(done: Finished) -> str:
    found = re.search(r"process (\d+)", done.complained)
    assert found is not None, done
    return found[1]


def test_a_running_server_on_the_other_side_is_not_overrun(used: Installation, scaled: Installation) -> None:
    with scaled.serve():
        done = move(used, scaled)

    assert done.exit_code == 1
    assert "A Dawr is connected to that database" in done.complained
    assert run_here(used, "migrate").exit_code == 0


def test_a_database_with_other_venues_is_refused(used: Installation, scaled: Installation) -> None:
    run_here(scaled, "venue", "apply", "-", stdin=venue_document({"id": "other"}))

    done = move(used, scaled)

    assert done.exit_code == 1
    assert "That database is not empty (heads, venues)" in done.complained
    assert run_here(used, "migrate").exit_code == 0


def test_settings_of_the_other_side_may_be_there_already(
    used: Installation, scaled: Installation, valkey_server: ValkeyServer
) -> None:
    more = {"DAWR_DATABASE_URL": str(scaled.database), "DAWR_REDIS_URL": valkey_server.url, "DAWR_WORKERS": "4"}

    done = move(used, scaled, **more)

    assert done.exit_code == 0, done


CANNOT_BE = [
    ("mysql://dawr:hunter2@db/dawr", "must begin with postgresql://"),
    ("postgresql://dawr:hunter2@127.0.0.1:1/dawr", "PostgreSQL cannot be reached: "),
    ("postgresql://dawr:hun/ter2@127.0.0.1/dawr", "The address of PostgreSQL cannot be used"),
]


@pytest.mark.parametrize(("url", "sentence"), CANNOT_BE)
def test_an_address_that_cannot_be_used_is_a_sentence_without_its_password(
    used: Installation, url: str, sentence: str
) -> None:
    done = run_here(used, "migrate", "--to", url)

    assert done.exit_code == 1
    assert sentence in done.complained
    assert "hun" not in done.said + done.complained


def test_a_password_is_neither_printed_nor_kept(used: Installation, scaled: Installation) -> None:
    with_password = str(scaled.database).replace("dawr@", "dawr:hunter2@") + "?application_name=hunter2"

    done = run_here(used, "migrate", "--to", with_password)
    refused = run_here(used, "migrate")

    assert done.exit_code == 0, done
    data = Path(used.settings["DAWR_DATA"])
    kept = b"".join(file.read_bytes() for file in data.iterdir() if file.is_file())
    assert "hunter2" not in done.said + done.complained + refused.complained
    assert b"hunter2" not in kept


def test_an_installation_that_is_not_there_cannot_be_moved(embedded: Installation, scaled: Installation) -> None:
    done = move(embedded, scaled)

    assert done.exit_code == 1
    assert f"There is no database in {embedded.settings['DAWR_DATA']} to move" in done.complained
    assert not Path(embedded.settings["DAWR_DATA"]).exists()


def test_to_and_back_are_not_asked_at_once(embedded: Installation) -> None:
    assert run_here(embedded, "migrate", "--to", "postgresql://x", "--back").exit_code == 2


def test_nothing_is_moved_where_no_mark_can_be_made(used: Installation, scaled: Installation) -> None:
    in_the_way = Path(used.settings["DAWR_DATA"]) / "dawr.sqlite-moved.partial"
    in_the_way.mkdir()

    failed = move(used, scaled)
    in_the_way.rmdir()
    stored = scaled.rows("SELECT count(*) FROM tickets")
    written = run_here(used, "queue", "pause", "lab")
    again = move(used, scaled)

    assert failed.exit_code == 1
    assert "dawr.sqlite-moved cannot be written: Is a directory. Nothing was moved." in failed.complained
    assert (stored, written.exit_code) == ([(0,)], 0)
    assert again.exit_code == 0
    assert "An earlier run" not in again.said
    assert "has moved to" in run_here(used, "migrate").complained


def test_the_disk_has_the_mark_before_anybody_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(str(Path(f"/proc/self/fd/{handle}").readlink())))
    monkeypatch.setattr(Path, "rename", lambda path, target: done.append(f"{path} becomes {target.name}"))

    DataDirectory(tmp_path).mark_moved("postgresql://db/dawr", "1@2")

    partial = f"{tmp_path}/dawr.sqlite-moved.partial"
    assert done == [partial, f"{partial} becomes dawr.sqlite-moved", str(tmp_path)]

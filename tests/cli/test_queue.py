"""`dawr queue`: open, pause, resume, close and reset, with and without a running server."""

import contextlib
from pathlib import Path

from dawr.stores.sqlite_connections import open_reading
from tests.running import Client, DawrServer, dawr, must_be_problem, venue_document


def test_a_queue_is_closed_and_opened_while_the_server_runs(tmp_path: Path) -> None:
    dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path) as server, Client(server.url) as client:
        closed = dawr("queue", "close", "LAB", DAWR_DATA=tmp_path)
        refused = client.enter("lab", "Amna")
        opened = dawr("queue", "open", "lab", DAWR_DATA=tmp_path)
        entered = client.enter("lab", "Amna")

    assert (closed.said, opened.said) == ("Queue lab is closed.\n", "Queue lab is open.\n")
    must_be_problem(refused, 409, "queue-closed")
    assert entered.json["number"] == 1


def test_a_reset_begins_at_number_one_and_expires_who_waited(tmp_path: Path) -> None:
    dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path) as server, Client(server.url) as client:
        before = [client.enter("lab", name).json["number"] for name in ("Amna", "Basma")]
        reset = dawr("queue", "reset", "lab", DAWR_DATA=tmp_path)
        waiting = client.status("lab").json["waiting"]
        after = client.enter("lab", "Amna").json["number"]

    assert (before, waiting, after) == ([1, 2], 0, 1)
    assert reset.said.startswith("Queue lab begins round 2 of ")


def test_a_queue_is_paused_and_resumed_without_a_server(tmp_path: Path) -> None:
    dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)

    paused = dawr("queue", "pause", "lab", DAWR_DATA=tmp_path)
    again = dawr("queue", "pause", "lab", DAWR_DATA=tmp_path)
    resumed = dawr("queue", "resume", "lab", DAWR_DATA=tmp_path)

    assert (paused.said, resumed.said) == ("Queue lab is paused.\n", "Queue lab is open.\n")
    assert (again.exit_code, again.complained) == (1, "Error: Queue lab is paused already.\n")


def test_what_does_not_exist_is_said_in_a_sentence(tmp_path: Path) -> None:
    dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)

    no_queue = dawr("queue", "close", "nowhere", DAWR_DATA=tmp_path)
    no_venue = dawr("queue", "close", "lab", "--venue", "nowhere", DAWR_DATA=tmp_path)

    assert (no_queue.exit_code, no_queue.complained) == (1, "Error: There is no queue “nowhere” here.\n")
    assert (no_venue.exit_code, no_venue.complained) == (1, "Error: There is no venue “nowhere” here.\n")


def test_the_history_says_that_it_came_from_the_command_line(tmp_path: Path) -> None:
    for room in ("101", "102", "102"):
        dawr("venue", "apply", "-", stdin=venue_document({"id": "lab", "room": room}), DAWR_DATA=tmp_path)
    for verb in ("close", "reset"):
        dawr("queue", verb, "lab", DAWR_DATA=tmp_path)

    with contextlib.closing(open_reading(tmp_path / "dawr.sqlite")) as database:
        events = database.execute("SELECT kind, actor FROM events ORDER BY version").fetchall()

    assert events == [(kind, "command line") for kind in ("venue.set_up", "queue.closed", "queue.reset")]

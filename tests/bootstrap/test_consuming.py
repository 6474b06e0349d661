"""The traffic process: one beside each server, of low priority, started again when it dies, gone when its server is."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from dawr.bootstrap.consuming import HEALTH_CHECKS
from dawr.bootstrap.control import ask
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.web import health
from tests.running import PROGRAM, Client, DawrServer, dawr_process, eventually
from tests.servers.process import Child


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DawrServer]:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", DAWR_TRAFFIC="on") as server:
        eventually(lambda: len(traffic_processes_of(server.pid)) == 1)
        yield server


def traffic_processes_of(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    return [int(child) for child in children if b"dawr.bootstrap.consuming" in command_of(int(child))]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def is_alive(pid: int) -> bool:
    return b"dawr.bootstrap.consuming" in command_of(pid)


def counted_in(directory: TrafficDirectory) -> int:
    try:
        connection = apsw.Connection(str(directory.database), flags=apsw.SQLITE_OPEN_READONLY)
        return len(connection.execute("SELECT id FROM traffic_events").fetchall())
    except (apsw.CantOpenError, apsw.SQLError, apsw.BusyError):
        return 0


def test_it_knows_the_health_checks_of_the_server() -> None:
    assert frozenset(route.path for route in health.ROUTES) == HEALTH_CHECKS


def test_it_has_a_low_priority_and_answers_on_a_socket_of_its_own(demo: DawrServer, tmp_path: Path) -> None:
    [pid] = traffic_processes_of(demo.pid)
    socket = traffic_in(tmp_path / "data").socket
    eventually(socket.exists)

    assert os.getpriority(os.PRIO_PROCESS, pid) >= 10
    assert socket.stat().st_mode & 0o777 == 0o600
    assert ask(socket, "refresh-snapshot") in {b"true", b"false"}


def test_one_that_is_killed_is_started_again_and_counts_on(demo: DawrServer, tmp_path: Path) -> None:
    [first] = traffic_processes_of(demo.pid)

    os.kill(first, signal.SIGKILL)
    with Client(demo.url) as client:
        answers = [client.get("/api/test").status for _ in range(5)]

    eventually(lambda: traffic_processes_of(demo.pid) not in ([], [first]))
    eventually(lambda: counted_in(traffic_in(tmp_path / "data")) == 5)
    assert answers == [200] * 5


def test_it_ends_when_its_server_was_killed_and_what_it_left_is_counted_by_the_next(
    demo: DawrServer, tmp_path: Path
) -> None:
    [first] = traffic_processes_of(demo.pid)
    with Client(demo.url) as client:
        client.get("/api/test")

    demo.kill()
    eventually(lambda: not is_alive(first))
    demo.start()

    eventually(lambda: counted_in(traffic_in(tmp_path / "data")) == 1)


def test_it_stops_with_its_server_and_leaves_no_lock(demo: DawrServer, tmp_path: Path) -> None:
    [pid] = traffic_processes_of(demo.pid)

    assert demo.stop() == 0
    assert not is_alive(pid)
    assert not traffic_in(tmp_path / "data").socket.exists()
    demo.start()


def test_of_two_on_one_directory_one_stands_by_until_the_other_is_gone(tmp_path: Path) -> None:
    directory = traffic_in(tmp_path / "data")
    command = ["env", f"DAWR_DATA={tmp_path / 'data'}", PROGRAM, "consume"]
    log = tmp_path / "server.log"
    first = Child(command, tmp_path, uid=None, abort=signal.SIGKILL)
    eventually(directory.socket.exists)
    second = Child(command, tmp_path, uid=None, abort=signal.SIGKILL)
    eventually(lambda: "traffic.standing-by" in log.read_text(encoding="utf-8"))

    taken = log.read_text(encoding="utf-8").count("lease.taken")
    first.send(signal.SIGKILL)
    first.wait()

    eventually(lambda: log.read_text(encoding="utf-8").count("lease.taken") > taken)
    second.send(signal.SIGTERM)
    second.wait()
    for child in (first, second):
        child.release()


def test_it_counts_nothing_where_the_installation_has_moved_away(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dawr.sqlite-moved").write_text("postgresql://db/dawr\n", encoding="utf-8")

    done = dawr_process("consume", "--data", tmp_path / "data")

    assert done.exit_code == 1
    assert "has moved to postgresql://db/dawr" in done.complained


def test_switched_off_there_is_no_process_and_nothing_is_written_down(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as client:
        answer = client.get("/api/test")

        assert answer.status == 200
        assert traffic_processes_of(demo.pid) == []
        assert client.get("/health").json["traffic"] == "off"
    assert not (tmp_path / "data" / "traffic").exists()

"""`dawr check` on the traffic statistics: whether somebody counts, what waits, and what is out of its bounds."""

import asyncio
import fcntl
import os

import pytest

from dawr.bootstrap.system import now
from dawr.cli.check.findings import Report
from dawr.cli.check.traffic import look_at_traffic
from dawr.settings import Settings
from dawr.traffic.directory import traffic_in
from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.cli.statistics import counted, open_statistics, rows_in, with_statistics
from tests.traffic.tables import a_dead_letter, a_heartbeat

STOPPED = "No traffic process runs; the spool takes {} bytes, and what is in it is counted when one does."


def found_in(installation: Installation, **settings: str) -> list[tuple[str, str]]:
    given = {name.removeprefix("DAWR_").lower(): str(value) for name, value in installation.settings.items()}
    report = Report()
    asyncio.run(look_at_traffic(Settings(**given, **settings), report))  # type: ignore[arg-type]
    assert {found.about for found in report.findings} <= {"traffic"}
    return [(found.level, found.sentence) for found in report.findings]


def hold(installation: Installation) -> int:
    """The lock of the traffic process."""
    directory = traffic_in(str(installation.settings["DAWR_DATA"]))
    handle = os.open(directory.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def test_statistics_that_are_off_or_not_there_yet_are_no_fault(embedded: Installation) -> None:
    assert found_in(embedded, traffic="off") == [
        ("fine", "The traffic statistics are switched off (DAWR_TRAFFIC=off).")
    ]
    assert found_in(embedded) == [("fine", "There are no traffic statistics yet.")]


def test_a_stopped_installation_is_fine_and_says_what_waits_on_its_disk(embedded: Installation) -> None:
    with_statistics(embedded, lambda database: counted(database, now() - 10**9, poison=0))
    (traffic_in(str(embedded.settings["DAWR_DATA"])).spools / "1-x.spool").write_bytes(bytes(1234))

    assert found_in(embedded) == [("fine", STOPPED.format("1,234"))]


def test_a_running_traffic_process_is_seen_by_its_lock(embedded: Installation) -> None:
    with_statistics(embedded, lambda database: counted(database, now(), poison=0))
    handle = hold(embedded)

    found = found_in(embedded)
    os.close(handle)

    assert found == [
        ("fine", "A traffic process runs; the spool of this host takes 0 bytes."),
        ("fine", "The traffic statistics can be relied on: `dawr traffic verify` proves it."),
    ]


def test_traffic_processes_of_other_hosts_are_known_by_their_heartbeats(scaled: Installation) -> None:
    with_statistics(scaled, lambda database: counted(database, now(), poison=0))

    found = found_in(scaled)

    assert [level for level, _ in found] == ["fine", "fine", "fine"]
    assert found[0][1] == "Traffic processes were heard of lately: one."


def test_open_alerts_failed_gates_and_dead_letters_are_worth_knowing(embedded: Installation) -> None:
    with_statistics(embedded, a_dead_letter)
    with_statistics(embedded, lambda database: a_heartbeat(database, beat_at=now()))
    rows_in(embedded, "INSERT INTO traffic_alerts VALUES ('lag', 1, 'critical', 'It is late.', 1, 1, 1, NULL)")
    handle = hold(embedded)

    found = found_in(embedded)
    os.close(handle)
    stopped = found_in(embedded)

    waiting = "1 dead letters and 0 damaged lines of the traffic statistics wait for somebody: "
    assert [level for level, _ in found] == ["fine", "warning", "warning", "warning"]
    assert found[1][1].startswith(waiting)
    assert found[2][1] == "Alert lag (critical): It is late."
    assert found[3][1].startswith("1 dead letters wait for somebody: more than 0.1 %")
    assert [sentence.startswith(waiting) for level, sentence in stopped if level == "warning"] == [True]


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000], ids=["no tables", "no database"])
def test_statistics_that_cannot_be_read_are_named(embedded: Installation, content: bytes) -> None:
    path = open_statistics(embedded).path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    ((level, sentence),) = found_in(embedded)

    assert level == "wrong"
    assert sentence.startswith("The traffic statistics cannot be read: ")


def test_the_whole_check_looks_at_them(embedded: Installation) -> None:
    run_here(embedded, "migrate")
    with_statistics(embedded, lambda database: counted(database, now(), poison=0))

    done = run_here(embedded, "check", DAWR_PORT="0", DAWR_TRAFFIC="on")

    assert done.exit_code == 0
    assert f"✓  {STOPPED.format(0)}\n" in done.said

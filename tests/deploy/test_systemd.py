"""deploy/systemd: read, checked by systemd's own tool where that is installed, and their commands run."""

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dawr.settings import from_environment
from tests.deploy.units import (
    INSTALLED,
    STRACE,
    SYSTEMD_ANALYZE,
    analyzed,
    as_installed_here,
    calls_allowed_by,
    service,
    traced,
    unit,
)
from tests.running import PROGRAM, READY, Client, dawr, eventually, venue_document

pytestmark = pytest.mark.slow

SERVICES = ["dawr.service", "dawr-backup.service"]
ITS_OWN = {
    "Type",
    "Environment",
    "ExecStart",
    "ExecStartPost",
    "Restart",
    "RestartSec",
    "KillMode",
    "LimitNOFILE",
}
ITS_OWN |= {"TimeoutStopSec", "StateDirectory", "Nice", "IOSchedulingClass"}
EXPOSURE = 20
"""In tenths, of a hundred. A service without any protection has 96."""
ONLY_AS_ROOT = set() if os.geteuid() else {"fchown"}
"""SQLite gives its files to the owner of the database, if it may."""
DAY = 24 * 60 * 60

needs_systemd = pytest.mark.skipif(
    SYSTEMD_ANALYZE is None, reason="systemd-analyze is not installed: the units were read, but not by systemd"
)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_runs_as_nobody_special_with_settings_of_ours(name: str) -> None:
    given = service(name)

    assert given["User"] == given["Group"] == ["dawr"]
    assert from_environment(dict(each.split("=", 1) for each in given["Environment"])).data == "/var/lib/dawr"
    assert given["EnvironmentFile"] == ["-/etc/dawr/dawr.env"]
    assert "dawr" in given["StateDirectory"][0].split()


def test_the_server_that_is_started_is_a_command_of_ours() -> None:
    (command,) = service("dawr.service")["ExecStart"]
    program, *arguments = command.split()

    assert program == INSTALLED
    assert dawr(*arguments, "--help").exit_code == 0


def test_the_backup_is_shut_in_as_tightly_as_the_server() -> None:
    server, backup = ({k: v for k, v in service(name).items() if k not in ITS_OWN} for name in SERVICES)

    assert server == backup
    assert {"NoNewPrivileges", "ProtectSystem", "CapabilityBoundingSet", "SystemCallFilter"} <= server.keys()


def test_the_timer_starts_the_backup_every_night_and_makes_up_for_a_missed_one() -> None:
    timer = unit("dawr-backup.timer")["Timer"]

    assert "Unit" not in timer  # then it is the service of its own name
    assert re.fullmatch(r"\*-\*-\* \d\d:\d\d:00", timer["OnCalendar"][0])
    assert timer["Persistent"] == ["yes"]


@needs_systemd
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    units = as_installed_here(tmp_path)

    verified = analyzed("verify", "--man=no", *units)

    assert (verified.returncode, verified.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("name", SERVICES)
def test_little_of_the_machine_is_within_reach(name: str, tmp_path: Path) -> None:
    units = {path.name: path for path in as_installed_here(tmp_path)}

    judged = analyzed("security", "--offline=true", f"--threshold={EXPOSURE}", units[name])

    assert judged.returncode == 0, judged.stdout.splitlines()[-1]


def test_a_night_leaves_one_new_copy_and_removes_what_is_older_than_two_weeks(tmp_path: Path) -> None:
    data, copies = _with_a_venue(tmp_path)
    old, young, foreign = (copies / name for name in ("dawr-old.backup", "dawr-young.backup", "notes.txt"))
    for file, age in ((old, 16), (young, 13), (foreign, 99)):
        file.touch()
        os.utime(file, (time.time() - age * DAY,) * 2)

    _run_a_night(tmp_path, data, copies)

    (made,) = set(copies.iterdir()) - {old, young, foreign}
    assert re.fullmatch(r"dawr-\d{4}-\d\d-\d\dT\d{6}Z\.backup", made.name)
    assert dawr("restore", made, DAWR_DATA=tmp_path / "restored").exit_code == 0
    assert {file.name for file in copies.iterdir()} == {made.name, young.name, foreign.name}


def test_a_night_without_a_new_copy_removes_no_old_one(tmp_path: Path) -> None:
    data, copies = _with_a_venue(tmp_path)
    old = copies / "dawr-old.backup"
    old.touch()
    os.utime(old, (time.time() - 99 * DAY,) * 2)
    (data / "dawr.sqlite").rename(tmp_path / "away")

    with pytest.raises(subprocess.CalledProcessError):
        _run_a_night(tmp_path, data, copies)

    assert list(copies.iterdir()) == [old]


@needs_systemd
@pytest.mark.skipif(STRACE is None, reason="strace is not installed: nobody looked whether the sandbox fits the server")
def test_the_server_needs_nothing_that_its_unit_forbids(tmp_path: Path) -> None:
    data, _ = _with_a_venue(tmp_path)
    rules = service("dawr.service")

    calls = _traced_server(tmp_path, data)

    assert {name for name, _ in calls} <= calls_allowed_by(rules["SystemCallFilter"]) | ONLY_AS_ROOT
    assert {family for _, given in calls for family in re.findall(r"^AF_\w+", given)} <= {
        *rules["RestrictAddressFamilies"][0].split()
    }
    assert not [given for name, given in calls if name in {"mmap", "mprotect"} and "PROT_WRITE|PROT_EXEC" in given]
    written = {Path(path) for name, given in calls if name == "openat" for path in _written_to(given)}
    assert any(data in path.parents for path in written)
    assert not [path for path in written if data not in path.parents and not path.is_relative_to("/dev/null")]


def _with_a_venue(tmp_path: Path) -> tuple[Path, Path]:
    data, copies = tmp_path / "data", tmp_path / "copies"
    copies.mkdir()
    applied = dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=data)
    assert applied.exit_code == 0, applied
    return data, copies


def _run_a_night(tmp_path: Path, data: Path, copies: Path) -> None:
    """As systemd would: what comes after is done only when the copy was made."""
    rules = service("dawr-backup.service")
    for command in (*rules["ExecStart"], *rules["ExecStartPost"]):
        here = command.replace("%%", "%").replace(INSTALLED, PROGRAM).replace("/var/lib/dawr-backup", str(copies))
        subprocess.run(
            shlex.split(here), env={"PATH": os.environ["PATH"], "DAWR_DATA": str(data)}, check=True, timeout=60
        )


def _traced_server(tmp_path: Path, data: Path) -> list[tuple[str, str]]:
    """Its system calls from the first of Dawr's own to the last, with a number taken in between."""
    trace, said = tmp_path / "trace", tmp_path / "said"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("DAWR_", "COVERAGE", "COV_"))
    }
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "DAWR_DATA": str(data)}
    with said.open("wb") as out:
        server = subprocess.Popen(
            [str(STRACE), "-f", "-qq", "-s", "256", "-o", trace, PROGRAM, "serve", "--port", "0"],
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(lambda: READY.search(said.read_text()) is not None, seconds=60)
        ready = READY.search(said.read_text())
        assert ready is not None
        with Client(ready[1]) as client:
            assert client.enter("lab", "somebody").status == 200
    finally:
        (child,) = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGTERM)
        assert server.wait(30) == 0
    return traced(trace)


def _written_to(given: str) -> list[str]:
    """The path of an open that could change something."""
    opened = re.match(r'AT_FDCWD, "([^"]*)", (O_(?:RDWR|WRONLY)|\S*O_CREAT)', given)
    return [opened[1]] if opened else []

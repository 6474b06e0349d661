"""Whatever makes the data directory, and whatever the umask says: only its owner may look in."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.installations import Installation
from tests.running import Client, DawrServer, eventually, venue_document


@pytest.fixture(params=[0o022, 0o000], ids=["umask 022", "umask 000"], autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Processes that are started inherit it."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(directory: Path) -> dict[str, str]:
    """What somebody else could read, write or enter, with its mode."""
    return {
        str(path.relative_to(directory.parent)): oct(mode)
        for path in (directory, *directory.rglob("*"))
        if (mode := stat.S_IMODE(path.lstat().st_mode)) & 0o077
    }


def make_with_a_command(*arguments: str, stdin: str = "") -> Callable[[Path], None]:
    def make(data: Path) -> None:
        done = Installation({"DAWR_DATA": data}, "", data).dawr_process(*arguments, stdin=stdin)
        assert done.exit_code == 0, done

    return make


def make_by_serving(command: str) -> Callable[[Path], None]:
    """With the statistics, which have a directory of their own in it."""

    def make(data: Path) -> None:
        with DawrServer(data.parents[1], command, "--data", data, DAWR_TRAFFIC="on") as server:
            with Client(server.url) as client:
                assert client.get("/health/ready").status == 200
            eventually((data / "traffic" / "traffic.sqlite").exists)
            eventually((data / "traffic" / "control.sock").exists)
            assert not open_to_others(data)

    return make


def make_by_restoring(data: Path) -> None:
    source = Installation({"DAWR_DATA": data.parents[1] / "source"}, "", data)
    copy = data.parents[1] / "copy.sqlite"
    assert source.dawr_process("migrate").exit_code == 0
    assert source.dawr_process("backup", copy).exit_code == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600

    make_with_a_command("restore", str(copy))(data)


@pytest.mark.parametrize(
    "make",
    [
        make_by_serving("serve"),
        make_by_serving("demo"),
        make_by_restoring,
        make_with_a_command("migrate"),
        make_with_a_command("venue", "apply", "-", stdin=venue_document({"id": "lab"})),
    ],
    ids=["serve", "demo", "restore", "migrate", "venue apply"],
)
def test_only_its_owner_may_look_into_a_data_directory(tmp_path: Path, make: Callable[[Path], None]) -> None:
    data = tmp_path / "not" / "there"

    make(data)

    assert data.is_dir()
    assert not open_to_others(data)


def test_a_server_on_postgresql_makes_it_as_private(tmp_path: Path, postgres_url: str) -> None:
    """Requests are written down there before they are counted."""
    data = tmp_path / "data"
    settings: dict[str, str | Path] = {"DAWR_DATABASE_URL": postgres_url, "DAWR_DATA": data, "DAWR_TRAFFIC": "on"}

    with DawrServer(tmp_path, "serve", **settings) as server, Client(server.url) as client:
        assert client.get("/health/ready").status == 200
        eventually((data / "traffic" / "control.sock").exists)

        assert not open_to_others(data)


def test_a_move_to_postgresql_leaves_nothing_that_others_may_read(embedded: Installation, postgres_url: str) -> None:
    embedded.create_venue()
    assert isinstance(embedded.database, Path)

    moved = embedded.dawr_process("migrate", "--to", postgres_url)

    assert moved.exit_code == 0, moved
    assert not open_to_others(embedded.database.parent)


def test_a_directory_that_somebody_else_made_is_left_as_it_is_and_named(embedded: Installation) -> None:
    assert isinstance(embedded.database, Path)
    data = embedded.database.parent
    data.mkdir(mode=0o755)
    data.chmod(0o755)

    with embedded.serve() as server:
        log = server.log.read_text(encoding="utf-8")
    checked = embedded.dawr("check")

    assert open_to_others(data) == {"data": "0o755"}
    assert "data-directory.open" in log
    assert f"Others on this machine may look into {data} (mode 0755)" in checked.said


def test_what_an_older_version_left_open_within_it_is_closed(embedded: Installation) -> None:
    assert isinstance(embedded.database, Path)
    data = embedded.database.parent
    for folder in (data, data / "traffic", data / "traffic" / "spool"):
        folder.mkdir(mode=0o700)
    (data / "traffic").chmod(0o755)
    (data / "traffic" / "spool").chmod(0o755)

    with DawrServer(data.parent, "serve", DAWR_DATA=data, DAWR_TRAFFIC="on"):
        pass

    assert not open_to_others(data)

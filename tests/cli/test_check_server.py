"""`dawr check` when the server is dead, and what it says of leases, the clinic's door, and drivers' errors."""

import re
import socket

import pytest

from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.running import Finished, eventually, venue_document
from tests.servers.place import free_port

BARE = re.compile(r"\[?Errno|btreeInitPage|returns error code|Connect call failed|Traceback|asyncpg|Error \d+ ")


def check(installation: Installation, *arguments: str, **more: str) -> Finished:
    return run_here(installation, "check", *arguments, **{"DAWR_PORT": str(free_port()), **more})


def wrong_in(done: Finished) -> list[str]:
    return [line for line in done.said.splitlines() if line.startswith("✗")]


def test_a_dead_server_is_wrong_where_one_is_expected(installation: Installation) -> None:
    installation.create_venue()

    plainly, expecting = check(installation), check(installation, "--expect-server")

    assert plainly.exit_code == 0, plainly
    assert expecting.exit_code == 1
    (wrong,) = wrong_in(expecting)
    assert wrong.startswith("✗  No server answers, and one is expected (--expect-server)")


def test_a_server_that_answers_is_what_was_expected(installation: Installation) -> None:
    installation.create_venue()
    with installation.serve() as server:
        done = check(installation, "--expect-server", DAWR_PORT=str(server.port))

    assert done.exit_code == 0, done
    assert "can store." in done.said


def test_where_a_server_would_answer_must_be_known(scaled: Installation) -> None:
    scaled.create_venue()

    done = check(scaled, "--expect-server", DAWR_PORT="0")

    assert done.exit_code == 1
    assert "✗  DAWR_PORT is 0, so nobody knows where a server would answer" in done.said


def test_a_server_is_expected_also_where_there_is_no_database_yet(embedded: Installation) -> None:
    done = check(embedded, "--expect-server")

    assert done.exit_code == 1
    assert "✗  No server answers, and one is expected" in done.said


def test_a_lease_of_a_server_that_was_killed_is_held_by_nobody(embedded: Installation) -> None:
    embedded.create_venue()
    server = embedded.serve()
    server.start()
    while_running = check(embedded)
    server.kill()

    done = check(embedded)

    assert "✓  The lease clockwork is held by the embedded server" in while_running.said
    assert "is held by" not in done.said
    assert re.search(
        r"^!  Nobody holds the leases [\w, ]*clockwork[\w, ]*: the server that had them ended", done.said, re.MULTILINE
    )


def test_a_backup_put_in_place_after_a_clean_stop_names_no_killed_server(embedded: Installation) -> None:
    embedded.create_venue()
    backup = embedded.directory / "backup.sqlite"
    with embedded.serve():
        eventually(lambda: embedded.rows("SELECT 1 FROM leases WHERE name = 'clockwork' AND holder <> ''") == [(1,)])
        assert embedded.dawr("backup", backup).exit_code == 0
    assert embedded.dawr("restore", "--replace", backup).exit_code == 0

    done = check(embedded)

    assert "was killed" not in done.said
    assert "✓  Nobody holds the lease clockwork now" in done.said


def test_a_process_of_this_host_that_is_gone_holds_no_lease(scaled: Installation) -> None:
    run_here(scaled, "migrate")
    for name, pid in (("gone", 2**22 + 1), ("here", 1)):
        scaled.rows(
            f"INSERT INTO leases (name, holder, fence, until_at) "
            f"VALUES ('{name}', '{socket.gethostname()} {pid} token', 1, 1::bigint << 60)"
        )

    done = check(scaled)

    assert "!  Nobody holds the leases gone: " in done.said
    assert "✓  The lease here is held by " in done.said


@pytest.mark.parametrize(
    ("slugs", "setting", "sentence"),
    [
        (["north"], "south", "south"),
        (["north"], "", None),
        (["north"], "north", None),
        (["north", "south"], "south", None),
        ([], "south", None),
    ],
)
def test_a_door_that_leads_nowhere_is_named(
    embedded: Installation, slugs: list[str], setting: str, sentence: str | None
) -> None:
    run_here(embedded, "migrate")
    for slug in slugs:
        run_here(embedded, "venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug=slug))

    done = check(embedded, DAWR_CLINIC_VENUE=setting)

    if sentence is None:
        assert done.exit_code == 0, done
    else:
        (wrong,) = wrong_in(done)
        assert done.exit_code == 1
        assert sentence in wrong


def test_whoever_has_two_clinics_is_asked_which_one_the_door_opens_to(embedded: Installation) -> None:
    for slug in ("north", "south"):
        run_here(embedded, "venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug=slug))

    done = check(embedded)

    assert done.exit_code == 0, done
    assert "!  There are 2 clinics: north, south." in done.said


UNREACHABLE = {
    "nobody listens": ("postgresql://dawr@127.0.0.1:1/dawr", "nobody listens at its address. Start it, or correct"),
    "several addresses": ("postgresql://dawr@localhost:1/dawr", "nobody listens at its address. Start it, or correct"),
    "no such host": ("postgresql://dawr@no.such.host.invalid/dawr", "the name of its host is not known. Correct"),
    "no such socket": ("postgresql:///dawr?host=/nowhere", "nobody listens at its address. Start it, or correct"),
}


@pytest.mark.parametrize("kind", UNREACHABLE)
@pytest.mark.parametrize(
    "command", [("check",), ("migrate",), ("venue", "list"), ("queue", "pause", "lab")], ids=" ".join
)
def test_what_a_driver_says_becomes_a_sentence(command: tuple[str, ...], kind: str, embedded: Installation) -> None:
    url, sentence = UNREACHABLE[kind]

    done = run_here(embedded, *command, DAWR_DATABASE_URL=url, DAWR_PORT="0")

    assert done.exit_code == 1
    assert f"PostgreSQL: {sentence}" in done.said + done.complained
    assert not BARE.search(done.said + done.complained), done


def test_an_account_or_a_database_that_is_not_there_is_named(scaled: Installation) -> None:
    stranger = str(scaled.database).replace("//dawr@", "//stranger@")

    nobody, nothing = (check(scaled, DAWR_DATABASE_URL=url) for url in (stranger, f"{scaled.database}_gone"))

    assert "PostgreSQL: it does not let this account in." in nobody.said
    assert "PostgreSQL: it has no database of this name." in nothing.said


def test_a_redis_that_is_away_is_told_without_its_error_number(scaled: Installation) -> None:
    run_here(scaled, "migrate")

    done = check(scaled, DAWR_REDIS_URL="redis://127.0.0.1:1/0")

    assert done.exit_code == 1
    assert "✗  Redis or Valkey cannot be reached (Connection refused): " in done.said
    assert not BARE.search(done.said), done


def test_a_file_that_cannot_be_read_is_a_sentence(embedded: Installation) -> None:
    run_here(embedded, "migrate")
    file = embedded.directory / "data" / "dawr.sqlite"
    file.unlink()
    file.mkdir()

    done = check(embedded)

    assert done.exit_code == 1
    assert "✗  SQLite: the disk fails, or is full. Look at it." in done.said

"""`dawr staff`: who works where, with and without a running server, on both databases."""

import os
import re
import subprocess

import argon2
import pytest

from tests.cli.installations import Installation
from tests.running import PROGRAM, Finished, venue_document

PASSWORD = "a long walk to the sea"
MADE_UP = re.compile(r"[\w-]{22}$")


def add(installation: Installation, name: str, role: str, *more: str, password: str = PASSWORD) -> Finished:
    arguments = ("staff", "add", name, "--role", role, "--password-stdin", *more)
    return installation.dawr(*arguments, stdin=f"{password}\n")


def fits(installation: Installation, name: str, password: str) -> bool:
    """Whether the stored hash is that of this password."""
    ((kept,),) = installation.rows(f"SELECT password_hash FROM accounts WHERE username = '{name}'")
    try:
        return argon2.PasswordHasher().verify(kept, password)
    except argon2.exceptions.VerifyMismatchError:
        return False


def test_staff_are_added_changed_and_listed(installation: Installation) -> None:
    installation.create_venue()

    said = [
        add(installation, "Amna", "owner").said,
        add(installation, "basma", "viewer").said,
        installation.dawr("staff", "role", "basma", "manager").said,
        installation.dawr("staff", "disable", "basma", "--venue", "clinic").said,
    ]

    assert said == [
        "amna is owner at clinic.\n",
        "basma is viewer at clinic.\n",
        "basma is manager at clinic.\n",
        "basma is disabled at clinic.\n",
    ]
    assert installation.dawr("staff", "list").said == "amna  owner\nbasma  manager  disabled\n"
    assert installation.dawr("staff", "enable", "basma", "--venue", "clinic").said == "basma is enabled at clinic.\n"
    assert installation.dawr("staff", "list").said == "amna  owner\nbasma  manager\n"
    assert fits(installation, "amna", PASSWORD)


def test_the_same_is_done_while_the_server_runs(embedded: Installation) -> None:
    embedded.create_venue()
    with embedded.serve() as server:
        added = add(embedded, "amna", "owner")
        listed = embedded.dawr("staff", "list")
        changed = embedded.dawr("staff", "password", "amna")
        last = embedded.dawr("staff", "disable", "amna")
        log = server.log.read_text()

    new = changed.said.removeprefix("amna has a new password: it is ").strip()
    assert (added.said, listed.said) == ("amna is owner at clinic.\n", "amna  owner\n")
    assert fits(embedded, "amna", new)
    assert (last.exit_code, last.complained) == (
        1,
        "Error: The last owner here is amna: make another one first.\n",
    )
    assert PASSWORD not in log
    assert new not in log


def test_the_history_says_that_it_came_from_the_command_line(installation: Installation) -> None:
    installation.create_venue()
    for name, role in (("amna", "owner"), ("basma", "staff")):
        installation.set_up("staff", "add", name, "--role", role, "--password-stdin", stdin=PASSWORD)
        installation.set_up("staff", "role", name, role)
    installation.set_up("staff", "disable", "basma")
    installation.set_up("staff", "enable", "basma")

    events = installation.rows("SELECT kind, actor FROM events ORDER BY version")

    assert events == [
        (kind, "command line") for kind in ("staff.added", "staff.added", "staff.disabled", "staff.enabled")
    ]


def test_without_anybody_to_type_one_a_password_is_made_up_and_told(embedded: Installation) -> None:
    embedded.create_venue()

    added = embedded.dawr("staff", "add", "amna", "--role", "staff")
    first = MADE_UP.search(added.said.strip())
    changed = embedded.dawr("staff", "password", "amna")
    second = MADE_UP.search(changed.said.strip())

    assert added.said.startswith("amna is staff at clinic. The password is ")
    assert changed.said.startswith("amna has a new password: it is ")
    assert first is not None
    assert second is not None
    assert not fits(embedded, "amna", first.group())
    assert fits(embedded, "amna", second.group())


def test_a_password_that_is_given_is_not_repeated(embedded: Installation) -> None:
    embedded.create_venue()
    add(embedded, "amna", "staff")

    changed = embedded.dawr("staff", "password", "amna", "--password-stdin", stdin="another password\nmore\n")

    assert changed.said == "amna has a new password.\n"
    assert fits(embedded, "amna", "another password")


def test_on_a_terminal_the_password_is_asked_for_twice_and_not_shown(embedded: Installation) -> None:
    embedded.create_venue()
    keyboard, terminal = os.openpty()
    environment = os.environ | {name: str(value) for name, value in embedded.settings.items()}
    adding = subprocess.Popen(
        [PROGRAM, "staff", "add", "amna", "--role", "staff"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    assert adding.stdout is not None
    assert adding.stderr is not None

    asked = b""
    for question in (b"Password: ", b"Repeat for confirmation: "):
        while not asked.endswith(question):
            asked += adding.stderr.read(1) or pytest.fail(f"it ended after {asked!r}")
        os.write(keyboard, f"{PASSWORD}\n".encode())
    said, complained = adding.communicate(timeout=30)
    os.set_blocking(keyboard, False)
    with pytest.raises(BlockingIOError):  # nothing was echoed
        os.read(keyboard, 1)
    for end in (keyboard, terminal):
        os.close(end)

    assert (adding.returncode, said) == (0, b"amna is staff at clinic.\n")
    assert PASSWORD.encode() not in asked + said + complained
    assert fits(embedded, "amna", PASSWORD)


def test_somebody_with_an_account_keeps_their_password_at_another_venue(installation: Installation) -> None:
    installation.create_venue()
    installation.dawr("venue", "apply", "-", stdin=venue_document({"id": "eye"}, slug="second"))
    add(installation, "amna", "owner", "--venue", "clinic")

    again = add(installation, "amna", "staff", "--venue", "second", password="another password")

    assert again.said == "amna is staff at second. The account was there already, and keeps its password.\n"
    assert fits(installation, "amna", PASSWORD)
    assert installation.dawr("staff", "list", "--venue", "second").said == "amna  staff\n"


def test_enabling_one_venue_of_an_account_that_is_disabled_as_a_whole_says_what_is_missing(
    embedded: Installation,
) -> None:
    embedded.create_venue()
    add(embedded, "amna", "staff")
    embedded.dawr("staff", "disable", "amna")

    enabled = embedded.dawr("staff", "enable", "amna", "--venue", "clinic")

    assert enabled.said == (
        "amna is enabled at clinic, but the whole account is disabled and opens nothing until "
        "`dawr staff enable amna`.\n"
    )
    assert embedded.dawr("staff", "enable", "amna").said == "amna is enabled everywhere.\n"


def test_a_whole_account_is_disabled_at_every_venue(embedded: Installation) -> None:
    embedded.create_venue()
    embedded.dawr("venue", "apply", "-", stdin=venue_document({"id": "eye"}, slug="second"))
    for slug in ("clinic", "second"):
        add(embedded, "amna", "staff", "--venue", slug)

    disabled = embedded.dawr("staff", "disable", "Amna")
    listed = [embedded.dawr("staff", "list", "--venue", slug).said for slug in ("clinic", "second")]
    enabled = embedded.dawr("staff", "enable", "amna")

    assert (disabled.said, enabled.said) == ("amna is disabled everywhere.\n", "amna is enabled everywhere.\n")
    assert listed == ["amna  staff  disabled\n"] * 2
    assert embedded.rows("SELECT disabled_at FROM accounts UNION ALL SELECT disabled_at FROM staff") == [(None,)] * 3


NO_PASSWORD = ("add", "amna", "--role", "owner", "--password-stdin")
CANNOT_BE = [
    (NO_PASSWORD, "short\n", "A password has 8 to 128 characters."),
    (NO_PASSWORD, "", "A password has 8 to 128 characters."),
    (("add", "a b", "--role", "owner"), "", "A username has 2 to 64 characters"),
    (("add", "amna", "--role", "owner", "--venue", "nowhere"), "", "There is no venue “nowhere” here."),
    (("role", "nobody", "staff"), "", "There is no staff member “nobody” here."),
    (("disable", "nobody"), "", "There is no staff member “nobody” here."),
    (("enable", "nobody", "--venue", "clinic"), "", "There is no staff member “nobody” here."),
    (("password", "nobody"), "", "There is no staff member “nobody” here."),
    (("list", "--venue", "nowhere"), "", "There is no venue “nowhere” here."),
]


def test_what_cannot_be_is_said_in_a_sentence(embedded: Installation) -> None:
    embedded.create_venue()

    done = [embedded.dawr("staff", *arguments, stdin=stdin) for arguments, stdin, _ in CANNOT_BE]

    for finished, (_, _, sentence) in zip(done, CANNOT_BE, strict=True):
        assert (finished.exit_code, finished.complained.startswith(f"Error: {sentence}")) == (1, True), finished
    assert embedded.rows("SELECT count(*) FROM accounts") == [(0,)]


def test_nobody_is_added_twice(embedded: Installation) -> None:
    embedded.create_venue()
    add(embedded, "amna", "owner")

    again = add(embedded, "amna", "staff")

    assert (again.exit_code, again.complained) == (1, "Error: There is a staff member amna here already.\n")


def test_the_link_of_the_first_owner_is_told_while_there_is_none(installation: Installation) -> None:
    installation.create_venue()
    link = re.compile(r"^Make the owner's account at (http://\S+)/first-run\?code=([\w-]{22})$", re.MULTILINE)
    with installation.serve() as server:
        first = link.search(server.log.read_text())
        assert first is not None
        assert first.group(1) == server.url
        ((kept,),) = installation.rows("SELECT owner_code_hash FROM installation")
        server.stop()
        add(installation, "amna", "owner")
        said_before = len(server.log.read_text())
        server.start()
        afterwards = server.log.read_text()[said_before:]

    assert first.group(2) not in kept
    assert link.search(afterwards) is None
    assert "Dawr is ready" in afterwards

"""What `dawr` says about itself."""

import re

import pytest

from dawr import __version__
from dawr.cli import COMMANDS
from tests.running import dawr, dawr_process


def test_the_version_is_told() -> None:
    assert dawr_process("--version") == (0, f"dawr, version {__version__}\n", "")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command(option: str) -> None:
    done = dawr_process(option)

    assert done.exit_code == 0
    assert re.findall(r"^  (\w+)  ", done.said.partition("Commands:\n")[2], re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    done = dawr(command, "--help")

    assert (done.exit_code, done.complained) == (0, "")
    assert done.said.startswith(f"Usage: dawr {command} ")


def test_an_unknown_command_is_named() -> None:
    done = dawr_process("sreve")

    assert done.exit_code == 2
    assert "No such command 'sreve'" in done.complained

"""A command run with limits switched on, as an installation has them."""

from pathlib import Path

from tests.cli.installations import Installation
from tests.running import Finished


def run_here(installation: Installation, *arguments: str | Path, stdin: str = "", **more: str) -> Finished:
    return installation.dawr(*arguments, stdin=stdin, **{"DAWR_RATE_LIMITS": "on", **more})

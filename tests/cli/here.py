"""A command run in the test's own process: as good where only what it says and leaves matters, and much quicker."""

import os
from pathlib import Path

from click.testing import CliRunner

from dawr.cli import main
from tests.cli.installations import Installation
from tests.running import Finished


def run_here(installation: Installation, *arguments: str | Path, stdin: str = "", **more: str) -> Finished:
    """Like `Installation.dawr`. Not for commands that serve: they set up logs for the whole process."""
    forgotten: dict[str, str | None] = {name: None for name in os.environ if name.startswith("DAWR_")}
    settings = {"DAWR_RATE_LIMITS": "on", **installation.settings, **more}
    given = {name: str(value) for name, value in settings.items()}
    done = CliRunner().invoke(main, [*map(str, arguments)], input=stdin, env=forgotten | given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Finished(done.exit_code, done.stdout, done.stderr)

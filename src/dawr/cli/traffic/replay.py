"""`dawr traffic replay`: dead letters are put back into the queue."""

import click

from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic.options import letters_argument
from dawr.cli.traffic.writing import write
from dawr.traffic.commands import REPLAY, Letters


@click.command("replay")
@data_option
@letters_argument
def replay(data: str | None, seqs: tuple[int, ...]) -> None:
    """Put these dead letters, or all, back into the queue: they are tried again as if they were new."""
    asked = Letters(list(seqs) or None)
    write(
        settings_of(data=data),
        REPLAY,
        asked,
        lambda commands, line: commands.replay(asked, lambda count: line.show(f"{count:,} dead letters")),
    )

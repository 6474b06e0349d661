"""`dawr traffic archive`: details are moved to the archive now, or those of a day again."""

from datetime import datetime

import click

from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic.options import DAYS, ms_of
from dawr.cli.traffic.writing import write
from dawr.traffic.commands import ARCHIVE, Day, described


@click.command("archive")
@data_option
@click.argument("day", required=False, type=click.DateTime(DAYS), metavar="[DAY]")
def archive(data: str | None, day: datetime | None) -> None:
    """Archive every day that is due, or this DAY (2024-11-07, UTC): also again, if its file was lost."""
    asked = Day(None if day is None else ms_of(day))
    write(
        settings_of(data=data),
        ARCHIVE,
        asked,
        lambda commands, line: commands.archive(asked, lambda step: line.show(described(step))),
    )

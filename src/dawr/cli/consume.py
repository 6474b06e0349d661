"""`dawr consume`: the traffic process by itself, for a host where no `dawr serve` keeps one."""

import click
import uvloop

from dawr.bootstrap.consuming import consume
from dawr.cli.options import data_option, settings_of
from dawr.observe import logs


@click.command("consume")
@data_option
def command(data: str | None) -> None:
    """Ship what servers wrote down, and count it, until it is told to stop. `dawr serve` does so by itself."""
    settings = settings_of(data=data)
    logs.configure_server(settings)
    uvloop.run(consume(settings, ends_with_input=False))

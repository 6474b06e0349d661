"""`dawr queue`: open, pause, resume, close or reset a queue. Also while the server runs."""

import click
import msgspec

from dawr.bootstrap.control import QueueChange
from dawr.cli import one_writer
from dawr.cli.options import data_option, settings_of, venue_option


@click.command("queue")
@data_option
@venue_option
@click.argument("verb", type=click.Choice(("open", "pause", "resume", "close", "reset")))
@click.argument("queue")
def command(data: str | None, venue: str | None, verb: str, queue: str) -> None:
    """Open, pause, resume or close QUEUE, or begin a new round at number 1 (reset)."""
    settings = settings_of(data=data)
    asked = {"venue": one_writer.chosen_venue(settings, venue), "queue": queue, "verb": verb}
    change = msgspec.convert(asked, QueueChange)
    click.echo(one_writer.write(settings, "change-queue", change, lambda dawr: dawr.change_queue(change)))

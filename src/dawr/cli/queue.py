"""`dawr queue`: open, pause, resume, close or reset a queue. Also while the server runs."""

import asyncio
from pathlib import Path

import click
import msgspec

from dawr import bootstrap, control
from dawr.cli.options import data_option, sentences, settings_of
from dawr.control import QueueChange
from dawr.settings import Settings
from dawr.stores.data_directory import DataDirectory, DataDirectoryInUse

VERBS = ("open", "pause", "resume", "close", "reset")


@click.command("queue")
@data_option
@click.option("--venue", metavar="SLUG", help="The venue; the clinic door's by default (DAWR_CLINIC_VENUE).")
@click.argument("verb", type=click.Choice(VERBS))
@click.argument("queue")
def command(data: str | None, venue: str | None, verb: str, queue: str) -> None:
    """Open, pause, resume or close QUEUE, or begin a new round at number 1 (reset)."""
    with sentences():
        settings = settings_of(data=data)
        change = msgspec.convert({"venue": venue or settings.clinic_venue, "queue": queue, "verb": verb}, QueueChange)
        click.echo(_ask(settings, change))


def _ask(settings: Settings, change: QueueChange) -> str:
    """Do it ourselves, or have the running server do it: there is one writer."""
    try:
        return asyncio.run(_change(settings, change))
    except DataDirectoryInUse:
        answer = control.ask(DataDirectory(Path(settings.data)).control_socket, "change-queue", change)
        return msgspec.json.decode(answer, type=str)


async def _change(settings: Settings, change: QueueChange) -> str:
    async with bootstrap.running(settings) as dawr:
        return await dawr.change_queue(change)

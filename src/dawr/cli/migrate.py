"""`dawr migrate`: bring the database's schema up to date, and settle a restored copy."""

import asyncio

import click

from dawr import bootstrap, system
from dawr.cli.options import data_option, sentences, settings_of
from dawr.settings import Settings


@click.command("migrate")
@data_option
def command(data: str | None) -> None:
    """Bring the database's schema up to date. `serve` does this too when it starts."""
    with sentences():
        asyncio.run(_migrate(settings_of(data=data)))


async def _migrate(settings: Settings) -> None:
    async with bootstrap.opened(settings) as store:
        applied = await store.migrate()
        for title in applied:
            click.echo(f"Applied {title}.")
        if not applied:
            click.echo("The schema is up to date.")
        if venues := await store.renew_epochs(system.SystemIds().epoch):
            click.echo(f"This is a restored copy: its event streams begin new epochs (venues: {venues}).")

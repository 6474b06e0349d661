"""`dawr backup`: a consistent copy of the database while it is in use."""

from pathlib import Path

import click

from dawr import bootstrap
from dawr.cli.options import data_option, settings_of
from dawr.stores.backup import back_up_postgres, back_up_sqlite
from dawr.stores.data_directory import DataDirectory


@click.command("backup")
@data_option
@click.argument("target", type=click.Path(path_type=Path))
def command(data: str | None, target: Path) -> None:
    """Copy the database to the file TARGET, also while the server runs."""
    settings = settings_of(data=data)
    if settings.database_url:
        back_up_postgres(settings.database_url, target, bootstrap.environment())
    else:
        back_up_sqlite(DataDirectory(Path(settings.data)).database, target)
    click.echo(f"Backed up to {target}.")

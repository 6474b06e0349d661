"""`dawr backup`: a consistent copy of the database while it is in use."""

from pathlib import Path

import click

from dawr import bootstrap
from dawr.cli.options import data_option, settings_of
from dawr.stores.backup import back_up_postgres, back_up_sqlite
from dawr.stores.data_directory import DataDirectory
from dawr.traffic.directory import traffic_in


@click.command("backup")
@data_option
@click.argument("target", type=click.Path(path_type=Path))
def command(data: str | None, target: Path) -> None:
    """Copy the database to the file TARGET, also while the server runs.

    Traffic statistics that are a file of their own are copied to TARGET.traffic.
    """
    settings = settings_of(data=data)
    if settings.database_url:
        back_up_postgres(settings.database_url, target, bootstrap.environment())
        click.echo(f"Backed up to {target}.")
        return
    directory = DataDirectory(Path(settings.data))
    directory.must_be_whole()
    beside = back_up_sqlite(directory.database, target, statistics=traffic_in(settings.data).database)
    click.echo(f"Backed up to {target}{_and_statistics(beside)}")


def _and_statistics(beside: Path | None) -> str:
    return ". There are no traffic statistics yet." if beside is None else f", the traffic statistics to {beside}."

"""`dawr restore`: put a backup of an embedded database in place."""

from pathlib import Path

import click

from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic_lock import no_traffic_process
from dawr.stores.backup import restore_sqlite
from dawr.stores.data_directory import DataDirectory
from dawr.traffic.directory import traffic_in


@click.command("restore")
@data_option
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def command(data: str | None, source: Path) -> None:
    """Put the backup SOURCE, and SOURCE.traffic if it is there, in an empty data directory.

    For PostgreSQL see docs/run/backup.md.
    """
    settings = settings_of(data=data)
    if settings.database_url:
        raise click.ClickException("Restore PostgreSQL with pg_restore, as docs/run/backup.md says.")
    directory = DataDirectory(Path(settings.data))
    directory.prepare()
    directory.lock()
    traffic = traffic_in(settings.data)
    with no_traffic_process(traffic):
        beside = restore_sqlite(source, directory.database, statistics=traffic.database)
    restored = source if beside is None else f"{source} and {beside}"
    click.echo(f"Restored {restored}. The next start begins new event streams.")
    if beside is None:
        click.echo("It has no traffic statistics: they begin anew.")

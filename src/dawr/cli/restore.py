"""`dawr restore`: put a backup of an embedded database in place."""

from datetime import UTC, datetime
from pathlib import Path

import click

from dawr import bootstrap
from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic_lock import no_traffic_process
from dawr.stores.backup import restore_sqlite
from dawr.stores.data_directory import DataDirectory
from dawr.traffic.directory import traffic_in


@click.command("restore")
@data_option
@click.option("--replace", is_flag=True, help="Move the database that is there aside first. Nothing is deleted.")
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def command(*, data: str | None, replace: bool, source: Path) -> None:
    """Put the backup SOURCE, and SOURCE.traffic if it is there, in a data directory.

    For PostgreSQL see docs/run/backup.md.
    """
    settings = settings_of(data=data)
    if settings.database_url:
        raise click.ClickException("Restore PostgreSQL with pg_restore, as docs/run/backup.md says.")
    directory = DataDirectory(Path(settings.data))
    directory.prepare()
    directory.lock(to_restore=True)
    traffic = traffic_in(settings.data)
    now = datetime.fromtimestamp(bootstrap.system.now() / 1000, UTC)
    aside = f"replaced-{now:%Y%m%dT%H%M%S.%fZ}" if replace else None
    with no_traffic_process(traffic):
        beside = restore_sqlite(source, directory.database, statistics=traffic.database, aside=aside)
    for place in (directory.path, traffic.path):
        if aside is not None and (place / aside).exists():
            click.echo(f"What was there is in {place / aside}.")
    restored = source if beside is None else f"{source} and {beside}"
    click.echo(f"Restored {restored}. The next start begins new event streams.")
    click.echo("Numbers that were given after it was made are not known to it, and may be given again today.")
    if beside is None:
        click.echo("It has no traffic statistics: they begin anew.")

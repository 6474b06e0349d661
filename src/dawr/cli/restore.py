"""`dawr restore`: put a backup of an embedded database in place."""

from pathlib import Path

import click

from dawr.cli.options import data_option, settings_of
from dawr.stores.backup import restore_sqlite
from dawr.stores.data_directory import DataDirectory


@click.command("restore")
@data_option
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def command(data: str | None, source: Path) -> None:
    """Put the backup SOURCE in an empty data directory. For PostgreSQL see docs/run/backup.md."""
    settings = settings_of(data=data)
    if settings.database_url:
        raise click.ClickException("Restore PostgreSQL with pg_restore, as docs/run/backup.md says.")
    directory = DataDirectory(Path(settings.data))
    directory.prepare()
    directory.lock()
    restore_sqlite(source, directory.database)
    click.echo(f"Restored {source}. The next start begins new event streams.")

"""`dawr traffic query`: one SELECT over what is in the database and in the archives."""

import click

from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic.options import as_json as json_of
from dawr.cli.traffic.options import json_option, shown
from dawr.cli.traffic.progress import Line
from dawr.cli.traffic.reading import look
from dawr.traffic.archive.query import Answer, run_query
from dawr.traffic.directory import traffic_in


@click.command("query")
@data_option
@json_option
@click.argument("sql", metavar="SELECT")
def query(*, data: str | None, as_json: bool, sql: str) -> None:
    """Run one SELECT over traffic_events (live and archived), traffic_hours, traffic_minutes and traffic_ledger."""
    settings = settings_of(data=data)
    with Line() as line:
        answer = look(
            settings,
            lambda database: run_query(
                sql,
                database,
                traffic_in(settings.data),
                progress=lambda what, rows: line.show(f"{what}: {rows:,} rows"),
            ),
        )
    if as_json:
        click.echo(json_of(answer))
    else:
        _print(answer)
    if answer.is_cut:
        click.echo(f"There are more rows than these {len(answer.rows):,}.", err=True)
    for file in answer.missing:
        click.echo(f"The archive {file} is not here, so its rows are not among these.", err=True)


def _print(answer: Answer) -> None:
    rows = [list(answer.columns), *([_text(value) for value in row] for row in answer.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(answer.columns))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _text(value: object) -> str:
    return "" if value is None else shown(str(value))

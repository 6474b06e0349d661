"""`dawr check`: look an installation over, running or stopped, and explain what is wrong in sentences.

It changes nothing. It has the settings it is given, so run it with those of the server. The public address and the
clinic's venue are those of a running embedded server, which can be asked.
"""

import asyncio
from pathlib import Path

import click
import msgspec

from dawr import __version__, bootstrap
from dawr.cli.check.database import look_at_database
from dawr.cli.check.directory import look_at_directory
from dawr.cli.check.findings import MARKS, Report
from dawr.cli.check.limits import look_at_limits
from dawr.cli.check.links import look_at_links
from dawr.cli.check.server import look_at_server, look_for_server
from dawr.cli.check.traffic import look_at_traffic
from dawr.cli.options import data_option, settings_of
from dawr.settings import Settings, SettingUnfit, unknown
from dawr.stores.data_directory import DataDirectory


@click.command("check")
@data_option
@click.option("--json", "as_json", is_flag=True, help="Say it as JSON, for scripts.")
@click.option("--expect-server", is_flag=True, help="It is wrong if no server answers.")
def command(*, data: str | None, as_json: bool, expect_server: bool) -> None:
    """Look this installation over. Exit code 1 when something is wrong."""
    report = Report()
    settings = _settings(data, report)
    if settings is not None:
        asyncio.run(_look(settings, report))
        if expect_server:
            look_for_server(settings, report)
    click.echo(_as_json(report) if as_json else _as_lines(report))
    if report.something_is_wrong:
        raise click.exceptions.Exit(1)


def _settings(data: str | None, report: Report) -> Settings | None:
    for sentence in unknown(bootstrap.environment()).values():
        report.warn(sentence, about="settings")
    try:
        return settings_of(data=data)
    except SettingUnfit as unfit:
        report.wrong(str(unfit), about="settings")
        return None


async def _look(settings: Settings, report: Report) -> None:
    server = None
    if settings.database_url:
        look_at_server(settings, report)
    else:
        server = look_at_directory(DataDirectory(Path(settings.data)), report)
    known = {} if server is None else server.settings
    settings = msgspec.structs.replace(settings, **known)
    look_at_links(settings, report, is_of_server="public_url" in known)
    await look_at_database(settings, report)
    await look_at_limits(settings, report)
    await look_at_traffic(settings, report)


def _as_lines(report: Report) -> str:
    return "\n".join(f"{MARKS[found.level]}  {found.sentence}" for found in report.findings)


def _as_json(report: Report) -> str:
    said = {"ok": not report.something_is_wrong, "version": __version__, "findings": report.findings}
    return msgspec.json.format(msgspec.json.encode(said), indent=2).decode()

"""`dawr traffic verify`: whether each request was counted once."""

from collections.abc import Iterator
from datetime import datetime
from math import isnan

import click

from dawr.bootstrap.system import now
from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic.options import TIMES, json_option, ms_of, time_of
from dawr.cli.traffic.options import as_json as json_of
from dawr.cli.traffic.reading import NoStatistics, look
from dawr.traffic import verify as verifying
from dawr.traffic.directory import traffic_in
from dawr.traffic.event import MS_PER_DAY
from dawr.traffic.verify import Hour, Report

DEFAULT_MS = 7 * MS_PER_DAY
NOTHING = 2
COLUMNS = (
    "answered",
    "spooled",
    "waiting",
    "stored",
    "duplicates",
    "dead",
    "damaged",
    "lost",
    "aggregated",
    "detailed",
    "details",
    "counted_only",
    "over_limit",
    "no_space",
)


@click.command("verify")
@data_option
@click.option("--from", "start", type=click.DateTime(TIMES), metavar="TIME", help="In UTC; 7 days ago by default.")
@click.option("--to", "end", type=click.DateTime(TIMES), metavar="TIME", help="In UTC; now by default.")
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Look this share of the details up in the aggregates, one by one; 5 % of them may be missing.",
)
@json_option
def verify(
    *, data: str | None, start: datetime | None, end: datetime | None, sample: float | None, as_json: bool
) -> None:
    """Compare every table's count of the same requests, hour by hour, and with the answers that were sent.

    Exit code 1 when two figures differ, and 2 when there was nothing to count.
    """
    settings = settings_of(data=data)
    until = now() if end is None else ms_of(end)
    since = until - DEFAULT_MS if start is None else ms_of(start)
    if since >= until:
        raise click.UsageError("--from must be before --to.")
    if sample is not None and isnan(sample):
        raise click.UsageError("--sample is a share of 1, such as 0.01.")
    directory = traffic_in(settings.data)
    try:
        report = look(settings, lambda database: verifying.verify(database, directory, since, until, sample=sample))
    except NoStatistics as nothing:
        nothing.show()
        raise click.exceptions.Exit(NOTHING) from nothing
    wrong = [*map(str, report.differences), *report.faults]
    missing = [f"The archive {file} is not in {directory.archive}." for file in report.elsewhere]
    if not settings.database_url:
        wrong += missing
    click.echo(json_of(_for_scripts(report, wrong)) if as_json else "\n".join(_lines(report, wrong)))
    for sentence in missing if settings.database_url else ():
        click.echo(sentence, err=True)
    if report.is_empty:
        raise click.exceptions.Exit(NOTHING)
    if wrong:
        raise click.exceptions.Exit(1)


def _lines(report: Report, wrong: list[str]) -> Iterator[str]:
    if report.is_empty:
        yield "There was nothing to count."
        return
    yield "hour".ljust(20) + "".join(f"{name:>13}" for name in COLUMNS) + f"{'deviation':>13}"
    for hour, figures in report.hours.items():
        yield _row(time_of(hour), figures, report.deviation_of(hour))
    if report.outside is not None:
        sent, collected = report.outside.answered, report.outside.collected
        yield f"{sent:,} answers were sent, {collected:,} requests written down ({(collected - sent) / sent:+.2%})."
    if report.sample is not None:
        yield f"Of {report.sample.looked_up:,} details that were looked up, {report.sample.missing:,} are missing."
    yield from (f"✗  {sentence}" for sentence in wrong)
    if not wrong:
        yield "✓  Each request was counted once."


def _row(hour: str, figures: Hour, deviation: float) -> str:
    return f"{hour:<20}" + "".join(f"{getattr(figures, name):>13,}" for name in COLUMNS) + f"{deviation:>13.2%}"


def _for_scripts(report: Report, wrong: list[str]) -> dict[str, object]:
    return {
        "ok": not wrong and not report.is_empty,
        "wrong": wrong,
        "hours": [
            {
                "hour": time_of(hour),
                **{name: getattr(figures, name) for name in COLUMNS},
                "deviation": report.deviation_of(hour),
            }
            for hour, figures in report.hours.items()
        ],
        "outside": report.outside,
        "sample": report.sample,
        "elsewhere": report.elsewhere,
    }

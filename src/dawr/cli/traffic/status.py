"""`dawr traffic status`: how the statistics fare, and whether they can be relied on."""

from collections.abc import Iterator

import click
import msgspec

from dawr.bootstrap.system import now
from dawr.cli.options import data_option, settings_of
from dawr.cli.traffic.options import as_json as json_of
from dawr.cli.traffic.options import json_option
from dawr.cli.traffic.reading import look
from dawr.traffic import status as statuses
from dawr.traffic.status import Status, at_least, failed_gates


@click.command("status")
@data_option
@json_option
def status(*, data: str | None, as_json: bool) -> None:
    """Print rates, backlog, dead letters and alerts. Exit code 1 when a gate does not hold."""
    settings = settings_of(data=data)
    found = look(settings, lambda database: statuses.status(database, now()))
    failed = failed_gates(found)
    if as_json:
        shares = {"consumed_share": found.consumed_share, "error_rate": found.error_rate}
        click.echo(json_of({"ok": not failed, "failed": failed, **msgspec.structs.asdict(found), **shares}))
    else:
        click.echo("\n".join(f"{name:<14}{said}" for name, said in _lines(found)))
        click.echo("\n".join(f"✗  {sentence}" for sentence in failed) or "✓  Every gate holds.")
    if failed:
        raise click.exceptions.Exit(1)


def _lines(found: Status) -> Iterator[tuple[str, str]]:
    waiting = f", the first for {_time(found.lag_seconds)}" if found.backlog else ""
    yield "backlog", f"{at_least(found.backlog)} messages{waiting}"
    yield "dead letters", f"{at_least(found.dead_letters)}, and {at_least(found.damaged)} damaged lines"
    yield "consumed", f"{found.consumed:,} of {found.sent:,} in 24 hours{_percent(found.consumed_share)}"
    yield "lost", f"{found.lost:,} in 24 hours"
    yield "requests", f"{found.rpm:,} in the latest minute, {found.peak_rpm:,} in the busiest of 24 hours"
    yield "errors", f"{found.errors:,} of {found.requests:,} in 5 minutes{_percent(found.error_rate)}"
    age = found.snapshot_age_seconds
    yield "snapshot", "none yet" if age is None else f"{_time(age)} old"
    for beat in found.heartbeats:
        yield "host", f"{beat.host}: heard {_time(beat.age_seconds)} ago, {beat.spool_bytes:,} bytes in its spool"
    for alert in found.alerts:
        yield "alert", f"{alert.name} ({alert.level}): {alert.sentence}"


def _percent(share: float | None) -> str:
    return "" if share is None else f" ({share:.2%})"


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 2 * 60 else f"{seconds / 60:,.0f} min"

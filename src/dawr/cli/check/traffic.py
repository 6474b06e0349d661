"""The traffic statistics: whether somebody counts, what waits, and what is out of its bounds."""

import apsw
import asyncpg
import msgspec

from dawr import bootstrap
from dawr.bootstrap.traffic import traffic_read
from dawr.cli.check.findings import Report
from dawr.reliability.file_lock import is_locked
from dawr.settings import Settings
from dawr.stores import reasons
from dawr.traffic.database import DatabaseAway
from dawr.traffic.directory import traffic_in
from dawr.traffic.spool import whole_size_of
from dawr.traffic.status import MOST_SILENT_SECONDS, Status, at_least, failed_gates, status


async def look_at_traffic(settings: Settings, report: Report) -> None:
    """A database that cannot be read was named already."""
    if settings.traffic == "off":
        report.fine("The traffic statistics are switched off (DAWR_TRAFFIC=off).", about="traffic")
        return
    directory = traffic_in(settings.data)
    if not report.is_fine_about("database"):
        return
    if not settings.database_url and not directory.database.exists():
        report.fine("There are no traffic statistics yet.", about="traffic")
        return
    try:
        async with traffic_read(settings) as database:
            found = await status(database, bootstrap.system.now())
    except (DatabaseAway, apsw.Error, asyncpg.PostgresError) as fault:
        report.wrong(
            f"The traffic statistics cannot be read: {reasons.of_either(fault)} The server makes what is missing "
            "when it starts; a file that is damaged comes back from a backup.",
            about="traffic",
        )
        return
    is_counting = is_locked(directory.lock) if not settings.database_url else look_for_hosts(found, report)
    look_at_spool(whole_size_of(directory.spools), report, is_counting=is_counting)
    look_at_status(found, report, is_counting=is_counting)


def look_for_hosts(found: Status, report: Report) -> bool:
    hosts = [beat.host for beat in found.heartbeats if beat.age_seconds <= MOST_SILENT_SECONDS]
    if hosts:
        report.fine(f"Traffic processes were heard of lately: {', '.join(hosts)}.", about="traffic")
    return bool(hosts)


def look_at_spool(size: int, report: Report, *, is_counting: bool) -> None:
    """A file stays there until its process is done with it, although its lines were counted."""
    if is_counting:
        report.fine(f"A traffic process runs; the spool of this host takes {size:,} bytes.", about="traffic")
    else:
        report.fine(
            f"No traffic process runs; the spool takes {size:,} bytes, and what is in it is counted when one does.",
            about="traffic",
        )


def look_at_status(found: Status, report: Report, *, is_counting: bool) -> None:
    """Alerts and gates say something only while somebody evaluates them; a dead letter stays one."""
    if found.dead_letters or found.damaged:
        report.warn(
            f"{at_least(found.dead_letters)} dead letters and {at_least(found.damaged)} damaged lines of the traffic "
            "statistics wait for somebody: `dawr traffic dead list` names them.",
            about="traffic",
        )
    if not is_counting:
        return
    for alert in found.alerts:
        report.warn(f"Alert {alert.name} ({alert.level}): {alert.sentence}", about="traffic")
    for sentence in failed_gates(msgspec.structs.replace(found, alerts=())):
        report.warn(sentence, about="traffic")
    if report.is_fine_about("traffic"):
        report.fine("The traffic statistics can be relied on: `dawr traffic verify` proves it.", about="traffic")

"""The database: its schema, and every row."""

from pathlib import Path
from socket import gethostname
from typing import cast

from dawr import bootstrap
from dawr.cli.check.findings import Report
from dawr.cli.check.locks import look_at_locks
from dawr.domain.errors import UnknownVenue
from dawr.domain.venue import clinic_among
from dawr.engine.engine import Engine
from dawr.engine.timekeeping import days_ahead, doubt_of
from dawr.ports import Store
from dawr.ports.faults import ClockUntrusted, StoreFault
from dawr.reliability.records import Records
from dawr.settings import Settings, SettingUnfit
from dawr.stores.checking import missing_indexes
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit
from dawr.stores.migrations import SchemaUnfit
from dawr.stores.moving import unreadable_tables
from dawr.stores.postgres import READERS
from dawr.stores.session import Row
from dawr.web.wording import sentence_of

OLDEST = 140_000
DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


async def look_at_database(settings: Settings, report: Report) -> None:
    try:
        async with bootstrap.reading(settings) as store:
            if not await _look_at_schema(store, report):
                return
            if settings.database_url:
                await _look_at_clock(store, report)
            records = cast("Records", store)
            await _look_at_indexes(records, settings, report)
            await _look_at_rows(store, settings, report)
            if report.is_fine_about("numbers"):  # a set-up that cannot be read was named already
                await _look_at_time(store, report)
            for row in await records.select_rows("server_facts"):
                look_at_facts(row, settings, report)
            await look_at_locks(records, report)
            await _look_at_leases(records, settings, report)
    except (DataDirectoryUnfit, SchemaUnfit, SettingUnfit, StoreFault) as fault:
        report.wrong(str(fault) or str(fault.__doc__), about="database")
    except UnicodeDecodeError:
        report.wrong("The database holds text that is none (not UTF-8): restore a backup.", about="database")


async def _look_at_schema(store: Store, report: Report) -> bool:
    pending = await store.pending_migrations()
    if pending:
        report.wrong(f"The schema is behind: run `dawr migrate` to apply {', '.join(pending)}.", about="database")
        return False
    report.fine("The schema is up to date.", about="database")
    return True


async def _look_at_clock(store: Store, report: Report) -> None:
    """An embedded database has no clock of its own, and a tool that reads does not ask it to write."""
    try:
        await store.ping()
    except ClockUntrusted as fault:
        report.wrong(str(fault.__doc__), about="database")
    else:
        report.fine("PostgreSQL answers, and its clock and ours agree.", about="database")


async def _look_at_indexes(records: Records, settings: Settings, report: Report) -> None:
    """Some of them are what makes a number unique, whatever else goes wrong."""
    present = {name for (name,) in await records.select_rows("index_names")}
    if missing := missing_indexes("postgres" if settings.database_url else "sqlite", present):
        report.wrong(
            f"Indexes or constraints are missing ({', '.join(missing)}): nothing but they keep numbers single and "
            "looks quick. Make them again as the migrations have them, or restore a backup.",
            about="database",
        )


async def _look_at_rows(store: Store, settings: Settings, report: Report) -> None:
    unreadable = [] if settings.database_url else unreadable_tables(DataDirectory(Path(settings.data)).database)
    for table in unreadable:
        report.wrong(f"Table {table} holds text that is none (not UTF-8): restore a backup.", about="database")
    if unreadable:
        return
    venues = await store.venue_ids()
    report.fine(f"Venues: {', '.join(venues) or 'none yet'}.", about="database")
    faults = await store.faults()
    if venues and not faults:
        await _look_at_clinic(store, settings, report)
    for fault in faults:
        report.wrong(fault, about="numbers")
    if not faults:
        report.fine("Every number was given once, and no event is missing.", about="numbers")


async def _look_at_time(store: Store, report: Report) -> None:
    """A tool judges its own machine's clock; what a server that runs makes of its own, `/health` says."""
    now = bootstrap.system.now
    _, believed_at = await store.time_kept()
    doubt = None if believed_at is None else doubt_of(now() - believed_at, bootstrap.system.is_synchronised)
    if doubt is not None:
        report.warn(doubt.sentence, about="time")
    for ahead in await days_ahead(store, now):
        report.wrong(ahead.sentence, about="time")
    if report.is_fine_about("time"):
        report.fine("No venue's day is ahead of today.", about="time")


async def _look_at_clinic(store: Store, settings: Settings, report: Report) -> None:
    """Without a clinic nobody comes through that door; where one was named and is not found, everybody is sent away.

    With several, who has set nothing may not use that door at all.
    """
    try:
        clinic_among(await Engine(store, bootstrap.system.now).venues(), called=settings.clinic_venue)
    except UnknownVenue as refusal:
        if settings.clinic_venue:
            report.wrong(sentence_of(refusal), about="settings")
        elif refusal.facts.get("why") != "no-clinic":
            report.warn(sentence_of(refusal), about="settings")


def look_at_facts(row: Row, settings: Settings, report: Report) -> None:
    """How the server of the database is set up."""
    version_number, version, fsync, full_page_writes, synchronous_commit, isolation, connections = row
    if version_number < OLDEST:
        report.wrong(f"PostgreSQL is version {version}: Dawr needs 14 or newer. Upgrade it.", about="database")
    for name, value in zip(DURABLE, (fsync, full_page_writes, synchronous_commit), strict=True):
        if value == "off":
            report.wrong(
                f"PostgreSQL's {name} is off: a power cut can take numbers that people hold in their hands. "
                "Set it to on.",
                about="database",
            )
    if isolation != "read committed":
        report.warn(
            f"PostgreSQL's default_transaction_isolation is {isolation}, where transactions of one venue fail instead "
            "of waiting for each other. Set it to read committed for this database.",
            about="locks",
        )
    needed = settings.hosts * settings.workers * (settings.lanes + READERS)
    if needed > connections:
        report.warn(
            f"PostgreSQL lets in {connections} connections, and all processes together may want {needed}: raise "
            "max_connections, or lower DAWR_LANES.",
            about="database",
        )


async def _look_at_leases(records: Records, settings: Settings, report: Report) -> None:
    """A server that is killed cannot give its leases back."""
    left: list[str] = []
    is_copy = not settings.database_url and await records.select_rows("is_copy") == [(1,)]
    for name, holder, fence, until_at, store_now in await records.select_rows("all_leases"):
        left_ms = until_at - (bootstrap.system.now() if store_now is None else store_now)
        if not holder or left_ms <= 0 or is_copy:  # the holders in a backup serve its original
            report.fine(f"Nobody holds the lease {name} now (fence {fence}).", about="leases")
        elif is_gone(holder, settings):
            left.append(name)
        else:
            report.fine(f"The lease {name} is held by {holder} (fence {fence}).", about="leases")
    if left:
        report.warn(
            f"Nobody holds the leases {', '.join(left)}: the server that had them ended without giving them back. It "
            "was killed, or the power went out. The next one takes them over.",
            about="leases",
        )


def is_gone(holder: str, settings: Settings) -> bool:
    """Of the embedded server, the lock says so; of one on PostgreSQL, this host knows its own processes."""
    if not settings.database_url:
        return not DataDirectory(Path(settings.data)).is_locked()
    host, pid, *_ = (*holder.split(" "), "", "")
    return host == gethostname() and pid.isdecimal() and not Path("/proc", pid).exists()

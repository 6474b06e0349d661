"""Who waits for whom in PostgreSQL, and who keeps what everybody needs.

A session of another role hides what it does from an ordinary one. Its locks it cannot hide, so they are
looked at twice, a moment apart: whatever one transaction keeps for so long, it keeps from all others.
"""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

from dawr.cli.check.findings import Report
from dawr.reliability.records import Records
from dawr.stores.session import Row

LOOK_AGAIN_SECONDS = 1.0
"""Dawr itself keeps a head for some milliseconds."""
SHORT_WAIT_MS = 250
"""Under load everybody waits so long now and then."""
LONG_WAIT_MS = 1000
"""Dawr itself gives up after two seconds, so nobody is ever seen to wait for much longer."""
LONG_IDLE_MS = 5000
"""Dawr itself leaves no transaction open for longer."""


async def look_at_locks(records: Records, report: Report) -> None:
    """An embedded database has one writer: nobody can wait in a circle."""
    for deadlocks, since in await records.select_rows("deadlocks"):
        if deadlocks:
            report.warn(
                f"PostgreSQL ended {deadlocks} deadlocks in this database{_since(since)}. Dawr locks in one order and "
                "cannot make one by itself: who else writes to these tables? `SELECT pg_stat_reset()` counts anew.",
                about="locks",
            )
    idle = {row[0] for row in await records.select_rows("idle_transactions") if look_at_idle(row, report)}
    await _look_twice(records, idle, report)
    for role, roles, sessions in await records.select_rows("hidden_sessions"):
        report.warn(
            f"What {sessions} sessions of other roles ({roles}) do in this database cannot be seen by {role}; only "
            f'their locks can. To see it: `GRANT pg_monitor TO "{role}"`.',
            about="locks",
        )
    if report.is_fine_about("locks"):
        report.fine("No deadlock, and nobody waits for a lock.", about="locks")


async def _look_twice(records: Records, named: set[int], report: Report) -> None:
    """A second time only where the first saw somebody."""
    waits, holders = await records.select_rows("lock_waits"), await records.select_rows("head_holders")
    if not waits and not holders:
        return
    blocked_before, held_before = _transactions(waits), _transactions(holders)
    await asyncio.sleep(LOOK_AGAIN_SECONDS)
    for *wait, blocker, transaction in await records.select_rows("lock_waits"):
        look_at_wait([*wait, blocker], report, stays=(blocker, transaction) in blocked_before)
        named.add(blocker)
    for *holder, pid, transaction in await records.select_rows("head_holders"):
        if (pid, transaction) in held_before and pid not in named:
            _name_holder(pid, *holder, report=report)


def _transactions(rows: Iterable[Row]) -> set[tuple[int, str]]:
    """Who has the lock: the session, and which of its transactions."""
    return {(row[-2], row[-1]) for row in rows}


def _since(since: int | None) -> str:
    return "" if since is None else f" since {datetime.fromtimestamp(since / 1000, UTC):%Y-%m-%d %H:%M} UTC"


def look_at_wait(row: Row, report: Report, *, stays: bool) -> None:
    """`stays`: the same transaction was in somebody's way a moment ago."""
    pid, program, waited_ms, its_program, its_state, blocker = row
    is_long = stays or waited_ms >= LONG_WAIT_MS
    if not is_long and waited_ms < SHORT_WAIT_MS:
        return
    say = report.wrong if is_long else report.warn
    say(
        f"Session {pid} ({program or 'unnamed'}) has waited {waited_ms / 1000:.1f} s for a lock that session {blocker} "
        f"({its_program or 'unnamed'}, {its_state}) holds. A moment is normal. If it stays, end that one: "
        f"`SELECT pg_terminate_backend({blocker})`.",
        about="locks",
    )


def look_at_idle(row: Row, report: Report) -> bool:
    """Whether it was named."""
    pid, program, idle_ms = row
    if idle_ms < LONG_IDLE_MS:
        return False
    report.wrong(
        f"Session {pid} ({program or 'unnamed'}) has left a transaction open for {idle_ms / 1000:.0f} s: what it "
        f"locked stays locked. End it: `SELECT pg_terminate_backend({pid})`.",
        about="locks",
    )
    return True


def _name_holder(pid: int, program: str, state: str, *, report: Report) -> None:
    report.wrong(
        f"Session {pid} ({program or 'unnamed'}, {state}) has kept a lock on the heads of venues for more than "
        f"{LOOK_AGAIN_SECONDS:.0f} s in one transaction: those venues give no numbers meanwhile. If it stays, end it: "
        f"`SELECT pg_terminate_backend({pid})`.",
        about="locks",
    )

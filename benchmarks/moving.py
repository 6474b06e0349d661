"""How long does it take to move from SQLite to PostgreSQL? A million tickets with their visits and events.

`python -m benchmarks.moving [--tickets N]`. The exit code is that of `dawr migrate --to`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apsw

from tests.running import PROGRAM, _environment
from tests.servers import PostgresServer, server_directory

FILL = """
    INSERT INTO venues VALUES ('venue-0', 'clinic', '{}');
    INSERT INTO heads VALUES ('venue-0', 1, '2026-03-24', ?1, 1);
    CREATE TEMP TABLE n AS
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT i FROM n;
    INSERT INTO tickets (
        venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor,
        visit_id, issued_at, version, desk_id, recalls, called_at, started_at, finished_at
    )
    SELECT 'venue-0', 'venue-0-' || printf('%032d', i), 'queue-' || i % 12, '2026-03-' || (10 + i % 15), i / 180, i,
        printf('A%03d', i % 1000), 0, i, 'finished', 'visitor ' || i,
        'visit-' || printf('%032d', i), 1794786591704 + i, i, 'desk-' || i % 7, 0,
        1794786691704 + i, 1794786691904 + i, 1794786991704 + i
    FROM n;
    INSERT INTO visits (venue_id, visit_id, secret_hash, visitor, state, started_at, finished_at)
    SELECT venue_id, visit_id, hex(visit_id), visitor, 'finished', issued_at, finished_at FROM tickets;
    INSERT INTO events (venue_id, version, kind, at, queue_id, ticket_id, actor, correlation_id, data)
    SELECT venue_id, sequence, 'ticket.finished', finished_at, queue_id, ticket_id, 'account boss', ticket_id,
        '{"number":' || number || ',"label":"' || label || '","before":"serving","state":"finished","round":1}'
    FROM tickets;
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tickets", type=int, default=1_000_000)
    tickets = parser.parse_args().tickets
    with tempfile.TemporaryDirectory() as data, server_directory() as place, PostgresServer(place) as postgres:
        settings = {"DAWR_DATA": data}
        subprocess.run([PROGRAM, "migrate"], env=_environment(settings), check=True, stdout=subprocess.DEVNULL)
        fill(Path(data) / "dawr.sqlite", tickets)
        size = (Path(data) / "dawr.sqlite").stat().st_size
        url = postgres.create_database("moved")
        began = time.monotonic()
        moving = subprocess.Popen([PROGRAM, "migrate", "--to", url], env=_environment(settings))
        _, status, used = os.wait4(moving.pid, 0)
        moving.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
    print(
        f"{tickets:,} tickets, as many visits and events ({size / 1e6:,.0f} MB): {seconds:.1f} s, "
        f"{tickets / seconds:,.0f} tickets/s, {3 * tickets / seconds:,.0f} rows/s, {used.ru_maxrss // 1024} MB at most"
    )
    return moving.returncode


def fill(database: Path, tickets: int) -> None:
    connection = apsw.Connection(str(database))
    with connection:
        for statement in FILL.split(";\n"):
            connection.execute(statement, (tickets,) if "?1" in statement else ())
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()


if __name__ == "__main__":
    sys.exit(main())

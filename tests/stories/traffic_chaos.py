"""What goes wrong meanwhile: processes are killed, messages are no events, lines come a second time.

Spools of the test's own are put where the traffic process finds them, as a process that is gone would leave them.
"""

import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from dawr.traffic.event import encoded
from tests.cli.databases import rows_of
from tests.running import DawrServer, eventually
from tests.traffic.builders import an_event

HEADER = 32
REFUSED = "/refused\0"
"""PostgreSQL has no text with this character. SQLite has, and refuses it by a trigger of the test's own."""
REFUSING = """
    CREATE TRIGGER refusing BEFORE INSERT ON traffic_events WHEN new.path BETWEEN '/refused' AND '/refusee'
    BEGIN SELECT RAISE(ABORT, 'not this one'); END
"""

_names = itertools.count(1)


def leave_a_spool(spools: Path, lines: list[bytes]) -> Path:
    """As if a process had written and answered them, and was killed then."""
    counted = b"dawr spool 1\n".ljust(16, b"\0") + len(lines).to_bytes(8, "little")
    hour = int(time.time() * 1000) // 3_600_000 * 3_600_000
    path = spools / f"{hour:013}-left-by-a-test-{next(_names)}.spool"
    partial = path.with_suffix(".partial")
    partial.write_bytes(counted.ljust(HEADER - 1, b"\0") + b"\n" + b"".join(line + b"\n" for line in lines))
    partial.rename(path)
    return path


def poison(count: int) -> list[str]:
    """Bodies that are no events, each another. The last kind only a database can refuse."""
    return [body for _, body in zip(range(count), _poison(), strict=False)]


def _poison() -> Iterator[str]:
    for number in itertools.count():
        event = f'"idempotentId":"{int(time.time() * 1000):013}-0123abcd","number":{number}'
        yield f'"no event, but text {number}"'
        yield f'{{"lost":"by number {number}"}}'
        yield f'{{{event},"status":99}}'
        yield f"{{{event}"
        yield "[" * 5000 + str(number)
        yield encoded(an_event(number, at=int(time.time() * 1000), path=REFUSED)).decode()


def framed(body: str) -> bytes:
    data = body.encode()
    return b"%08x %b" % (crc32(data), data)


def shipped_lines(database: Path | str, spools: Path, most: int) -> list[bytes]:
    """Some that were shipped before."""
    found: list[bytes] = []
    for spool, position in rows_of(database, "SELECT spool, position FROM traffic_spools"):
        path = spools / spool
        if "left-by-a-test" not in spool and path.exists():
            found += path.read_bytes()[HEADER:position].splitlines()
    return found[-most:]


def kill_the_traffic_process(server: DawrServer) -> None:
    """And return when another has its place."""
    before = traffic_process_of(server)
    os.kill(before, signal.SIGKILL)
    eventually(lambda: traffic_processes_of(server) not in ([], [before]), seconds=60)


def traffic_process_of(server: DawrServer) -> int:
    eventually(lambda: len(traffic_processes_of(server)) == 1)
    return traffic_processes_of(server)[0]


def traffic_processes_of(server: DawrServer) -> list[int]:
    return [pid for pid in descendants_of(server.pid) if "dawr.bootstrap.consuming" in _command(pid)]


def descendants_of(pid: int) -> Iterator[int]:
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return
    for child in children:
        yield child
        yield from descendants_of(child)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""

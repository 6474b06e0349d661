"""From the spools of this host to the queue: lines and how far they were read, in one transaction.

A spool is removed once its process is done with it and the disk has what was shipped. While the database is away the
spools wait. How many answers a process sent is read from its counters, which are kept apart from its spools.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from dawr.reliability.log import log
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import hour_in
from dawr.traffic.ledger import Entries, add_to_ledger
from dawr.traffic.spool import MOST_IN_MEMORY
from dawr.traffic.spool_file import counters_beside
from dawr.traffic.spool_reader import (
    Counted,
    Piece,
    SpoolReader,
    read_counter,
    read_counters,
    remove_shipped,
    spools_in,
)

LONGEST_DAMAGED = 2000
MAX_QUEUED_WHEN_LOW = 10_000
ASK_AGAIN_MS = 10_000
"""How long what is known of a spool is believed without asking the database."""


class SpoolUnreadable(Exception):
    """The file is there and cannot be read."""


class Shipper:
    """The only one that reads these spools: the lock of the directory is its own."""

    def __init__(
        self,
        database: Database,
        spools: Path,
        clock: Callable[[], int],
        is_disk_low: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._spools = spools
        self._clock = clock
        self._is_disk_low = is_disk_low
        self._known: dict[str, tuple[int, int]] = {}
        """What was shipped of each spool. The database knows better: after a crash it may have less than it said."""
        self._asked_at = 0
        self._unreadable = set[str]()
        self.shipped_at = clock()
        """When all that was there was shipped."""
        self._counters: dict[str, Path] = {}
        """Files of counters, by hour and process."""
        self.unspooled = 0
        """Requests of this host that were answered and are in no file now."""

    @property
    def unreadable(self) -> int:
        """How many spools cannot be read."""
        return len(self._unreadable)

    async def ship(self) -> int:
        """All that is there now; how many lines it was."""
        now = self._clock()
        if abs(now - self._asked_at) >= ASK_AGAIN_MS:
            self._known.clear()
            self._asked_at = now
        # A line is written before its answer is counted. So what is counted now has its line in the spools read below.
        counted = read_counters(counters_beside(self._spools))
        self._counters = {_process_of(each.path): each.path for each in counted}
        waiting = Counter[str]()
        for each in counted:
            waiting[_writer_of(each.path)] += 0 if each.is_over else each.unspooled
        self.unspooled = waiting.total()
        if self._is_disk_low() and await self._is_queue_long():
            return 0
        paths = spools_in(self._spools)
        self._unreadable &= {path.name for path in paths}
        shipped = sum([await self._ship_what_can_be_read(path) for path in paths])
        for each in counted:
            await self._ship_answers(each, waiting[_writer_of(each.path)])
        self.shipped_at = now
        return shipped

    async def _is_queue_long(self) -> bool:
        """Return whether lines should wait in the spool, which is bounded. The queue is not."""
        [(waiting, _)] = await self._database.select_rows("traffic_backlog", MAX_QUEUED_WHEN_LOW)
        return bool(waiting >= MAX_QUEUED_WHEN_LOW)

    async def _ship_what_can_be_read(self, path: Path) -> int:
        """A file that is damaged or forbidden costs only itself."""
        try:
            shipped = await self._ship_one(path)
        except FileNotFoundError:
            return 0
        except (SpoolUnreadable, OSError, ValueError, OverflowError):
            if path.name not in self._unreadable:
                log.exception("traffic.spool-unreadable", spool=path.name)
            self._unreadable.add(path.name)
            return 0
        self._unreadable.discard(path.name)
        return shipped

    async def _ship_one(self, path: Path) -> int:
        spool = SpoolReader(path)
        shipped = 0
        try:
            while spool.is_new(self._known.get(path.name, (0, 0))[0]):
                piece = await self._database.transact(lambda transaction: self._move(transaction, spool))
                shipped += len(piece.bodies)
                self._known[path.name] = (piece.position, piece.answers)
                if piece.is_last:
                    break
            if spool.is_over:
                await self._remove_if_on_disk(path)
        finally:
            spool.close()
        return shipped

    async def _ship_answers(self, counted: Counted, waiting: int) -> None:
        """Ship answers, with or without a line. Leave out `waiting`, whose lines are in the memory of their process."""
        name, answers = counted.path.name, max(counted.answers - waiting, 0)
        _, known = self._known.get(name, (0, -1))
        if known < answers:
            ready = msgspec.structs.replace(counted, answers=answers)
            shipped = await self._database.transact(lambda transaction: _add_answers(transaction, ready, answers))
            self._known[name] = (0, shipped)
        if counted.is_over and not waiting:
            await self._remove_if_on_disk(counted.path)

    async def _remove_if_on_disk(self, path: Path) -> None:
        if await self._is_on_disk(path.name):
            remove_shipped(path)
            self._known.pop(path.name, None)
            await self._database.change_rows("forget_spool", path.name)

    async def _is_on_disk(self, name: str) -> bool:
        """Asked again after the sync: a server that crashed before it came back with less."""
        await self._database.sync()
        rows = await self._database.select_rows("lock_spool", name)
        return [(position, answers) for position, _, answers in rows] == [self._known[name]]

    async def _move(self, transaction: Transaction, spool: SpoolReader) -> Piece:
        name, now = spool.path.name, self._clock()
        counted = self._counted_beside(spool.path)
        await transaction.change_rows("add_spool", name)
        [(position, lines, answers)] = await transaction.select_rows("lock_spool", name)
        try:
            piece = spool.read(position, answers)
        except OSError as error:  # of the file: the database's own are told apart from it
            raise SpoolUnreadable(spool.path.name) from error
        found = len(piece.bodies) + len(piece.damaged)
        # Where an earlier version counted answers in the header: each has a line, or the header was damaged.
        most = max(answers, lines + found + piece.lost.total() + MOST_IN_MEMORY)
        piece = msgspec.structs.replace(piece, answers=min(piece.answers, most))
        if (piece.position, piece.answers) == (position, answers):
            return piece
        hours = [hour_in(body, spool.hour) for body in piece.bodies]
        await transaction.change_each(
            "add_to_queue", [(hour, body.decode(), now) for hour, body in zip(hours, piece.bodies, strict=True)]
        )
        await transaction.change_each("add_damaged", [(now, spool.hour, _shown(line)) for line in piece.damaged])
        await transaction.change_rows("save_spool", name, piece.position, lines + found, piece.answers)
        entries: Entries = Counter()
        for hour in hours:
            entries[hour, "spooled"] += 1
            entries[hour, "queued"] += 1
        entries[spool.hour, "damaged"] += len(piece.damaged)
        entries[spool.hour, "answered"] += piece.answers - answers
        for hour, count in piece.lost.items():
            entries[hour, "lost"] += count
        await add_to_ledger(transaction, entries)
        if counted is not None:
            await _add_answers(transaction, counted, found + piece.lost.total())
        return piece

    def _counted_beside(self, spool: Path) -> Counted | None:
        """Read the counters of the process that writes this spool."""
        counters = self._counters.get(_process_of(spool))
        with suppress(FileNotFoundError):
            return None if counters is None else read_counter(counters)
        return None


async def _add_answers(transaction: Transaction, counted: Counted, most: int) -> int:
    """Add answers to the ledger, at most so many. Return how many of this file are there now."""
    name = counted.path.name
    await transaction.change_rows("add_spool", name)
    [(_, _, before)] = await transaction.select_rows("lock_spool", name)
    answers = min(max(counted.answers, before), before + most)
    if answers != before:
        await transaction.change_rows("save_spool", name, 0, 0, answers)
        await add_to_ledger(transaction, Counter({(counted.hour, "answered"): answers - before}))
    return int(answers)


def _process_of(path: Path) -> str:
    """Return hour and process, which a spool and its counters have in common."""
    return path.name.rpartition("-")[0]


def _writer_of(path: Path) -> str:
    """Return the process, which may have counters of several hours."""
    return _process_of(path).partition("-")[2]


def _shown(line: bytes) -> str:
    """As text that any database takes."""
    return repr(line[:LONGEST_DAMAGED])[2:-1]

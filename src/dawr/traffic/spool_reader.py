"""Reads what a process wrote down, also while it writes, and after it ended in the middle of a line.

A line that was damaged is set aside, and costs only itself.
"""

import os
import struct
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Annotated
from zlib import crc32

import msgspec
from msgspec import Meta

from dawr.reliability.disk import sync
from dawr.reliability.file_lock import try_lock
from dawr.traffic.spool import LOST
from dawr.traffic.spool_file import BEGUN, COUNTERS, COUNTERS_AT, COUNTERS_ENDING, HEADER, SPOOL_ENDING

MOST_READ = 128 * 1024
"""At once; some hundreds of lines."""
CHECKSUM = 8
MAX_COUNT = 2**48
"""No process answers more in an hour. A larger number is damaged."""


class Piece(msgspec.Struct, frozen=True):
    """What was found behind a position."""

    position: int
    """Where the next piece begins."""
    bodies: list[bytes]
    damaged: list[bytes]
    lost: Counter[int]
    """By hour: what the process had no place for."""
    answers: int
    """Answers that an earlier version counted in the header; 0 before the end of the file is reached."""
    is_last: bool
    """Nothing is behind it now."""


Count = Annotated[int, Meta(ge=0, lt=MAX_COUNT)]


class Loss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line that tells of others which found no place."""

    lost: list[tuple[Count, Count]]
    """Hours, and how many."""


_decode_loss = msgspec.json.Decoder(Loss).decode


class SpoolReader:
    """Of one file. `is_over`: its process is gone, or has gone on to another; then it is ours until it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hour = hour_of_name(path.name)
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.is_over = try_lock(self._handle)

    def read(self, position: int, answers: int) -> Piece:
        """Return what is behind `position`."""
        start = max(position, len(HEADER))
        chunk = os.pread(self._handle, MOST_READ, start)
        end = chunk.rfind(b"\n") + 1
        is_last = len(chunk) < MOST_READ
        # The end of a line that nobody will finish is damaged, and so is one without an end in sight.
        if self.is_over if is_last else end == 0:
            end = len(chunk)
        lines = chunk[:end].split(b"\n")
        piece = Piece(start + end, [], [], Counter(), max(answers, self._answers() if is_last else 0), is_last)
        for line in lines:
            if line:
                _sort(line, piece)
        return piece

    def is_new(self, position: int) -> bool:
        """Whether there may be more than this."""
        return self.is_over or os.fstat(self._handle).st_size != position

    def close(self) -> None:
        os.close(self._handle)

    def _answers(self) -> int:
        return int.from_bytes(os.pread(self._handle, 8, 16), "little")


class Counted(msgspec.Struct, frozen=True):
    """Counters of one process in one hour, as they were read."""

    path: Path
    hour: int
    answers: int
    unspooled: int
    is_over: bool
    """The process is gone, or counts in another file: the numbers are final."""


def spools_in(directory: Path) -> list[Path]:
    return _files_in(directory, SPOOL_ENDING)


def read_counters(directory: Path) -> list[Counted]:
    """Leave out files that are removed meanwhile."""
    found = []
    for path in _files_in(directory, COUNTERS_ENDING):
        with suppress(FileNotFoundError):
            found.append(read_counter(path))
    return found


def read_counter(path: Path) -> Counted:
    """Raise `FileNotFoundError` if it was removed. Return zeros for a file that is damaged."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        is_over = try_lock(handle)
        data = os.pread(handle, len(COUNTERS), 0)
    finally:
        os.close(handle)
    if len(data) != len(COUNTERS) or data[:COUNTERS_AT] != COUNTERS[:COUNTERS_AT]:
        return Counted(path, hour_of_name(path.name), 0, 0, is_over)
    answers, unspooled = (min(number, MAX_COUNT) for number in struct.unpack_from("<QQ", data, COUNTERS_AT))
    return Counted(path, hour_of_name(path.name), answers, unspooled, is_over)


def _files_in(directory: Path, ending: str) -> list[Path]:
    """Return files in the order of their hours. Remove begun files without a name, because they hold nothing."""
    if not directory.exists():
        return []
    for begun in directory.glob(f"*{BEGUN}"):
        _remove_if_free(begun)
    return sorted(directory.glob(f"*{ending}"))


def remove_shipped(path: Path) -> None:
    """Delete a file once the disk has all of it elsewhere."""
    path.unlink(missing_ok=True)
    sync(path.parent)


def hour_of_name(name: str) -> int:
    digits = name.partition("-")[0]
    return int(digits) if digits.isdecimal() else 0


def _sort(line: bytes, piece: Piece) -> None:
    checksum, _, body = line.partition(b" ")
    if len(checksum) != CHECKSUM or checksum != b"%08x" % crc32(body) or not _is_text(body):
        piece.damaged.append(line)
    elif body.startswith(LOST):
        _add_loss(body, piece)
    else:
        piece.bodies.append(body)


def _add_loss(body: bytes, piece: Piece) -> None:
    """What only begins like one is a message, which fails later like any other that is no event."""
    try:
        loss = _decode_loss(body)
    except (msgspec.MsgspecError, RecursionError):
        piece.bodies.append(body)
        return
    for hour, count in loss.lost:
        piece.lost[hour] += count


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False


def _remove_if_free(begun: Path) -> None:
    try:
        handle = os.open(begun, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if try_lock(handle):
            begun.unlink(missing_ok=True)
    finally:
        os.close(handle)

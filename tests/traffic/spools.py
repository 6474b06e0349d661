"""Spools of a test's own, and what their files say."""

import os
from contextlib import closing
from itertools import count
from pathlib import Path

from dawr.traffic.spool import Spool
from dawr.traffic.spool_file import counters_beside
from dawr.traffic.spool_reader import Piece, SpoolReader, read_counters


def a_spool(directory: Path) -> Spool:
    numbers = count(1)
    return Spool(directory, lambda: f"{os.getpid()}-{next(numbers):04}")


def answers_beside(spools: Path) -> int:
    return sum(counted.answers for counted in read_counters(counters_beside(spools)))


def unspooled_beside(spools: Path) -> int:
    return sum(counted.unspooled for counted in read_counters(counters_beside(spools)))


def read_all(path: Path) -> tuple[list[bytes], list[bytes]]:
    """Bodies and damaged lines, piece by piece."""
    bodies, damaged, position = list[bytes](), list[bytes](), 0
    with closing(SpoolReader(path)) as reader:
        while True:
            piece: Piece = reader.read(position, 0)
            bodies += piece.bodies
            damaged += piece.damaged
            position = piece.position
            if piece.is_last:
                return bodies, damaged

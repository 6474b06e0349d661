"""`make bench`, the traffic part: what it costs to count every request, and whether counting keeps up with them.

Slices take turns, and a ratio is taken round by round. The exit code is 1 when a bar is missed. The bars of publish and
batch are the seed's; those of memory and of reading are our own.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import quantiles

import msgspec
import uvloop

from benchmarks.load import Run
from benchmarks.machine import look_at_machine, must_be_disk
from benchmarks.rounds import ratio
from benchmarks.traffic_consumer import Counted, Counting, counting_on_postgres, counting_on_sqlite
from benchmarks.traffic_costs import costs, shipped_one_by_one
from benchmarks.traffic_figures import Measured, at_least, at_most, informed, table
from benchmarks.traffic_load import Served, served
from benchmarks.traffic_reading import reading
from benchmarks.traffic_varied import varied_lines
from dawr.traffic.database import Database
from dawr.traffic.directory import traffic_in
from dawr.traffic.sqlite import SqliteDatabase
from tests.servers import PostgresServer, server_directory

LEAST_SHARE = 0.9
LEAST_TIMES = {"SQLite": 2.0, "PostgreSQL": 1.0}
MOST_BATCH_MS = 100
MOST_MEMORY_MB = 40


class Plan(msgspec.Struct, frozen=True):
    """How much of everything."""

    rounds: int
    seconds: float
    """Of each slice of `enter`."""
    times: int
    """Requests written down, of each round."""
    varied: int
    days: int


FULL = Plan(rounds=11, seconds=1.0, times=20_000, varied=20_000, days=90)
QUICK = Plan(rounds=2, seconds=0.3, times=500, varied=500, days=2)


class Side(msgspec.Struct, frozen=True):
    """An installation with statistics, and the same tables once more to count its lines in."""

    name: str
    server: Served
    tables: Database
    """Its own, to see how far its traffic process is."""
    counting: Counting


class Round(msgspec.Struct, frozen=True):
    entered: Run
    drained: float
    counted: Counted
    varied: Counted

"""Processor time of a process and its children, from /proc."""

import os
from pathlib import Path


def processor_seconds(pid: int) -> float:
    """Return the time in the program and in the system for it, over all its threads."""
    return _ticks(pid, slice(11, 13))


def processor_seconds_with_children(pid: int) -> float:
    """Add the children that run and those that have ended."""
    return _ticks(pid, slice(11, 15)) + sum(processor_seconds(child) for child in children_of(pid))


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]


def _ticks(pid: int, fields: slice) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, stat[fields])) / os.sysconf("SC_CLK_TCK")

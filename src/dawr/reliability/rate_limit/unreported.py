"""What this process has charged by itself, and the shared store does not know yet."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from dawr.reliability.rate_limit.local import Kind, LocalLimiter

Piece = tuple[Kind, str, "array[int]"]


class Unreported(LocalLimiter):
    def report_all_again(self, own: LocalLimiter) -> None:
        """The store has lost everything."""
        self._logs = {}
        for kind, key, times in own.logs():
            self._logs.setdefault(kind, OrderedDict())[key] = times[:]

    def take(self, *, most_logs: int, most_times: int) -> list[Piece]:
        """Some of it, the longest idle first."""
        taken: list[Piece] = []
        for kind, logs in self._logs.items():
            for key in list(islice(logs, most_logs - len(taken))):
                times = logs.pop(key)
                if len(times) > most_times:
                    logs[key] = times[most_times:]
                taken.append((kind, key, times[:most_times]))
                most_times -= len(taken[-1][2])
                if not most_times:
                    return taken
        return taken

    def put_back(self, pieces: Iterable[Piece]) -> None:
        """They did not arrive, for all that is known."""
        for kind, key, times in pieces:
            logs = self._logs.setdefault(kind, OrderedDict())
            logs[key] = times + logs.get(key, array("q"))

"""A limit that is counted in one process, which may report it to a store that it shares with others."""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from dawr.reliability.rate_limit.policy import MS_PER_SECOND, Policy, Verdict, whole_seconds

Kind = tuple[str, int]
"""Name and window: a policy whose quota changes goes on with what it has counted."""
Piece = tuple[Kind, str, "array[int]"]
"""When a key was charged."""


class LocalLimiter:
    """Counts in this process. `clock` gives milliseconds and never goes back.

    Only so many keys are remembered per policy. When all of them are in use, a newcomer is
    refused until one falls idle: to forget somebody would be to let them begin anew.
    """

    def __init__(self, clock: Callable[[], int], *, most_keys: int = 100_000) -> None:
        self._clock = clock
        self._most_keys = most_keys
        self._logs: dict[Kind, OrderedDict[str, array[int]]] = {}

    async def charge(self, policy: Policy, key: str) -> Verdict:
        return self.judge(policy, key)

    async def give_back(self, verdict: Verdict) -> None:
        self.take_back(verdict)

    def judge(self, policy: Policy, key: str) -> Verdict:
        now = self._clock()
        gone = now - policy.window_seconds * MS_PER_SECOND
        logs = self._kept(policy, gone)
        log = logs.get(key)
        if log is None:
            if len(logs) >= self._most_keys:
                longest_idle = next(iter(logs.values()))
                return refused(policy, key, whole_seconds(longest_idle[-1] - gone))
            log = array("q")
        del log[: bisect_right(log, gone)]
        beyond = len(log) - policy.quota
        if beyond >= 0:
            return refused(policy, key, whole_seconds(log[beyond] - gone) if policy.quota else policy.window_seconds)
        log.append(now)
        logs[key] = log
        logs.move_to_end(key)
        return Verdict(
            allowed=True,
            remaining=-beyond - 1,
            reset_seconds=whole_seconds(log[0] - gone),
            policy=policy,
            key=key,
            at=now,
        )

    def keep(self, policy: Policy, key: str, at: int) -> None:
        """Remember what was allowed elsewhere. Who finds no place is not remembered."""
        gone = at - policy.window_seconds * MS_PER_SECOND
        logs = self._kept(policy, gone)
        log = logs.get(key)
        if log is None:
            if len(logs) >= self._most_keys:
                return
            log = logs[key] = array("q")
        else:
            del log[: bisect_right(log, gone)]
            logs.move_to_end(key)
        insort(log, at)

    def take_back(self, verdict: Verdict) -> None:
        logs = self._logs.get(_kind(verdict.policy))
        log = logs.get(verdict.key) if logs else None
        if logs is None or log is None:
            return
        place = bisect_left(log, verdict.at)
        if place < len(log) and log[place] == verdict.at:
            del log[place]
        if not log:
            del logs[verdict.key]

    def logs(self) -> Iterator[Piece]:
        """Everything that is remembered. What is older than its window may still be there."""
        for kind, logs in self._logs.items():
            for key, log in logs.items():
                yield kind, key, log

    def keys(self) -> int:
        """How many are remembered."""
        return sum(map(len, self._logs.values()))

    def _kept(self, policy: Policy, gone: int) -> OrderedDict[str, "array[int]"]:
        """Those of a policy; who was idle for a window is forgotten.

        The longest idle stand first; two for each charge keeps ahead.
        """
        logs = self._logs.setdefault(_kind(policy), OrderedDict())
        for _ in range(2):
            if not logs:
                break
            key, log = next(iter(logs.items()))
            if log and log[-1] > gone:
                break
            del logs[key]
        return logs


class Unreported(LocalLimiter):
    """What this process has charged by itself, and the shared store does not know yet."""

    def report_all_again(self, own: LocalLimiter) -> None:
        """The store has lost everything."""
        self._logs = {}
        self.put_back(own.logs())

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


def _kind(policy: Policy) -> Kind:
    return policy.name, policy.window_seconds


def refused(policy: Policy, key: str, reset_seconds: int) -> Verdict:
    return Verdict(allowed=False, remaining=0, reset_seconds=reset_seconds, policy=policy, key=key)

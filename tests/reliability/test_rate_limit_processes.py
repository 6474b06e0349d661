"""Four processes and one limit (P6), with the store there, killed in the middle, and coming late."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from tests.reliability import limiting_process
from tests.running import at_once, eventually
from tests.servers import ValkeyServer, server_directory

pytestmark = pytest.mark.slow

PROCESSES = 4
QUOTA = 100
SHARE = QUOTA // PROCESSES
BACK_WITHIN_SECONDS = 5.0
READY_SECONDS = 30.0
NS_PER_SECOND = 1_000_000_000

LetIn = list[tuple[int, int]]
"""When each was asked for and when it was answered: it was let in at some time in between."""


class Limiting:
    """One of the processes."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", limiting_process.__name__, url, str(PROCESSES)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, times: int, *, window: int, seconds: float = 0) -> LetIn:
        answer = self._do(times=times, seconds=seconds, quota=QUOTA, window=window)
        assert answer["asked"] == times
        return [(sent, answered) for sent, answered in answer["let_in"]]

    def is_local(self) -> bool:
        return bool(self._do()["is_local"])

    def close(self) -> None:
        with self._process as process:
            process.kill()

    def _do(self, **told: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@contextlib.contextmanager
def four(url: str) -> Iterator[list[Limiting]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(Limiting(url))) for _ in range(PROCESSES)]


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


def all_share(processes: list[Limiting]) -> None:
    eventually(lambda: not any(process.is_local() for process in processes), seconds=READY_SECONDS)


def all_ask(processes: list[Limiting], times: int, *, window: int, seconds: float = 0) -> list[LetIn]:
    return at_once(lambda process: process.ask(times, window=window, seconds=seconds), processes)


def must_hold(let_in: list[LetIn], *, window: int, quota: int = QUOTA) -> None:
    """No more than the quota was let in within any window, whenever exactly between question and answer it was."""
    all_let_in = sorted((one for those in let_in for one in those), key=lambda one: one[1])
    for first in range(len(all_let_in) - quota):
        more_than_quota = all_let_in[first : first + quota + 1]
        earliest, latest = min(sent for sent, _ in more_than_quota), more_than_quota[-1][1]
        assert latest - earliest >= window * NS_PER_SECOND


def must_be_used_up(let_in: list[LetIn], *, window: int, windows: int) -> None:
    """Whoever asks all the time gets the whole quota, window after window."""
    all_let_in = [one for those in let_in for one in those]
    end_of_first = min(sent for sent, _ in all_let_in) + window * NS_PER_SECOND
    assert sum(answered < end_of_first for _, answered in all_let_in) == QUOTA
    assert len(all_let_in) >= windows * QUOTA


def test_no_window_holds_more_than_the_quota_and_every_window_is_used_up(valkey_server: ValkeyServer) -> None:
    with four(valkey_server.url) as processes:
        all_share(processes)

        let_in = all_ask(processes, 1200, window=2, seconds=5)

    must_hold(let_in, window=2)
    must_be_used_up(let_in, window=2, windows=3)


@pytest.mark.prove
def test_the_same_for_twenty_thousand_requests_in_ninety_seconds(valkey_server: ValkeyServer) -> None:
    with four(valkey_server.url) as processes:
        all_share(processes)

        let_in = all_ask(processes, 5000, window=60, seconds=90)

    must_hold(let_in, window=60)
    must_be_used_up(let_in, window=60, windows=2)


def test_killed_in_the_middle_it_is_never_open_and_its_return_gives_nobody_a_second_quota(
    valkey: ValkeyServer,
) -> None:
    """All within one window. What one process cannot know is what the others let in before the loss."""
    with four(valkey.url) as processes:
        all_share(processes)
        before = all_ask(processes, 400, window=600)

        valkey.kill()
        without = all_ask(processes, 400, window=600)
        valkey.start()
        all_share(processes)
        after = all_ask(processes, 400, window=600)

    used = [len(those) for those in before]
    assert sum(used) == QUOTA
    assert [len(those) for those in without] == [max(0, SHARE - own) for own in used]
    assert sum(map(len, (*before, *without))) <= QUOTA + (PROCESSES - 1) * SHARE
    assert after == [[]] * PROCESSES


def test_killed_while_all_ask_everybody_is_answered_and_the_limit_is_whole_again_within_five_seconds(
    valkey: ValkeyServer,
) -> None:
    with four(valkey.url) as processes, redis.Redis.from_url(valkey.url) as store, ThreadPoolExecutor() as pool:
        all_share(processes)
        asking = pool.submit(all_ask, processes, 1200, window=2, seconds=9)
        eventually(lambda: bool(store.keys("processes:limit:*")))

        valkey.kill()
        valkey.start()
        back = time.monotonic_ns() + int(BACK_WITHIN_SECONDS * NS_PER_SECOND)
        let_in = asking.result()

    must_hold(let_in, window=2, quota=QUOTA + (PROCESSES - 1) * SHARE)
    since = [[one for one in those if one[0] > back] for those in let_in]
    must_hold(since, window=2)
    assert sum(map(len, since)) >= QUOTA


def test_absent_from_the_start_all_together_have_the_quota_and_no_second_one_when_it_comes(
    valkey: ValkeyServer,
) -> None:
    valkey.stop()
    with four(valkey.url) as processes:
        without = all_ask(processes, 400, window=600)

        valkey.start()
        all_share(processes)
        after = all_ask(processes, 400, window=600)

    assert [len(those) for those in without] == [SHARE] * PROCESSES
    assert after == [[]] * PROCESSES

"""Passwords, hashed by argon2id: slow on purpose, so never on the event loop, and never too many at once."""

import asyncio
import unicodedata
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

import argon2

from dawr.ports import T
from dawr.ports.faults import Busy

THREADS = 2
MAX_WAIT_SECONDS = 20
MAX_WAITING = 1000
"""The limit for known callers, and a second time for all others."""

NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$Rt00LCxK25af/5XCthpWOA$YhjzgATXVh3qRQ5hclG3vpUG+9AI5+p4496x+kSifbU"
"""A hash that no password fits: an account that there is not takes as long as one that there is."""


class Turn(NamedTuple):
    granted: asyncio.Future[None]
    deadline: float


class Passwords:
    """Known callers are served before all others: a crowd that signs in for the first time holds no staff up."""

    def __init__(self, *, max_wait_seconds: float = MAX_WAIT_SECONDS, max_waiting: int = MAX_WAITING) -> None:
        self._hasher = argon2.PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dawr-passwords")
        self._max_wait_seconds = max_wait_seconds
        self._max_waiting = max_waiting
        self._running = 0
        self._known: deque[Turn] = deque()
        self._others: deque[Turn] = deque()

    async def hash(self, password: str) -> str:
        """Hash a new password. The caller who sets one has been authenticated before."""
        return await self._in_thread(lambda: self._hasher.hash(_bytes_of(password)), self._known)

    async def verify(self, password: str, password_hash: str | None, *, is_known: bool = False) -> bool:
        """Return whether the password fits; None is the hash of nobody's account."""
        line = self._known if is_known else self._others
        fits = await self._in_thread(lambda: self._fits(password_hash or NOBODYS, password), line)
        return fits and password_hash is not None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        for line in (self._known, self._others):
            while line:
                line.popleft().granted.cancel()

    def _fits(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, _bytes_of(password))
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[[], T], line: deque[Turn]) -> T:
        """Run the work in turn. A caller who goes away gives its thread back when the work is done or never began."""
        loop = asyncio.get_running_loop()
        await self._wait_for_turn(line, loop)

        def pass_on(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._pass_turn_on, loop)

        future = self._pool.submit(work)
        future.add_done_callback(pass_on)
        return await asyncio.wrap_future(future)

    async def _wait_for_turn(self, line: deque[Turn], loop: asyncio.AbstractEventLoop) -> None:
        if self._running < THREADS:
            self._running += 1
            return
        if len(line) >= self._max_waiting:
            raise Busy
        turn = Turn(loop.create_future(), loop.time() + self._max_wait_seconds)
        line.append(turn)
        try:
            await turn.granted
        except asyncio.CancelledError:
            if turn in line:
                line.remove(turn)
            elif not turn.granted.cancelled() and turn.granted.exception() is None:
                self._pass_turn_on(loop)  # the turn came, and the caller went away in the same moment
            raise

    def _pass_turn_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the free thread to the caller who is next, and refuse those who have waited too long."""
        for line in (self._known, self._others):
            while line and (line[0].granted.done() or line[0].deadline <= loop.time()):
                late = line.popleft().granted
                if not late.done():
                    late.set_exception(Busy())
        for line in (self._known, self._others):
            while line:
                granted = line.popleft().granted
                if not granted.done():
                    granted.set_result(None)
                    return
        self._running -= 1


def _bytes_of(password: str) -> bytes:
    """The same password from any keyboard: letters with marks can be written in two ways."""
    return unicodedata.normalize("NFC", password).encode(errors="surrogatepass")

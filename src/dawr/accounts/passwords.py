"""Passwords, hashed by argon2id: slow on purpose, so never on the event loop, and never too many at once."""

import asyncio
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore

import argon2

from dawr.ports import T
from dawr.ports.faults import Busy

THREADS = 2
MOST_WAITING = 32

NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$Rt00LCxK25af/5XCthpWOA$YhjzgATXVh3qRQ5hclG3vpUG+9AI5+p4496x+kSifbU"
"""A hash that no password fits: an account that there is not takes as long as one that there is."""


class Passwords:
    def __init__(self) -> None:
        self._hasher = argon2.PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dawr-passwords")
        self._slots = BoundedSemaphore(THREADS + MOST_WAITING)

    async def hash(self, password: str) -> str:
        return await self._in_thread(lambda: self._hasher.hash(_bytes_of(password)))

    async def verify(self, password: str, password_hash: str | None) -> bool:
        """Whether the password fits; None is the hash of nobody's account."""
        fits = await self._in_thread(lambda: self._fits(password_hash or NOBODYS, password))
        return fits and password_hash is not None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _fits(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, _bytes_of(password))
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """A caller who goes away gives its slot back when its work is done or was never begun."""
        if not self._slots.acquire(blocking=False):
            raise Busy
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._slots.release())
        return await asyncio.wrap_future(future)


def _bytes_of(password: str) -> bytes:
    """The same password from any keyboard: letters with marks can be written in two ways."""
    return unicodedata.normalize("NFC", password).encode(errors="surrogatepass")

"""Locks on files. A lock is its process's for as long as the file is open, and ends with it, however that ends."""

import fcntl
import os
import time
from pathlib import Path

SECONDS_BETWEEN_TRIES = 0.05


def try_lock(handle: int) -> bool:
    """False: somebody else has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_soon(handle: int, *, tries: int, seconds: float = SECONDS_BETWEEN_TRIES) -> bool:
    """The same, tried for a moment: whoever has it may be about to give it back, or be looking whether it is held."""
    for tries_left in reversed(range(tries)):
        if try_lock(handle):
            return True
        if tries_left:
            time.sleep(seconds)
    return False


def is_locked(file: Path) -> bool:
    """Whether somebody has it now. A file that cannot be opened is nobody's."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False

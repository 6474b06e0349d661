"""One stream that somebody reads: a bounded buffer between the hub and a sender.

Whoever does not read fast enough is cut off, and comes back where it stopped. Nobody
else waits for them.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from dawr.live.forms import Notices

if TYPE_CHECKING:
    from dawr.live.feed import Seat

MOST_FRAMES = 256
MOST_BYTES = 256 * 1024
BODY_BYTES = 64 * 1024
ENDING_SECONDS = 10.0


class Watcher:
    __slots__ = (
        "_frames",
        "_last_word",
        "_left",
        "_most_bytes",
        "_most_frames",
        "_size",
        "_waiting",
        "cut",
        "is_ended",
        "is_gone",
        "notices",
        "seat",
        "sending_since",
    )

    def __init__(
        self,
        opening: Iterable[bytes],
        *,
        seat: "Seat",
        notices: Notices,
        last_word: bytes,
        left: "Callable[[Watcher], None]",
    ) -> None:
        """What it begins with does not count against the bound: it may be a thousand missed changes."""
        self._frames = deque(opening)
        self._size = sum(map(len, self._frames))
        self._most_frames = MOST_FRAMES + len(self._frames)
        self._most_bytes = MOST_BYTES + self._size
        self.seat = seat
        """Where the hub keeps it."""
        self.notices = notices
        self._last_word = last_word
        self._left = left
        self._waiting: asyncio.Future[None] | None = None
        self.cut: Callable[[], object] | None = None
        """Breaks a connection whose reader has stopped reading."""
        self.sending_since: float | None = None
        self.is_ended = False
        self.is_gone = False

    def push(self, frame: bytes) -> None:
        """Never waits. What no longer fits ends it: the reader will resume from its last id."""
        if self.is_ended or not frame:
            return
        self._frames.append(frame)
        self._size += len(frame)
        if len(self._frames) > self._most_frames or self._size > self._most_bytes:
            self.break_off()
        else:
            self._wake()

    def end(self) -> None:
        """What is there is still sent, then the stream ends in good order; a reader who blocks that is cut off."""
        if not self.is_ended:
            self.is_ended = True
            self._frames.append(self._last_word)
            self._leave()
            self._wake()
            asyncio.get_running_loop().call_later(ENDING_SECONDS, self.break_off)

    def break_off(self) -> None:
        """End at once; if its reader holds up the sender, break the connection."""
        self.is_ended = True
        self._frames.clear()
        self._leave()
        self._wake()
        if self.cut is not None and self.sending_since is not None:
            self.cut()

    async def take(self) -> bytes | None:
        """What is to be sent next, as much as fits one body; None after the end. For one sender."""
        while not self._frames:
            if self.is_ended:
                return None
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        frames = self._frames
        if self._size <= BODY_BYTES:
            body = b"".join(frames)
            frames.clear()
            self._size = 0
            return body
        part = [frames.popleft()]
        size = len(part[0])
        while frames and size + len(frames[0]) <= BODY_BYTES:
            part.append(frames.popleft())
            size += len(part[-1])
        self._size -= size
        return b"".join(part)

    def _leave(self) -> None:
        if not self.is_gone:
            self.is_gone = True
            self._left(self)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

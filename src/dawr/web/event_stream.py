"""Server-sent events over raw ASGI: one sender per stream, which waits for nobody but its own reader."""

import asyncio
from collections.abc import Callable, Iterable

from dawr.live.watcher import Watcher
from dawr.reliability.asgi import Receive, Scope, Send
from dawr.web.response import EVENT_STREAM, Header

NOT_BUFFERED: Header = (b"x-accel-buffering", b"no")


class Stream:
    """An answer that goes on until the watcher ends or the reader goes away."""

    status = 200
    kind = EVENT_STREAM
    headers: tuple[Header, ...] = (NOT_BUFFERED,)

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.ending: Callable[[], None] | None = None
        """Called once, before the last bytes leave or when nobody is left to send them to."""

    def give_up(self) -> None:
        """Nobody will send it."""
        self._watcher.break_off()

    async def send_to(self, scope: Scope, receive: Receive, send: Send, headers: Iterable[Header] = ()) -> None:
        """Ends quietly when the connection is gone."""
        watcher, loop = self._watcher, asyncio.get_running_loop()
        watcher.cut = _cutter(scope)
        gone = loop.create_task(_until_gone(receive, watcher))
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": [*headers]})
            if scope["method"] == "HEAD":
                watcher.break_off()
            while (body := await watcher.take()) is not None:
                watcher.sending_since = loop.time()
                await send({"type": "http.response.body", "body": body, "more_body": True})
                watcher.sending_since = None
            self._ends()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            return
        finally:
            self._ends()
            watcher.cut = None  # what the connection or its task does next is no stream
            watcher.break_off()
            gone.cancel()

    def _ends(self) -> None:
        ending, self.ending = self.ending, None
        if ending is not None:
            ending()


def _cutter(scope: Scope) -> Callable[[], object]:
    """How to break a connection off when its reader has stopped reading: by the server, or by ending its task."""
    abort: Callable[[], object] | None = (scope.get("extensions") or {}).get("dawr.abort")
    if abort is not None:
        return abort
    task = asyncio.current_task()
    return (lambda: None) if task is None else task.cancel


async def _until_gone(receive: Receive, watcher: Watcher) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    watcher.break_off()

"""`dawr serve --workers N`: one address, one migration, N processes.

The store is opened after the fork, by each worker for itself: a connection that two
processes share is one that neither can trust.
"""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import click
import msgspec
import uvloop

from dawr import bootstrap
from dawr.bootstrap import system
from dawr.bootstrap.supervisor import Life, Supervisor, in_a_child
from dawr.cli.options import sentences
from dawr.observe.metrics.region import Region
from dawr.settings import Settings
from dawr.web.server.server import listen, url_of

T = TypeVar("T")


class SayReady(Protocol):
    def __call__(self, url: str, *, owner_code: str | None) -> None: ...


class Inherited(NamedTuple):
    """What is made before the fork, and so is every worker's."""

    listener: socket.socket
    metrics_listener: socket.socket | None
    regions: Sequence[Region]
    """Where each worker counts."""

    def close(self) -> None:
        self.listener.close()
        if self.metrics_listener is not None:
            self.metrics_listener.close()


def serve(settings: Settings, *, ready: SayReady) -> int:
    """Until a signal says stop; the exit code."""
    inherited = Inherited(
        listen(settings.host, settings.port),
        bootstrap.listen_for_metrics(settings),
        [Region() for _ in range(settings.workers)],
    )
    url = url_of(inherited.listener)
    prepared = in_a_child(lambda: _in_sentences(lambda: uvloop.run(_prepare(settings))))
    if prepared is None:
        return 1
    identity, owner_code = msgspec.json.decode(prepared, type=tuple[str, str | None])
    return Supervisor(
        settings.workers,
        lambda life: _in_sentences(lambda: uvloop.run(_work(settings, identity, inherited, life))),
        ready=partial(ready, url, owner_code=owner_code),
        stopping=inherited.close,
        ended=lambda slot: inherited.regions[slot].die(),
    ).run()


async def _prepare(settings: Settings) -> bytes:
    """What is done once for all workers: the schema, and the link of an owner who is not there yet.

    A worker that starts later can do so while the database is away, and say so to whoever asks.
    """
    async with bootstrap.at_hand(settings) as dawr:
        return msgspec.json.encode((await dawr.store.identity(), await dawr.accounts.owner_code()))


async def _work(settings: Settings, identity: str, inherited: Inherited, life: Life) -> None:
    instruments = bootstrap.instruments_of(settings, inherited.regions, life.slot)
    async with bootstrap.running(settings, instruments, identity=identity) as dawr:
        await dawr.store.warm_up()
        system.collect_garbage_seldom()
        server = bootstrap.web_server(
            dawr, inherited.listener, lambda _: life.say_ready(), metrics_listener=inherited.metrics_listener
        )
        with _told(life.parent_gone, lambda: server.handle_exit(signal.SIGTERM, None)):
            async with instruments.log.flushing():
                await server.run_until_stopped()


@contextmanager
def _told(file: int, what: Callable[[], None]) -> Iterator[None]:
    """Do it when there is something to read, once."""
    loop = asyncio.get_running_loop()

    def once() -> None:
        loop.remove_reader(file)
        what()

    loop.add_reader(file, once)
    try:
        yield
    finally:
        loop.remove_reader(file)


def _in_sentences(work: Callable[[], T]) -> T:
    """What is wrong is said by the process that finds it; the parent only sees that it ended."""
    try:
        with sentences():
            return work()
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from error

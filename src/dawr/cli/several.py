"""`dawr serve --workers N`: one address, one migration, N processes.

The store is opened after the fork, by each worker for itself: a connection that two
processes share is one that neither can trust.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import click
import msgspec
import structlog
import uvloop

from dawr import bootstrap
from dawr.bootstrap.supervisor import Life, Supervisor, in_a_child
from dawr.cli.options import sentences
from dawr.observe.metrics.region import Region
from dawr.settings import Settings

T = TypeVar("T")


def serve(settings: Settings, listeners: bootstrap.Listeners, *, ready: Callable[[str, str | None], None]) -> int:
    """Until a signal says stop; the exit code. What is made before the fork is every worker's."""
    regions = [Region() for _ in range(settings.workers)]
    told = in_a_child(lambda: _in_sentences(lambda: uvloop.run(_prepare(settings))))
    if told is None:
        return 1
    prepared, owner_code = msgspec.json.decode(told, type=tuple[bootstrap.Prepared, str | None])

    return Supervisor(
        settings.workers,
        lambda life: _in_sentences(
            lambda: uvloop.run(_work(settings, prepared, listeners, regions, life)), say=_log_failure
        ),
        ready=partial(ready, listeners.url, owner_code),
        stopping=listeners.close,
        ended=lambda slot: regions[slot].die(),
    ).run()


async def _prepare(settings: Settings) -> bytes:
    """What is done once for all workers: the schema, and the link of an owner who is not there yet.

    A worker that starts later can do so while the database is away, and say so to whoever asks.
    """
    async with bootstrap.at_hand(settings) as dawr:
        return msgspec.json.encode((dawr.prepared, await dawr.accounts.owner_code()))


async def _work(
    settings: Settings,
    prepared: bootstrap.Prepared,
    listeners: bootstrap.Listeners,
    regions: Sequence[Region],
    life: Life,
) -> None:
    """`regions`: where each worker counts."""
    instruments = bootstrap.instruments_of(settings, regions, life.slot)
    async with bootstrap.running(settings, instruments, prepared=prepared, slot=life.slot) as dawr:
        await dawr.store.warm_up()
        bootstrap.system.collect_garbage_seldom()
        server = bootstrap.web_server(dawr, listeners, lambda _: life.say_ready())
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


def _in_sentences(
    work: Callable[[], T], *, say: Callable[[click.ClickException], None] = click.ClickException.show
) -> T:
    """What is wrong is said by the process that finds it; the parent only sees that it ended."""
    try:
        with sentences():
            return work()
    except click.ClickException as error:
        say(error)
        raise SystemExit(error.exit_code) from error


def _log_failure(error: click.ClickException) -> None:
    """The command has begun to serve: its log is read by machines."""
    structlog.get_logger("dawr").error("worker.failed", reason=error.message)

"""`dawr serve`: run the installation until it is told to stop."""

import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
import uvloop

from dawr import __version__, bootstrap
from dawr.bootstrap import system
from dawr.bootstrap.control import Handler, QueueChange, listening
from dawr.bootstrap.installation import Dawr
from dawr.cli import several, staff, token
from dawr.cli.options import address_options, data_option, sentences, settings_of
from dawr.domain.venue import Venue
from dawr.observe import logs
from dawr.settings import Settings
from dawr.stores.data_directory import DataDirectory
from dawr.web.server.server import listen


@click.command("serve")
@address_options
@data_option
@click.option("--workers", type=int, help="Processes that serve (DAWR_WORKERS).")
def command(host: str | None, port: int | None, data: str | None, workers: int | None) -> None:
    """Serve this installation. Ready when it prints "Dawr is ready at http://…"."""
    with sentences():
        settings = settings_of(host=host, port=port, data=data, workers=workers)
        bootstrap.refuse_to_serve_without(settings)
        logs.configure(settings)
        if settings.workers > 1:
            sys.exit(several.serve(settings, ready=say_ready))
        uvloop.run(serve(settings))


async def serve(settings: Settings) -> None:
    async with listened(settings) as listeners, bootstrap.running(settings, bootstrap.instruments_of(settings)) as dawr:
        await serve_running(dawr, listeners)


class Listeners(NamedTuple):
    requests: socket.socket
    metrics: socket.socket | None


@asynccontextmanager
async def listened(settings: Settings) -> AsyncIterator[Listeners]:
    """The addresses first: when one is taken, nothing was begun."""
    with listen(settings.host, settings.port) as requests, ExitStack() as stack:
        metrics = bootstrap.listen_for_metrics(settings)
        if metrics is not None:
            stack.enter_context(metrics)
        yield Listeners(requests, metrics)


async def serve_running(dawr: Dawr, listeners: Listeners) -> None:
    """Answer requests, and tools, until a signal says stop."""
    ready = partial(say_ready, owner_code=await dawr.accounts.owner_code())
    await dawr.store.warm_up()
    system.collect_garbage_seldom()
    async with _controlled(dawr), dawr.instruments.log.flushing():
        await bootstrap.web_server(
            dawr, listeners.requests, ready, metrics_listener=listeners.metrics
        ).run_until_stopped()


def say_ready(url: str, *, owner_code: str | None) -> None:
    click.echo(f"Dawr is ready at {url}")
    if owner_code is not None:
        click.echo(f"Make the owner's account at {url}/first-run?code={owner_code}")


@asynccontextmanager
async def _controlled(dawr: Dawr) -> AsyncIterator[None]:
    """Tools reach an embedded server through its socket; a PostgreSQL database they reach themselves."""
    if dawr.settings.database_url:
        yield
        return

    async def status(_: msgspec.Raw) -> dict[str, str | int]:
        await dawr.engine.ready()
        return {"pid": os.getpid(), "version": __version__}

    async def set_up(document: msgspec.Raw) -> str:
        return await dawr.set_up(msgspec.json.decode(document, type=Venue))

    async def change_queue(change: msgspec.Raw) -> str:
        return await dawr.change_queue(msgspec.json.decode(change, type=QueueChange))

    async def change_staff(change: msgspec.Raw) -> str:
        return await staff.change(dawr, msgspec.json.decode(change, type=staff.StaffChange))

    async def change_token(change: msgspec.Raw) -> str:
        return await token.change(dawr, msgspec.json.decode(change, type=token.TokenChange))

    handlers: dict[str, Handler] = {
        "status": status,
        "set-up": set_up,
        "change-queue": change_queue,
        "change-staff": change_staff,
        "change-token": change_token,
    }
    async with listening(DataDirectory(Path(dawr.settings.data)).control_socket, handlers):
        yield

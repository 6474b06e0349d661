"""`dawr serve`: run the installation until it is told to stop."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import uvloop

from dawr import __version__, bootstrap
from dawr.bootstrap import Dawr, Listeners, system
from dawr.bootstrap.control import QueueChange, listening
from dawr.cli import several, staff, token
from dawr.cli.options import data_option, host_option, port_option, settings_of
from dawr.domain import Venue
from dawr.observe import logs
from dawr.settings import Settings
from dawr.stores.data_directory import DataDirectory

Doing = Callable[[Dawr, Any], Awaitable[object]]


@click.command("serve")
@host_option
@port_option
@data_option
@click.option("--workers", type=int, help="Processes that serve (DAWR_WORKERS).")
def command(host: str | None, port: int | None, data: str | None, workers: int | None) -> None:
    """Serve this installation. Ready when it prints "Dawr is ready at http://…"."""
    settings = settings_of(host=host, port=port, data=data, workers=workers)
    bootstrap.refuse_to_serve_without(settings)
    logs.configure(settings)
    with bootstrap.listened(settings) as listeners:
        if settings.workers > 1:
            sys.exit(several.serve(settings, listeners, ready=say_ready))
        uvloop.run(_serve(settings, listeners))


async def _serve(settings: Settings, listeners: Listeners) -> None:
    async with bootstrap.running(settings, bootstrap.instruments_of(settings)) as dawr:
        await serve_running(dawr, listeners)


async def serve_running(dawr: Dawr, listeners: Listeners) -> None:
    """Answer requests, and tools, until a signal says stop."""
    ready = partial(say_ready, owner_code=await dawr.accounts.owner_code())
    await dawr.store.warm_up()
    system.collect_garbage_seldom()
    async with _controlled(dawr), dawr.instruments.log.flushing():
        await bootstrap.web_server(dawr, listeners, ready).run_until_stopped()


def say_ready(url: str, owner_code: str | None) -> None:
    """In one piece: whoever waits for the first line has the second one, too."""
    link = "" if owner_code is None else f"\nMake the owner's account at {url}/first-run?code={owner_code}"
    click.echo(f"Dawr is ready at {url}{link}")


@asynccontextmanager
async def _controlled(dawr: Dawr) -> AsyncIterator[None]:
    """Tools reach an embedded server through its socket; a PostgreSQL database they reach themselves."""
    if dawr.settings.database_url:
        yield
        return
    handlers = {name: partial(_done, dawr, *asked) for name, asked in ASKED_BY_TOOLS.items()}
    async with listening(DataDirectory(Path(dawr.settings.data)).control_socket, handlers):
        yield


async def _done(dawr: Dawr, kind: Any, do: Doing, argument: msgspec.Raw) -> object:  # noqa: ANN401 - any type
    return await do(dawr, msgspec.json.decode(argument, type=kind))


async def _status(dawr: Dawr, _: object) -> dict[str, str | int]:
    await dawr.engine.ready()
    return {"pid": os.getpid(), "version": __version__}


ASKED_BY_TOOLS: Mapping[str, tuple[Any, Doing]] = {
    "status": (Any, _status),
    "set-up": (Venue, Dawr.set_up),
    "change-queue": (QueueChange, Dawr.change_queue),
    "change-staff": (staff.StaffChange, staff.change),
    "change-token": (token.TokenChange, token.change),
}
"""What tools send under this name, and what does it."""

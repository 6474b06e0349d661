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
import structlog
import uvloop

from dawr import __version__, bootstrap
from dawr.bootstrap import Dawr, Listeners, system
from dawr.bootstrap.control import DayRepair, QueueChange, listening
from dawr.cli import several, staff, token
from dawr.cli.options import data_option, host_option, port_option, settings_of, tls_cert_option, tls_key_option
from dawr.domain import Venue
from dawr.observe import logs
from dawr.settings import Settings, unknown
from dawr.stores.data_directory import DataDirectory

log = structlog.get_logger("dawr")

PLAIN_HTTP = (
    "Browsers on other machines cannot sign in here: over plain HTTP they do not keep the session's cookie. Start it "
    "with --tls-cert FILE --tls-key FILE, or put a proxy with TLS in front (docs/run/proxy.md)."
)
Doing = Callable[[Dawr, Any], Awaitable[object]]


@click.command("serve")
@host_option
@port_option
@data_option
@tls_cert_option
@tls_key_option
@click.option("--workers", type=int, help="Processes that serve (DAWR_WORKERS).")
def command(**given: str | int | None) -> None:
    """Serve this installation. Ready when it prints "Dawr is ready at http://…"."""
    settings = settings_of(**given)
    bootstrap.refuse_to_serve_without(settings)
    logs.configure_server(settings)
    warn_of_unknown_settings()
    with bootstrap.listened(settings) as listeners:
        if settings.workers > 1:
            sys.exit(several.serve(settings, listeners, ready=partial(say_ready, settings)))
        uvloop.run(_serve(settings, listeners))


async def _serve(settings: Settings, listeners: Listeners) -> None:
    async with bootstrap.running(settings, bootstrap.instruments_of(settings)) as dawr:
        owner_code = await dawr.accounts.owner_code()
        await serve_running(dawr, listeners, lambda url: say_ready(settings, url, owner_code))


async def serve_running(dawr: Dawr, listeners: Listeners, ready: Callable[[str], None]) -> None:
    """Answer requests, and tools, until a signal says stop. `ready` is told the address."""
    await dawr.store.warm_up()
    system.collect_garbage_seldom()
    async with _controlled(dawr), dawr.instruments.log.flushing():
        await bootstrap.web_server(dawr, listeners, ready).run_until_stopped()


def warn_of_unknown_settings() -> None:
    for name, sentence in unknown(bootstrap.environment()).items():
        log.warning("setting.unknown", setting=name, reason=sentence)


def say_ready(settings: Settings, url: str, owner_code: str | None) -> None:
    """In one piece: whoever waits for the first line has the others, too."""
    place = "on PostgreSQL" if settings.database_url else f"in {Path(settings.data).absolute()}"
    said = [f"Dawr is ready at {url}", f"This is version {__version__}; its data is {place}."]
    if owner_code is not None:
        said.append(f"Make the owner's account at {url}/first-run?code={owner_code}")
    if bootstrap.shuts_browsers_out(settings):
        said.append(PLAIN_HTTP)
    click.echo("\n".join(said))


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


async def _status(dawr: Dawr, _: object) -> dict[str, object]:
    await dawr.engine.ready()
    judged_by_check = {"public_url": dawr.settings.public_url, "clinic_venue": dawr.settings.clinic_venue}
    return {"pid": os.getpid(), "version": __version__, "settings": judged_by_check}


ASKED_BY_TOOLS: Mapping[str, tuple[Any, Doing]] = {
    "status": (Any, _status),
    "set-up": (Venue, Dawr.set_up),
    "change-queue": (QueueChange, Dawr.change_queue),
    "repair-day": (DayRepair, Dawr.repair_day),
    "change-staff": (staff.StaffChange, staff.change),
    "change-token": (token.TokenChange, token.change),
}
"""What tools send under this name, and what does it."""

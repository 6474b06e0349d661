"""A tool looks for itself; it writes itself or has the running server do it: an embedded database has one writer."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from dawr.bootstrap import COMMAND_LINE, Dawr, at_hand, control, reading, system
from dawr.cli.options import quiet
from dawr.domain.errors import UnknownVenue
from dawr.domain.venue import only_one
from dawr.engine.engine import Engine
from dawr.observe import logs
from dawr.operations.operation import Operation, View
from dawr.settings import Settings
from dawr.stores.data_directory import DataDirectory, DataDirectoryInUse

R = TypeVar("R")


def write(settings: Settings, command: str, argument: object, do: Callable[[Dawr], Awaitable[str]]) -> str:
    """`do` it here, or send the command to the server that holds the lock; the answer is the same.

    What goes wrong beside it is logged on standard error: the answer may be read by a script.
    """

    async def here() -> str:
        async with at_hand(settings) as dawr:
            return await do(dawr)

    logs.configure(quiet(settings))
    try:
        return asyncio.run(here())
    except DataDirectoryInUse:
        answer = control.ask(DataDirectory(Path(settings.data)).control_socket, command, argument)
        return msgspec.json.decode(answer, type=str)


def look(settings: Settings, venue: str, view: View[R]) -> R:
    """Be told about a venue, by its slug or id, also while a server writes."""

    async def here() -> R:
        async with reading(settings) as store:
            engine = Engine(store, system.now)
            return await engine.read(await engine.find_venue(venue), view)

    return asyncio.run(here())


def chosen_venue(settings: Settings, given: str | None) -> str:
    """The venue that was given, or is set for all commands; the only one there is, if none was."""

    async def here() -> str:
        async with reading(settings) as store:
            known = await store.venue_ids()
        if not settings.clinic_venue:
            return only_one(list(known), kind="venue")
        if settings.clinic_venue not in {*known, *known.values()}:
            raise UnknownVenue(settings.clinic_venue, why="setting")
        return settings.clinic_venue

    return given or asyncio.run(here())


async def do(dawr: Dawr, venue: str, operation: Operation[R]) -> R:
    """Have an operation done at a venue, by its slug or id, in the name of the command line."""
    return await dawr.engine.do(await dawr.engine.find_venue(venue), operation, origin=COMMAND_LINE)

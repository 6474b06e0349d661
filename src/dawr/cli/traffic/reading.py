"""The statistics, opened to be read only: also while the traffic process writes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from dawr.bootstrap.traffic import traffic_read
from dawr.settings import Settings
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory, traffic_in

T = TypeVar("T")


def look(settings: Settings, view: Callable[[Database], Awaitable[T]]) -> T:
    async def here() -> T:
        async with traffic_read(settings) as database:
            return await view(database)

    if not settings.database_url:
        must_be_there(traffic_in(settings.data))
    return asyncio.run(here())


class NoStatistics(click.ClickException):
    """Refusal to read statistics that were never made."""


def must_be_there(directory: TrafficDirectory) -> None:
    if not directory.database.exists():
        raise NoStatistics(f"There are no traffic statistics in {directory.path} yet: `dawr serve` makes them.")

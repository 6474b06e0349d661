"""An installation for pictures, in this process: its clock stands still, so that each picture is the same every time.

It is served twice: as `dawr serve` does it, and as `dawr demo` does, with the demo's own start page.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.cli.demo import SHOWN_AT
from dawr.domain import Venue, VenueId
from dawr.sample import staff
from dawr.sample.venues import CLINIC, RESTAURANT
from dawr.stores.sqlite import SqliteStore
from dawr.web.pages import demo
from tests.browser.places import FIRST, PASSWORD, Door
from tests.builders import DrivenClock, a_venue
from tests.serving import installed, quiet, served

MINUTES_BEFORE_TEN = 72
"""What happens until the pictures are taken fills the time to half past ten and a little."""


class Stage(Door):
    """Asked from another thread: this one's event loop serves it."""

    def __init__(self, clock: DrivenClock, url: str, demo_url: str) -> None:
        super().__init__()
        self.clock = clock
        self.demo_url = demo_url
        self._url = url

    @property
    def url(self) -> str:
        return self._url


@asynccontextmanager
async def set_the_stage(directory: Path) -> AsyncIterator[Stage]:
    clock = DrivenClock()
    clock.advance(minutes=-MINUTES_BEFORE_TEN)
    store = SqliteStore(directory / "dawr.sqlite", clock=clock)
    await store.migrate()
    async with installed(store, clock, quiet()) as dawr:
        await _set_up(dawr, clock)
        async with served(dawr) as url, served(_as_demo(dawr)) as demo_url:
            yield Stage(clock, url, demo_url)
    await store.close()


async def _set_up(dawr: Dawr, clock: DrivenClock) -> None:
    """A first venue with its owner, which nobody sees, and the demo's two."""
    venue_id = await dawr.set_up(_new(a_venue(), slug=FIRST, active=False))
    adding = await dawr.accounts.add_staff("owner", "owner", PASSWORD, by=None, known_to={})
    await dawr.engine.do(venue_id, adding, origin=COMMAND_LINE)
    samples = [await dawr.set_up(_new(venue)) for venue in (CLINIC, RESTAURANT)]
    account = await staff.set_up_account(dawr.store.accounts, dawr.passwords, clock, dawr.ids, password=PASSWORD)
    await staff.add_to_venues(dawr.engine, account, samples)


def _new(venue: Venue, **changes: str | bool) -> Venue:
    return msgspec.structs.replace(venue, id=VenueId(""), **changes)


def _as_demo(dawr: Dawr) -> Dawr:
    shown = demo.Demo(staff.USERNAME, PASSWORD, SHOWN_AT, "dawr demo --host 0.0.0.0")
    return msgspec.structs.replace(dawr, routes=demo.routes(shown), is_demo=True)

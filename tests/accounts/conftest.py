"""An installation with a venue, and the accounts that belong to it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dawr.accounts.accounts import Accounts
from dawr.accounts.passwords import Passwords
from dawr.accounts.remembered import Remembered
from dawr.bootstrap.system import SystemIds
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.ports import Store
from dawr.stores.sqlite import SqliteStore
from tests.accounts.doing import HOUR
from tests.builders import DrivenClock, a_venue
from tests.stores.doing import create_venue


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
async def store(tmp_path: Path, clock: DrivenClock) -> AsyncIterator[Store]:
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
def remembered(clock: DrivenClock) -> Remembered:
    return Remembered(clock)


@pytest.fixture
async def engine(store: Store, clock: DrivenClock, remembered: Remembered) -> AsyncIterator[Engine]:
    engine = Engine(store, clock, caches=[remembered])
    yield engine
    await engine.stop()


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    passwords = Passwords()
    yield passwords
    passwords.close()


@pytest.fixture
def accounts(
    store: Store, engine: Engine, passwords: Passwords, clock: DrivenClock, remembered: Remembered
) -> Accounts:
    return Accounts(
        store,
        engine,
        passwords,
        clock,
        SystemIds(),
        remembered=remembered,
        idle_ms=12 * HOUR,
        session_ms=7 * 24 * HOUR,
    )


@pytest.fixture
async def venue(store: Store) -> Venue:
    return await create_venue(store, a_venue())

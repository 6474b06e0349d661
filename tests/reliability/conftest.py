"""Leases of whatever backend a file runs on."""

import pytest

from dawr.reliability.lease import Leases
from tests.reliability.backends import Backend
from tests.stores.databases import wall_clock


@pytest.fixture
async def leases(backend: Backend) -> Leases:
    return Leases(await backend.open(), wall_clock)


@pytest.fixture
async def others(backend: Backend, leases: Leases) -> Leases:
    """The same, from another process."""
    return Leases(await backend.open(), wall_clock)

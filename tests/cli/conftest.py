"""Installations to run commands on."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dawr.bootstrap.system import now
from dawr.stores.moving import SourceFile, copy_to_postgres
from dawr.traffic.database import journal
from dawr.traffic.directory import traffic_in
from tests.cli.installations import Installation
from tests.running import DawrServer


@pytest.fixture
def embedded(tmp_path: Path) -> Installation:
    data = tmp_path / "data"
    return Installation({"DAWR_DATA": data}, data / "dawr.sqlite", tmp_path)


@pytest.fixture
def scaled(tmp_path: Path, postgres_url: str) -> Installation:
    return Installation({"DAWR_DATABASE_URL": postgres_url}, postgres_url, tmp_path)


@pytest.fixture(params=["embedded", "scaled"])
def installation(request: pytest.FixtureRequest) -> Installation:
    """On SQLite, and on PostgreSQL."""
    chosen: Installation = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture(scope="session")
def ten_numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of an installation that has given ten numbers, to be copied."""
    directory = tmp_path_factory.mktemp("ten")
    installation = Installation({"DAWR_DATA": directory / "data"}, directory / "data" / "dawr.sqlite", directory)
    installation.create_venue()
    installation.take_numbers(10)
    return directory / "data"


@pytest.fixture
def used(installation: Installation, ten_numbers: Path) -> Installation:
    """It has given ten numbers."""
    if isinstance(installation.database, Path):
        shutil.copytree(ten_numbers, installation.database.parent)
    else:
        statistics = SourceFile(traffic_in(ten_numbers).database, journal("sqlite"))
        moving = copy_to_postgres(ten_numbers / "dawr.sqlite", installation.database, clock=now, statistics=statistics)
        assert asyncio.run(moving).is_proved
    return installation


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DawrServer]:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo:
        yield demo

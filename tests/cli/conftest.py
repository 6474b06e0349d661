"""Installations to run commands on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DawrServer]:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo:
        yield demo

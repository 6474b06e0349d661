"""What every browser test may ask for.

A test asks for a venue of its own (`clinic`, `restaurant`) and for `windows` to look at it with. `house` is the server,
one for all tests of a process. A test that kills its server asks for `own_house`, and for `windows_at(own_house.url)`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.places import PASSWORD, House, Place
from tests.browser.windows import Windows, chromium
from tests.running import DawrServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all tests of a process, and closed before other tests begin: they have event loops of their own."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture
def own_house(tmp_path: Path) -> Iterator[House]:
    """A server for this test alone: it may be stopped, killed and started again (`own_house.server`)."""
    with House(tmp_path) as house:
        yield house


@pytest.fixture
def clinic(house: House) -> Place:
    """Twelve queues with a desk each (`lab` is called to `room-101`), and journeys."""
    return house.clinic()


@pytest.fixture
def restaurant(house: House) -> Place:
    """One queue, `waitlist`, called to the desk `host`."""
    return house.restaurant()


@pytest.fixture
def windows_at(browser: Browser) -> Iterator[Callable[[str], Windows]]:
    """Windows that look at any server, by its URL."""
    with ExitStack() as opened:
        made: list[Windows] = []

        def new(url: str) -> Windows:
            windows = Windows(browser, url)
            opened.callback(windows.close)
            made.append(windows)
            return windows

        yield new
    for windows in made:
        windows.must_be_quiet()


@pytest.fixture
def windows(windows_at: Callable[[str], Windows], house: House) -> Windows:
    return windows_at(house.url)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    """`dawr demo`, for the tests of one file."""
    directory = tmp_path_factory.mktemp("demo")
    arguments = ("demo", "--data", directory / "data", "--password", PASSWORD)
    with DawrServer(directory, *arguments, DAWR_RATE_LIMITS="on") as demo:
        yield demo

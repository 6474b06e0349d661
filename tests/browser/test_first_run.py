"""The first minutes of an installation, in a browser: the printed link makes the owner and a first venue."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.accessibility import faults_of
from tests.browser.places import PASSWORD
from tests.browser.windows import DESK, Windows
from tests.running import DawrServer


def test_the_printed_link_makes_a_venue_in_the_browsers_time_zone(
    tmp_path: Path, windows_at: Callable[[str], Windows]
) -> None:
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data", DAWR_RATE_LIMITS="on") as server:
        printed = re.search(r"/first-run\?code=\S+", server.log.read_text(encoding="utf-8"))
        assert printed is not None
        windows = windows_at(server.url)
        page = windows.open(printed[0], DESK, address=None)
        expect(page.locator("[name=zone]")).to_have_value(
            page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
        )
        assert faults_of(page) == []

        typed = {"username": "amna", "password": PASSWORD, "venue_name": "Our clinic", "venue_slug": "ours"}
        for field, text in typed.items():
            page.locator(f"[name={field}]").fill(text)
        page.locator("[name=zone]").fill("Asia/Qatar")
        page.locator("main form button").first.click()

        expect(page.locator("main")).to_contain_text("Our clinic")
        windows.close()

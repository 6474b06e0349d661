"""What a first visit costs a visitor with an empty cache, in bytes as they come over the network."""

import time

import msgspec
from playwright.sync_api import Page

KB = 1000
QUIET_SECONDS = 0.5
MOST_SECONDS = 20.0

BARS = {"join": (40, 15), "phone": (40, 15), "display": (60, 15), "console": (90, 25)}
"""The most kB of a page, and how many of them may be script."""


class Weight(msgspec.Struct):
    total: int = 0
    """With the heads of all answers."""
    script: int = 0
    """Of the files alone."""


def weigh(page: Page, path: str) -> Weight:
    """Go there, and count until nothing more comes: a stream stays open, so the network is never idle."""
    weight, kinds = Weight(), dict[str, str]()
    last = time.monotonic()

    def begun(said: dict[str, str]) -> None:
        kinds[said["requestId"]] = said["type"]

    def came(said: dict[str, str | int]) -> None:
        if kinds.get(str(said["requestId"])) == "Script":
            weight.script += int(said["encodedDataLength"])

    def ended(said: dict[str, str | int]) -> None:
        nonlocal last
        last = time.monotonic()
        weight.total += int(said["encodedDataLength"])

    session = page.context.new_cdp_session(page)
    session.on("Network.requestWillBeSent", begun)
    session.on("Network.dataReceived", came)
    session.on("Network.loadingFinished", ended)
    session.send("Network.enable")
    answer = page.goto(path)
    assert answer is not None
    assert answer.ok, answer.status
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() - last < QUIET_SECONDS:
        assert time.monotonic() < deadline, "Something more came all the time."
        page.evaluate("new Promise(requestAnimationFrame)")
    session.detach()
    return weight

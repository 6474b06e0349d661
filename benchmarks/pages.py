"""`make bench`, the pages: what a first visit weighs, and how soon a page shows what happened.

In a real Chromium, with a server of its own and nothing limited. Bytes are counts. Times are of this machine and stand
beside their bars as a share of them; they are upper bounds, for the program that drives the browser is in between.

- A call, from its request to the number on the visitor's phone and on the screen in the hall. The screen's clock is
  moved on after each call, so that the call before has been read and none waits in line.
- 2,000 phones in one queue: sockets that read the streams which the page reads. Somebody is called, and all others move
  up, which they are told twice a second.
- The number, from the request to its paint, with an empty cache, at 400 kbit/s, 400 ms a request, and a quarter of the
  processor.
- A key in the console, from the press to what the server made of it.

The exit code is 1 when a bar is missed. `--quick` is a try with little of each, and never fails.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from playwright.sync_api import Page

from benchmarks.machine import look_at_machine
from benchmarks.pages_phones import in_a_full_hall
from tests.browser.places import House, Place
from tests.browser.weight import BARS, KB, weigh
from tests.browser.windows import DESK, PHONE, TV, Size, Windows, chromium

LIMITLESS = {"DAWR_RATE_LIMITS": "off", "DAWR_MOST_STREAMS_PER_ADDRESS": "100000", "DAWR_LOG_LEVEL": "warning"}
READ_MS = 9000
"""Longer than a call stays on the screen at least."""
BETWEEN_PRESSES_MS = 250
"""The same key twice within 600 ms is one press, and three keys take turns."""
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
SLOWER_CPU = 4
TELL = """([selector, name]) => {
  const look = () => {
    for (const found of document.querySelectorAll(selector)) window.shown(name, found.textContent);
  };
  new MutationObserver(look).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  look();
}"""
LISTEN_FOR_KEYS = """() => {
  let pressed = 0, before = "";
  const told = () => document.querySelector("[data-part=turn]").dataset.told;
  const look = () => {
    if (!pressed || told() === before) return;
    window.answers.push(performance.now() - pressed);
    pressed = 0;
  };
  window.answers = [];
  addEventListener("keydown", () => { pressed = performance.now(); before = told(); }, true);
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});
}"""
PAINTED = """() => new Promise(done => new PerformanceObserver(list => {
  const found = list.getEntries().find(entry => entry.element?.closest(".number"));
  if (found) done(found.startTime);
}).observe({type: "largest-contentful-paint", buffered: true}))"""


class Figure(msgspec.Struct, frozen=True):
    what: str
    value: float
    bar: float
    unit: str
    more: str = ""

    @property
    def held(self) -> bool:
        return self.value <= self.bar


class Amounts(msgspec.Struct, frozen=True):
    calls: int = 200
    phones: int = 2000
    calls_in_hall: int = 20
    visits: int = 7
    presses: int = 150


QUICK = Amounts(calls=5, phones=50, calls_in_hall=2, visits=1, presses=6)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="where the server's data is")
    given = parser.parse_args()
    amounts = QUICK if given.quick else Amounts()
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    with tempfile.TemporaryDirectory(dir=given.directory) as directory, House(Path(directory), **LIMITLESS) as house:
        figures = list(_in_chromium(house, amounts))
        figures += _in_a_full_hall(house, amounts)
    print(f"{look_at_machine(given.directory, postgres='').sentence()}\n\n{table(figures)}")
    return 0 if given.quick or all(figure.held for figure in figures) else 1


def table(figures: list[Figure]) -> str:
    width = max(len(figure.what) for figure in figures)
    rows = [f"{'':{width}}  {'figure':>11}  {'bar':>11}  {'of it':>6}  held"]
    for one in figures:
        measured, bar = f"{one.value:,.1f} {one.unit}", f"{one.bar:,.0f} {one.unit}"
        share, held = f"{one.value / one.bar:.2f} ×", "yes" if one.held else "NO"
        rows.append(f"{one.what:{width}}  {measured:>11}  {bar:>11}  {share:>6}  {held:<4} {one.more}".rstrip())
    return "\n".join(rows)


def _in_chromium(house: House, amounts: Amounts) -> Iterator[Figure]:
    with chromium() as browser:
        windows = Windows(browser, house.url)
        yield from _weights(windows, house)
        yield from _calls(windows, house.clinic(), amounts.calls)
        yield _painted(windows, house.clinic(), amounts.visits)
        yield _answered(windows, house.clinic(), amounts.presses)
        windows.close()
        windows.must_be_quiet()


def _weights(windows: Windows, house: House) -> Iterator[Figure]:
    clinic = house.clinic()
    for _ in range(12):
        clinic.take("lab")
    clinic.call_next()
    places: dict[str, tuple[str, Size, str | None]] = {
        "join": (f"/v/{clinic.slug}", PHONE, None),
        "phone": (clinic.start(visitor="first").link, PHONE, None),
        "display": (f"/d/{clinic.slug}", TV, None),
        "console": (f"/staff/{clinic.slug}/room-101", DESK, clinic.session()),
    }
    for name, (path, size, session) in places.items():
        weight = weigh(windows.open("about:blank", size, session=session), path)
        most, most_script = BARS[name]
        yield Figure(f"first visit: {name}", weight.total / KB, most, "kB")
        yield Figure("  of it script", weight.script / KB, most_script, "kB")


def _calls(windows: Windows, clinic: Place, calls: int) -> Iterator[Figure]:
    """The two pages tell us when they show a number: `shown` notes the first time."""
    shown: dict[tuple[str, str], float] = {}
    taken = [clinic.take("lab") for _ in range(calls)]
    phone, display = windows.open("about:blank"), windows.open("about:blank", TV)
    for page in (phone, display):
        page.expose_binding("shown", lambda _, name, text: shown.setdefault((name, text[-4:]), time.perf_counter()))
    display.clock.install()
    _follow(display, f"/d/{clinic.slug}")
    display.evaluate(TELL, [".call:not(.last) .number", "display"])
    delays: dict[str, list[float]] = {"phone": [], "display": []}
    for one in taken:
        _follow(phone, one.link)
        phone.evaluate(TELL, ["[data-state=called] .number", "phone"])
        begun = time.perf_counter()
        assert clinic.call_next() == one.label
        for name, each in delays.items():
            while (name, one.label) not in shown:
                assert time.perf_counter() - begun < 10, f"{one.label} is not on the {name}."
                phone.wait_for_timeout(1)
            each.append(1000 * (shown[name, one.label] - begun))
        clinic.do("finish", one.ticket)
        display.clock.fast_forward(READ_MS)
    for name, each in delays.items():
        yield Figure(f"a call, until it is on the {name}: p95 of {calls}", _p95(each), 500, "ms", _middle(each))


def _follow(page: Page, path: str) -> None:
    with page.expect_response(lambda answer: "/v1/events" in answer.url):
        page.goto(path)


def _painted(windows: Windows, clinic: Place, visits: int) -> Figure:
    """A window of its own for each, so that nothing is in its cache."""
    link = clinic.take("lab").link
    times = []
    for _ in range(visits):
        page = windows.open("about:blank")
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER_CPU})
        page.goto(link)
        times.append(page.evaluate(PAINTED))
        page.context.close()
    return Figure(f"the number on a slow phone: the latest of {visits}", max(times), 2000, "ms", _middle(times))


def _answered(windows: Windows, clinic: Place, presses: int) -> Figure:
    for _ in range(presses // 3 + 30):
        clinic.take("lab")
    page = windows.open("about:blank", DESK, session=clinic.session())
    _follow(page, f"/staff/{clinic.slug}/room-101")
    page.evaluate(LISTEN_FOR_KEYS)
    for number in range(presses):
        page.keyboard.press("nas"[number % 3])
        page.wait_for_function("count => window.answers.length === count", arg=number + 1)
        page.wait_for_timeout(BETWEEN_PRESSES_MS)
    answers = page.evaluate("window.answers")
    return Figure(
        f"a key in the console, until it is answered: p95 of {presses}", _p95(answers), 250, "ms", _middle(answers)
    )


def _in_a_full_hall(house: House, amounts: Amounts) -> Iterator[Figure]:
    clinic = house.clinic()
    links = [clinic.take("lab").link for _ in range(amounts.phones)]
    delays = in_a_full_hall(house.server.port, links, clinic, amounts.calls_in_hall)
    most = f"the latest of {amounts.calls_in_hall}"
    for who, each in zip(("the one called", "the last of all"), zip(*delays, strict=True), strict=True):
        what = f"a call among {amounts.phones:,} phones, until {who} knows: {most}"
        yield Figure(what, max(each), 1000, "ms", _middle(each))


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[max(0, -(-95 * len(times) // 100) - 1)]


def _middle(times: Sequence[float]) -> str:
    return f"median {statistics.median(times):,.0f}, most {max(times):,.0f}"


if __name__ == "__main__":
    sys.exit(main())

"""A QR code in a page: every module where it belongs, and nothing that a strict policy would not show."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
import segno

from dawr.web.pages.qr import QUIET, qr_svg

LINK = "https://queue.example.org/t/5jdntu-0Q7ffBlvmyDca~WvXpwE4KVZzUViDzI4.JsiTyAWivIpP2mRtXKLfRg"
RUN = re.compile(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z")


class Drawn(HTMLParser):
    def __init__(self, svg: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.given: dict[str, str] = {}
        self.feed(svg)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.given |= {name: value or "" for name, value in attrs}


def modules_of(path: str) -> set[tuple[int, int]]:
    """The dark ones; the path has nothing else in it."""
    assert RUN.sub("", path) == ""
    return {(x, int(y)) for start, y, width, _ in RUN.findall(path) for x in range(int(start), int(start) + int(width))}


@pytest.mark.parametrize("text", ["https://q.example/v/clinic", LINK, "https://[::1]:8787/v/عيادة", "x" * 500])
def test_the_code_is_drawn_as_it_was_made(text: str) -> None:
    made = segno.make_qr(text, error="m").matrix

    drawn = Drawn(qr_svg(text, "A code"))

    assert modules_of(drawn.given["d"]) == {
        (x, y) for y, row in enumerate(made) for x, is_dark in enumerate(row) if is_dark
    }
    edge = len(made) + 2 * QUIET
    assert drawn.given["viewbox"] == f"-{QUIET} -{QUIET} {edge} {edge}"


def test_a_code_keeps_the_quiet_zone_of_the_standard_and_a_way_to_read_it_when_damaged() -> None:
    assert QUIET == 4
    assert segno.make_qr(LINK, error="m").error in {"M", "Q", "H"}


def test_it_says_what_it_is_and_nothing_in_it_is_styled_or_run() -> None:
    drawn = Drawn(qr_svg("https://q.example", '"><script>alert(1)</script>'))

    assert drawn.tags == ["svg", "path"]
    assert drawn.given["aria-label"] == '"><script>alert(1)</script>'
    assert (drawn.given["role"], drawn.given["class"]) == ("img", "qr")
    assert not [name for name in drawn.given if name == "style" or name.startswith("on") or "href" in name]


def test_a_server_that_draws_no_code_does_not_wait_for_what_draws_them() -> None:
    asks = "import sys, dawr.web.table, dawr.web.pages.qr; sys.exit('segno' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", asks], check=False, timeout=60).returncode == 0

"""An address as a QR code: a picture in the page itself, which asks for nothing and has no style of its own."""

from functools import lru_cache
from itertools import groupby

from markupsafe import Markup

QUIET = 4
"""Modules left free on each side, as the standard asks: without them a code on a dark page is not found."""

SVG = Markup(
    '<svg class="qr" viewBox="{} {} {} {}" role="img" aria-label="{}" shape-rendering="crispEdges"><path d="{}"/></svg>'
)


@lru_cache(maxsize=64)
def qr_svg(text: str, label: str) -> Markup:
    """The code of a text, for a page; `label` says what it is to whoever cannot see it."""
    import segno  # noqa: PLC0415 - few processes ever draw one, and all would wait for it at their start

    rows = segno.make_qr(text, error="m").matrix
    path = "".join(_dark(y, row) for y, row in enumerate(rows))
    size = len(rows) + 2 * QUIET
    return SVG.format(-QUIET, -QUIET, size, size, label, path)


def _dark(y: int, row: bytearray) -> str:
    """The dark modules of a row, a rectangle for each run of them."""
    drawn, x = "", 0
    for is_dark, run in groupby(row):
        width = len(list(run))
        drawn += f"M{x} {y}h{width}v1h-{width}z" if is_dark else ""
        x += width
    return drawn

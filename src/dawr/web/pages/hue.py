"""A venue's own colour: a small style sheet, made from its hue, with what can be pressed and what is tinted.

Every hue has the lightness of our teal, in which all can be read: only how colourful it is differs, because no screen
shows every hue equally so. Lightness and chroma are OKLCH's. The sheet has plain hex values: browsers built into TVs
are years old. Its address says which hue it is and has a hash of the sheet, so browsers keep it for ever.
"""

import re
from functools import cache
from hashlib import blake2b
from math import cos, radians, sin
from typing import Final, NamedTuple

from dawr.domain import Venue
from dawr.domain.venue import LARGEST_HUE
from dawr.web.pages.assets import FOR_EVER
from dawr.web.problems import BadRequest
from dawr.web.response import CSS, Response
from dawr.web.routes import Parts, Request, Route

ADDRESS = re.compile(r"(0|[1-9][0-9]{0,2})\.[0-9a-f]{12}\.css")
SAFFRON = 80
FAR_FROM_SAFFRON = 50
CHROMA_STEP = 0.002
LINEAR_BELOW = 0.0031308


class Shade(NamedTuple):
    lightness: float
    chroma: float
    """At most: less where a screen cannot show so much."""


class Theme(NamedTuple):
    accent: Shade
    tint: Shade
    on_accent: str
    beside_saffron: float
    """How much of its chroma an accent keeps at the hue of a live call, so that it is not taken for one."""


LIGHT: Final = Theme(Shade(0.46, 0.12), Shade(0.94, 0.02), on_accent="#fffdfa", beside_saffron=1)
DARK: Final = Theme(Shade(0.78, 0.12), Shade(0.29, 0.045), on_accent="#031217", beside_saffron=0.4)


class Sheet(NamedTuple):
    file: str
    response: Response


def hue_sheet(venue: Venue) -> str | None:
    """The address of the venue's sheet, which a page links after its own. None: it has our teal."""
    return None if venue.hue is None else f"/hue/{sheet_of(venue.hue).file}"


async def show(_: Parts, request: Request[None]) -> Response:
    asked = ADDRESS.fullmatch(request.params["file"])
    if asked is not None and (hue := int(asked[1])) <= LARGEST_HUE and sheet_of(hue).file == asked[0]:
        return sheet_of(hue).response
    raise BadRequest(404, "no-such-path")


@cache
def sheet_of(hue: int) -> Sheet:
    light, dark = _tokens(LIGHT, hue), _tokens(DARK, hue)
    body = (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not(.light) {{ {dark} }} }}\n"
        f".dark {{ {dark} }}\n"
    ).encode()
    file = f"{hue}.{blake2b(body, digest_size=6).hexdigest()}.css"
    return Sheet(file, Response(200, body, (FOR_EVER,), CSS))


def _tokens(theme: Theme, hue: int) -> str:
    kept = min(1, theme.beside_saffron + abs(hue - SAFFRON) / FAR_FROM_SAFFRON)
    accent = _hex(Shade(theme.accent.lightness, theme.accent.chroma * kept), hue)
    return f"--accent: {accent}; --on-accent: {theme.on_accent}; --tint: {_hex(theme.tint, hue)};"


def _hex(shade: Shade, hue: int) -> str:
    """The most colourful one of this lightness that a screen can show."""
    chroma = shade.chroma
    while not all(0 <= part <= 1 for part in _linear(shade.lightness, chroma, hue)):
        chroma -= CHROMA_STEP
    return "#" + "".join(f"{round(255 * _encoded(part)):02x}" for part in _linear(shade.lightness, chroma, hue))


def _linear(lightness: float, chroma: float, hue: int) -> tuple[float, float, float]:
    """From OKLCH to red, green and blue as light adds up; outside 0 to 1 if a screen cannot show it."""
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _encoded(part: float) -> float:
    """As sRGB writes it."""
    return 12.92 * part if part <= LINEAR_BELOW else 1.055 * part ** (1 / 2.4) - 0.055


ROUTES = (
    Route(
        method="GET",
        path="/hue/{file}",
        name="hue",
        summary="A venue's own colour, for its pages",
        tag="pages",
        handler=show,
        limit=None,
        kind="text/css",
    ),
)

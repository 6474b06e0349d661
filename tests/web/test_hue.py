"""A venue's own colour can be read, whichever it is, in light and in dark."""

import re
from importlib.resources import files
from itertools import product
from math import dist
from typing import NamedTuple

import pytest

from dawr.domain.venue import LARGEST_HUE
from dawr.web.pages.hue import hue_sheet, sheet_of
from tests.domain.builders import a_venue

READABLE = 4.5
"""WCAG 2.2 AA, for text of any size."""
TEAL = 195
HUES = range(LARGEST_HUE + 1)
TOKEN = re.compile(r"(--[a-z-]+):\s*(#[0-9a-f]{6})\b")
BASE = (files("dawr.web") / "static" / "base.css").read_text(encoding="utf-8")


class Rules(NamedTuple):
    light: dict[str, str]
    dark: dict[str, str]
    by_class: dict[str, str]


def rules_of(sheet: str) -> Rules:
    """The tokens of the three places where a sheet sets them."""
    light, dark = sheet.split("@media (prefers-color-scheme: dark)")[:2]
    dark, by_class = dark.split("\n.dark {")
    return Rules(*(dict(TOKEN.findall(rule)) for rule in (light, dark, by_class.partition("\n}")[0])))


OURS = rules_of(BASE)


def sheet(hue: int) -> str:
    return sheet_of(hue).response.body.decode()


def luminance(colour: str) -> float:
    """As WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def apart(one: str, other: str) -> float:
    """As red, green and blue are: 255 from nothing of one of them to all of it."""
    return dist(*([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (one, other)))


def test_contrast_is_measured_as_it_should_be() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_hue_can_be_read(theme: str) -> None:
    ours = getattr(OURS, theme)

    unreadable: dict[tuple[int, str, str], float] = {}
    for hue in HUES:
        tokens = getattr(rules_of(sheet(hue)), theme)
        accent, tint = tokens["--accent"], tokens["--tint"]
        pairs = [(accent, tokens["--on-accent"]), (accent, ours["--ground"]), (accent, ours["--surface"])]
        pairs += [(accent, tint), (ours["--text"], tint), (ours["--quiet"], tint)]
        unreadable |= {(hue, *pair): contrast(*pair) for pair in pairs if contrast(*pair) < READABLE}

    assert unreadable == {}


@pytest.mark.parametrize("token", ["--accent", "--tint"])
def test_our_own_hue_is_nearly_the_colour_that_pages_have_without_one(token: str) -> None:
    made = rules_of(sheet(TEAL))

    for theirs, ours in ((made.light, OURS.light), (made.dark, OURS.dark)):
        apart = [abs(int(theirs[token][at : at + 2], 16) - int(ours[token][at : at + 2], 16)) for at in (1, 3, 5)]
        assert max(apart) <= 24, (theirs[token], ours[token])


def test_hues_are_told_apart_and_have_one_lightness() -> None:
    accents = [rules_of(sheet(hue)).light["--accent"] for hue in HUES]

    assert len(set(accents)) > 300
    assert max(map(luminance, accents)) < 2 * min(map(luminance, accents))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_hue_is_taken_for_a_live_call(theme: str) -> None:
    """Saffron means one thing: somebody is called now."""
    accents = {hue: getattr(rules_of(sheet(hue)), theme)["--accent"] for hue in HUES}

    nearest = min(accents, key=lambda hue: apart(accents[hue], OURS.light["--call"]))

    assert apart(accents[nearest], OURS.light["--call"]) > 80, (nearest, accents[nearest])


@pytest.mark.parametrize("hue", [0, TEAL, LARGEST_HUE])
def test_a_sheet_sets_what_a_hue_changes_wherever_our_own_sheet_does(hue: int) -> None:
    made = rules_of(sheet(hue))

    assert made.dark == made.by_class
    for theirs, ours in zip(made, OURS, strict=True):
        assert theirs.keys() == {"--accent", "--on-accent", "--tint"}
        assert theirs["--on-accent"] == ours["--on-accent"]
    assert ":root:not(.light)" in sheet(hue)
    assert "oklch" not in sheet(hue)


def test_what_is_dark_by_choice_is_as_dark_as_what_is_so_by_the_browser() -> None:
    assert OURS.dark == OURS.by_class


def test_a_venue_without_a_hue_needs_no_sheet() -> None:
    assert hue_sheet(a_venue()) is None


@pytest.mark.parametrize(("one", "other"), [*product([0], [1, LARGEST_HUE]), (25, 205)])
def test_every_hue_has_an_address_of_its_own_that_stays(one: int, other: int) -> None:
    address = hue_sheet(a_venue(hue=one))

    assert address is not None
    assert re.fullmatch(rf"/hue/{one}\.[0-9a-f]{{12}}\.css", address)
    assert address == hue_sheet(a_venue(hue=one, slug="another"))
    assert address != hue_sheet(a_venue(hue=other))

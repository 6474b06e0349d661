"""Figures of different units in one table, each beside what it is measured against."""

from collections.abc import Iterable, Sequence

import msgspec

from benchmarks.rounds import Spread, spread

HEADINGS = ("", "median [least–most]", "bar", "held")
MANY = 1000


class Measured(msgspec.Struct, frozen=True):
    what: str
    unit: str
    value: Spread
    bar: str = ""
    held: bool | None = None
    """None where nothing is promised."""


def informed(what: str, unit: str, values: Sequence[float]) -> Measured:
    """For whoever wants to know; nothing is promised."""
    return Measured(what, unit, spread(values))


def at_most(what: str, unit: str, values: Sequence[float], most: float, *, strictly: bool = False) -> Measured:
    value = spread(values)
    held = value.median < most if strictly else value.median <= most
    return Measured(what, unit, value, f"{'<' if strictly else '≤'} {most:g} {unit}", held)


def at_least(what: str, ratios: Spread, least: float, of: str) -> Measured:
    """Of a ratio, taken round by round."""
    return Measured(what, "×", ratios, f"≥ {least:g} × {of}", ratios.median >= least)


def table(figures: Iterable[Measured]) -> str:
    rows = [HEADINGS, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def _cells(figure: Measured) -> tuple[str, ...]:
    value = figure.value
    median, least, most = (_number(number) for number in (value.median, value.least, value.most))
    held = {None: "", True: "yes", False: "NO"}[figure.held]
    return figure.what, f"{median} [{least}–{most}] {figure.unit}", figure.bar, held


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= MANY else f"{value:.2f}"

"""The table, and which bars were held."""

from collections.abc import Iterable, Sequence

import msgspec

from benchmarks.load import Run
from benchmarks.rounds import Runs, Spread, best_of, ratio, spread

LEAST_RATIO = 8
MOST_P99_MS = 50

HEADINGS = ("", "per second, median [least–most]", "p50 ms", "p99 ms", "ratio", "bar", "held")


class Figure(msgspec.Struct, frozen=True):
    what: str
    rate: Spread
    p50_ms: float
    p99_ms: float
    ratio: Spread | None = None
    bar: str = ""
    held: bool | None = None
    """None where nothing is promised."""


def figure(what: str, runs: Sequence[Run]) -> Figure:
    """Of several runs the median, for the percentiles too."""
    return Figure(
        what,
        spread([run.rate for run in runs]),
        spread([run.percentile_ms(50) for run in runs]).median,
        spread([run.percentile_ms(99) for run in runs]).median,
    )


def judged(runs: Runs, ours: str) -> list[Figure]:
    """The bar is against the best of the others. Beside each other one stands our ratio to it."""
    others = [name for name in runs if name != ours]
    best = ratio(runs[ours], runs[best_of(runs, others)])
    mine = figure(ours, runs[ours])
    held = best.median >= LEAST_RATIO and mine.p99_ms <= MOST_P99_MS
    bar = f"≥ {LEAST_RATIO} ×, p99 ≤ {MOST_P99_MS} ms"
    return [
        msgspec.structs.replace(mine, ratio=best, bar=bar, held=held),
        *(msgspec.structs.replace(figure(name, runs[name]), ratio=ratio(runs[ours], runs[name])) for name in others),
    ]


def table(figures: Iterable[Figure]) -> str:
    rows = [HEADINGS, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join(_aligned(row, widths) for row in rows)


def _cells(figure: Figure) -> tuple[str, ...]:
    return (
        figure.what,
        f"{figure.rate.median:,.0f} [{figure.rate.least:,.0f}–{figure.rate.most:,.0f}]",
        f"{figure.p50_ms:.1f}",
        f"{figure.p99_ms:.1f}",
        "" if figure.ratio is None else _ratio(figure.ratio),
        figure.bar,
        {None: "", True: "yes", False: "NO"}[figure.held],
    )


def _ratio(ratio: Spread) -> str:
    places = 2 if ratio.median < 1 else 1
    return f"{ratio.median:.{places}f} × [{ratio.least:.{places}f}–{ratio.most:.{places}f}]"


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    first, *others = [
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join([first, *others]).rstrip()

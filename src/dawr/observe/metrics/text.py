"""The numbers of all processes as Prometheus reads them: text format 0.0.4."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from dawr.observe.metrics.families import FAMILIES, Family
from dawr.observe.metrics.region import Key, Region

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
UNTOLD = math.nan
"""Of a gauge that nobody measures any more."""

Samples = dict[Key, list[float]]
"""By the values of their labels."""


def text(regions: Iterable[Region], alone: dict[Family, Samples]) -> bytes:
    """What all regions say together, and `alone` what is not counted in any."""
    found = merged(regions) | alone
    return "".join(line for family in FAMILIES for line in _lines(family, found.get(family, {}))).encode()


def merged(regions: Iterable[Region]) -> dict[Family, Samples]:
    """Counts of the living and the dead are added; what is measured counts of the living only."""
    families = {family.name: family for family in FAMILIES}
    found: defaultdict[Family, Samples] = defaultdict(dict)
    for region in regions:
        is_alive = region.is_alive
        for (name, *labels), values in region.values():
            family = families[name]
            if family.kind == "gauge" and (not is_alive or math.isnan(values[0])):
                continue
            samples, key = found[family], tuple(labels)
            samples[key] = values if key not in samples else together(family, samples[key], values)
    return dict(found)


def together(family: Family, some: list[float], more: list[float]) -> list[float]:
    """What two processes say."""
    if family.several == "sum":
        return [one + other for one, other in zip(some, more, strict=True)]
    return [(min if family.several == "least" else max)(some[0], more[0])]


def _lines(family: Family, samples: Samples) -> Iterator[str]:
    yield f"# HELP {family.name} {family.says}\n# TYPE {family.name} {family.kind}\n"
    for labels, values in sorted(samples.items()):
        named = ",".join(
            f'{name}="{value.translate(ESCAPED)}"' for name, value in zip(family.labels, labels, strict=True)
        )
        if family.kind == "histogram":
            yield from _histogram(family, named, values)
        else:
            yield f"{family.name}{{{named}}} {values[0]!r}\n" if named else f"{family.name} {values[0]!r}\n"


def _histogram(family: Family, named: str, values: list[float]) -> Iterator[str]:
    comma, braced, count = ("," if named else ""), (f"{{{named}}}" if named else ""), 0.0
    for bound, more in zip((*map(repr, family.bounds), "+Inf"), values[1:], strict=True):
        count += more
        yield f'{family.name}_bucket{{{named}{comma}le="{bound}"}} {count!r}\n'
    yield f"{family.name}_sum{braced} {values[0]!r}\n{family.name}_count{braced} {count!r}\n"

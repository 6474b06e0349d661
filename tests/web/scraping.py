"""What `/metrics` says, read by Prometheus' own library."""

from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from tests.running import Client

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

TOKEN: Final = "a token for whoever scrapes"


def parsed(text: bytes) -> Samples:
    """Each sample once, by its name and labels."""
    found: Samples = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, f"{key} is there twice"
            found[key] = sample.value
    return found


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0.0)


def total(samples: Samples, name: str) -> float:
    return sum(number for (sample, _), number in samples.items() if sample == name)


def scrape(client: Client, *, bearer: str | None = None) -> Samples:
    answer = client.get("/metrics", bearer=bearer)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8"), answer
    return parsed(answer.body)

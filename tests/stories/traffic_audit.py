"""What the statistics hold, added up again from outside, in plain Python."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.cli.databases import rows_of
from tests.stories.traffic_load import Load

HOUR, DAY, MINUTE = 3_600_000, 86_400_000, 60_000
DETAILS = "SELECT at, path, method, status, outcome, ms, visitor FROM traffic_events"

Key = tuple[Any, ...]


def must_be_counted_once(database: Path | str, load: Load) -> int:
    """Answered ⊆ counted ⊆ sent, and each once. How many were counted without an answer."""
    ids = rows_of(database, "SELECT request_id, correlation_id FROM traffic_events")
    ours = Counter(one for both in ids for one in both if one.startswith("ray-"))
    twice = [request for request, times in ours.items() if times > 1]

    assert twice == []
    assert sorted(load.answered.keys() - ours.keys()) == []
    assert sorted(ours.keys() - load.sent.keys()) == []
    return len(ours.keys() - load.answered.keys())


def must_be_exactly_dead(database: Path | str, poison: list[str], *, tries: int) -> None:
    dead = rows_of(database, "SELECT kind, body, tries, reason FROM traffic_dead")

    assert Counter(body for _, body, _, _ in dead) == Counter(poison)
    assert {(kind, tried) for kind, _, tried, _ in dead} == {("poison", tries)}
    assert all(reason for _, _, _, reason in dead)


def must_add_up(database: Path | str) -> None:
    """Hours, days, minutes, buckets and visitors are what the details come to, and the ledger has every message."""
    hours: dict[Key, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    columns = "span, start, path, method, class, requests, errors, refused, sum_us, max_us"
    minutes: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    histograms, stored = Counter[Key](), Counter[int]()
    visitors = set[Key]()
    for at, path, method, status, outcome, ms, visitor in rows_of(database, DETAILS):
        errors, refused, us = int(outcome == "error"), int(outcome == "refused"), round(ms * 1000)
        for span in (HOUR, DAY):
            start = at - at % span
            _add(hours[span, start, path, method, f"{status // 100}xx"], 1, errors, refused, us)
            histograms[span, start, path, method] += 1
            visitors |= {(span, start, path, visitor), (span, start, "", visitor)}
        _add(minutes[at - at % MINUTE], 1, errors, refused)
        stored[at - at % HOUR] += 1

    assert _by_key(database, f"SELECT {columns} FROM traffic_hours", 5) == {k: tuple(v) for k, v in hours.items()}
    assert _by_key(database, "SELECT * FROM traffic_minutes", 1) == {(k,): tuple(v) for k, v in minutes.items()}
    assert Counter({key: sum(counts) for key, counts in _buckets(database).items()}) == histograms
    assert set(rows_of(database, "SELECT span, start, path, visitor FROM traffic_visitors")) == visitors
    must_balance(database, stored)


def must_balance(database: Path | str, details: Counter[int]) -> None:
    """Every message of an hour went somewhere, and what was stored is there in detail."""
    for hour, spooled, queued, stored, detailed, duplicates, dead in rows_of(
        database, "SELECT hour, spooled, queued, stored, detailed, duplicates, dead FROM traffic_ledger"
    ):
        assert spooled == queued == stored + duplicates + dead, hour
        assert stored == detailed == details[hour], hour


def ledger(database: Path | str, column: str) -> int:
    ((total,),) = rows_of(database, f"SELECT coalesce(sum({column}), 0) FROM traffic_ledger")
    return int(total)


def _add(row: list[int], *numbers: int) -> None:
    """The fifth of a row is the largest of its fourth."""
    for place, number in enumerate(numbers):
        row[place] += number
    if len(row) > len(numbers):
        row[-1] = max(row[-1], numbers[-1])


def _by_key(database: Path | str, sql: str, columns: int) -> dict[Key, Key]:
    return {tuple(row[:columns]): tuple(row[columns:]) for row in rows_of(database, sql)}


def _buckets(database: Path | str) -> dict[Key, list[int]]:
    found: dict[Key, list[int]] = defaultdict(list)
    for *key, requests in rows_of(database, "SELECT span, start, path, method, requests FROM traffic_buckets"):
        found[tuple(key)].append(requests)
    return found

"""What watching costs: a log line, a count, a batch's measure, a scrape, a span. `python -m benchmarks.instruments`.

In microseconds of one core, the best of five rounds; the loop around it is taken off.
"""

import os
import platform
import tempfile
import time
from collections.abc import Callable
from timeit import repeat

from dawr.observe.access_log import AccessLog
from dawr.observe.log_buffer import LogBuffer
from dawr.observe.metrics import families
from dawr.observe.metrics.metrics import Metrics
from dawr.observe.metrics.region import Region
from dawr.observe.operation_log import log_committed
from dawr.ports import Batch, Changes
from tests.builders import issue
from tests.operations.clinic import a_transaction, decided, everything

ROUNDS, TIMES = 5, 20_000
MS = 1_000_000
EVENTS_OF_A_BATCH = 30


def nothing(*_: object) -> None:
    pass


def main() -> None:
    print(f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} before")
    floor = micros(nothing)
    for name, work in {**lines(), **counts(), **prometheus_client(), **spans()}.items():
        print(f"{name:58} {micros(work) - floor:8.2f} µs")
    for name, work in scrapes().items():
        print(f"{name:58} {micros(work, 20) / 1000:8.2f} ms")


def micros(work: Callable[[], object], times: int = TIMES) -> float:
    return min(repeat(work, timer=time.process_time, number=times, repeat=ROUNDS)) / times * 1e6


def lines() -> dict[str, Callable[[], object]]:
    log, began = AccessLog(nothing, time.time_ns), time.time_ns()
    counted = AccessLog(nothing, time.time_ns)
    counted.count = Metrics().answered
    buffer = LogBuffer(nothing, time.time_ns)
    batch = Batch(EVENTS_OF_A_BATCH, 0.004, [a_batch()], [])
    return {
        "access line": lambda: log.record("POST", "/api/v1/queue/enter", 200, began, "5" * 32),
        "access line and its counts": lambda: counted.record("POST", "/api/v1/queue/enter", 200, began, "5" * 32),
        f"lines of a batch of {EVENTS_OF_A_BATCH} joins": lambda: log_committed(buffer, batch, str),
    }


def counts() -> dict[str, Callable[[], object]]:
    metrics, changes = Metrics(), a_batch()
    return {
        "a request: count, time": lambda: metrics.answered("POST", "/api/v1/queue/enter", 200, 5 * MS),
        f"counts of a batch of {EVENTS_OF_A_BATCH} joins": lambda: metrics.committed([changes]),
        "size and time of a batch": lambda: metrics.ran(EVENTS_OF_A_BATCH, 0.004),
        "lag of an event": lambda: metrics.published(12),
        "a limit that was hit": lambda: metrics.limit_hit("join"),
    }


def prometheus_client() -> dict[str, Callable[[], object]]:
    """The usual way, for comparison: its own counters, in files that several processes share."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp()
    from prometheus_client import Counter, Histogram  # noqa: PLC0415 - it reads the variable when it is imported

    requests = Counter("requests", "x", ("route", "method", "status")).labels("/enter", "POST", "200")
    seconds = Histogram("seconds", "x", ("route",), buckets=families.REQUEST_BOUNDS).labels("/enter")

    def answered() -> None:
        requests.inc()
        seconds.observe(0.005)

    return {"the same request by prometheus_client over several processes": answered}


def spans() -> dict[str, Callable[[], object]]:
    """Recorded, and sent nowhere."""
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - optional, as in the product

    from dawr.observe.otel import OtelTracing  # noqa: PLC0415 - optional, as in the product

    tracing = OtelTracing(TracerProvider(shutdown_on_exit=False), time.time_ns)
    return {
        "a request's span": lambda: tracing.begin().answered("POST", "/api/v1/queue/enter", 200, "5" * 32, failed=False)
    }


def scrapes() -> dict[str, Callable[[], object]]:
    regions = [Region() for _ in range(4)]
    for slot in range(4):
        metrics = Metrics(regions, slot)
        for number in range(300):
            metrics.answered("GET", f"/route/{number % 60}", 200 + number // 60, MS)
            metrics._add(families.JOINS, "clinic", f"queue-{number}")  # noqa: SLF001 - whose series do not matter
            metrics._observe(metrics._offset(families.WAIT_SECONDS, f"venue-{number}"), families.WAIT_BOUNDS, 60)  # noqa: SLF001
    samples = Metrics(regions).text("1").count(b"\n")
    return {f"a scrape of 4 workers, {samples} lines": lambda: Metrics(regions).text("1")}


def a_batch() -> Changes:
    transaction = a_transaction(everything())
    for _ in range(EVENTS_OF_A_BATCH):
        decided(transaction, issue("lab"))
    return transaction.changes()


if __name__ == "__main__":
    main()

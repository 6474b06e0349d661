"""Every metric there is, in one table: its name, its kind, what it says, and its labels."""

from typing import Literal

import msgspec

REQUEST_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
COMMIT_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
BATCH_BOUNDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
LAG_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
WAIT_BOUNDS = (30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0, 5400.0, 7200.0, 14400.0)


class Family(msgspec.Struct, frozen=True):
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    says: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """The upper ends of a histogram's buckets, but for the last, which has none."""
    several: Literal["sum", "least", "most"] = "sum"
    """What the gauges of several processes come to."""
    shared: Literal["sum", "most"] = "most"
    """What those of one process come to that share a series, because there are too many."""

    @property
    def width(self) -> int:
        """A histogram is its sum, and a count for each bucket."""
        return len(self.bounds) + 2 if self.bounds else 1


REQUESTS = Family(
    "dawr_requests_total", "counter", "Requests answered, streams when they end.", ("route", "method", "status")
)
REQUEST_SECONDS = Family(
    "dawr_request_seconds", "histogram", "How long an answer took; streams have none.", ("route",), REQUEST_BOUNDS
)
REFUSALS = Family(
    "dawr_refusals_total", "counter", "Requests that were refused as they were, by the problem's code.", ("code",)
)
ERRORS = Family("dawr_errors_total", "counter", "Requests that failed here, by the problem's code.", ("code",))
JOINS = Family("dawr_joins_total", "counter", "Tickets issued.", ("venue", "queue"))
CALLS = Family("dawr_calls_total", "counter", "Tickets called.", ("venue", "queue"))
WAIT_SECONDS = Family(
    "dawr_wait_seconds", "histogram", "How long whoever was called had waited.", ("venue",), WAIT_BOUNDS
)
WAITING = Family("dawr_waiting", "gauge", "People who wait now.", ("venue", "queue"), several="most", shared="sum")
LONGEST_WAIT_SECONDS = Family(
    "dawr_longest_wait_seconds",
    "gauge",
    "How long whoever has waited longest has waited by now; 0 where nobody waits.",
    ("venue", "queue"),
    several="most",
)
BATCH_COMMANDS = Family(
    "dawr_batch_commands", "histogram", "Commands that shared one transaction.", bounds=BATCH_BOUNDS
)
COMMIT_SECONDS = Family(
    "dawr_commit_seconds",
    "histogram",
    "How long a batch's transaction took, from its lock to the end of its commit.",
    bounds=COMMIT_BOUNDS,
)
LANE_DEPTH = Family("dawr_lane_depth", "gauge", "Commands that wait for the next batch.")
LIMIT_HITS = Family("dawr_limit_hits_total", "counter", "Requests that a limit refused.", ("policy",))
LIMITS_LOCAL = Family("dawr_limits_local", "gauge", "1 while processes count limits by themselves.", several="most")
CACHE_READS = Family("dawr_cache_reads_total", "counter", "Looks into the cache, by what came of them.", ("outcome",))
IDEMPOTENCY = Family(
    "dawr_idempotency_total", "counter", "Requests under a known key, by what came of them.", ("outcome",)
)
WATCHERS = Family("dawr_watchers", "gauge", "Event streams that are open.")
FEEDS_STALE = Family("dawr_feeds_stale", "gauge", "Venues whose watchers were told that nothing new can be read.")
EVENT_LAG_SECONDS = Family(
    "dawr_event_lag_seconds",
    "histogram",
    "From an event to its publication to those who watch.",
    bounds=LAG_BOUNDS,
)
STORE_UP = Family("dawr_store_up", "gauge", "1 while a command could be stored.", several="least")
SHARED_UP = Family("dawr_shared_up", "gauge", "1 while the shared Redis or Valkey answers.", several="least")
WORKS_FAILING = Family("dawr_works_failing", "gauge", "Works that failed and are begun again, over all processes.")
WORK_FAILURES = Family("dawr_work_failures_total", "counter", "How often a work failed and was begun again.", ("work",))
TRAFFIC_BACKLOG = Family(
    "dawr_traffic_backlog", "gauge", "Requests that wait to be counted; 10,001 are so many or more.", several="most"
)
TRAFFIC_LAG_SECONDS = Family(
    "dawr_traffic_lag_seconds", "gauge", "For how long the first of them has been due.", several="most"
)
TRAFFIC_DEAD_LETTERS = Family(
    "dawr_traffic_dead_letters", "gauge", "Requests that could not be counted and wait for somebody.", several="most"
)
TRAFFIC_SPOOL_BYTES = Family(
    "dawr_traffic_spool_bytes", "gauge", "What the spool of the traffic statistics takes on disk.", several="most"
)
TRAFFIC_ALERTS = Family(
    "dawr_traffic_alerts", "gauge", "Alerts of the traffic statistics that are open.", ("level",), several="most"
)
TRAFFIC_LOST = Family(
    "dawr_traffic_lost_total", "counter", "Requests that were not counted: no disk and no memory would take them."
)
WORKERS = Family("dawr_workers", "gauge", "Processes that serve.")
BUILD_INFO = Family("dawr_build_info", "gauge", "Always 1; the version is its label.", ("version",))

FAMILIES = (
    REQUESTS,
    REQUEST_SECONDS,
    REFUSALS,
    ERRORS,
    JOINS,
    CALLS,
    WAIT_SECONDS,
    WAITING,
    LONGEST_WAIT_SECONDS,
    BATCH_COMMANDS,
    COMMIT_SECONDS,
    LANE_DEPTH,
    LIMIT_HITS,
    LIMITS_LOCAL,
    CACHE_READS,
    IDEMPOTENCY,
    WATCHERS,
    FEEDS_STALE,
    EVENT_LAG_SECONDS,
    STORE_UP,
    SHARED_UP,
    WORKS_FAILING,
    WORK_FAILURES,
    TRAFFIC_BACKLOG,
    TRAFFIC_LAG_SECONDS,
    TRAFFIC_DEAD_LETTERS,
    TRAFFIC_SPOOL_BYTES,
    TRAFFIC_ALERTS,
    TRAFFIC_LOST,
    WORKERS,
    BUILD_INFO,
)

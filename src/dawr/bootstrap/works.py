"""What goes on by itself in a process that serves, by name. Each is watched, and begun again when it fails."""

import os
import socket
from collections.abc import Callable, Iterable
from functools import partial

from dawr.bootstrap.system import SystemIds, now
from dawr.bootstrap.traffic import TrafficProcessEnded
from dawr.engine import clockwork
from dawr.engine.engine import Engine
from dawr.engine.timekeeping import KEPT_EVERY_SECONDS, Timekeeper
from dawr.engine.waiting import WaitingLines
from dawr.live import hub as live
from dawr.live.hub import Hub
from dawr.live.relay import Relay
from dawr.observe.instruments import MEASURED_EVERY_SECONDS, Instruments
from dawr.ports import Store
from dawr.ports.faults import Busy, StoreFault
from dawr.reliability import process_count
from dawr.reliability.lease import LEASE_MS, Fence, Lease
from dawr.reliability.rate_limit import Limiter
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.works import Work, Works
from dawr.settings import Settings
from dawr.stores.sqlite import SqliteStore
from dawr.traffic.database import DatabaseAway

FILES_SECONDS = 0.5
EMBEDDED_LEASE_MS = 60 * 60 * 1000
"""Nobody waits for it, and a renewal is a write."""


def works_of(
    *,
    settings: Settings,
    store: Store,
    engine: Engine,
    hub: Hub,
    relay: Relay | None,
    limiter: Limiter,
    instruments: Instruments,
    waiting: WaitingLines,
    ids: SystemIds,
    time: Timekeeper,
    beside: Iterable[Work] = (),
) -> Works:
    lease = _leases_of(settings, store, ids)
    works = [
        *_clockwork_of(store, engine, time, lease),
        Work(name="waiting", run=waiting.keep_looking, lease=lease("waiting")),
        Work(name="places", run=hub.tell_places, every=live.PLACES_SECONDS),
        Work(name="heartbeat", run=hub.heartbeat, every=live.BEAT_SECONDS),
        Work(name="poll", run=hub.poll, every=live.POLL_SECONDS),
        Work(name="measure", run=instruments.measure, every=MEASURED_EVERY_SECONDS),
    ]
    if relay is not None:
        works += [
            Work(name="hints", run=lambda: relay.listen(hub)),
            Work(name="process-count", run=relay.be_counted, every=process_count.EVERY_SECONDS),
        ]
    if isinstance(store, SqliteStore):
        works.append(Work(name="files", run=store.check_files, every=FILES_SECONDS))
    if isinstance(limiter, SharedLimiter):
        works.append(Work(name="limits", run=limiter.poll))
    return Works(
        [*works, *beside],
        expected=(StoreFault, Busy, DatabaseAway, TrafficProcessEnded),
        count=instruments.metrics.work_failed,
    )


def _clockwork_of(store: Store, engine: Engine, time: Timekeeper, lease: Callable[[str], Lease]) -> list[Work]:
    sweeper, ringer = clockwork.Sweeper(engine, store), clockwork.Ringer(engine, store, now)

    async def purge(_: Fence) -> None:
        await clockwork.purge(store, now, time)

    return [
        Work(name="clockwork", run=sweeper.sweep_all, every=clockwork.EVERY_SECONDS, lease=lease("clockwork")),
        Work(name="purge", run=purge, every=clockwork.EVERY_SECONDS, lease=lease("purge")),
        Work(name="alarms", run=ringer.ring_due, every=clockwork.RING_SECONDS, lease=lease("alarms")),
        Work(name="time", run=time.keep, every=KEPT_EVERY_SECONDS),
    ]


def _leases_of(settings: Settings, store: Store, ids: SystemIds) -> Callable[[str], Lease]:
    """This process's part in what one of all does, by the name of the work."""
    holder, lease_ms = f"{socket.gethostname()} {os.getpid()} {ids.token()}", LEASE_MS
    if not settings.database_url:
        # The embedded file has one server, which gets its leases back at once when it starts again.
        holder, lease_ms = "the embedded server", EMBEDDED_LEASE_MS
    return partial(Lease, store.leases, holder=holder, lease_ms=lease_ms)

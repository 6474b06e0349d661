"""From one room to the next, through a plan of ten, beside `enter`: `python -m benchmarks.advances`.

An advance finishes a stage, weighs all rooms that are left against each other, and gives a number at the best: one
transaction. First, what each kind of advance asks of PostgreSQL when it is alone: how often it loads, and in how many
statements all in all. Then how many a second, with callers who take turns with others who take a number.

The bar is on the loads; the exit code is 1 when it is missed.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

import asyncpg
import msgspec
import uvloop

from benchmarks.arrivals import IDS, arrivals
from benchmarks.load import Load, Run, measure
from benchmarks.machine import look_at_machine, must_be_disk
from benchmarks.report import Figure, figure, table
from benchmarks.rounds import ratio, take_turns
from benchmarks.sides import Database, Databases, must_be_whole, postgres_databases, sqlite_databases
from dawr.bootstrap.system import now
from dawr.domain.day import Day
from dawr.domain.journey import Journey, Stage
from dawr.domain.queue import Queue, QueueId
from dawr.domain.ticket import VisitId
from dawr.domain.venue import Head, Venue, VenueId, checked
from dawr.domain.visit import Link
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.pins import Done, RenewPins, VerifyPin
from dawr.operations.staff import CallNext, Finish
from dawr.operations.visits import StartVisit
from dawr.ports import Changes, Rows, Session, Store, Wants
from dawr.stores.postgres import SERVER_SETTINGS, PostgresStore
from tests.servers import PostgresServer, server_directory

T = TypeVar("T")

STAGES = 10
CALLERS = 64
MOST_LOADS = 3
NUMBERS = count(1)


class Patient(msgspec.Struct):
    """Somebody on their way, and the room they are at."""

    visitor: str
    link: Link
    room: QueueId
    number: int


class Counted(msgspec.Struct, frozen=True):
    """What one command alone asked of the database."""

    what: str
    loads: int
    statements: int
    has_bar: bool = True

    @property
    def held(self) -> bool:
        return not self.has_bar or self.loads <= MOST_LOADS


class Clinic:
    """Ten rooms that everybody goes through, one of them first."""

    def __init__(self, store: Store, venue: Venue) -> None:
        self.store = store
        self.venue = venue
        self.engine = Engine(store, now)
        self.pins: dict[QueueId, str] = {}

    async def begin(self) -> None:
        renewed = await self.engine.do(self.venue.id, RenewPins(IDS.token(), is_manager=True))
        self.pins = {pin.queue_id: pin.pin for pin in renewed}

    async def come(self, people: int) -> list[Patient]:
        return list(await asyncio.gather(*(self._come() for _ in range(people))))

    async def _come(self) -> Patient:
        visitor, secret = f"{next(NUMBERS):09}", IDS.token()
        link = Link(VisitId(IDS.new(self.venue.id)), sha256(secret.encode()).hexdigest())
        start = StartVisit("all", visitor, "any", link.visit_id, link.secret_hash)
        seen = await self.engine.do(self.venue.id, start)
        assert seen.ticket is not None
        return Patient(visitor, link, seen.ticket.queue_id, seen.ticket.number)

    async def leave_room(self, patient: Patient) -> None:
        """By the PIN that stands there."""
        went = await self.engine.do(self.venue.id, self.by_link(patient))
        place = went.now.place
        if place is not None:
            patient.room, patient.number = place.queue.id, place.ticket.number

    def by_link(self, patient: Patient) -> VerifyPin:
        return VerifyPin(patient.room, self.pins[patient.room], "", link=patient.link)

    def by_id(self, patient: Patient) -> VerifyPin:
        pin = self.pins[patient.room]
        return VerifyPin(patient.room, pin, "", visitor=patient.visitor, number=patient.number)


def main() -> int:
    given = _arguments()
    must_be_disk(given.directory)
    tempfile.tempdir = str(given.directory)
    rounds, seconds = (1, 0.3) if given.quick else (given.rounds, given.seconds)
    counted, figures = uvloop.run(bench(given.directory, rounds=rounds, seconds=seconds))
    print(look_at_machine(given.directory, postgres="PostgreSQL").sentence(), end="\n\n")
    print(f"{'alone, on PostgreSQL':44}  loads  statements  bar  held")
    for one in counted:
        bar = (f"≤ {MOST_LOADS}", "yes" if one.held else "NO") if one.has_bar else ("", "")
        print(f"{one.what:44}  {one.loads:5}  {one.statements:10}  {bar[0]:>3}  {bar[1]:>4}".rstrip())
    print(f"\n{table(figures)}")
    return 0 if given.quick or all(one.held for one in counted) else 1


async def bench(directory: Path, *, rounds: int, seconds: float) -> tuple[list[Counted], list[Figure]]:
    with server_directory() as inside, PostgresServer(inside) as server:
        counted = await count_loads(server)
        figures = [
            *await _figures("SQLite", sqlite_databases(directory), rounds=rounds, seconds=seconds),
            *await _figures("PostgreSQL", postgres_databases(server), rounds=rounds, seconds=seconds),
        ]
    return counted, figures


# How often it loads


class CountingStore:
    """A store's `transact`, which counts how often its sessions load."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.loads = 0

    async def transact(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        return await self._store.transact(venues, lambda session: work(CountingSession(session, self)))


class CountingSession:
    def __init__(self, session: Session, store: CountingStore) -> None:
        self.heads = session.heads
        self.venues = session.venues
        self.clock_error_ms = session.clock_error_ms
        self.events_after = session.events_after
        self.fences = session.fences
        self._session = session
        self._store = store

    async def load(self, wants: Mapping[VenueId, Wants], *, depth: int) -> dict[VenueId, Rows]:
        self._store.loads += 1
        return await self._session.load(wants, depth=depth)

    async def save(self, changes: Iterable[Changes]) -> None:
        await self._session.save(changes)


async def count_loads(server: PostgresServer) -> list[Counted]:
    """Of each, the second time: the first one reads the venue's set-up, too."""
    statements: list[str] = []
    with server.lend_database() as url:
        async with _logged(url, statements) as store:
            await store.migrate()
            counting = CountingStore(store)
            clinic = Clinic(cast("Store", counting), await found_clinic(store))
            await clinic.begin()
            made = [await _count(clinic, counting, statements, what, make) for what, make in ADVANCES.items()]
            await clinic.engine.stop()
            await must_be_whole(store)
    return made


@asynccontextmanager
async def _logged(url: str, statements: list[str]) -> AsyncIterator[PostgresStore]:
    """Every statement, `BEGIN` and `COMMIT` among them, is written down."""

    async def log(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        connection.add_query_logger(lambda record: statements.append(record.query))

    pool = await asyncpg.create_pool(url, min_size=0, max_size=2, server_settings=SERVER_SETTINGS, init=log)
    store = PostgresStore(pool, clock=now)
    try:
        yield store
    finally:
        await store.close()


Making = Callable[[Clinic], Awaitable[Operation[Any]]]


async def _count(clinic: Clinic, store: CountingStore, statements: list[str], what: str, make: Making) -> Counted:
    for _ in range(2):
        operation = await make(clinic)
        store.loads = 0
        statements.clear()
        await clinic.engine.do(clinic.venue.id, operation)
    return Counted(what, store.loads, len(statements), has_bar=what != ENTER)


async def _called(clinic: Clinic) -> Patient:
    (patient,) = await clinic.come(1)
    called = None
    while called is None or called.visitor != patient.visitor:
        called = (await clinic.engine.do(clinic.venue.id, CallNext(queue=patient.room))).ticket
    return patient


async def _finish(clinic: Clinic) -> Operation[Any]:
    patient = await _called(clinic)
    where = await clinic.engine.do(clinic.venue.id, StartVisit("all", patient.visitor, "any", VisitId(""), ""))
    assert where.ticket is not None
    return Finish(where.ticket.ticket_id)


async def _done_by_staff(clinic: Clinic) -> Operation[Any]:
    patient = await _called(clinic)
    return Done(patient.room, None, "", visitor=patient.visitor, by_staff=True)


async def _pin_after_call(clinic: Clinic) -> Operation[Any]:
    return clinic.by_id(await _called(clinic))


async def _pin_by_id(clinic: Clinic) -> Operation[Any]:
    return clinic.by_id((await clinic.come(2))[1])


async def _pin_by_link(clinic: Clinic) -> Operation[Any]:
    return clinic.by_link((await clinic.come(2))[1])


async def _enter(clinic: Clinic) -> Operation[Any]:
    return msgspec.structs.replace(arrivals(clinic.venue, 1)[0].issue, queue="room-0")


ENTER = "enter"
ADVANCES: Mapping[str, Making] = {
    "finish, by staff": _finish,
    "done, by staff who know the name": _done_by_staff,
    "PIN with id and number, called": _pin_after_call,
    "PIN with id and number, not called yet": _pin_by_id,
    "PIN with the link, not called yet": _pin_by_link,
    ENTER: _enter,
}


# How many a second


async def _figures(name: str, new: Databases, *, rounds: int, seconds: float) -> list[Figure]:
    advancing, entering = f"{name}: advance, {CALLERS} callers", f"{name}: enter, {CALLERS} callers"
    runs = await take_turns(
        {advancing: partial(_advance, new, seconds), entering: partial(_take_numbers, new, seconds)}, rounds=rounds
    )
    share = ratio(runs[advancing], runs[entering])
    return [
        msgspec.structs.replace(figure(advancing, runs[advancing]), ratio=share),
        figure(entering, runs[entering]),
    ]


async def _advance(new: Databases, seconds: float) -> Run:
    """Nobody is asked for again while they are on their way: there are many more people than callers."""
    people = 16 * CALLERS
    async with new() as database:
        clinic = Clinic(database.store, await found_clinic(database.store))
        await clinic.begin()
        patients = await clinic.come(people)
        run = await measure(patients * STAGES, clinic.leave_room, Load(CALLERS, seconds, people * STAGES))
        await clinic.engine.stop()
        await must_be_whole(database.store)
        return run


async def _take_numbers(new: Databases, seconds: float) -> Run:
    async with new() as database:
        engine = Engine(database.store, now)
        most = 16 * CALLERS * STAGES
        run = await measure(
            arrivals(database.venue, most), _without_key(engine, database), Load(CALLERS, seconds, most)
        )
        await engine.stop()
        await must_be_whole(database.store)
        return run


def _without_key(engine: Engine, database: Database) -> Callable[[Any], Awaitable[object]]:
    return lambda arrival: engine.do(database.venue.id, arrival.issue)


async def found_clinic(store: Store) -> Venue:
    code = IDS.venue_code()
    rooms = tuple(Queue(QueueId(f"room-{n}"), {"en": f"Room {n}"}, prefix="R") for n in range(STAGES))
    stages = tuple(Stage(room.id) for room in rooms)
    journey = Journey("all", {"en": "All rooms"}, fixed=stages[:1], free=stages[1:])
    venue = checked(
        Venue(VenueId(code), f"clinic-{code}", {"en": "A clinic"}, "Asia/Qatar", queues=rooms, journeys=(journey,))
    )
    today = venue.day_at(now(), reached=Day(""))
    await store.add_venue(venue, Head(venue.id, epoch=1, day=today, version=0, config_version=0))
    return venue


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.advances", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="to see that it runs; judges nothing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each slice")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="where databases are made: on a disk")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""A new kind of row is a struct, a declaration and its SQL: loading, missing, taking back and saving follow."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from dawr.domain.errors import QueueFull, UnknownTicket
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations import loaded, transaction
from dawr.operations.operation import Operation
from dawr.operations.rows import KINDS
from dawr.operations.transaction import Transaction
from dawr.ports import Store
from dawr.ports.faults import Unstorable
from dawr.stores.migrations import OWNERS
from tests.builders import DrivenClock, a_queue, a_venue
from tests.stores.databases import Database, wall_clock
from tests.stores.doing import create_venue, take, together
from tests.stores.notes import NOTES, Note

ALL = "SELECT ticket_id, text, changes FROM notes ORDER BY ticket_id"


class Write(Operation[Note], frozen=True):
    ticket_id: str
    text: str

    def decide(self, tx: Transaction, now: int) -> Note:  # noqa: ARG002
        before = tx.find(NOTES, self.ticket_id)
        note = Note(tx.venue.id, self.ticket_id, self.text, 0 if before is None else before.changes + 1)
        tx.put(NOTES, note)
        return note


class Regret(Write, frozen=True):
    def decide(self, tx: Transaction, now: int) -> Note:
        super().decide(tx, now)
        raise QueueFull("lab", 0, 0)


class Correct(Operation[Note], frozen=True):
    """Only a note that is there."""

    ticket_id: str
    text: str

    def decide(self, tx: Transaction, now: int) -> Note:  # noqa: ARG002
        note = msgspec.structs.replace(tx.get(NOTES, self.ticket_id), text=self.text)
        tx.put(NOTES, note)
        return note


@pytest.fixture
async def store(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    """A store whose venues have notes too."""
    for module in (loaded, transaction):
        monkeypatch.setattr(module, "KINDS", (*KINDS, NOTES))
    store = await database.open(wall_clock, owners={**OWNERS, "notes": "tests.stores.notes"})
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def venue(store: Store) -> Venue:
    return await create_venue(store, a_venue(a_queue("lab")))


@pytest.fixture
async def engine(store: Store, clock: DrivenClock) -> AsyncIterator[Engine]:
    engine = Engine(store, clock)
    yield engine
    await engine.stop()


async def test_a_row_is_written_changed_and_found_again(database: Database, engine: Engine, venue: Venue) -> None:
    await engine.do(venue.id, Write("t1", "is late"))
    await engine.do(venue.id, Write("t1", "is here"))

    assert (await engine.do(venue.id, Correct("t1", "is gone"))).changes == 1
    assert await database.rows(ALL) == [("t1", "is gone", 1)]


async def test_the_next_of_the_batch_sees_it_and_what_was_refused_is_not_seen(
    database: Database, engine: Engine, venue: Venue
) -> None:
    first, refused, second, other = await together(
        engine.do(venue.id, Write("t1", "one")),
        engine.do(venue.id, Regret("t1", "never")),
        engine.do(venue.id, Write("t1", "two")),
        engine.do(venue.id, Write("t2", "another")),
    )

    assert (first.changes, type(refused), second.changes, other.changes) == (0, QueueFull, 1, 0)
    assert await database.rows(ALL) == [("t1", "two", 1), ("t2", "another", 0)]


async def test_one_that_is_not_there_is_missed_as_it_was_declared(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownTicket):
        await engine.do(venue.id, Correct("t9", "nobody"))


async def test_each_venue_has_its_own(engine: Engine, store: Store, database: Database, venue: Venue) -> None:
    other = await create_venue(store, a_venue(a_queue("lab")))

    notes = await together(*(engine.do(where.id, Write("t1", "hello")) for where in (venue, other, venue)))

    assert [note.changes for note in notes] == [0, 0, 1]
    assert len(await database.rows(ALL)) == 2


async def test_what_the_database_refuses_harms_no_batch_mate(database: Database, engine: Engine, venue: Venue) -> None:
    outcomes = await together(
        engine.do(venue.id, Write("t1", "good")), engine.do(venue.id, Write("t2", "")), take(engine, venue)
    )

    assert isinstance(outcomes[1], Unstorable)
    assert outcomes[2].number == 1
    assert await database.rows(ALL) == [("t1", "good", 0)]


async def test_a_store_that_does_not_know_the_owner_refuses_its_tables(database: Database, store: Store) -> None:
    ignorant = await database.open()

    with pytest.raises(Exception, match="which this Dawr does not know"):
        await ignorant.migrate()
    await ignorant.close()

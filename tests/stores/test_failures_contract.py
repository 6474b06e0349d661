"""Failures: a command that is refused, broken or unstorable fails alone, and leaves nothing."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dawr.domain.errors import InvalidValue, Refused
from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.operation import Operation
from dawr.operations.staff import Call, Called, CallNext, Hold
from dawr.operations.ticket import Joined, change
from dawr.operations.transaction import Transaction
from dawr.operations.visitor import Leave
from dawr.ports import Store, Wants
from dawr.ports.faults import Unstorable
from tests.builders import a_venue, call_next, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, elsewhere, events_of, kinds_of, numbers, stored_head, take, together


class ThenFails(Operation[None], frozen=True):
    """Another operation that comes to nothing after all."""

    inner: Operation[Any]
    make_fault: Callable[[], Exception]

    def wants(self, venue: Venue, wants: Wants) -> None:
        self.inner.wants(venue, wants)

    def decide(self, tx: Transaction, now: int) -> None:
        self.inner.decide(tx, now)
        raise self.make_fault()


class WantsTooMuch(Operation[None], frozen=True):
    """Fails before anything is loaded."""

    def wants(self, venue: Venue, wants: Wants) -> None:  # noqa: ARG002 - every operation is asked in the same way
        raise ZeroDivisionError


class RecallEndlessly(Operation[Ticket], frozen=True):
    """A count that no database can hold."""

    ticket_id: TicketId

    def decide(self, tx: Transaction, now: int) -> Ticket:
        return change(tx, self.ticket_id, "recall", now, recalls=2**70)


async def test_a_refused_command_harms_nobody_in_its_batch(engine: Engine, venue: Venue) -> None:
    outcomes = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, issue("nowhere")),
        engine.do(venue.id, issue(visitor=" ")),
        engine.do(venue.id, issue(priority=9)),
        engine.do(venue.id, issue()),
    )

    assert numbers(outcomes) == [1, "UnknownQueue", "InvalidValue", "InvalidValue", 2]


async def test_a_command_refused_half_way_leaves_nothing(
    database: Database, engine: Engine, store: Store, venue: Venue
) -> None:
    def refusal() -> Refused:
        return InvalidValue("test", "after-all")

    _, refused, after, called = await together(
        engine.do(venue.id, issue("lab")),
        engine.do(venue.id, ThenFails(issue("xray"), refusal)),
        engine.do(venue.id, issue("xray")),
        engine.do(venue.id, call_next("xray")),
    )

    assert isinstance(refused, InvalidValue)
    assert isinstance(after, Joined)
    assert isinstance(called, Called)
    assert (after.ticket.number, after.ahead, called.waiting) == (1, 0, 0)
    assert await database.rows("SELECT count(*) FROM visits") == [(2,)]
    assert await kinds_of(engine, venue) == ["ticket.issued", "ticket.issued", "ticket.called"]
    assert (await stored_head(store, venue)).version == 3


async def test_a_batch_of_refusals_stores_nothing(engine: Engine, store: Store, venue: Venue) -> None:
    before = await stored_head(store, venue)

    outcomes = await together(*(engine.do(venue.id, issue("nowhere")) for _ in range(5)))

    assert numbers(outcomes) == ["UnknownQueue"] * 5
    assert await stored_head(store, venue) == before


@pytest.mark.parametrize(
    "undone",
    [
        lambda ticket: Call(ticket.ticket_id),
        lambda ticket: Hold(ticket.ticket_id),
        lambda ticket: Leave(ticket.ticket_id),
        lambda _: CallNext(queue="lab"),
        lambda _: Reset("lab"),
        lambda _: ChangeQueue("lab", "pause"),
        lambda _: ChangeQueue("lab", "close"),
    ],
    ids=["call", "hold", "leave", "call-next", "reset", "pause", "close"],
)
async def test_what_a_failed_command_did_is_unseen_by_its_batch_mates(
    engine: Engine, venue: Venue, undone: Callable[[Ticket], Operation[Any]]
) -> None:
    first = await take(engine, venue, visitor="Aisha")

    failed, again, called, newcomer = await together(
        engine.do(venue.id, ThenFails(undone(first), ZeroDivisionError)),
        engine.do(venue.id, issue(visitor="Aisha")),
        engine.do(venue.id, call_next()),
        engine.do(venue.id, issue()),
    )

    assert isinstance(failed, ZeroDivisionError)
    assert isinstance(again, Joined)
    assert isinstance(called, Called)
    assert isinstance(newcomer, Joined)
    assert called.ticket is not None
    assert (again.ticket, called.ticket.ticket_id) == (first, first.ticket_id)
    assert (newcomer.ticket.number, newcomer.ticket.round, newcomer.ahead) == (2, 1, 0)


@pytest.mark.parametrize("fault", [ZeroDivisionError, KeyError, StopIteration, RecursionError])
async def test_a_command_with_a_bug_fails_alone(
    database: Database, engine: Engine, venue: Venue, fault: Callable[[], Exception]
) -> None:
    first, failed, last = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, ThenFails(issue(), fault)),
        engine.do(venue.id, issue()),
    )

    assert not isinstance(failed, Joined)
    assert numbers([first, last]) == [1, 2]
    assert await database.rows("SELECT count(*) FROM tickets") == [(2,)]


async def test_a_command_that_fails_before_loading_fails_alone(engine: Engine, venue: Venue) -> None:
    first, failed, last = await together(
        engine.do(venue.id, issue()), engine.do(venue.id, WantsTooMuch()), engine.do(venue.id, issue())
    )

    assert isinstance(failed, ZeroDivisionError)
    assert numbers([first, last]) == [1, 2]


@pytest.mark.parametrize("where", [0, 7, 15])
async def test_a_row_that_cannot_be_written_fails_alone(
    database: Database, engine: Engine, venue: Venue, where: int
) -> None:
    operations = [issue() for _ in range(16)]
    operations[where] = msgspec.structs.replace(operations[where], secret_hash="\ud800")

    outcomes = await together(*(engine.do(venue.id, operation) for operation in operations))

    assert isinstance(outcomes.pop(where), Unstorable)
    assert numbers(outcomes) == list(range(1, 16))
    assert [event.version for event in await events_of(engine, venue)] == list(range(1, 16))
    assert await database.rows("SELECT count(*) FROM visits") == [(15,)]


async def test_a_number_too_large_for_the_database_fails_alone(engine: Engine, venue: Venue) -> None:
    called = await take(engine, venue)
    await engine.do(venue.id, Call(called.ticket_id))

    first, failed, last = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, RecallEndlessly(called.ticket_id)),
        engine.do(venue.id, issue()),
    )

    assert isinstance(failed, Unstorable)
    assert numbers([first, last]) == [2, 3]


async def test_a_row_that_breaks_a_constraint_fails_alone(engine: Engine, venue: Venue) -> None:
    taken = issue()
    await engine.do(venue.id, taken)

    outcomes = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, msgspec.structs.replace(issue("lab", "Basma"), visit_id=taken.visit_id)),
        engine.do(venue.id, issue()),
        engine.do(venue.id, msgspec.structs.replace(issue(), ticket_id=taken.ticket_id)),
        engine.do(venue.id, issue()),
    )

    assert numbers(outcomes) == [2, "Unstorable", 3, "Unstorable", 4]


async def test_a_key_that_cannot_be_looked_up_fails_alone(engine: Engine, venue: Venue) -> None:
    first, failed, last = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, Leave(TicketId("\ud800"))),
        engine.do(venue.id, issue()),
    )

    assert isinstance(failed, Unstorable)
    assert numbers([first, last]) == [1, 2]


async def test_a_bad_row_in_one_venue_does_not_fail_another(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())

    outcomes = await together(
        engine.do(other.id, issue()),
        engine.do(venue.id, msgspec.structs.replace(issue(), secret_hash="\ud800")),
        engine.do(other.id, issue()),
    )

    assert numbers(outcomes) == [1, "Unstorable", 2]


async def test_a_venue_that_there_is_not_harms_nobody(engine: Engine, venue: Venue) -> None:
    outcomes = await together(
        engine.do(venue.id, issue()), engine.do(elsewhere(venue), issue()), engine.do(venue.id, issue())
    )

    assert numbers(outcomes) == [1, "UnknownVenue", 2]

"""Rows of any kind: changed with or without an event, seen by batch mates, kept by a refusal that is returned."""

from typing import Any, ClassVar

import msgspec
import pytest

from dawr.domain.errors import Refused, UnknownVisit, VenueInactive
from dawr.domain.ticket import VisitId
from dawr.domain.venue import Venue
from dawr.domain.visit import Visit
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.rows import VISITS
from dawr.operations.transaction import Transaction
from dawr.ports import Store, Wants
from dawr.reliability.idempotency import Reply
from tests.builders import DrivenClock, Told, a_claim, issue
from tests.stores.databases import Database
from tests.stores.doing import load, stored_head, take, together

ANSWERS = "SELECT status, body FROM idempotency"


class EndVisit(Operation[Visit], frozen=True):
    """Changes a row, and is no event."""

    visit_id: VisitId

    def wants(self, venue: Venue, wants: Wants) -> None:  # noqa: ARG002 - every operation is asked in the same way
        wants.add(VISITS, self.visit_id)

    def decide(self, tx: Transaction, now: int) -> Visit:
        visit = msgspec.structs.replace(tx.get(VISITS, self.visit_id), state="finished", finished_at=now)
        tx.put(VISITS, visit)
        return visit


class Counted(Operation[None], frozen=True):
    """Refused, and what it counted stays: here in `left_at`."""

    visit_id: VisitId

    def decide(self, tx: Transaction, now: int) -> Refused | None:  # noqa: ARG002
        visit = tx.get(VISITS, self.visit_id)
        tx.put(VISITS, msgspec.structs.replace(visit, left_at=(visit.left_at or 0) + 1))
        return VenueInactive("clinic")


class CountedEachTime(Counted, frozen=True):
    keeps_refusals: ClassVar[bool] = False


class Raised(Counted, frozen=True):
    def decide(self, tx: Transaction, now: int) -> None:
        refusal = super().decide(tx, now)
        assert refusal is not None
        raise refusal


class RefusedForNothing(Operation[None], frozen=True):
    """Returns a refusal without having changed anything."""

    def decide(self, tx: Transaction, now: int) -> Refused | None:  # noqa: ARG002
        return VenueInactive("clinic")


def problem(outcome: Any) -> Reply:  # noqa: ANN401 - whatever came of it
    return Reply(409, str(outcome).encode()) if isinstance(outcome, Refused) else Reply(200, b"done")


async def stored_visit(store: Store, venue: Venue, visit_id: VisitId) -> Visit:
    (visit,) = (await load(store, venue, Wants(rows={VISITS: {visit_id}}))).of(VISITS)
    return visit


async def test_a_row_that_changed_without_an_event_is_saved(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    visit_id = (await take(engine, venue)).visit_id
    before = await stored_head(store, venue)

    await engine.do(venue.id, EndVisit(visit_id))

    visit = await stored_visit(store, venue, visit_id)
    assert (visit.state, visit.finished_at) == ("finished", clock.now)
    assert (await stored_head(store, venue)).version == before.version


async def test_a_row_that_changed_without_an_event_is_told_of(store: Store, clock: DrivenClock, venue: Venue) -> None:
    told: list[Any] = []
    engine = Engine(store, clock, listeners=[Told(told.append)])
    visit_id = (await take(engine, venue)).visit_id
    told.clear()

    await engine.do(venue.id, EndVisit(visit_id))
    await engine.stop()

    (((changes,)),) = told
    assert (changes.events, [visit.visit_id for visit in changes.of(VISITS)]) == ([], [visit_id])


async def test_a_visit_that_one_command_changed_is_so_for_the_next_one_of_its_batch(
    engine: Engine, store: Store, venue: Venue
) -> None:
    taking = issue()

    joined, first, second = await together(
        engine.do(venue.id, taking),
        engine.do(venue.id, Counted(taking.visit_id)),
        engine.do(venue.id, EndVisit(taking.visit_id)),
    )

    assert joined.ticket.number == 1
    assert isinstance(first, VenueInactive)
    assert (second.state, second.left_at) == ("finished", 1)
    assert await stored_visit(store, venue, taking.visit_id) == second


async def test_a_visit_that_is_not_there_is_said_so(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownVisit):
        await engine.do(venue.id, EndVisit(VisitId("nobody's")))


async def test_a_refusal_that_is_returned_keeps_what_was_changed_and_one_that_is_raised_does_not(
    engine: Engine, store: Store, venue: Venue
) -> None:
    visit_id = (await take(engine, venue)).visit_id

    outcomes = await together(
        engine.do(venue.id, Counted(visit_id)),
        engine.do(venue.id, Raised(visit_id)),
        engine.do(venue.id, Counted(visit_id)),
    )

    assert [type(outcome) for outcome in outcomes] == [VenueInactive] * 3
    assert (await stored_visit(store, venue, visit_id)).left_at == 2


async def test_a_returned_refusal_is_stored_under_its_key_and_replayed(
    database: Database, engine: Engine, store: Store, venue: Venue
) -> None:
    visit_id = (await take(engine, venue)).visit_id

    with pytest.raises(VenueInactive) as first:
        await engine.answer(venue.id, Counted(visit_id), problem, claim=a_claim())
    again = await engine.answer(venue.id, Counted(visit_id), problem, claim=a_claim())

    assert (again.status, again.body, again.replayed) == (409, str(first.value).encode(), True)
    assert (await stored_visit(store, venue, visit_id)).left_at == 1
    assert await database.rows(ANSWERS) == [(409, again.body)]


async def test_of_many_at_once_under_one_key_a_returned_refusal_counts_once(
    engine: Engine, store: Store, venue: Venue
) -> None:
    visit_id = (await take(engine, venue)).visit_id

    outcomes = await together(
        *(engine.answer(venue.id, Counted(visit_id), problem, claim=a_claim()) for _ in range(20))
    )

    assert [type(outcome) for outcome in outcomes] == [VenueInactive] + [Reply] * 19
    assert (await stored_visit(store, venue, visit_id)).left_at == 1


async def test_an_operation_may_say_that_its_refusals_are_not_stored(
    database: Database, engine: Engine, store: Store, venue: Venue
) -> None:
    visit_id = (await take(engine, venue)).visit_id

    for _ in range(2):
        with pytest.raises(VenueInactive):
            await engine.answer(venue.id, CountedEachTime(visit_id), problem, claim=a_claim())

    assert (await stored_visit(store, venue, visit_id)).left_at == 2
    assert await database.rows(ANSWERS) == []


async def test_a_returned_refusal_that_changed_nothing_is_not_stored(
    database: Database, engine: Engine, venue: Venue
) -> None:
    for _ in range(2):
        with pytest.raises(VenueInactive):
            await engine.answer(venue.id, RefusedForNothing(), problem, claim=a_claim())

    assert await database.rows(ANSWERS) == []

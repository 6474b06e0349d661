"""What a visitor sees of their own visit: when each stage was done."""

from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.phone import LookAtStay
from dawr.operations.staff import Call, Finish
from tests.builders import MONDAY_AT_TEN, DrivenClock
from tests.stores.doing import begin_visit, link_to, look, ticket_of


async def test_a_visitor_sees_when_each_stage_was_done(engine: Engine, clock: DrivenClock, clinic: Venue) -> None:
    begun = await begin_visit(engine, clinic)
    done = []
    for _ in range(2):
        ticket = ticket_of(await look(engine, clinic, begun.visit))
        await engine.do(clinic.id, Call(ticket.ticket_id))
        clock.advance(minutes=5)
        await engine.do(clinic.id, Finish(ticket.ticket_id))
        done.append(ticket.ticket_id)

    stay = await engine.read(clinic.id, LookAtStay(link_to(begun.visit)))

    five_minutes = 5 * 60 * 1000
    assert stay.finished_at == {done[0]: MONDAY_AT_TEN + five_minutes, done[1]: MONDAY_AT_TEN + 2 * five_minutes}
    assert stay.now == clock.now
    assert stay.seen == await look(engine, clinic, begun.visit)

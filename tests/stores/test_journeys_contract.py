"""Visits with a plan: finishing a stage, choosing the next and issuing its ticket are one change."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest

from dawr.domain.errors import (
    NotForThisAudience,
    NotInQueue,
    UnknownJourney,
    UnknownVisit,
    VenueInactive,
    VisitInWrongState,
)
from dawr.domain.queue import QueueId
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset, SetUp
from dawr.operations.operation import Operation
from dawr.operations.pins import Done, VerifyPin
from dawr.operations.snapshots import LookAtTicket, LookAtVisitor
from dawr.operations.staff import Call, Finish
from dawr.operations.visits import LeaveByLink, LookAtChoice, LookAtVisit
from dawr.ports import Changes, Rows, Store, Wants
from dawr.stores.session import RowSession
from tests.builders import DrivenClock, Told, a_journey, a_queue, a_venue, issue, start_visit
from tests.stores.databases import Database
from tests.stores.doing import (
    LOOPS,
    begin_visit,
    create_venue,
    data_of,
    finish,
    in_loops,
    kinds_of,
    link_to,
    look,
    pins_of,
    stages_of,
    stored_ticket,
    stored_visit,
    take,
    ticket_of,
    together,
)


@pytest.fixture
def heard() -> list[list[Changes]]:
    """What each batch changed."""
    return []


@pytest.fixture
async def engine(store: Store, clock: DrivenClock, heard: list[list[Changes]]) -> AsyncIterator[Engine]:
    engine = Engine(store, clock, listeners=[Told(heard.append)])
    yield engine
    await engine.stop()


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[VenueId, Wants]]:
    """What was asked for in one go, each time."""
    asked: list[Mapping[VenueId, Wants]] = []
    load = RowSession.load

    async def noted(self: RowSession, wants: Mapping[VenueId, Wants], *, depth: int) -> dict[VenueId, Rows]:
        asked.append(wants)
        return await load(self, wants, depth=depth)

    monkeypatch.setattr(RowSession, "load", noted)
    return asked


async def test_a_visit_begins_in_the_first_queue_of_its_plan(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic, "Aisha", journey="تجنيد")

    ticket, visit = ticket_of(seen), seen.visit
    assert (ticket.queue_id, ticket.number, ticket.stage, ticket.visit_id) == ("lab", 1, 0, visit.visit_id)
    assert stages_of(visit) == {"lab": "in_queue", "xray": "locked", "ent": "locked"}
    assert await stored_visit(store, clinic, visit.visit_id) == visit
    assert (visit.journey, visit.open_key) == ("army", "Aisha")
    assert await kinds_of(engine, clinic) == ["visit.started", "ticket.issued"]


async def test_an_advance_is_one_transaction(
    engine: Engine, store: Store, clinic: Venue, heard: list[list[Changes]]
) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))
    heard.clear()

    finished = await engine.do(clinic.id, Finish(ticket_of(seen).ticket_id))

    [[changed]] = heard
    assert [event.kind for event in changed.events] == ["ticket.finished", "ticket.issued"]
    after = await look(engine, clinic, seen.visit)
    assert ticket_of(after).from_ticket_id == finished.ticket_id
    assert stages_of(after.visit) == {"lab": "completed", "xray": "in_queue", "ent": "locked"}
    assert await store.faults() == []


async def test_an_advance_that_cannot_be_stored_leaves_the_visitor_where_they_were(
    database: Database, engine: Engine, store: Store, clinic: Venue
) -> None:
    """The number that the next ticket would get is taken: nothing of the finish is stored either."""
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))
    await take(engine, clinic, queue="xray")
    await database.rows("UPDATE lines SET last_number = 0, waiting = '[0,0,0,0]' WHERE queue_id = 'xray'")

    (outcome,) = await together(engine.do(clinic.id, Finish(ticket_of(seen).ticket_id)))

    assert isinstance(outcome, Exception)
    assert (await stored_ticket(store, clinic, ticket_of(seen).ticket_id)).state == "called"
    assert stages_of(await stored_visit(store, clinic, seen.visit.visit_id))["lab"] == "in_queue"


async def test_the_events_say_where_a_visitor_goes_and_which_visit_a_number_carries_on(
    engine: Engine, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    await finish(engine, clinic, ticket_of(seen).ticket_id)

    (finished,) = await data_of(engine, clinic, "ticket.finished")
    issued = await data_of(engine, clinic, "ticket.issued")
    assert finished["next"] == "xray"
    assert [facts["visit"] for facts in issued] == [seen.visit.visit_id] * 2


async def test_whoever_goes_on_keeps_their_priority_and_stands_at_the_end_of_the_next_line(
    engine: Engine, clinic: Venue
) -> None:
    waiting = [await take(engine, clinic, queue="xray", priority=priority) for priority in (0, 2, 2)]
    seen = await begin_visit(engine, clinic, journey="short", priority=2)

    place = await engine.read(clinic.id, LookAtTicket(ticket_of(seen).ticket_id))

    assert ticket_of(seen).priority == 2
    assert place.ahead == 2
    assert ticket_of(seen).number == len(waiting) + 1
    army = await begin_visit(engine, clinic, priority=3)
    await finish(engine, clinic, ticket_of(army).ticket_id)
    assert ticket_of(await look(engine, clinic, army.visit)).priority == 3


async def test_the_next_queue_is_where_the_visitor_is_called_soonest(engine: Engine, clinic: Venue) -> None:
    near, far = await begin_visit(engine, clinic), await begin_visit(engine, clinic)
    await finish(engine, clinic, ticket_of(near).ticket_id)  # nobody waits: the near one
    await finish(engine, clinic, ticket_of(far).ticket_id)  # five minutes there, three minutes to walk

    assert ticket_of(await look(engine, clinic, near.visit)).queue_id == "xray"
    assert ticket_of(await look(engine, clinic, far.visit)).queue_id == "ent"


async def test_a_plan_that_is_walked_to_its_end_finishes_the_visit(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic, "Aisha")
    walked = []
    while (ticket := ticket_of(await look(engine, clinic, seen.visit))).is_open:
        walked.append(ticket.queue_id)
        clock.advance(minutes=5)
        await finish(engine, clinic, ticket.ticket_id)

    done = await stored_visit(store, clinic, seen.visit.visit_id)
    assert walked == ["lab", "xray", "ent"]
    assert (done.state, done.finished_at, done.open_key) == ("finished", clock.now, None)
    assert set(stages_of(done).values()) == {"completed"}
    assert (await kinds_of(engine, clinic))[-1] == "visit.finished"
    assert not (await begin_visit(engine, clinic, "Aisha")).already


async def test_what_is_set_up_later_does_not_change_a_plan_under_way(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    shorter = msgspec.structs.replace(clinic, journeys=(a_journey("army", "xray"),))

    await engine.do(clinic.id, SetUp(shorter))

    assert (await stored_visit(store, clinic, seen.visit.visit_id)).plan == seen.visit.plan
    assert list(stages_of((await begin_visit(engine, clinic)).visit)) == ["xray"]


# Who else stands there


async def test_who_enters_the_queue_that_their_journey_led_them_to_keeps_their_number(
    engine: Engine, clinic: Venue
) -> None:
    planned = ticket_of(await begin_visit(engine, clinic, "Aisha"))

    with pytest.raises(NotInQueue):
        await engine.read(clinic.id, LookAtVisitor("lab", "Aisha"))
    entered = await engine.do(clinic.id, issue("lab", "Aisha"))

    assert entered.already
    assert entered.ticket == planned
    assert (await kinds_of(engine, clinic)).count("ticket.issued") == 1


async def test_an_open_ticket_in_the_chosen_queue_is_adopted_and_its_old_link_leads_nowhere(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    single = await take(engine, clinic, queue="xray", visitor="Aisha")
    await take(engine, clinic, queue="xray")
    old = await stored_visit(store, clinic, single.visit_id)

    seen = await begin_visit(engine, clinic, "Aisha", journey="short")

    ticket = ticket_of(seen)
    assert (ticket.ticket_id, ticket.number, ticket.sequence) == (single.ticket_id, 1, single.sequence)
    assert (ticket.visit_id, ticket.stage, ticket.open_key) == (seen.visit.visit_id, 0, "xray:Aisha")
    assert await stored_ticket(store, clinic, single.ticket_id) == ticket
    assert "ticket.adopted" in await kinds_of(engine, clinic)
    link = msgspec.structs.replace(link_to(old), secret_hash=old.secret_hash)
    with pytest.raises(UnknownVisit):
        await engine.read(clinic.id, LookAtVisit(link))
    with pytest.raises(VisitInWrongState):
        await engine.do(clinic.id, LeaveByLink(link))
    assert (await stored_visit(store, clinic, single.visit_id)).state == "left"
    assert await store.faults() == []


async def test_an_adopted_ticket_carries_the_visit_on_when_it_is_finished(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    single = await take(engine, clinic, queue="lab", visitor="Aisha")
    seen = await begin_visit(engine, clinic, "Aisha")

    await finish(engine, clinic, single.ticket_id)

    after = await look(engine, clinic, seen.visit)
    assert stages_of(after.visit)["lab"] == "completed"
    assert ticket_of(after).queue_id == "xray"
    assert await store.faults() == []


async def test_a_ticket_that_a_reset_ended_is_not_adopted(engine: Engine, store: Store, clinic: Venue) -> None:
    single = await take(engine, clinic, queue="xray", visitor="Aisha")
    await engine.do(clinic.id, Reset("xray"))  # and nobody has swept yet

    seen = await begin_visit(engine, clinic, "Aisha", journey="short")

    assert ticket_of(seen).ticket_id != single.ticket_id
    assert (await stored_ticket(store, clinic, single.ticket_id)).state == "expired"
    assert await store.faults() == []


# One at a time, and not too many loads


async def test_whoever_has_a_visit_under_way_begins_no_other(engine: Engine, clinic: Venue) -> None:
    first = await begin_visit(engine, clinic, "Aisha")

    again = await begin_visit(engine, clinic, "Aisha", journey="short")

    assert again.already
    assert again.visit == first.visit
    assert (await kinds_of(engine, clinic)).count("visit.started") == 1


async def test_at_an_inactive_venue_only_staff_find_a_visit_under_way(engine: Engine, clinic: Venue) -> None:
    first = await begin_visit(engine, clinic, "Aisha")
    await engine.do(clinic.id, SetUp(msgspec.structs.replace(clinic, active=False)))

    for visitor in ("Aisha", "Basma"):
        with pytest.raises(VenueInactive):
            await begin_visit(engine, clinic, visitor)
    by_staff = msgspec.structs.replace(start_visit("army", "Aisha"), by_staff=True)
    assert (await engine.do(clinic.id, by_staff)).visit == first.visit


async def test_fifty_who_begin_at_once_begin_one_visit(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    async def begin(engine: Engine) -> list[tuple[str, bool]]:
        outcomes = await together(*(engine.do(clinic.id, start_visit("army", "Aisha")) for _ in range(52 // LOOPS)))
        return [(seen.visit.visit_id, seen.already) for seen in outcomes]

    begun = [each for part in await in_loops(database, store, clock, begin) for each in part]

    assert len(begun) == 52
    assert len({visit_id for visit_id, _ in begun}) == 1
    assert [already for _, already in begun].count(False) == 1
    assert await database.rows("SELECT count(*) FROM visits") == [(1,)]
    assert await database.rows("SELECT count(*) FROM tickets") == [(1,)]


async def test_the_database_itself_keeps_two_open_plans_of_one_visitor_apart(
    database: Database, engine: Engine, clinic: Venue
) -> None:
    await begin_visit(engine, clinic, "Aisha")
    await begin_visit(engine, clinic, "Basma")

    with pytest.raises(Exception, match=r"(?i)unique"):
        await database.rows("UPDATE visits SET open_key = 'Aisha'")


async def test_an_advance_needs_at_most_three_loads(
    engine: Engine, clinic: Venue, loads: list[Mapping[VenueId, Wants]]
) -> None:
    pins = await pins_of(engine, clinic)
    by_staff, by_link, out_of_order, by_name, done, done_by_staff, _ = [
        await begin_visit(engine, clinic) for _ in range(7)
    ]
    for seen in (by_staff, by_link):
        await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))
    counts = []
    advances: tuple[Operation[Any], ...] = (
        Finish(ticket_of(by_staff).ticket_id),
        VerifyPin("lab", pins["lab"], "", link=link_to(by_link.visit)),
        VerifyPin("lab", pins["lab"], "", link=link_to(out_of_order.visit)),
        VerifyPin("lab", pins["lab"], "", visitor=by_name.visit.visitor, number=ticket_of(by_name).number),
        Done("lab", pins["lab"], "", visitor=done.visit.visitor),
        Done("lab", None, "", visitor=done_by_staff.visit.visitor, by_staff=True),
    )
    for advance in advances:
        loads.clear()
        await engine.do(clinic.id, advance)
        counts.append(len(loads))

    assert max(counts) <= 3, counts


async def test_ten_candidates_are_asked_for_at_once(
    engine: Engine, store: Store, loads: list[Mapping[VenueId, Wants]]
) -> None:
    queues = [f"q{number}" for number in range(11)]
    venue = msgspec.structs.replace(
        a_venue(*(a_queue(code) for code in queues)), journeys=(a_journey("army", *queues[1:], fixed=("q0",)),)
    )
    await create_venue(store, venue)
    seen = await begin_visit(engine, venue)
    await engine.do(venue.id, Call(ticket_of(seen).ticket_id))
    loads.clear()

    await engine.do(venue.id, Finish(ticket_of(seen).ticket_id))

    assert len(loads) <= 3
    assert max(len(wants[venue.id].current_lines) for wants in loads) == 10


# Who may begin, and what a choice looks like


async def test_a_journey_of_others_or_of_nobody_begins_nothing(
    database: Database, engine: Engine, clinic: Venue
) -> None:
    with pytest.raises(NotForThisAudience):
        await begin_visit(engine, clinic, journey="women", audience="men")
    with pytest.raises(UnknownJourney):
        await begin_visit(engine, clinic, journey="pilgrim")

    assert await database.rows("SELECT count(*) FROM visits") == [(0,)]


async def test_a_journey_that_leads_to_nothing_for_this_visitor_is_not_theirs(engine: Engine, store: Store) -> None:
    queue = msgspec.structs.replace(a_queue("eye"), audience="women")
    venue = msgspec.structs.replace(a_venue(queue), journeys=(a_journey("eyes", "eye"),))
    await create_venue(store, venue)

    with pytest.raises(NotForThisAudience):
        await begin_visit(engine, venue, journey="eyes", audience="men")


async def test_a_stage_of_others_is_left_out_of_a_plan(engine: Engine, store: Store) -> None:
    women = msgspec.structs.replace(a_queue("eye"), audience="women")
    venue = msgspec.structs.replace(a_venue(women, a_queue("ent")), journeys=(a_journey("both", "eye", "ent"),))
    await create_venue(store, venue)

    plans = [(await begin_visit(engine, venue, journey="both", audience=who)).visit for who in ("men", "women", "any")]

    assert [[stage.queue for stage in plan.plan] for plan in plans] == [["ent"], ["eye", "ent"], ["eye", "ent"]]


async def test_a_choice_shows_each_candidates_score_or_why_it_is_left_out(engine: Engine, clinic: Venue) -> None:
    for _ in range(2):
        await take(engine, clinic, queue="xray")

    _, seen = await engine.read(clinic.id, LookAtChoice("women", "women"))

    assert [(each.queue_id, each.score, each.waiting, each.left_out) for each in seen] == [
        (QueueId("eye"), 0, 0, None),
        (QueueId("xray"), 10, 2, None),
    ]


async def test_a_visit_that_a_closed_queue_did_not_take_is_due_at_the_moment_it_opens(
    database: Database, engine: Engine, clock: DrivenClock, clinic: Venue
) -> None:
    due = f"SELECT due_at FROM alarms WHERE venue_id = '{clinic.id}' AND kind = 'enter'"
    await engine.do(clinic.id, ChangeQueue("lab", "close"))
    begun = await begin_visit(engine, clinic, "Aisha", journey="army")
    waits = await database.rows(due)

    clock.advance(seconds=1)
    await engine.do(clinic.id, ChangeQueue("lab", "open"))

    assert begun.ticket is None
    assert waits[0][0] > clock.now
    assert await database.rows(due) == [(clock.now,)]

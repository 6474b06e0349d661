"""The PINs of a venue's queues: all different, changed by managers and by whoever sits there, and in no event."""

import msgspec
import pytest
from msgspec.structs import replace

from dawr.domain.errors import (
    InvalidValue,
    NotAtThisDesk,
    NotInQueue,
    PinRefused,
    PinTaken,
    PinWrong,
    TicketInWrongState,
)
from dawr.domain.events import Origin
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.desks import CloseDesk, OpenDesk
from dawr.operations.pins import Done, GivePin, LookAtPin, RenewPins, RotatePin, VerifyPin
from dawr.operations.staff import Call, Miss
from dawr.ports import Store
from tests.builders import DrivenClock, a_new, a_queue, a_venue
from tests.stores.databases import Database
from tests.stores.doing import (
    begin_visit,
    create_venue,
    events_of,
    kinds_of,
    link_to,
    look,
    pins_of,
    stages_of,
    stored_visit,
    take,
    ticket_of,
    together,
)

NOOR = Origin(actor="noor")
ARABIC_INDIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def renew() -> RenewPins:
    return RenewPins(a_new("chance"), is_manager=True)


def rotate(queue: str, pin: str | None = None) -> RotatePin:
    return RotatePin(a_new("chance"), is_manager=True, queue=queue, pin=pin)


async def test_the_pins_of_fifty_queues_all_differ_however_often_they_are_changed(
    engine: Engine, store: Store, clock: DrivenClock
) -> None:
    venue = await create_venue(store, a_venue(*(a_queue(f"q{number}") for number in range(50))))
    seen = [await pins_of(engine, venue)]
    for _ in range(3):
        clock.advance(minutes=1)
        await engine.do(venue.id, renew())
        seen.append(await pins_of(engine, venue))

    for pins in seen:
        assert len(set(pins.values())) == 50
        assert {len(pin) for pin in pins.values()} == {2}
    for queue in seen[0]:
        assert len({pins[queue] for pins in seen}) == len(seen), "a PIN of a moment ago came back"


async def test_a_pin_is_made_once_a_day_by_however_many_ask(engine: Engine, clock: DrivenClock, clinic: Venue) -> None:
    asked = await together(
        *(engine.do(clinic.id, GivePin(a_new("chance"), is_manager=True, queue="lab")) for _ in range(20))
    )
    clock.advance(days=1)
    await engine.do(clinic.id, GivePin(a_new("chance"), is_manager=True, queue="lab"))

    assert len({pin.pin for (pin,) in asked}) == 1
    assert (await kinds_of(engine, clinic)).count("pin.made") == 2


async def test_no_event_says_a_pin(engine: Engine, store: Store, clinic: Venue) -> None:
    venue = replace(clinic, id="v-long", slug="long", pin_digits=6)
    await create_venue(store, venue)
    first = await pins_of(engine, venue)
    await engine.do(venue.id, renew())
    await engine.do(venue.id, rotate("lab", "424242"))
    now = await pins_of(engine, venue)
    said = {"989898", *first.values(), *now.values()}
    seen = await begin_visit(engine, venue, "Aisha")
    for pin in ("989898", first["lab"], now["xray"], now["lab"]):
        await together(engine.do(venue.id, VerifyPin("lab", pin, a_new("attempt"), link=link_to(seen.visit))))

    events = await events_of(engine, venue)
    visit = str(await stored_visit(store, venue, seen.visit.visit_id))

    assert {"pin.made", "pin.rotated", "pin.failed"} <= {event.kind for event in events}
    assert not [event for event in events for pin in said if pin in event.data]
    assert not [pin for pin in said if pin in visit]


async def test_a_given_pin_keeps_its_leading_zeros_and_is_nobody_elses(engine: Engine, clinic: Venue) -> None:
    pins = await pins_of(engine, clinic)
    free = next(pin for pin in (f"{number:02}" for number in range(10)) if pin not in pins.values())
    (given,) = await engine.do(clinic.id, rotate("lab", free.translate(ARABIC_INDIC)))

    assert given.pin == free
    for taken in (pins["xray"], free, pins["lab"]):
        with pytest.raises(PinTaken):
            await engine.do(clinic.id, rotate("lab", taken))
    with pytest.raises(PinTaken):
        await engine.do(clinic.id, rotate("xray", free))


@pytest.mark.parametrize("pin", ["", "1", "123", "1234567", "ab", "1٢"])
async def test_a_given_pin_of_another_length_or_of_two_scripts_is_refused(
    engine: Engine, clinic: Venue, pin: str
) -> None:
    before = await pins_of(engine, clinic)

    with pytest.raises(InvalidValue) as refusal:
        await engine.do(clinic.id, rotate("lab", pin))

    assert refusal.value.facts["field"] == "pin"
    assert await pins_of(engine, clinic) == before


async def test_a_pin_is_for_managers_and_for_whoever_sits_at_a_desk_of_the_queue(engine: Engine, clinic: Venue) -> None:
    async def ask(queue: str, by: Origin) -> bool:
        """Whether they were given it, may change it and see it."""
        asked = GivePin(a_new("chance"), is_manager=False, queue=queue)
        changed = RotatePin(a_new("chance"), is_manager=False, queue=queue)
        outcomes = await together(
            engine.do(clinic.id, asked, origin=by),
            engine.do(clinic.id, changed, origin=by),
            engine.read(clinic.id, LookAtPin(queue, by.actor, is_manager=False)),
        )
        _, _, pin = outcomes.pop()
        allowed = {not isinstance(outcome, NotAtThisDesk) for outcome in outcomes} | {pin is not None}
        assert len(allowed) == 1
        return allowed.pop()

    outside = await ask("lab", NOOR)
    await engine.do(clinic.id, OpenDesk("desk-2", "chance"), origin=NOOR)
    inside = [await ask(queue, NOOR) for queue in ("lab", "xray", "ent")]
    somebody_else = [await ask("lab", by) for by in (Origin(actor="amna"), Origin())]
    await engine.do(clinic.id, CloseDesk("desk-2"), origin=NOOR)
    afterwards = await ask("lab", NOOR)

    assert (outside, inside, somebody_else, afterwards) == (False, [True, True, False], [False, False], False)


async def test_who_may_not_see_it_learns_how_long_a_pin_is_and_no_more(engine: Engine, clinic: Venue) -> None:
    await pins_of(engine, clinic)

    queue, length, pin = await engine.read(clinic.id, LookAtPin("lab", None, is_manager=False))
    _, _, of_manager = await engine.read(clinic.id, LookAtPin("lab", None, is_manager=True))

    assert (queue.id, length, pin) == ("lab", 2, None)
    assert of_manager is not None


async def test_yesterdays_pin_is_shown_to_nobody(engine: Engine, clock: DrivenClock, clinic: Venue) -> None:
    await pins_of(engine, clinic)
    clock.advance(days=1)

    _, _, pin = await engine.read(clinic.id, LookAtPin("lab", None, is_manager=True))

    assert pin is None


# The old way to be done, by name


async def test_to_whoever_guesses_a_visitor_who_is_here_is_as_unknown_as_one_who_is_not(
    database: Database, engine: Engine, clinic: Venue
) -> None:
    pins = await pins_of(engine, clinic)
    await begin_visit(engine, clinic, "Aisha")
    wrong = next(pin for number in range(100) if (pin := f"{number:02}") not in pins.values())

    told = []
    for visitor in ("Aisha", "Nobody"):
        for _ in range(6):
            (refusal,) = await together(engine.do(clinic.id, Done("lab", wrong, a_new("attempt"), visitor=visitor)))
            told.append((type(refusal), refusal.facts, str(refusal)))
        (nothing_typed,) = await together(engine.do(clinic.id, Done("lab", None, "", visitor=visitor)))
        told.append((type(nothing_typed), {}, ""))

    assert told[:7] == told[7:]
    assert {kind for kind, _, _ in told} == {PinWrong, NotInQueue}
    assert await database.rows("SELECT count(*) FROM visits WHERE locked_at IS NOT NULL") == [(0,)]
    ((failures,),) = await database.rows("SELECT pin_failures FROM visits WHERE pin_failures IS NOT NULL")
    assert len(msgspec.json.decode(failures)) == 5


async def test_done_carries_a_visit_with_a_plan_on(engine: Engine, store: Store, clinic: Venue) -> None:
    pins = await pins_of(engine, clinic)
    by_pin, by_staff = [await begin_visit(engine, clinic, visitor) for visitor in ("Aisha", "Basma")]

    went = await engine.do(clinic.id, Done("lab", pins["lab"], "", visitor="Aisha"))
    await engine.do(clinic.id, Done("lab", None, "", visitor="Basma", by_staff=True))

    assert went.ticket.state == "finished"
    for seen in (by_pin, by_staff):
        assert stages_of((await look(engine, clinic, seen.visit)).visit)["lab"] == "completed"
    assert await store.faults() == []


async def test_staff_finish_nobody_who_missed_their_call(engine: Engine, clinic: Venue) -> None:
    seen = ticket_of(await begin_visit(engine, clinic, "Aisha"))
    await engine.do(clinic.id, Call(seen.ticket_id))
    await engine.do(clinic.id, Miss(seen.ticket_id))

    with pytest.raises(TicketInWrongState):
        await engine.do(clinic.id, Done("lab", None, "", visitor="Aisha", by_staff=True))


async def test_a_single_ticket_that_waits_is_finished_by_the_right_pin(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    pins = await pins_of(engine, clinic)
    ticket = await take(engine, clinic, visitor="Aisha")

    went = await engine.do(clinic.id, Done("lab", pins["lab"], "", visitor="Aisha"))

    assert went.ticket.ticket_id == ticket.ticket_id
    assert (await stored_visit(store, clinic, ticket.visit_id)).state == "finished"


async def test_a_single_ticket_whose_call_was_missed_is_finished_by_the_right_pin_only(
    engine: Engine, clinic: Venue
) -> None:
    pins = await pins_of(engine, clinic)
    ticket = await take(engine, clinic, visitor="Aisha")
    await engine.do(clinic.id, Call(ticket.ticket_id))
    await engine.do(clinic.id, Miss(ticket.ticket_id))

    with pytest.raises(TicketInWrongState):
        await engine.do(clinic.id, Done("lab", None, "", visitor="Aisha"))
    with pytest.raises(PinRefused):
        await engine.do(clinic.id, Done("lab", pins["xray"], "", visitor="Aisha"))
    assert (await engine.do(clinic.id, Done("lab", pins["lab"], "", visitor="Aisha"))).ticket.state == "finished"

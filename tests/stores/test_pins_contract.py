"""Exit PINs: which refusal comes first, what is counted, and what locks."""

import pytest
from msgspec.structs import replace

from dawr.domain.errors import (
    NotEntered,
    NotInPlan,
    NotItsTurn,
    NumberWrong,
    PinForeign,
    PinNeeded,
    PinRefused,
    PinRotated,
    PinTriedTooOften,
    PinWrong,
    Refused,
    TicketInWrongState,
    UnknownVisit,
    VisitInWrongState,
    VisitLocked,
)
from dawr.domain.events import Origin
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue
from dawr.operations.pins import RotatePin, VerifyPin, Went
from dawr.operations.reception import Unlock
from dawr.operations.staff import Call, Hold, Miss
from dawr.operations.visitor import Leave
from dawr.operations.visits import LeaveByLink, Whereabouts
from dawr.ports import Store
from dawr.reliability.idempotency import Reply
from tests.builders import DrivenClock, a_claim, a_new
from tests.stores.databases import Database
from tests.stores.doing import (
    LOOPS,
    begin_visit,
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
    ticket_of,
    together,
)


@pytest.fixture
async def pins(engine: Engine, clinic: Venue) -> dict[str, str]:
    return await pins_of(engine, clinic)


@pytest.fixture
async def aisha(engine: Engine, clinic: Venue) -> Whereabouts:
    """Waits at the laboratory, with somebody ahead."""
    await begin_visit(engine, clinic)
    return await begin_visit(engine, clinic, "Aisha")


def typed(pin: str | None, of: Whereabouts, *, queue: str = "lab") -> VerifyPin:
    """By a visitor who holds their link."""
    return VerifyPin(queue, pin, a_new("attempt"), link=link_to(of.visit))


def typed_by_name(pin: str | None, number: int | None, *, queue: str = "lab", visitor: str = "Aisha") -> VerifyPin:
    return VerifyPin(queue, pin, a_new("attempt"), visitor=visitor, number=number)


def nobodys(pins: dict[str, str]) -> str:
    """A PIN that no queue has."""
    return next(pin for number in range(100) if (pin := f"{number:02}") not in pins.values())


async def tries_left(store: Store, venue: Venue, seen: Whereabouts, now: int) -> int:
    return (await stored_visit(store, venue, seen.visit.visit_id)).tries_left(now)


async def refusal_of(engine: Engine, venue: Venue, operation: VerifyPin) -> Refused:
    with pytest.raises(Refused) as refused:
        await engine.do(venue.id, operation)
    return refused.value


# Which comes first


async def test_refusals_come_in_their_order_though_everything_is_wrong(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    wrong = nobodys(pins)
    for _ in range(5):
        await refusal_of(engine, clinic, typed(wrong, aisha))

    told = [await refusal_of(engine, clinic, typed(wrong, aisha, queue=queue)) for queue in ("eye", "xray", "lab")]
    await engine.do(clinic.id, Unlock(aisha.visit.visit_id))
    told += [await refusal_of(engine, clinic, typed(pin, aisha)) for pin in (wrong, pins["xray"], None)]

    assert [type(refusal) for refusal in told] == [NotInPlan, NotItsTurn, VisitLocked, PinWrong, PinForeign, PinNeeded]


async def test_by_name_every_refusal_is_the_same_until_the_number_is_right(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    wrong, number = nobodys(pins), ticket_of(aisha).number

    unknown = [
        await refusal_of(engine, clinic, typed_by_name(pin, asked, queue=queue, visitor=visitor))
        for visitor, queue, pin, asked in (
            ("Nobody", "lab", pins["lab"], number),
            ("Aisha", "lab", pins["lab"], number + 1),
            ("Aisha", "lab", None, number + 1),
            ("Aisha", "eye", wrong, number + 1),
            ("Aisha", "xray", wrong, number + 1),
            ("Aisha", "lab", wrong, None),
        )
    ]
    known = [
        await refusal_of(engine, clinic, typed_by_name(wrong, number, queue=queue)) for queue in ("eye", "xray", "lab")
    ]

    assert {(type(refusal), str(refusal)) for refusal in unknown} == {(NumberWrong, "number-wrong")}
    assert [type(refusal) for refusal in known] == [NotInPlan, NotItsTurn, PinWrong]


async def test_nobody_is_locked_by_name_and_after_five_failures_only_the_link_is_judged(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue, aisha: Whereabouts
) -> None:
    pins, number = await pins_of(engine, clinic), ticket_of(aisha).number
    told = [await refusal_of(engine, clinic, typed_by_name(nobodys(pins), number)) for _ in range(5)]
    shut = await refusal_of(engine, clinic, typed_by_name(pins["lab"], number))

    assert [(type(refusal), refusal.facts["tries_left"]) for refusal in told] == [(PinWrong, None)] * 5
    assert isinstance(shut, PinTriedTooOften)
    assert (shut.again_seconds, await tries_left(store, clinic, aisha, clock.now)) == (15 * 60, 5)
    assert "visit.locked" not in await kinds_of(engine, clinic)
    clock.advance(minutes=14, seconds=59)
    assert isinstance(await refusal_of(engine, clinic, typed_by_name(pins["lab"], number)), PinTriedTooOften)
    assert (await engine.do(clinic.id, typed(pins["lab"], aisha))).ticket.state == "finished"


async def test_a_quarter_of_an_hour_later_pins_are_taken_by_name_again(
    engine: Engine, clock: DrivenClock, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    number = ticket_of(aisha).number
    for _ in range(5):
        await refusal_of(engine, clinic, typed_by_name(nobodys(pins), number))
    clock.advance(minutes=15)

    assert (await engine.do(clinic.id, typed_by_name(pins["lab"], number))).ticket.state == "finished"


async def test_staff_are_warned_when_numbers_are_guessed_by_name(
    engine: Engine, clinic: Venue, pins: dict[str, str]
) -> None:
    for number in range(31):
        await refusal_of(engine, clinic, typed_by_name(pins["lab"], number, visitor=f"nobody {number}"))

    events = await kinds_of(engine, clinic)
    assert (events.count("pin.failed"), events.count("pin.warned")) == (31, 1)


async def test_a_stage_that_waits_to_be_entered_or_is_done_is_not_finished_by_a_pin(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    await engine.do(clinic.id, Leave(ticket_of(aisha).ticket_id))
    ready = await refusal_of(engine, clinic, typed(pins["lab"], aisha))
    done = await begin_visit(engine, clinic, "Basma")
    await finish(engine, clinic, ticket_of(done).ticket_id)
    completed = await refusal_of(engine, clinic, typed(pins["lab"], done))

    assert isinstance(ready, NotEntered)
    assert isinstance(completed, NotItsTurn)
    assert completed.facts == {"queue": "lab", "state": "completed"}


async def test_an_ended_visit_is_over(engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts) -> None:
    link = link_to(aisha.visit)
    await engine.do(clinic.id, LeaveByLink(link))

    with pytest.raises(VisitInWrongState):
        await engine.do(clinic.id, VerifyPin("lab", pins["lab"], "", link=link))
    by_name = typed_by_name(pins["lab"], ticket_of(aisha).number)
    assert isinstance(await refusal_of(engine, clinic, by_name), NumberWrong)


async def test_a_link_with_another_secret_is_no_visit(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    forged = replace(link_to(aisha.visit), secret_hash="0" * 64)

    with pytest.raises(UnknownVisit):
        await engine.do(clinic.id, VerifyPin("lab", pins["lab"], "", link=forged))


# What is counted


async def test_a_wrong_and_a_foreign_pin_are_counted_and_nothing_else_is(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue, aisha: Whereabouts
) -> None:
    pins = await pins_of(engine, clinic)
    left = []
    for pin in (nobodys(pins), pins["ent"], None):
        refusal = await refusal_of(engine, clinic, typed(pin, aisha))
        left.append((refusal.facts.get("tries_left"), await tries_left(store, clinic, aisha, clock.now)))

    assert left == [(4, 4), (3, 3), (None, 3)]
    assert (await kinds_of(engine, clinic)).count("pin.failed") == 2


async def test_a_foreign_pin_does_not_say_whose_it_is(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    refusal = await refusal_of(engine, clinic, typed(pins["ent"], aisha))

    assert isinstance(refusal, PinForeign)
    assert "ent" not in refusal.facts.values()
    assert "queue ent" not in str(refusal)
    assert aisha.visit.is_open
    assert all("ent" not in str(facts) for facts in await data_of(engine, clinic, "pin.failed"))


async def test_a_retry_of_one_request_is_counted_once(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue, aisha: Whereabouts
) -> None:
    pins = await pins_of(engine, clinic)
    retried = typed(nobodys(pins), aisha)

    await together(*(engine.do(clinic.id, retried) for _ in range(3)))
    for _ in range(3):
        assert (await refusal_of(engine, clinic, retried)).facts == {"tries_left": 4}

    assert await tries_left(store, clinic, aisha, clock.now) == 4


async def test_under_one_key_the_corrected_pin_is_judged_anew(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    claim = a_claim("a form's key")
    with pytest.raises(PinWrong):
        await engine.answer(clinic.id, typed(nobodys(pins), aisha), went, claim=claim)

    corrected = await engine.answer(clinic.id, typed(pins["lab"], aisha), went, claim=claim)
    replayed = await engine.answer(clinic.id, typed(pins["lab"], aisha), went, claim=claim)

    assert corrected.body == replayed.body == b"went on to xray"
    assert stages_of((await look(engine, clinic, aisha.visit)).visit)["lab"] == "completed"


async def test_five_failures_lock_until_staff_unlock(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue, aisha: Whereabouts
) -> None:
    pins = await pins_of(engine, clinic)
    for _ in range(4):
        await refusal_of(engine, clinic, typed(nobodys(pins), aisha))
    fifth = await refusal_of(engine, clinic, typed(nobodys(pins), aisha))
    locked = await refusal_of(engine, clinic, typed(pins["lab"], aisha))
    clock.advance(hours=1)
    later = await refusal_of(engine, clinic, typed(pins["lab"], aisha))

    assert (fifth.facts, type(locked), type(later)) == ({"tries_left": 0}, VisitLocked, VisitLocked)
    assert (await kinds_of(engine, clinic)).count("visit.locked") == 1
    await engine.do(clinic.id, Unlock(aisha.visit.visit_id))
    assert await tries_left(store, clinic, aisha, clock.now) == 5
    assert (await engine.do(clinic.id, typed(pins["lab"], aisha))).ticket.state == "finished"


async def test_failures_of_a_quarter_of_an_hour_ago_lock_nobody(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue, aisha: Whereabouts
) -> None:
    pins = await pins_of(engine, clinic)
    for _ in range(4):
        await refusal_of(engine, clinic, typed(nobodys(pins), aisha))
    clock.advance(minutes=15)

    refusal = await refusal_of(engine, clinic, typed(nobodys(pins), aisha))

    assert refusal.facts == {"tries_left": 4}
    assert await tries_left(store, clinic, aisha, clock.now) == 4


async def test_a_step_back_gives_no_try_back_but_failures_of_a_clock_that_was_ahead_count_no_more(
    engine: Engine, clock: DrivenClock, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    left = []
    for days in (0, 0, 1, 365):
        clock.advance(days=-days)
        left.append((await refusal_of(engine, clinic, typed(nobodys(pins), aisha))).facts["tries_left"])

    assert left == [4, 3, 2, 4]


async def test_of_fifty_wrong_pins_at_once_exactly_five_are_counted(
    database: Database, store: Store, clock: DrivenClock, engine: Engine, clinic: Venue
) -> None:
    pins, seen = await pins_of(engine, clinic), await begin_visit(engine, clinic, "Aisha")

    async def guess(engine: Engine) -> list[Refused]:
        return await together(*(engine.do(clinic.id, typed(nobodys(pins), seen)) for _ in range(52 // LOOPS)))

    told = [refusal for part in await in_loops(database, store, clock, guess) for refusal in part]

    assert all(isinstance(refusal, PinRefused) for refusal in told)
    wrong = [refusal.facts["tries_left"] for refusal in told if isinstance(refusal, PinWrong)]
    assert sorted(wrong, key=str) == [0, 1, 2, 3, 4]
    assert (await kinds_of(engine, clinic)).count("pin.failed") == 5
    assert (await stored_visit(store, clinic, seen.visit.visit_id)).locked_at is not None


async def test_of_fifty_right_pins_at_once_under_one_key_one_advances_and_all_are_told_the_same(
    database: Database, store: Store, clock: DrivenClock, engine: Engine, clinic: Venue
) -> None:
    pins, seen = await pins_of(engine, clinic), await begin_visit(engine, clinic, "Aisha")

    async def leave(engine: Engine) -> list[Reply]:
        return await together(
            *(engine.answer(clinic.id, typed(pins["lab"], seen), went, claim=a_claim()) for _ in range(52 // LOOPS))
        )

    told = [reply for part in await in_loops(database, store, clock, leave) for reply in part]

    assert {reply.body for reply in told} == {b"went on to xray"}
    assert (await kinds_of(engine, clinic)).count("ticket.finished") == 1
    assert stages_of((await look(engine, clinic, seen.visit)).visit)["xray"] == "in_queue"


async def test_thirty_failures_at_one_queue_warn_its_staff_once(
    engine: Engine, store: Store, clinic: Venue, pins: dict[str, str]
) -> None:
    for number in range(7):
        guesser = await begin_visit(engine, clinic, f"guesser {number}")
        for _ in range(5):
            await refusal_of(engine, clinic, typed(nobodys(pins), guesser))

    events = await kinds_of(engine, clinic)
    assert events.count("pin.failed") == 35
    assert events.count("pin.warned") == 1
    assert events[: events.index("pin.warned")].count("pin.failed") == 30
    assert await store.faults() == []


async def test_a_pin_that_was_changed_a_moment_ago_neither_opens_nor_counts(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue, aisha: Whereabouts
) -> None:
    pins = await pins_of(engine, clinic)
    (changed,) = await engine.do(clinic.id, RotatePin("chance", is_manager=True, queue="lab"))

    refused = await refusal_of(engine, clinic, typed(pins["lab"], aisha))
    clock.advance(minutes=10)
    later = await refusal_of(engine, clinic, typed(pins["lab"], aisha))

    assert (type(refused), type(later)) == (PinRotated, PinWrong)
    assert await tries_left(store, clinic, aisha, clock.now) == 4
    assert (await engine.do(clinic.id, typed(changed.pin, aisha))).ticket.state == "finished"


async def test_yesterdays_pin_is_wrong_and_counts(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    pins = await pins_of(engine, clinic)
    clock.advance(days=1)
    seen = await begin_visit(engine, clinic, "Aisha")

    before_todays = await refusal_of(engine, clinic, typed(pins["lab"], seen))
    todays = await pins_of(engine, clinic)
    old = next(pin for pin in pins.values() if pin not in todays.values())
    afterwards = await refusal_of(engine, clinic, typed(old, seen))

    assert (type(before_todays), type(afterwards)) == (PinWrong, PinWrong)
    assert await tries_left(store, clinic, seen, clock.now) == 3


# What a right one does


@pytest.mark.parametrize("how", ["waiting", "called", "missed"])
async def test_a_right_pin_finishes_whoever_was_examined(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts, how: str
) -> None:
    ticket_id = ticket_of(aisha).ticket_id
    if how != "waiting":
        await engine.do(clinic.id, Call(ticket_id))
    if how == "missed":
        await engine.do(clinic.id, Miss(ticket_id))

    done: Went = await engine.do(clinic.id, typed_by_name(pins["lab"], ticket_of(aisha).number))

    assert done.ticket.state == "finished"
    assert ticket_of(done.now).queue_id == "xray"
    assert stages_of(done.now.visit)["lab"] == "completed"


async def test_whoever_waits_overtakes_by_their_pin_also_in_a_paused_queue(
    engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    await engine.do(clinic.id, ChangeQueue("lab", "pause"))

    await engine.do(clinic.id, typed(pins["lab"], aisha), origin=Origin(actor="Aisha's phone"))

    (called,) = await data_of(engine, clinic, "ticket.called")
    assert (called["why"], called["overtaken"], called["out_of_order"]) == ("pin", 1, True)
    assert stages_of((await look(engine, clinic, aisha.visit)).visit)["lab"] == "completed"


async def test_whoever_is_held_is_refused_and_nothing_is_counted(
    engine: Engine, store: Store, clinic: Venue, pins: dict[str, str], aisha: Whereabouts
) -> None:
    await engine.do(clinic.id, Hold(ticket_of(aisha).ticket_id))

    with pytest.raises(TicketInWrongState):
        await engine.do(clinic.id, typed(pins["lab"], aisha))

    assert (await stored_ticket(store, clinic, ticket_of(aisha).ticket_id)).state == "held"
    assert (await stored_visit(store, clinic, aisha.visit.visit_id)).pin_failures is None


async def test_a_stage_without_a_pin_is_finished_by_whoever_was_called(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic, "Basma", journey="women", audience="women")
    too_early = await refusal_of(engine, clinic, typed(None, seen, queue="eye"))
    await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))

    done = await engine.do(clinic.id, typed(None, seen, queue="eye"))

    assert isinstance(too_early, TicketInWrongState)
    assert ticket_of(done.now).queue_id == "xray"


async def test_arabic_digits_are_read(engine: Engine, clinic: Venue, pins: dict[str, str], aisha: Whereabouts) -> None:
    arabic = pins["lab"].translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))

    done = await engine.do(clinic.id, typed(arabic, aisha))

    assert done.ticket.ticket_id == ticket_of(aisha).ticket_id


def went(done: Went) -> Reply:
    return Reply(200, f"went on to {ticket_of(done.now).queue_id}".encode())

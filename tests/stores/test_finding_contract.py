"""Finding whoever is meant: by id, name, label or session code; and those who are done today."""

import pytest
from msgspec.structs import replace

from dawr.domain.errors import UnknownQueue
from dawr.domain.session_code import SessionCodes
from dawr.domain.ticket import ENDED_STATES
from dawr.domain.venue import Venue
from dawr.engine.clockwork import reset
from dawr.engine.engine import Engine
from dawr.operations.reception import LookForVisitors
from dawr.operations.snapshots import LookAtStates
from dawr.operations.staff import Hold
from dawr.operations.visitor import Leave
from dawr.ports import Store
from tests.builders import DrivenClock, a_queue, a_venue, issue, start_visit
from tests.stores.doing import begin_visit, create_venue, finish, take, ticket_of

CODES = SessionCodes("a secret of the installation")


async def found(engine: Engine, venue: Venue, text: str) -> list[tuple[str, int]]:
    tickets = await engine.read(venue.id, LookForVisitors(text, CODES))
    return [(ticket.queue_id, ticket.number) for ticket in tickets]


async def test_somebody_is_found_by_their_id_whether_they_have_a_plan_or_not(engine: Engine, clinic: Venue) -> None:
    await take(engine, clinic, queue="xray")
    await begin_visit(engine, clinic, "29012345678")
    await take(engine, clinic, queue="xray", visitor="29087654321")

    assert await found(engine, clinic, " 29012345678 ") == [("lab", 1)]
    assert await found(engine, clinic, "29087654321") == [("xray", 2)]
    assert await found(engine, clinic, "2901234567") == []


async def test_an_id_and_a_name_are_found_in_the_digits_of_any_keyboard(engine: Engine, clinic: Venue) -> None:
    await engine.do(clinic.id, replace(start_visit("army", "123"), name="Aisha"))
    await engine.do(clinic.id, replace(start_visit("army", "7"), name="غرفة ١٢"))

    assert await found(engine, clinic, "١٢٣") == [("lab", 1)]
    assert await found(engine, clinic, "١٢") == [("lab", 2)]


async def test_somebody_is_found_by_part_of_their_name_in_any_case(
    engine: Engine, clock: DrivenClock, clinic: Venue
) -> None:
    for visitor, name in (("1", "Aisha Al Mannai"), ("2", "Noora Al MANNAI"), ("3", "نورة المناعي"), ("4", "Li Lei")):
        clock.advance(seconds=1)
        await engine.do(clinic.id, replace(start_visit("army", visitor), name=name))

    assert await found(engine, clinic, "mannai") == [("lab", 2), ("lab", 1)]
    assert await found(engine, clinic, "المناعي") == [("lab", 3)]
    assert await found(engine, clinic, "%") == []


async def test_somebody_is_found_by_their_label_in_any_case_and_whatever_queue_writes_it_so(
    engine: Engine, clinic: Venue
) -> None:
    for queue in ("lab", "xray", "ent"):
        await take(engine, clinic, queue=queue)

    assert await found(engine, clinic, "a001") == [("lab", 1)]
    assert sorted(await found(engine, clinic, "001")) == [("ent", 1), ("xray", 1)]
    assert await found(engine, clinic, "A1") == []
    assert await found(engine, clinic, "A999") == []


async def test_a_label_of_an_earlier_round_is_found_too(engine: Engine, clinic: Venue) -> None:
    await take(engine, clinic)
    await reset(engine, clinic.id, "lab")
    await take(engine, clinic)

    tickets = await engine.read(clinic.id, LookForVisitors("A001", CODES))

    assert {(ticket.round, ticket.state) for ticket in tickets} == {(1, "expired"), (2, "waiting")}


async def test_somebody_is_found_by_the_code_on_their_slip_also_the_day_after(
    engine: Engine, clock: DrivenClock, clinic: Venue
) -> None:
    ticket = ticket_of(await begin_visit(engine, clinic))
    code = CODES.code_of(clinic, ticket)
    await take(engine, clinic)

    today = await engine.read(clinic.id, LookForVisitors(code.lower(), CODES))
    clock.advance(days=1)
    tomorrow = await engine.read(clinic.id, LookForVisitors(code, CODES))

    assert [each.ticket_id for each in today] == [each.ticket_id for each in tomorrow] == [ticket.ticket_id]


async def test_a_code_that_was_made_up_finds_nobody(engine: Engine, store: Store, clinic: Venue) -> None:
    code = CODES.code_of(clinic, await take(engine, clinic))
    beginning, check = code[:-4], code[-4:]
    other = await create_venue(store, replace(clinic, id="v-other", slug="other"))
    await take(engine, other)

    forged = [
        *(beginning + made_up for made_up in ("0000", "ZZZZ", check[:3] + ("0" if check[3] != "0" else "1"))),
        code.replace("-LAB-01-", "-LAB-02-"),
        code.replace("-LAB-", "-XRAY-"),
        code.replace("-LAB-", "-NOWHERE-"),
        code.replace(code.split("-")[-2], "260303"),
        code + "0",
    ]

    assert [await found(engine, clinic, text) for text in forged] == [[]] * len(forged)
    assert await found(engine, other, code) == []
    assert await found(engine, clinic, code) == [("lab", 1)]


async def test_two_rounds_of_one_day_have_different_codes(engine: Engine, clinic: Venue) -> None:
    first = await take(engine, clinic)
    await reset(engine, clinic.id, "lab")
    second = await take(engine, clinic)

    codes = [CODES.code_of(clinic, ticket) for ticket in (first, second)]

    assert codes[0][:-4] == codes[1][:-4]
    assert codes[0] != codes[1]
    for code, ticket in zip(codes, (first, second), strict=True):
        (seen,) = await engine.read(clinic.id, LookForVisitors(code, CODES))
        assert seen.ticket_id == ticket.ticket_id


async def test_no_more_are_shown_than_somebody_reads(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue("lab"), a_queue("eye")))
    for number in range(30):
        await engine.do(venue.id, replace(issue("lab" if number % 2 else "eye"), name=f"Aisha {number}"))

    assert len(await found(engine, venue, "Aisha")) == 20


async def test_those_who_are_done_today_are_shown_in_pages_the_highest_number_first(
    engine: Engine, clinic: Venue
) -> None:
    tickets = [await take(engine, clinic) for _ in range(6)]
    for ticket in tickets[:3]:
        await finish(engine, clinic, ticket.ticket_id)
    await engine.do(clinic.id, Leave(tickets[3].ticket_id))
    await engine.do(clinic.id, Hold(tickets[4].ticket_id))

    first = await engine.read(clinic.id, LookAtStates("lab", ENDED_STATES, 1000, 3))
    second = await engine.read(clinic.id, LookAtStates("lab", ENDED_STATES, first[-1].number, 3))

    assert [(ticket.number, ticket.state) for ticket in first] == [(4, "left"), (3, "finished"), (2, "finished")]
    assert [ticket.number for ticket in second] == [1]
    with pytest.raises(UnknownQueue):
        await engine.read(clinic.id, LookAtStates("nowhere", ENDED_STATES, 1000, 3))

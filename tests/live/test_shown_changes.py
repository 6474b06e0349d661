"""Which changes a stream shows, and to whom: visits and PINs to staff, desks to all, who sits there to nobody."""

from contextlib import suppress
from typing import Any

from dawr.domain.errors import PinRefused
from dawr.domain.events import Origin
from dawr.domain.visit import Link
from dawr.operations.admin import ChangeQueue
from dawr.operations.desks import BreakDesk, CloseDesk, OpenDesk
from dawr.operations.operation import Operation
from dawr.operations.pins import GivePin, RotatePin, VerifyPin
from dawr.operations.reception import SkipStage, Unlock
from tests.live.watching import Sent, Watched, events, read

AMNA = "staff:amna"


async def test_what_happens_to_a_visit_as_a_whole_is_shown_to_staff_in_the_venues_stream(watched: Watched) -> None:
    of_staff, of_queue = await watched.changes(staff=True), await watched.changes(queue="lab", staff=True)
    of_anybody = await watched.changes()
    visit = await watched.start()
    await watched.do(ChangeQueue("eye", "close"), SkipStage(visit.visit_id, "xray"))
    await watched.finish(visit)

    shown = [one for one in await read(of_staff) if one.event.startswith("visit.")]
    assert [one.event for one in shown] == ["visit.started", "visit.stage_skipped", "visit.parked"]
    assert all(one.data["visit"] == visit.visit_id for one in shown)
    assert shown[0].data["journey"] == "general"
    assert shown[1].data["queue"] == f"{watched.venue.slug}:xray"
    for others in (await read(of_queue), await read(of_anybody)):
        assert not [one for one in others if one.event.startswith("visit.")]
        assert "visit" not in str([one.data for one in others])


async def test_what_happens_to_pins_is_shown_to_staff_and_no_pin_to_anybody(watched: Watched) -> None:
    of_staff, of_queue = await watched.changes(staff=True), await watched.changes(queue="lab", staff=True)
    of_other_queue, of_anybody = await watched.changes(queue="eye", staff=True), await watched.changes()
    visit = await watched.start()
    (pin,) = await watched.engine.do(watched.venue.id, GivePin("chance", is_manager=True, queue="lab"))
    (other,) = await watched.engine.do(watched.venue.id, RotatePin("chance", is_manager=True, queue="lab"))
    wrong = "99" if "99" not in {pin.pin, other.pin} else "98"
    link = Link(visit.visit_id, visit.secret_hash)
    for attempt in range(5):
        with suppress(PinRefused):
            await watched.do(VerifyPin("lab", wrong, f"try {attempt}", link=link))
    await watched.do(Unlock(visit.visit_id))

    seen = await read(of_staff)
    of_pins = [one for one in seen if one.event.startswith("pin.")]
    assert [one.event for one in of_pins] == ["pin.made", "pin.rotated", *["pin.failed"] * 5]
    assert [one.data.get("tries_left") for one in of_pins][2:] == [4, 3, 2, 1, 0]
    assert [one.event for one in seen if one.event in {"visit.locked", "visit.unlocked"}] == [
        "visit.locked",
        "visit.unlocked",
    ]
    assert [one.event for one in await read(of_queue) if one.event.startswith("pin.")] == [one.event for one in of_pins]
    for others in (await read(of_other_queue), await read(of_anybody)):
        assert not [one for one in others if one.event.startswith(("pin.", "visit."))]
    assert "pin" not in {key for one in seen if one.data for key in one.data}


async def test_desks_are_shown_to_all_and_who_sits_there_to_nobody(watched: Watched) -> None:
    streams = [await watched.changes(), await watched.changes(queue="lab"), await watched.changes(staff=True)]
    steps: tuple[Operation[Any], ...] = (
        OpenDesk("desk-1", "chance"),
        BreakDesk("desk-1", watched.clock() + 60_000),
        CloseDesk("desk-1"),
    )
    for step in steps:
        await watched.engine.do(watched.venue.id, step, origin=Origin(AMNA))

    for stream, as_staff in zip(streams, (False, False, True), strict=True):
        shown = [one for one in await read(stream) if one.event.startswith("desk.")]
        assert [(one.event, one.data["desk"], one.data["state"]) for one in shown] == [
            ("desk.opened", f"{watched.venue.slug}:desk-1", "open"),
            ("desk.on_break", f"{watched.venue.slug}:desk-1", "break"),
            ("desk.closed", f"{watched.venue.slug}:desk-1", "closed"),
        ]
        assert all("by" not in one.data for one in shown)
        assert ("amna" in str([one.data for one in shown])) == as_staff


async def test_what_is_not_shown_still_moves_the_id_on(watched: Watched) -> None:
    stream = await watched.changes()
    await watched.do(GivePin("chance", is_manager=True, queue="lab"))

    sent: list[Sent] = await read(stream)

    assert events(sent) == ["hello"]
    assert sent[-1].id == "1.1"

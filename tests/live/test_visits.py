"""Whoever holds a visit's link is told of it wherever it goes: through all its queues, and nothing falls between."""

from typing import Any

import pytest

from dawr.domain.queue import QueueId
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.clockwork import ExpireEnded
from dawr.operations.operation import Operation
from dawr.operations.reception import (
    EndVisit,
    EnterStage,
    RemoveFromQueue,
    ResetPath,
    SkipStage,
    Transfer,
)
from dawr.operations.staff import Call, Finish, Start
from dawr.operations.undo import Undo
from dawr.web.api.events import OwnPlace
from tests.builders import call_next
from tests.live.watching import Sent, Watched, events, last_id, read, told, versions
from tests.stores.doing import together


async def test_a_link_leads_through_every_queue_of_the_journey(watched: Watched) -> None:
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id)
    await read(watcher)

    for _ in range(3):
        await watched.finish(visit)
        await watched.settled()

    sent = await read(watcher)
    assert [(one.event, one.data["clinic"]) for one in sent] == [
        ("YOUR_TURN", "lab"),
        ("STEP_DONE_NEXT", "lab"),
        ("NEAR_TURN", "xray"),
        ("POSITION_UPDATE", "xray"),
        ("YOUR_TURN", "xray"),
        ("STEP_DONE_NEXT", "xray"),
        ("NEAR_TURN", "eye"),
        ("POSITION_UPDATE", "eye"),
        ("YOUR_TURN", "eye"),
        ("STEP_DONE_NEXT", "eye"),
    ]
    assert [onward(one) for one in sent if one.event == "STEP_DONE_NEXT"] == [
        ("xray", "1", "107"),
        ("eye", None, None),
        (None, None, None),
    ]


async def test_the_native_stream_says_where_a_step_leads_and_shows_the_place_there(watched: Watched) -> None:
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id, OwnPlace(watched.venue.slug))
    await read(watcher)

    for _ in range(3):
        await watched.finish(visit)
        await watched.settled()

    sent, slug = await read(watcher), watched.venue.slug
    assert events(sent) == [*["update", "update", "step", "snapshot"] * 2, "update", "update", "step"]
    places = [(one.data["queue"].partition(":")[2], one.data["state"]) for one in sent if "state" in one.data]
    assert places == [
        (queue, state) for queue, states in (("lab", WHOLE[1:]), ("xray", WHOLE), ("eye", WHOLE)) for state in states
    ]
    assert [one.data for one in sent if one.event == "step"] == [
        {"queue": f"{slug}:lab", "next": {"queue": f"{slug}:xray", "floor": "1", "room": "107"}},
        {"queue": f"{slug}:xray", "next": {"queue": f"{slug}:eye", "floor": None, "room": None}},
        {"queue": f"{slug}:eye", "next": None},
    ]


WHOLE = ("waiting", "called", "finished")


async def test_the_last_frame_of_what_ends_a_step_has_its_id(watched: Watched) -> None:
    """A connection that breaks in between resumes before it, so that neither is lost."""
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id, OwnPlace(watched.venue.slug))
    await read(watcher)

    await watched.finish(visit)

    assert [(one.event, bool(one.id)) for one in await read(watcher)][1:] == [("update", False), ("step", True)]


async def test_a_queue_that_nobody_watched_shows_how_many_are_ahead(watched: Watched) -> None:
    for _ in range(5):
        await watched.take("xray")
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id)
    await read(watcher)

    await watched.finish(visit)
    await watched.settled()
    arrived = [one for one in await read(watcher) if one.event == "POSITION_UPDATE"]
    await watched.do(call_next("xray"))
    watched.beat()

    assert [one.data["ahead"] for one in arrived] == [5]
    assert [one.data["ahead"] for one in await read(watcher) if one.data] == [4]


async def test_a_number_in_the_reserve_is_said_to_be_so(watched: Watched) -> None:
    visits = [await watched.start("Omar"), await watched.start("Sara")]
    watchers = [await watched.visit(visit.visit_id, OwnPlace(watched.venue.slug)) for visit in visits]
    for visit in visits:
        await watched.finish(visit)
        await watched.finish(visit)
    await watched.settled()

    for watcher, in_reserve in zip(watchers, (False, True), strict=True):
        sent = await read(watcher)
        assert sent[-1].data["queue"] == f"{watched.venue.slug}:eye"
        assert {one.data["queue"] for one in sent if one.data and one.data.get("reserve_mode")} == (
            {f"{watched.venue.slug}:eye"} if in_reserve else set()
        )


async def test_what_earlier_rounds_used_up_counts_against_the_capacity(watched: Watched) -> None:
    first = await watched.start("Omar")
    for _ in range(3):
        await watched.finish(first)
    await watched.do(Reset("eye"))
    visit = await watched.start("Sara")
    watcher = await watched.visit(visit.visit_id, OwnPlace(watched.venue.slug))
    await watched.finish(visit)
    await watched.finish(visit)
    await watched.settled()

    last = (await read(watcher))[-1].data
    assert (last["queue"], last["number"], last["reserve_mode"]) == (f"{watched.venue.slug}:eye", 1, True)


async def test_a_call_in_the_very_batch_of_the_new_number_is_told(watched: Watched) -> None:
    visit = await watched.start()
    ticket = await watched.now_at(visit)
    watcher = await watched.visit(visit.visit_id)
    await watched.do(call_next("lab"))
    await read(watcher)

    await together(
        watched.engine.do(watched.venue.id, Finish(ticket.ticket_id)),
        watched.engine.do(watched.venue.id, call_next("xray")),
    )
    await watched.settled()

    sent = await read(watcher)
    assert told(sent) == ["STEP_DONE_NEXT", "POSITION_UPDATE", "YOUR_TURN"]
    assert [one.id for one in sent] == ["1.4", "1.5", "1.6"]


async def test_two_hundred_who_watch_one_visit_go_on_together(watched: Watched) -> None:
    visit = await watched.start()
    watchers = [await watched.visit(visit.visit_id) for _ in range(200)]
    for watcher in watchers:
        await read(watcher)

    await watched.finish(visit)
    await watched.settled()

    bytes_of = [tuple(watcher._frames) for watcher in watchers]
    assert len(set(bytes_of)) == 1
    assert all(mine is first for frames in bytes_of for mine, first in zip(frames, bytes_of[0], strict=True))
    assert told(await read(watchers[-1])) == ["YOUR_TURN", "STEP_DONE_NEXT", "NEAR_TURN", "POSITION_UPDATE"]


async def test_a_visit_without_a_ticket_is_told_of_its_first_one(watched: Watched) -> None:
    await watched.do(ChangeQueue("lab", "close"))
    visit = await watched.start()
    watchers = [await watched.visit(visit.visit_id), await watched.visit(visit.visit_id, OwnPlace(watched.venue.slug))]
    assert [events(await read(watcher)) for watcher in watchers] == [[], []]

    await watched.do(ChangeQueue("lab", "open"), EnterStage(visit.visit_id))
    await watched.settled()

    assert told(await read(watchers[0])) == ["NEAR_TURN", "POSITION_UPDATE"]
    assert events(await read(watchers[1])) == ["snapshot"]


async def test_a_stage_that_nothing_took_is_told_of_once_something_does(watched: Watched) -> None:
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id)
    await watched.do(ChangeQueue("xray", "close"))
    await read(watcher)

    await watched.finish(visit)
    parked = await read(watcher)
    await watched.do(ChangeQueue("xray", "open"), EnterStage(visit.visit_id))
    await watched.settled()

    assert onward(parked[-1]) == (None, None, None)
    assert [(one.event, one.data["clinic"]) for one in await read(watcher)] == [
        ("NEAR_TURN", "xray"),
        ("POSITION_UPDATE", "xray"),
    ]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
async def test_who_resumes_is_told_of_all_stages_that_passed_meanwhile(watched: Watched, *, elsewhere: bool) -> None:
    for _ in range(5):
        await watched.take("eye")
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id)
    left_at = await last_id(watcher)
    watcher.break_off()
    await watched.finish(visit)
    await watched.finish(visit)
    await watched.do(call_next("eye"))

    again = watched.another() if elsewhere else watched
    sent = [one for one in await read(await again.visit(visit.visit_id, since=left_at)) if one.data]

    assert [(one.event, one.data["clinic"]) for one in sent] == [
        ("YOUR_TURN", "lab"),
        ("STEP_DONE_NEXT", "lab"),
        ("POSITION_UPDATE", "xray"),
        ("YOUR_TURN", "xray"),
        ("STEP_DONE_NEXT", "xray"),
        ("POSITION_UPDATE", "eye"),
        ("POSITION_UPDATE", "eye"),
    ]
    assert [onward(one) for one in sent if one.event == "STEP_DONE_NEXT"] == [("xray", "1", "107"), ("eye", None, None)]
    assert [one.data["ahead"] for one in sent if one.event == "POSITION_UPDATE"] == [0, 5, 4]
    assert versions(sent) == sorted(versions(sent))


async def test_who_resumes_at_every_id_is_told_the_rest_of_the_words(watched: Watched) -> None:
    """Wherever the connection breaks, what was heard before and after is what an unbroken one hears."""
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id)
    await read(watcher)
    for _ in range(3):
        await watched.finish(visit)
        await watched.settled()
    whole = [one for one in await read(watcher) if one.data]
    words = [one.event for one in whole if one.event in WORDS]

    for at, one in enumerate(whole):
        if one.id:
            again = await read(await watched.visit(visit.visit_id, since=one.id))
            heard = [one.event for one in whole[: at + 1] if one.event in WORDS]
            assert [*heard, *(one.event for one in again if one.event in WORDS)] == words


WORDS = {"YOUR_TURN", "STEP_DONE_NEXT"}


async def test_a_link_of_a_single_ticket_goes_along_when_its_visitor_is_sent_elsewhere(watched: Watched) -> None:
    ticket = await watched.take("lab", "Sara")
    watcher, by_name = await watched.visit(ticket.visit_id), await watched.clinic(user="Sara")
    await read(watcher)
    left_at = await last_id(by_name)

    await watched.do(Transfer(ticket.ticket_id, "xray"))
    await watched.settled()
    await watched.do(call_next("xray"))

    sent = await read(watcher)
    assert [(one.event, one.data["clinic"]) for one in sent] == [
        ("STEP_DONE_NEXT", "lab"),
        ("NEAR_TURN", "xray"),
        ("POSITION_UPDATE", "xray"),
        ("YOUR_TURN", "xray"),
    ]
    assert (sent[0].data["status"], *onward(sent[0])) == ("LEFT", "xray", "1", "107")
    for heard in (await read(by_name), await read(await watched.clinic(user="Sara", since=left_at))):
        assert told(heard) == ["POSITION_UPDATE"]
        assert "xray" not in str(heard)


async def test_who_resumes_hears_of_a_single_ticket_that_was_moved_twice(watched: Watched) -> None:
    first = await watched.take("lab", "Sara")
    left_at = await last_id(await watched.visit(first.visit_id))
    second = await watched.engine.do(watched.venue.id, Transfer(first.ticket_id, "xray"))
    await watched.do(Transfer(second.ticket_id, "eye"))

    sent = await read(await watched.another().visit(first.visit_id, since=left_at))

    assert [(one.event, one.data["clinic"]) for one in sent if one.data][:4] == [
        ("STEP_DONE_NEXT", "lab"),
        ("POSITION_UPDATE", "xray"),
        ("STEP_DONE_NEXT", "xray"),
        ("POSITION_UPDATE", "eye"),
    ]


async def test_a_planned_visit_is_never_shown_to_who_only_knows_the_name(watched: Watched) -> None:
    by_name = [await watched.clinic(queue, user="Sara") for queue in ("lab", "xray")]
    left_at = [await last_id(watcher) for watcher in by_name]

    visit = await watched.start("Sara")
    watched.beat()
    await watched.finish(visit)
    watched.beat()
    for task in tuple(watched.hub._background):
        await task

    again = [
        await watched.clinic(queue, user="Sara", since=at) for queue, at in zip(("lab", "xray"), left_at, strict=True)
    ]
    fresh = [await watched.clinic(queue, user="Sara") for queue in ("lab", "xray")]
    for watcher in (*by_name, *again, *fresh):
        assert told(await read(watcher)) == []


async def test_a_ticket_that_is_adopted_is_followed_by_the_visit_and_by_nobody_else(watched: Watched) -> None:
    single = await watched.take("xray", "Sara")
    visit = await watched.start("Sara")
    by_visit, by_old_link = await watched.visit(visit.visit_id), await watched.visit(single.visit_id)
    by_name = await watched.clinic("xray", user="Sara")
    for watcher in (by_visit, by_old_link):
        await read(watcher)
    left_at = await last_id(by_name)

    await watched.finish(visit)
    await watched.settled()
    await watched.finish(visit)
    watched.beat()
    await watched.settled()

    assert [(one.event, one.data["clinic"]) for one in await read(by_visit) if one.event in WORDS] == [
        ("YOUR_TURN", "lab"),
        ("STEP_DONE_NEXT", "lab"),
        ("YOUR_TURN", "xray"),
        ("STEP_DONE_NEXT", "xray"),
    ]
    assert by_old_link.is_ended
    assert told(await read(by_old_link)) == []
    assert told(await read(by_name)) == []
    assert told(await read(await watched.clinic("xray", user="Sara", since=left_at))) == []


async def test_who_resumes_hears_of_an_adopted_ticket_from_then_on_only(watched: Watched) -> None:
    visit = await watched.start("Sara")
    left_at = await last_id(await watched.visit(visit.visit_id))
    single = await watched.take("xray", "Sara")
    await watched.do(Call(single.ticket_id))
    await watched.finish(visit)
    await watched.do(Start(single.ticket_id))

    sent = await read(await watched.visit(visit.visit_id, since=left_at))

    assert [(one.event, one.data["clinic"]) for one in sent if one.data] == [
        ("YOUR_TURN", "lab"),
        ("STEP_DONE_NEXT", "lab"),
        ("POSITION_UPDATE", "xray"),
        ("IN_SERVICE", "xray"),
    ]


async def test_an_advance_that_is_undone_leads_back(watched: Watched) -> None:
    visit = await watched.start()
    lab = await watched.now_at(visit)
    watcher = await watched.visit(visit.visit_id)
    left_at = await last_id(watcher)
    await watched.finish(visit)
    await watched.settled()
    await read(watcher)

    finished = (await watched.engine.events_after(watched.venue.id, 0, most=10))[-2]
    await watched.do(Undo(lab.ticket_id, finished.version))
    await watched.settled()
    back = await read(watcher)
    await watched.do(Finish(lab.ticket_id))
    await watched.settled()

    assert [(one.event, one.data["clinic"], one.data["status"]) for one in back] == [
        ("POSITION_UPDATE", "xray", "LEFT"),
        ("POSITION_UPDATE", "lab", "CALLED"),
    ]
    assert [(one.event, one.data["clinic"]) for one in await read(watcher)] == [
        ("STEP_DONE_NEXT", "lab"),
        ("NEAR_TURN", "xray"),
        ("POSITION_UPDATE", "xray"),
    ]
    again = [one for one in await read(await watched.visit(visit.visit_id, since=left_at)) if one.event in WORDS]
    assert [one.event for one in again] == ["YOUR_TURN", "STEP_DONE_NEXT", "STEP_DONE_NEXT"]


@pytest.mark.parametrize(
    ("does", "places"),
    [
        (SkipStage, [("lab", "LEFT"), ("xray", "NEAR_TURN")]),
        (ResetPath, [("lab", "LEFT"), ("lab", "NEAR_TURN")]),
        (RemoveFromQueue, [("lab", "LEFT")]),
        (EndVisit, [("lab", "LEFT")]),
    ],
)
async def test_what_staff_do_to_a_visit_is_told_to_who_watches_it(
    watched: Watched, does: type[Operation[Any]], places: list[tuple[str, str]]
) -> None:
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id)
    await read(watcher)

    await watched.do(does(visit.visit_id, "lab") if does is SkipStage else does(visit.visit_id))
    await watched.settled()

    sent = [one for one in await read(watcher) if one.event == "POSITION_UPDATE"]
    assert [(one.data["clinic"], one.data["status"]) for one in sent] == places


async def test_who_lost_their_place_to_a_reset_is_told_of_the_next_one(watched: Watched) -> None:
    visit = await watched.start()
    watcher = await watched.visit(visit.visit_id)
    await read(watcher)

    await watched.do(Reset("lab"), ExpireEnded(QueueId("lab")), EnterStage(visit.visit_id))
    await watched.settled()

    sent = [one for one in await read(watcher) if one.event == "POSITION_UPDATE"]
    assert [(one.data["number"], one.data["status"]) for one in sent] == [(1, "LEFT"), (1, "NEAR_TURN")]


def onward(sent: Sent) -> tuple[str | None, str | None, str | None]:
    return sent.data["next_clinic"], sent.data["next_floor"], sent.data["next_room"]

"""A visitor follows their own ticket: told at once when it changes or comes near, a little later when others move."""

import msgspec
import pytest

from dawr.domain.ticket import Ticket
from dawr.live.watcher import Watcher
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.snapshots import LookAtTicket
from dawr.operations.staff import Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.visitor import Leave
from tests.builders import call_next, rejoin
from tests.live.watching import Sent, Watched, events, last_id, read, told


async def test_a_visitor_is_told_where_they_stand_when_they_come(watched: Watched) -> None:
    for _ in range(5):
        await watched.take()
    await watched.take(visitor="Sara")

    sent = await read(await watched.clinic(user="Sara"))

    assert events(sent) == ["hello", "POSITION_UPDATE", "QUEUE_UPDATE"]
    assert sent[2].data == {
        "type": "POSITION_UPDATE",
        "clinic": "lab",
        "status": "WAITING",
        "number": 6,
        "display_number": "A006",
        "ahead": 5,
        "position": 6,
        "estimated_wait_minutes": 25,
        "desk": None,
    }


async def test_every_change_of_the_own_ticket_is_told_at_once(watched: Watched) -> None:
    ticket = await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    assert told(await read(watcher)) == ["NEAR_TURN", "POSITION_UPDATE"]

    await watched.do(call_next(None, desk="desk-1"), Recall(ticket.ticket_id), Start(ticket.ticket_id))
    await watched.do(Finish(ticket.ticket_id))

    sent = await read(watcher)
    assert told(sent) == ["YOUR_TURN", "YOUR_TURN", "IN_SERVICE", "STEP_DONE_NEXT"]
    assert sent[0].data["desk"] == "desk-1"
    assert [one.data["status"] for one in sent if one.data and "status" in one.data] == [
        "CALLED",
        "CALLED",
        "IN_SERVICE",
        "DONE",
    ]
    assert sent[-2].data["next_clinic"] is None


async def test_the_own_part_of_an_event_goes_before_the_frame_that_has_its_id(watched: Watched) -> None:
    """A connection that breaks in between resumes before the event, so that neither is lost."""
    await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await read(watcher)

    await watched.do(call_next())

    assert [(one.event, one.id) for one in await read(watcher)] == [("YOUR_TURN", ""), ("QUEUE_UPDATE", "1.2")]


@pytest.mark.parametrize(("after_miss", "status"), [([], "MISSED"), ([rejoin], "NEAR_TURN"), ([Leave], "LEFT")])
async def test_who_misses_their_turn_is_told_what_came_of_it(
    watched: Watched, after_miss: list[type[Leave]], status: str
) -> None:
    ticket = await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await watched.do(call_next(), Miss(ticket.ticket_id), *(then(ticket.ticket_id) for then in after_miss))

    sent = await read(watcher)

    assert [one for one in sent if one.event == "POSITION_UPDATE"][-1].data["status"] == status


async def test_others_who_move_are_told_once_a_second_and_only_if_it_matters(watched: Watched) -> None:
    for _ in range(10):
        await watched.take()
    await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await read(watcher)

    await watched.do(call_next(), call_next(), call_next())
    assert told(await read(watcher)) == []
    watched.beat()
    moved = await read(watcher)
    await watched.take()
    watched.beat()

    assert [one.data["ahead"] for one in moved] == [7]
    assert told(await read(watcher)) == []


async def test_a_turn_that_comes_near_is_told_at_once_and_once(watched: Watched) -> None:
    for _ in range(5):
        await watched.take()
    await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await read(watcher)

    await watched.do(call_next())
    assert told(await read(watcher)) == []
    await watched.do(call_next())
    near = await read(watcher)
    await watched.do(call_next())
    watched.beat()

    assert [(one.event, one.id) for one in near] == [("NEAR_TURN", ""), ("QUEUE_UPDATE", "1.8")]
    assert near[0].data["ahead"] == 3
    assert near[0].data["status"] == "NEAR_TURN"
    assert told(await read(watcher)) == ["POSITION_UPDATE"]


async def test_a_turn_comes_near_when_somebody_ahead_leaves_and_not_when_somebody_behind_does(watched: Watched) -> None:
    ahead = [await watched.take() for _ in range(4)]
    await watched.take(visitor="Sara")
    behind = await watched.take()
    watcher = await watched.clinic(user="Sara")
    await read(watcher)

    await watched.do(Leave(behind.ticket_id))
    assert told(await read(watcher)) == []
    await watched.do(Hold(ahead[1].ticket_id))
    assert told(await read(watcher)) == ["NEAR_TURN"]
    await watched.do(Resume(ahead[1].ticket_id))
    watched.beat()

    assert [one.data["status"] for one in await read(watcher) if one.event == "POSITION_UPDATE"] == ["WAITING"]


async def test_how_near_is_near_is_the_queues_setting(watched: Watched) -> None:
    queues = tuple(msgspec.structs.replace(queue, near_turn=1) for queue in watched.venue.queues)
    for _ in range(3):
        await watched.take()
    await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await watched.do(SetUp(msgspec.structs.replace(watched.venue, queues=queues)))
    watched.beat()
    await read(watcher)

    await watched.do(call_next())
    assert told(await read(watcher)) == []
    await watched.do(call_next())

    assert told(await read(watcher)) == ["NEAR_TURN"]


FORMS = ["place", "clinic"]


async def follow(watched: Watched, form: str, ticket: Ticket) -> Watcher:
    """The stream behind the link, or the clinic's with the user's name."""
    return await (watched.place(ticket) if form == "place" else watched.clinic(user="Sara"))


def moves(sent: list[Sent]) -> list[int]:
    """How many were ahead, each time a place was told."""
    return [one.data["ahead"] for one in sent if one.event in {"snapshot", "update", "POSITION_UPDATE"}]


@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("order", ["leaves, opens", "opens, leaves"])
async def test_a_second_tab_keeps_nothing_from_the_first(watched: Watched, order: str, first: str, second: str) -> None:
    ahead = [await watched.take() for _ in range(7)]
    ticket = await watched.take(visitor="Sara")
    tab = await follow(watched, first, ticket)
    assert moves(await read(tab)) == [7]

    if order == "leaves, opens":
        await watched.do(Leave(ahead[0].ticket_id))
        another = await follow(watched, second, ticket)
        opened = moves(await read(another))
    else:
        another = await follow(watched, second, ticket)
        opened = moves(await read(another))
        await watched.do(Leave(ahead[0].ticket_id))
    watched.beat()

    assert opened == ([6] if order == "leaves, opens" else [7])
    assert moves(await read(tab)) == [6]
    assert moves(await read(another)) == ([] if order == "leaves, opens" else [6])


@pytest.mark.parametrize("form", FORMS)
async def test_a_second_tab_that_opens_when_it_is_nearly_the_turn_keeps_nothing_from_the_first(
    watched: Watched, form: str
) -> None:
    ahead = [await watched.take() for _ in range(4)]
    ticket = await watched.take(visitor="Sara")
    tab = await follow(watched, form, ticket)
    await read(tab)

    await watched.do(Leave(ahead[0].ticket_id))
    another = await follow(watched, form, ticket)
    await read(another)
    watched.beat()

    sent = await read(tab)
    assert moves(sent) == [3]
    assert told(sent) == (["NEAR_TURN", "POSITION_UPDATE"] if form == "clinic" else ["update"])
    assert told(await read(another)) == []


async def test_what_becomes_near_by_a_new_set_up_is_told_to_both_tabs_once(watched: Watched) -> None:
    queues = tuple(msgspec.structs.replace(queue, near_turn=5) for queue in watched.venue.queues)
    for _ in range(5):
        await watched.take()
    ticket = await watched.take(visitor="Sara")
    tab = await follow(watched, "clinic", ticket)
    await read(tab)

    await watched.do(SetUp(msgspec.structs.replace(watched.venue, queues=queues)))
    another = await follow(watched, "clinic", ticket)
    watched.beat()

    assert told(await read(tab)) == ["NEAR_TURN", "POSITION_UPDATE"]
    assert told(await read(another)) == ["NEAR_TURN", "POSITION_UPDATE"]


async def test_whoever_resumes_keeps_nothing_from_a_tab_that_stayed(watched: Watched) -> None:
    for _ in range(7):
        await watched.take()
    ticket = await watched.take(visitor="Sara")
    tab, another = await follow(watched, "place", ticket), await follow(watched, "place", ticket)
    await read(tab)
    left_at = await last_id(another)
    another.break_off()

    await watched.do(call_next())
    again = await watched.place(ticket, since=left_at)
    watched.beat()

    assert moves(await read(tab)) == [6]
    assert moves(await read(again)) == [6]


async def test_somebody_with_a_higher_priority_goes_ahead(watched: Watched) -> None:
    for _ in range(4):
        await watched.take()
    await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await read(watcher)

    await watched.take(priority=2)
    watched.beat()

    assert [one.data["ahead"] for one in await read(watcher) if one.event == "POSITION_UPDATE"] == [5]


async def test_who_has_no_ticket_yet_is_followed_once_they_enter(watched: Watched) -> None:
    watcher = await watched.clinic(user="Sara")
    stranger = await watched.clinic(user="Omar")
    assert told(await read(watcher)) == []
    await read(stranger)

    ticket = await watched.take(visitor="Sara")
    watched.beat()
    await let_it_poll(watched)

    assert told(await read(watcher)) == ["NEAR_TURN", "POSITION_UPDATE"]
    await watched.do(call_next(), Finish(ticket.ticket_id))
    await watched.take(visitor="Sara")
    watched.beat()
    await let_it_poll(watched)
    assert told(await read(watcher)) == ["YOUR_TURN", "STEP_DONE_NEXT", "NEAR_TURN", "POSITION_UPDATE"]
    assert told(await read(stranger)) == []


async def test_what_happened_to_the_own_ticket_meanwhile_is_told_on_resuming(watched: Watched) -> None:
    for _ in range(4):
        await watched.take()
    ticket = await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    left_at = await last_id(watcher)
    watcher.break_off()
    await watched.do(call_next(), call_next(), call_next(), call_next(), call_next(), Start(ticket.ticket_id))

    for again in (watched, watched.another()):
        sent = await read(await again.clinic(user="Sara", since=left_at))
        assert told(sent) == ["YOUR_TURN", "IN_SERVICE"]
        assert [one.id for one in sent if one.event == "QUEUE_UPDATE"] == [f"1.{v}" for v in (*range(6, 12), 11)]


async def test_a_ticket_that_ended_meanwhile_is_still_told_of(watched: Watched) -> None:
    ticket = await watched.take(visitor="Sara")
    await watched.take(visitor="Omar")
    left_at = await last_id(await watched.clinic(user="Sara"))
    await watched.do(call_next(), Finish(ticket.ticket_id), call_next())
    await watched.take(visitor="Sara")

    sent = await read(await watched.clinic(user="Sara", since=left_at))

    assert told(sent) == ["YOUR_TURN", "STEP_DONE_NEXT", "POSITION_UPDATE", "NEAR_TURN", "POSITION_UPDATE"]
    assert [one.data["number"] for one in sent if one.data and "number" in one.data] == [1, 1, 3, 3, 3]


async def test_a_turn_that_came_near_meanwhile_is_told_on_resuming_and_only_then(watched: Watched) -> None:
    for _ in range(6):
        await watched.take()
    await watched.take(visitor="Sara")
    far = await last_id(await watched.clinic(user="Sara"))
    await watched.do(call_next(), call_next(), call_next())
    near = await last_id(await watched.clinic(user="Sara"))
    await watched.do(call_next())

    assert told(await read(await watched.clinic(user="Sara", since=far))) == ["NEAR_TURN", "POSITION_UPDATE"]
    assert told(await read(await watched.clinic(user="Sara", since=near))) == ["POSITION_UPDATE"]


async def test_the_holder_of_a_link_sees_a_snapshot_and_then_updates(watched: Watched) -> None:
    await watched.take()
    ticket = await watched.take()
    watcher = await watched.place(ticket)
    first = await read(watcher)

    await watched.do(call_next())
    watched.beat()
    await watched.do(call_next(None, desk="desk-1"))

    assert events(first) == ["snapshot"]
    assert (first[-1].data["ahead"], first[-1].data["position"]) == (1, 2)
    sent = await read(watcher)
    assert [(one.event, one.data["state"], one.data["ahead"]) for one in sent] == [
        ("update", "waiting", 0),
        ("update", "called", 0),
    ]
    assert [one.id for one in sent] == ["1.3", "1.4"]
    assert sent[-1].data["desk"] == f"{watched.venue.slug}:desk-1"


async def test_a_position_is_what_the_store_would_count(watched: Watched) -> None:
    """People come, hold, leave and miss in every order; the hub's list stays the truth."""
    tickets = [await watched.take(priority=turn % 3) for turn in range(12)]
    streams = {ticket.ticket_id: await watched.place(ticket) for ticket in tickets}
    await watched.do(Hold(tickets[3].ticket_id), Leave(tickets[2].ticket_id), call_next(), call_next())
    await watched.do(Resume(tickets[3].ticket_id))
    called = await watched.engine.do(watched.venue.id, call_next())
    assert called.ticket is not None
    await watched.do(Miss(called.ticket.ticket_id), rejoin(called.ticket.ticket_id, "first"))
    watched.beat()

    for ticket_id, stream in streams.items():
        place = await watched.engine.read(watched.venue.id, LookAtTicket(ticket_id))
        last = [one.data for one in await read(stream) if one.data][-1]
        assert (last["state"], last["ahead"]) == (place.ticket.state, place.ahead)
        assert last["wait_minutes"] == place.wait_minutes


async def let_it_poll(watched: Watched) -> None:
    for task in tuple(watched.hub._background):
        await task


async def test_who_waits_is_told_once_that_the_queue_is_paused_and_that_it_goes_on(watched: Watched) -> None:
    stream = await watched.place(await watched.take())
    await read(stream)

    said = []
    for verb in ("pause", "resume"):
        await watched.do(ChangeQueue("lab", verb))
        watched.beat(3)
        said += [one.data["paused"] for one in await read(stream) if one.data]

    assert said == [True, False]

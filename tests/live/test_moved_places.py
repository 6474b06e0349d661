"""Somebody waits at another place than before: by a new priority, or because what happened last was taken back."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from dawr.domain.errors import Refused
from dawr.domain.ticket import Ticket, TicketId
from dawr.live.watcher import Watcher
from dawr.operations.operation import Operation
from dawr.operations.snapshots import LookAtTicket
from dawr.operations.staff import Call, Extend, Finish, Hold, Miss, Prioritize, Resume, Start
from dawr.operations.undo import Undo
from dawr.operations.visitor import Leave
from tests.builders import call_next, rejoin
from tests.live.test_feed import line_updates
from tests.live.watching import Sent, Watched, last_id, read, told, versions
from tests.stores.doing import EVERY_EVENT

STEPS = 60


async def undo(watched: Watched, ticket: Ticket) -> None:
    """What happened to it last."""
    now = (await watched.engine.read(watched.venue.id, LookAtTicket(ticket.ticket_id))).ticket
    await watched.do(Undo(ticket.ticket_id, now.version))


async def places(watched: Watched, streams: dict[TicketId, Watcher]) -> dict[TicketId, tuple[str, int]]:
    """As those who follow were told last; nothing new leaves it as it was."""
    watched.beat()
    seen = {}
    for ticket_id, stream in streams.items():
        sent = [one.data for one in await read(stream) if one.data]
        if sent:
            seen[ticket_id] = (sent[-1]["state"], sent[-1]["ahead"])
    return seen


async def stored_places(watched: Watched, tickets: list[Ticket]) -> dict[TicketId, tuple[str, int]]:
    found: dict[TicketId, tuple[str, int]] = {}
    for ticket in tickets:
        place = await watched.engine.read(watched.venue.id, LookAtTicket(ticket.ticket_id))
        found[ticket.ticket_id] = (place.ticket.state, place.ahead)
    return found


async def test_who_is_given_priority_goes_ahead_and_the_others_behind(watched: Watched) -> None:
    tickets = [await watched.take() for _ in range(6)]
    streams = {ticket.ticket_id: await watched.place(ticket) for ticket in tickets}
    await places(watched, streams)

    await watched.do(Prioritize(tickets[4].ticket_id, 2, "urgent"))
    ahead = await places(watched, streams)
    await undo(watched, tickets[4])
    back = await places(watched, streams)

    assert [ahead.get(ticket.ticket_id) for ticket in tickets] == [
        ("waiting", 1),
        ("waiting", 2),
        ("waiting", 3),
        ("waiting", 4),
        ("waiting", 0),
        None,
    ]
    assert [back.get(ticket.ticket_id) for ticket in tickets] == [
        ("waiting", 0),
        ("waiting", 1),
        ("waiting", 2),
        ("waiting", 3),
        ("waiting", 4),
        None,
    ]


async def test_a_return_that_is_undone_leaves_no_place_behind(watched: Watched) -> None:
    first, second = await watched.take(), await watched.take()
    stream = await watched.place(second)
    await watched.do(call_next(), Miss(first.ticket_id), rejoin(first.ticket_id, "first"))
    watched.beat()
    assert (await read(stream))[-1].data["ahead"] == 1

    await undo(watched, first)
    watched.beat()

    assert (await read(stream))[-1].data["ahead"] == 0


async def test_somebody_ahead_who_loses_their_priority_brings_a_turn_near(watched: Watched) -> None:
    ahead = await watched.take(priority=3)
    for _ in range(3):
        await watched.take()
    await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await read(watcher)

    await watched.do(Prioritize(ahead.ticket_id, 0, "other"))

    assert told(await read(watcher)) == ["NEAR_TURN"]


async def test_a_finish_that_is_undone_is_told_to_who_only_knows_the_name(watched: Watched) -> None:
    ticket = await watched.take(visitor="Sara")
    watcher = await watched.clinic(user="Sara")
    await watched.do(Call(ticket.ticket_id), Finish(ticket.ticket_id))
    await read(watcher)

    await undo(watched, ticket)
    watched.beat()
    for task in tuple(watched.hub._background):
        await task

    assert told(await read(watcher)) == ["YOUR_TURN", "POSITION_UPDATE"]


async def test_more_time_to_come_moves_nobody(watched: Watched) -> None:
    first, second = await watched.take(), await watched.take()
    await watched.do(call_next())
    own, other = await watched.place(first), await watched.place(second)
    await read(own)
    await read(other)

    await watched.do(Extend(first.ticket_id))
    watched.beat()

    assert [one.data["state"] for one in await read(own) if one.data] == ["called"]
    assert [one for one in await read(other) if one.data] == []


def a_step(chance: Random, ticket_id: TicketId, version: int) -> Operation[Any]:
    steps: list[Operation[Any]] = [
        call_next(),
        Call(ticket_id),
        Start(ticket_id),
        Finish(ticket_id),
        Miss(ticket_id),
        rejoin(ticket_id, "first"),
        rejoin(ticket_id),
        Hold(ticket_id),
        Resume(ticket_id),
        Leave(ticket_id),
        Extend(ticket_id),
        *(Prioritize(ticket_id, priority, "other") for priority in range(4)),
        *(Undo(ticket_id, version) for _ in range(6)),
    ]
    return chance.choice(steps)


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_happens_places_are_what_the_store_would_count_then_and_later(
    watched: Watched, seed: int
) -> None:
    """Who stayed, and who comes back to any moment in another process, are told the same."""
    chance = Random(seed)
    tickets = [await watched.take(priority=turn % 3) for turn in range(8)]
    streams = {ticket.ticket_id: await watched.place(ticket) for ticket in tickets}
    line = await watched.clinic()
    begun = {ticket_id: await last_id(stream) for ticket_id, stream in streams.items()}
    told_live: dict[TicketId, list[Sent]] = {ticket_id: [] for ticket_id in streams}

    async def listen() -> None:
        for ticket_id, stream in streams.items():
            told_live[ticket_id] += [one for one in await read(stream) if one.data]

    for _ in range(STEPS):
        ticket_id = chance.choice(tickets).ticket_id
        now = (await watched.engine.read(watched.venue.id, LookAtTicket(ticket_id))).ticket
        with suppress(Refused):
            await watched.do(a_step(chance, ticket_id, now.version))
        await listen()
        watched.beat()
        await listen()

    stored = await stored_places(watched, tickets)
    elsewhere = watched.another()
    for ticket in tickets:
        live = [one for one in told_live[ticket.ticket_id] if one.event == "update"]
        if live:
            assert (live[-1].data["state"], live[-1].data["ahead"]) == stored[ticket.ticket_id]
        own = await versions_of(watched, ticket)
        again = await read(await elsewhere.place(ticket, since=begun[ticket.ticket_id]))
        assert by_version(again, own) == by_version(told_live[ticket.ticket_id], own)
    assert line_updates(await read(await elsewhere.clinic(since="1.8")))[:-1] == line_updates(await read(line))[1:]


async def versions_of(watched: Watched, ticket: Ticket) -> set[int]:
    """Of what happened to it since the stream began."""
    stored = await watched.engine.events_after(watched.venue.id, 8, most=EVERY_EVENT)
    return {event.version for event in stored if event.ticket_id == ticket.ticket_id}


def by_version(sent: list[Sent], own: set[int]) -> dict[int, tuple[str, int]]:
    """Where the ticket stood after each of its own events, as it was told first."""
    found: dict[int, tuple[str, int]] = {}
    for one in sent:
        for version in versions([one]):
            if one.event == "update" and version in own:
                found.setdefault(version, (one.data["state"], one.data["ahead"]))
    return found

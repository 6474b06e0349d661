"""The clinic's stream from outside: its words, in the order in which things happen, and nothing missed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dawr.operations.admin import Reset
from dawr.operations.pins import Done
from dawr.operations.staff import Finish, Miss, Recall, Start
from dawr.settings import Settings
from tests.builders import call_next, issue
from tests.live.watching import Sent
from tests.web.streams import Installation, installed

STREAM = "/api/v1/events/stream"


@pytest.fixture
async def clinic(tmp_path: Path) -> AsyncIterator[Installation]:
    settings = Settings(data=str(tmp_path / "data"), log_level="error", rate_limits="off", traffic="off")
    async with installed(settings) as installation:
        yield installation


async def test_a_watcher_is_connected_at_once_and_told_how_the_queue_stands(clinic: Installation) -> None:
    await clinic.do(issue("lab"), issue("lab"), issue("lab"), call_next("lab"))

    stream = await clinic.open(f"{STREAM}?clinic=LAB")

    connected, update = await stream.event(), await stream.event()
    assert connected.event == "CONNECTED"
    assert connected.data == {"type": "CONNECTED", "clinic": "lab", "resumed": False}
    assert update.event == "QUEUE_UPDATE"
    assert update.data == {"type": "QUEUE_UPDATE", "clinic": "lab", "current": 1, "length": 3, "waiting": 2}


async def test_every_change_of_the_queue_is_pushed_and_none_of_another(clinic: Installation) -> None:
    stream = await clinic.open(f"{STREAM}?clinic=lab")
    await stream.until("QUEUE_UPDATE")

    await clinic.do(issue("lab"), issue("xray"), call_next("lab"), issue("lab"), Reset("lab"))

    updates = [await stream.event() for _ in range(4)]
    assert [(one.data["current"], one.data["length"], one.data["waiting"]) for one in updates] == [
        (None, 1, 1),
        (1, 1, 0),
        (1, 2, 1),
        (None, 0, 0),
    ]
    assert [one.id.partition(".")[2] for one in updates] == ["1", "3", "4", "5"]


async def test_a_visitor_is_led_from_the_line_to_the_end(clinic: Installation) -> None:
    for _ in range(4):
        await clinic.do(issue("lab"))
    ticket = (await clinic.dawr.engine.do(clinic.venue_id, issue("lab", "Sara"))).ticket
    stream = await clinic.open(f"{STREAM}?clinic=lab&user=Sara")

    for step in (
        call_next("lab"),
        call_next("lab"),
        call_next("lab"),
        call_next("lab"),
        call_next(None, desk="desk-1"),
        Recall(ticket.ticket_id),
        Start(ticket.ticket_id),
        Finish(ticket.ticket_id),
    ):
        await clinic.do(step)

    told = [one for one in await stream.until("STEP_DONE_NEXT") if mine(one)]
    steps = [(one.event, one.data["status"]) for one in told if one.event != "POSITION_UPDATE"]
    assert steps == [
        ("NEAR_TURN", "NEAR_TURN"),
        ("YOUR_TURN", "CALLED"),
        ("YOUR_TURN", "CALLED"),
        ("IN_SERVICE", "IN_SERVICE"),
        ("STEP_DONE_NEXT", "DONE"),
    ]
    assert told[0].data["ahead"] == 4
    assert all(one.data["type"] == one.event and one.data["number"] == 5 for one in told)
    assert next(one for one in told if one.event == "YOUR_TURN").data["desk"] == "desk-1"
    assert told[-1].data["next_clinic"] is None


async def test_who_is_finished_while_they_wait_is_not_told_that_it_is_their_turn(clinic: Installation) -> None:
    await clinic.do(issue("lab"), issue("lab", "Sara"))
    stream = await clinic.open(f"{STREAM}?clinic=lab&user=Sara")

    await clinic.do(Done("lab", None, "", visitor="Sara", by_staff=True))

    told = [one.event for one in await stream.until("STEP_DONE_NEXT") if mine(one)]
    assert "YOUR_TURN" not in told


async def test_a_visitor_who_is_called_already_is_told_so_when_they_connect(clinic: Installation) -> None:
    await clinic.do(issue("lab", "Sara"), call_next("lab"))

    stream = await clinic.open(f"{STREAM}?clinic=lab&user=Sara")

    assert [(await stream.event()).event for _ in range(4)] == [
        "CONNECTED",
        "YOUR_TURN",
        "POSITION_UPDATE",
        "QUEUE_UPDATE",
    ]


async def test_a_visitor_who_missed_their_turn_is_told(clinic: Installation) -> None:
    ticket = (await clinic.dawr.engine.do(clinic.venue_id, issue("lab", "Sara"))).ticket
    stream = await clinic.open(f"{STREAM}?clinic=lab&user=Sara")
    await stream.until("QUEUE_UPDATE")

    await clinic.do(call_next("lab"), Miss(ticket.ticket_id))

    await stream.until("YOUR_TURN")
    missed = (await stream.until("POSITION_UPDATE"))[-1]
    assert (missed.data["status"], missed.data["position"]) == ("MISSED", 0)


async def test_a_visitor_who_enters_while_they_watch_is_followed(clinic: Installation) -> None:
    """Found within a second or so: the stream itself does not know who took the number."""
    stream = await clinic.open(f"{STREAM}?clinic=lab&user=%20Sara%20")
    await stream.until("QUEUE_UPDATE")

    await clinic.do(issue("lab", "Sara"))

    assert (await stream.until("POSITION_UPDATE"))[-1].data["number"] == 1


async def test_a_visitor_who_resumes_misses_nothing_and_hears_nothing_twice(clinic: Installation) -> None:
    await clinic.do(issue("lab"), issue("lab"))
    ticket = (await clinic.dawr.engine.do(clinic.venue_id, issue("lab", "Sara"))).ticket
    stream = await clinic.open(f"{STREAM}?clinic=lab&user=Sara")
    left_at = (await stream.until("QUEUE_UPDATE"))[-1].id
    await stream.close()
    await clinic.do(call_next("lab"), call_next("lab"), call_next("lab"), Start(ticket.ticket_id))
    await clinic.do(Finish(ticket.ticket_id))

    again = await clinic.open(f"{STREAM}?clinic=lab&user=Sara", {"Last-Event-ID": left_at})

    connected = await again.event()
    told = await again.until("STEP_DONE_NEXT")
    told += [await again.event(), await again.event()]
    assert connected.data["resumed"] is True
    assert [one.event for one in told if mine(one)] == ["YOUR_TURN", "IN_SERVICE", "STEP_DONE_NEXT"]
    assert [one.id.partition(".")[2] for one in told if not mine(one)] == ["4", "5", "6", "7", "8", "8"]


@pytest.mark.parametrize("given", ["0.0", "nonsense", "1.1"])
async def test_an_id_that_says_nothing_is_a_fresh_start(clinic: Installation, given: str) -> None:
    stream = await clinic.open(f"{STREAM}?clinic=lab&last_event_id={given}")

    assert (await stream.event()).data["resumed"] is False
    assert (await stream.event()).event == "QUEUE_UPDATE"


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "invalid-query"),
        ("?clinic=", 404, "unknown-queue"),
        ("?clinic=nowhere", 404, "unknown-queue"),
        ("?clinic=lab&clinic=xray", 422, "invalid-query"),
        ("?clinic=lab&user=%20", 422, "invalid-value"),
        ("?clinic=lab&user=a%0Ab", 422, "invalid-value"),
    ],
)
async def test_what_is_no_clinic_or_no_user_is_refused_before_the_stream_begins(
    clinic: Installation, query: str, status: int, code: str
) -> None:
    answer = await clinic.open(STREAM + query)

    problem = json.loads(await answer.everything())
    assert (answer.status, problem["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_name_cannot_forge_an_event(clinic: Installation) -> None:
    """A visitor's name is in no event, whatever it looks like."""
    forged = "Sara data: {} event: YOUR_TURN"
    stream = await clinic.open(f"{STREAM}?clinic=lab")
    await stream.until("QUEUE_UPDATE")

    await clinic.do(issue("lab", forged))

    update = await stream.event()
    assert update.event == "QUEUE_UPDATE"
    assert "Sara" not in str(update)


def mine(sent: Sent) -> bool:
    return sent.event not in {"QUEUE_UPDATE", "CONNECTED"}

"""A visitor's link over HTTP, in the native words and the clinic's: one stream for the whole visit, whatever queue."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from dawr.domain.journey import Journey, Stage
from dawr.domain.queue import Queue, QueueId
from dawr.domain.ticket import VisitId
from dawr.domain.venue import VenueId
from dawr.live.joining import Wish
from dawr.live.watcher import Watcher
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.reception import EnterStage, NewLink
from dawr.operations.snapshots import LookAtVenue
from dawr.operations.staff import Call, Finish
from dawr.operations.visits import LookAtVisitById, StartVisit
from dawr.settings import Settings
from dawr.web.links import new_link
from tests.builders import call_next, issue
from tests.live.watching import Sent, versions
from tests.stores.doing import together
from tests.web.streams import Installation, Reader, installed

NATIVE, CLINIC = "/v1/events", "/api/v1/events/stream"


@pytest.fixture(params=["sqlite", "postgres"])
async def here(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    """With a journey from the laboratory to the X-ray one floor up."""
    settings = Settings(data=str(tmp_path / "data"), log_level="error", rate_limits="off", traffic="off")
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        settings = Settings(database_url=url, log_level="error", rate_limits="off", traffic="off")
    async with installed(settings) as installation:
        venue, _ = await installation.dawr.engine.read(installation.venue_id, LookAtVenue())
        queues = tuple(upstairs(queue) if queue.id == "xray" else queue for queue in venue.queues)
        general = Journey("general", {"en": "General"}, fixed=(Stage(QueueId("lab")), Stage(QueueId("xray"))))
        await installation.do(SetUp(msgspec.structs.replace(venue, queues=queues, journeys=(general,))))
        yield installation


def upstairs(queue: Queue) -> Queue:
    return msgspec.structs.replace(queue, floor="1", room="107")


class Visiting(msgspec.Struct, frozen=True):
    here: Installation
    visit_id: VisitId
    token: str

    async def finish(self) -> None:
        """Call the visitor wherever they wait, and let them go on."""
        ticket = (await self.here.dawr.engine.read(self.here.venue_id, LookAtVisitById(self.visit_id))).ticket
        assert ticket is not None
        await self.here.do(Call(ticket.ticket_id), Finish(ticket.ticket_id))

    async def open(self, path: str, *, since: str | None = None) -> Reader:
        return await self.here.open(f"{path}?ticket={self.token}", {} if since is None else {"Last-Event-ID": since})


async def a_visit(here: Installation, visitor: str = "12345") -> Visiting:
    link = new_link(here.dawr.ids, here.venue_id)
    visit_id = VisitId(link.visit_id)
    await here.do(StartVisit("general", visitor, "any", visit_id, link.secret_hash))
    return Visiting(here, visit_id, link.token)


async def test_the_native_stream_follows_the_visit_into_the_next_queue(here: Installation) -> None:
    visit = await a_visit(here)
    stream = await visit.open(NATIVE)
    snapshot = await stream.event()

    await visit.finish()
    first = [await stream.event() for _ in range(4)]
    await visit.finish()
    rest = [await stream.event() for _ in range(3)]

    assert (snapshot.event, snapshot.data["queue"]) == ("snapshot", "clinic:lab")
    assert shown(first) == [
        ("update", "clinic:lab", "called"),
        ("update", "clinic:lab", "finished"),
        ("step", "clinic:lab", None),
        ("snapshot", "clinic:xray", "waiting"),
    ]
    assert first[2].data == {
        "queue": "clinic:lab",
        "next": {"queue": "clinic:xray", "floor": "1", "room": "107"},
    }
    assert shown(rest)[-1] == ("step", "clinic:xray", None)
    assert rest[-1].data["next"] is None
    seen = json.loads(await (await here.open(f"/v1/visits/{visit.token}")).everything())
    assert rest[1].data == seen["tickets"][-1]


@pytest.mark.parametrize("before", ["", "/t/", "%2Ft%2F"])
async def test_the_clinics_stream_follows_the_visit_and_names_what_is_next(here: Installation, before: str) -> None:
    visit = await a_visit(here)
    stream = await here.open(f"{CLINIC}?ticket={before}{visit.token}")
    begin = [await stream.event() for _ in range(3)]

    await visit.finish()
    await stream.until("POSITION_UPDATE")
    await visit.finish()

    rest = await stream.until("STEP_DONE_NEXT")
    assert begin[0].data == {"type": "CONNECTED", "clinic": "lab", "resumed": False}
    assert [one.event for one in begin] == ["CONNECTED", "NEAR_TURN", "POSITION_UPDATE"]
    assert [(one.event, one.data["clinic"]) for one in rest] == [("YOUR_TURN", "xray"), ("STEP_DONE_NEXT", "xray")]
    assert rest[-1].data == {
        "type": "STEP_DONE_NEXT",
        "clinic": "xray",
        "status": "DONE",
        "number": 1,
        "display_number": "001",
        "next_clinic": None,
        "next_floor": None,
        "next_room": None,
    }


async def test_a_step_in_the_clinics_words_says_where_to_go(here: Installation) -> None:
    visit = await a_visit(here)
    stream = await visit.open(CLINIC)

    await visit.finish()

    done = (await stream.until("STEP_DONE_NEXT"))[-1].data
    assert (done["next_clinic"], done["next_floor"], done["next_room"]) == ("xray", "1", "107")


async def test_a_link_shows_no_queue_but_where_the_visitor_stands(here: Installation) -> None:
    visit = await a_visit(here)
    stream = await here.open(f"{CLINIC}?clinic=lab&ticket={visit.token}")

    await here.do(issue("lab"), issue("lab"))
    await visit.finish()

    sent = await stream.until("STEP_DONE_NEXT")
    assert "QUEUE_UPDATE" not in [one.event for one in sent]


async def test_a_call_in_the_batch_of_the_new_number_reaches_the_phone(here: Installation) -> None:
    visit = await a_visit(here)
    stream = await visit.open(CLINIC)
    engine = here.dawr.engine
    called = (await engine.do(here.venue_id, call_next("lab"))).ticket
    assert called is not None

    await together(
        engine.do(here.venue_id, Finish(called.ticket_id)),
        engine.do(here.venue_id, call_next("xray")),
    )

    await stream.until("STEP_DONE_NEXT")
    assert (await stream.until("YOUR_TURN"))[-1].data["clinic"] == "xray"


async def test_who_comes_back_two_stages_later_is_told_of_both(here: Installation) -> None:
    visit = await a_visit(here)
    stream = await visit.open(CLINIC)
    left_at = (await stream.until("POSITION_UPDATE"))[-1].id
    await stream.close()
    await visit.finish()
    await visit.finish()

    again = await visit.open(CLINIC, since=left_at)
    sent = [await again.event() for _ in range(6)]

    assert sent[0].data == {"type": "CONNECTED", "clinic": "xray", "resumed": True}
    assert [(one.event, one.data["clinic"]) for one in sent[1:]] == [
        ("YOUR_TURN", "lab"),
        ("STEP_DONE_NEXT", "lab"),
        ("POSITION_UPDATE", "xray"),
        ("YOUR_TURN", "xray"),
        ("STEP_DONE_NEXT", "xray"),
    ]
    assert versions(sent) == sorted(versions(sent))


@pytest.mark.parametrize("path", [NATIVE, CLINIC])
async def test_a_visit_that_waits_to_enter_is_told_of_its_first_number(here: Installation, path: str) -> None:
    await here.do(ChangeQueue("lab", "close"))
    visit = await a_visit(here)
    stream = await visit.open(path)
    if path == CLINIC:
        assert (await stream.event()).data == {"type": "CONNECTED", "clinic": None, "resumed": False}

    await here.do(ChangeQueue("lab", "open"), EnterStage(visit.visit_id))

    first = (await stream.until("snapshot" if path == NATIVE else "POSITION_UPDATE"))[-1]
    assert first.data["number"] == 1


@pytest.mark.parametrize("path", [NATIVE, CLINIC])
async def test_a_new_link_ends_the_stream_of_the_old_one_which_leads_nowhere(here: Installation, path: str) -> None:
    visit, renewed = await a_visit(here), new_link(here.dawr.ids, here.venue_id)
    stream = await visit.open(path)

    await here.do(NewLink(visit.visit_id, renewed.secret_hash))

    assert (await stream.rest())[-1].retry
    refused = await visit.open(path, since="1.1")
    assert (refused.status, json.loads(await refused.everything())["code"]) == (404, "unknown-visit")
    secret = renewed.token.partition(".")[2]
    assert (await here.open(f"{path}?ticket={visit.visit_id}.{secret}")).status == 200


@pytest.mark.parametrize("path", [NATIVE, CLINIC])
async def test_a_link_that_is_renewed_while_somebody_joins_leaves_nobody_watching(
    here: Installation, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit, join = await a_visit(here), here.dawr.hub.join

    async def join_late(venue_id: VenueId, wish: Wish, *, address: str) -> Watcher:
        await here.do(NewLink(visit.visit_id, "another"))
        return await join(venue_id, wish, address=address)

    already = await here.open("/v1/events?venue=clinic")
    await already.event()
    monkeypatch.setattr(here.dawr.hub, "join", join_late)

    assert (await visit.open(path)).status == 404
    assert here.dawr.hub.streams == 1


async def test_a_single_ticket_that_becomes_a_visits_while_somebody_joins_leaves_nobody_watching(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own link leads nowhere then."""
    single, join = new_link(here.dawr.ids, here.venue_id), here.dawr.hub.join
    taking = issue("xray", "12345")
    await here.do(msgspec.structs.replace(taking, visit_id=single.visit_id, secret_hash=single.secret_hash))
    visit = await a_visit(here, "12345")

    async def join_late(venue_id: VenueId, wish: Wish, *, address: str) -> Watcher:
        await visit.finish()
        return await join(venue_id, wish, address=address)

    already = await here.open("/v1/events?venue=clinic")
    await already.event()
    monkeypatch.setattr(here.dawr.hub, "join", join_late)

    assert (await here.open(f"{NATIVE}?ticket={single.token}")).status == 404
    assert here.dawr.hub.streams == 1


async def test_by_name_alone_nothing_of_a_visit_with_a_plan_is_told(here: Installation) -> None:
    stream = await here.open(f"{CLINIC}?clinic=lab&user=12345")
    left_at = (await stream.until("QUEUE_UPDATE"))[-1].id
    visit = await a_visit(here, "12345")
    await visit.finish()
    await here.do(issue("lab", "somebody else"))

    sent = [await stream.event() for _ in range(4)]
    again = await here.open(f"{CLINIC}?clinic=lab&user=12345", {"Last-Event-ID": left_at})
    sent += [await again.event() for _ in range(6)]

    assert {one.event for one in sent} == {"QUEUE_UPDATE", "CONNECTED"}


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "invalid-query"),
        ("?user=12345", 422, "invalid-query"),
        ("?ticket=", 404, "unknown-visit"),
        ("?ticket=/t/", 404, "unknown-visit"),
        ("?ticket=nothing", 404, "unknown-visit"),
        ("?ticket=no-such.secret", 404, "unknown-visit"),
        ("?ticket=a%00b", 404, "unknown-visit"),
        (f"?ticket={'x' * 201}", 422, "invalid-query"),
        ("?ticket=a&ticket=b", 422, "invalid-query"),
    ],
)
async def test_what_leads_to_no_visit_is_refused_before_the_stream_begins(
    here: Installation, query: str, status: int, code: str
) -> None:
    answer = await here.open(CLINIC + query)

    assert (answer.status, json.loads(await answer.everything())["code"]) == (status, code)
    assert here.dawr.hub.streams == 0


async def test_a_link_of_another_venue_leads_nowhere_at_the_clinic(here: Installation) -> None:
    venue, _ = await here.dawr.engine.read(here.venue_id, LookAtVenue())
    elsewhere = await here.dawr.set_up(msgspec.structs.replace(venue, id=VenueId(""), slug="elsewhere"))
    link = new_link(here.dawr.ids, elsewhere)
    starting = StartVisit("general", "12345", "any", VisitId(link.visit_id), link.secret_hash)
    await here.dawr.engine.do(elsewhere, starting)

    assert (await here.open(f"{CLINIC}?ticket={link.token}")).status == 404
    assert (await here.open(f"{NATIVE}?ticket={link.token}")).status == 200


def shown(sent: list[Sent]) -> list[tuple[str, str, str | None]]:
    return [(one.event, one.data["queue"], one.data.get("state")) for one in sent]

"""What the tests of the live stream do again and again: watch, act, and read what was sent."""

import asyncio
import json
from random import Random
from typing import Any, NamedTuple

import msgspec

from dawr.domain.queue import QueueId
from dawr.domain.ticket import Ticket, VisitId, open_key
from dawr.domain.venue import Venue
from dawr.domain.visit import Visit
from dawr.engine.engine import Engine
from dawr.live.forms import Form, PersonalForm
from dawr.live.frames import EventId, event_id, frame, mark
from dawr.live.hub import Hub
from dawr.live.joining import FollowName, FollowVisit, Wish
from dawr.live.visits import VisitNow
from dawr.live.watcher import Watcher
from dawr.operations.operation import Operation
from dawr.operations.snapshots import AtMoment
from dawr.operations.staff import Call, Finish
from dawr.operations.visits import LookAtVisitById, StartVisit
from dawr.ports import Store
from dawr.web.api.events import NOTICES, Changes, OwnPlace, visit_now
from dawr.web.doors.clinic_stream import VISITOR_UPDATES, QueueUpdates
from tests.builders import DrivenClock, a_new, issue


class Sent(NamedTuple):
    """One block of a stream, as a browser takes it."""

    id: str
    event: str
    data: Any
    comment: bool = False
    retry: str = ""


def parsed(stream: bytes) -> list[Sent]:
    """By the rules of the standard: fields, and a blank line behind each block."""
    assert stream.endswith(b"\n\n") or not stream
    return [_block(block) for block in stream.decode().split("\n\n")[:-1]]


def _block(block: str) -> Sent:
    fields: dict[str, list[str]] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        fields.setdefault(name, []).append(value.removeprefix(" "))
    data = "\n".join(fields.get("data", []))
    return Sent(
        fields.get("id", [""])[-1],
        fields.get("event", [""])[-1],
        json.loads(data) if data else None,
        comment="" in fields,
        retry=fields.get("retry", [""])[-1],
    )


def versions(sent: list[Sent]) -> list[int]:
    return [int(one.id.partition(".")[2]) for one in sent if one.data is not None and one.id]


def events(sent: list[Sent]) -> list[str]:
    return [one.event for one in sent if one.data is not None]


def told(sent: list[Sent]) -> list[str]:
    """What concerns the visitor."""
    return [event for event in events(sent) if event not in {"hello", "QUEUE_UPDATE"}]


class Watched(msgspec.Struct, frozen=True):
    hub: Hub
    engine: Engine
    store: Store
    venue: Venue
    clock: DrivenClock

    def another(self) -> "Watched":
        """The same venue in another process, which hears nothing of the commits here."""
        hub = Hub(self.store, self.clock, Random(2))
        return Watched(hub, Engine(self.store, self.clock, listeners=[hub]), self.store, self.venue, self.clock)

    async def do(self, *operations: Operation[Any]) -> None:
        for operation in operations:
            await self.engine.do(self.venue.id, operation)

    async def take(self, queue: str = "lab", visitor: str | None = None, *, priority: int = 0) -> Ticket:
        return (await self.engine.do(self.venue.id, issue(queue, visitor, priority=priority))).ticket

    async def start(self, visitor: str = "Sara", journey: str = "general") -> Visit:
        """A visit that goes through several queues."""
        visit_id = VisitId(a_new("visit"))
        starting = StartVisit(journey, visitor, "any", visit_id, f"secret-hash-of-{visit_id}")
        return (await self.engine.do(self.venue.id, starting)).visit

    async def now_at(self, visit: Visit) -> Ticket:
        """The ticket that a visit has come to."""
        ticket = (await self.engine.read(self.venue.id, LookAtVisitById(visit.visit_id))).ticket
        assert ticket is not None
        return ticket

    async def finish(self, visit: Visit) -> None:
        """Call the visitor wherever they wait, and let them go on."""
        ticket = await self.now_at(visit)
        await self.do(Call(ticket.ticket_id), Finish(ticket.ticket_id))

    async def settled(self) -> None:
        """Until those who watch visits sit where these have gone."""
        for feed in tuple(self.hub._feeds.values()):
            if feed._moving is not None:
                await asyncio.wait([feed._moving])

    async def changes(self, *, queue: str | None = None, since: str | None = None, staff: bool = False) -> Watcher:
        """The native stream of the venue or a queue, from now or from an id."""
        form = Changes(self.venue.slug, None if queue is None else QueueId(queue), staff)
        return await self.join(form, since)

    async def clinic(self, queue: str = "lab", *, user: str | None = None, since: str | None = None) -> Watcher:
        """The clinic's stream."""
        at = None if since is None else event_id(since)
        key = None if user is None else open_key(QueueId(queue), user)
        follow = None if key is None else FollowName(VISITOR_UPDATES, QueueId(queue), key)
        wish = Wish(hello, NOTICES, QueueUpdates(QueueId(queue)), at, at is not None, follow)
        return await self.hub.join(self.venue.id, wish, address="here")

    async def place(self, ticket: Ticket, *, since: str | None = None) -> Watcher:
        """The stream behind the link of a ticket's visit."""
        return await self.visit(ticket.visit_id, OwnPlace(self.venue.slug), since=since)

    async def visit(
        self, visit_id: VisitId, form: PersonalForm = VISITOR_UPDATES, *, since: str | None = None
    ) -> Watcher:
        """A visit's stream, in the clinic's words unless another form is given."""
        at = None if since is None else event_id(since)

        async def look() -> VisitNow:
            return visit_now(await self.engine.read(self.venue.id, AtMoment(LookAtVisitById(visit_id))))

        follow = FollowVisit(form, visit_id, await look(), look)
        wish = Wish(mark, NOTICES, since=at, resumes=at is not None, follow=follow)
        return await self.hub.join(self.venue.id, wish, address="here")

    async def join(self, form: Form, since: str | None = None, *, address: str = "here") -> Watcher:
        at: EventId | None = None
        if since is not None:
            at = event_id(since)
            assert at is not None
        return await self.hub.join(self.venue.id, Wish(hello, NOTICES, form, at), address=address)

    def beat(self, times: int = 1) -> None:
        """Let so many seconds pass."""
        for _ in range(times):
            self.hub.settle()
            self.hub.beat(asyncio.get_running_loop().time())


def hello(at: bytes) -> bytes:
    return frame("hello", b"{}", at=at)


async def read(watcher: Watcher) -> list[Sent]:
    """All that is there to be sent, without waiting for more."""
    body = b""
    while watcher._frames:
        body += await watcher.take() or b""
    return parsed(body)


async def last_id(watcher: Watcher) -> str:
    return [one.id for one in await read(watcher) if one.id][-1]

"""A refusal that leaves something behind, over HTTP: told once, stored under its key, and replayed as it was."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from dawr.bootstrap import web
from dawr.domain.errors import QueueFull, Refused
from dawr.domain.ticket import VisitId
from dawr.operations.operation import Operation
from dawr.operations.rows import VISITS
from dawr.operations.transaction import Transaction
from dawr.ports import Wants
from dawr.reliability.idempotency import Reply
from dawr.stores.sqlite import SqliteStore
from dawr.web.routes import Parts, Request, Route
from dawr.web.table import ROUTES
from tests.builders import DrivenClock, a_queue, a_venue, issue
from tests.doors.here import Here
from tests.running import Answer, must_be_problem
from tests.serving import installed, quiet, served
from tests.stores.doing import create_venue, load


class TryInput(msgspec.Struct, forbid_unknown_fields=True):
    visit: str


class Try(Operation[None], frozen=True):
    """Counts, and refuses."""

    visit_id: VisitId

    def decide(self, tx: Transaction, now: int) -> Refused | None:  # noqa: ARG002
        visit = tx.get(VISITS, self.visit_id)
        tries = (visit.left_at or 0) + 1
        tx.put(VISITS, msgspec.structs.replace(visit, left_at=tries))
        return QueueFull("lab", tries, 0)


class TryUnremembered(Try, frozen=True):
    keeps_refusals: ClassVar[bool] = False


async def try_it(_: Parts, request: Request[TryInput]) -> Reply:
    return await request.do(Try(VisitId(request.given.visit)), lambda _: None)


async def try_unremembered(_: Parts, request: Request[TryInput]) -> Reply:
    return await request.do(TryUnremembered(VisitId(request.given.visit)), lambda _: None)


NEW_ROUTES = tuple(
    Route(method="POST", path=f"/v1/venues/{{venue}}/{name}", name=name, summary=name, tag="tests", handler=handler,
          body=TryInput, venue="venue", limit=None)
    for name, handler in (("try", try_it), ("try-unremembered", try_unremembered))
)  # fmt: skip


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Here]:
    monkeypatch.setattr(web, "ROUTES", (*ROUTES, *NEW_ROUTES))
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.db", clock=clock)
    await store.migrate()
    venue = await create_venue(store, a_venue(a_queue("lab")))
    async with installed(store, clock, quiet(clinic_venue=venue.slug)) as dawr, served(dawr) as url:
        yield Here(url, dawr, venue, clock)
    await store.close()


async def tries(here: Here, visit_id: VisitId) -> int | None:
    (visit,) = (await load(here.dawr.store, here.venue, Wants(rows={VISITS: {visit_id}}))).of(VISITS)
    return visit.left_at


async def ask(here: Here, what: str, visit: str, key: str) -> Answer:
    return await here.ask(lambda client: client.post(f"/v1/venues/{here.venue.slug}/{what}", {"visit": visit}, key=key))


async def test_a_retry_gets_the_stored_problem_and_nothing_is_counted_again(here: Here) -> None:
    visit_id = (await here.do(issue())).ticket.visit_id

    first, again = [await ask(here, "try", visit_id, "one") for _ in range(2)]
    other = await ask(here, "try", visit_id, "two")

    must_be_problem(first, 409, "queue-full")
    assert (again.status, again.body, again.headers["content-type"]) == (409, first.body, "application/problem+json")
    assert (first.headers.get("idempotency-replayed"), again.headers["idempotency-replayed"]) == (None, "true")
    assert first.json["capacity"] == 1
    assert other.json["capacity"] == 2
    assert await tries(here, visit_id) == 2


async def test_an_operation_that_says_otherwise_counts_each_time(here: Here) -> None:
    visit_id = (await here.do(issue())).ticket.visit_id

    answers = [await ask(here, "try-unremembered", visit_id, "one") for _ in range(2)]

    assert [answer.json["capacity"] for answer in answers] == [1, 2]
    assert await tries(here, visit_id) == 2


async def test_who_comes_at_the_same_time_as_a_kept_refusal_is_not_harmed(here: Here) -> None:
    visit_id = (await here.do(issue())).ticket.visit_id

    refused, entered = await asyncio.gather(ask(here, "try", visit_id, "one"), here.enter("lab", "Amna"))

    assert (refused.status, entered.status, entered.json["number"]) == (409, 200, 2)

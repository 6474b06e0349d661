"""The traffic statistics over HTTP: for whoever manages every venue, and every question that does not fit named."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest
from starlette.types import ASGIApp

from dawr.bootstrap import system
from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.domain import Role, TokenKind, Venue
from dawr.observe import logs
from dawr.observe.instruments import Instruments
from dawr.stores.sqlite import SqliteStore
from dawr.traffic import snapshot
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR
from dawr.traffic.sqlite import SqliteDatabase
from dawr.traffic.view import TrafficProcessAway, TrafficView
from dawr.web.app import App
from dawr.web.table import ROUTES
from tests.api.world import PASSWORD
from tests.builders import DrivenClock, a_head, a_venue
from tests.running import Answer, Client, must_be_problem
from tests.serving import installed, quiet, served
from tests.traffic.builders import NOON, an_event, counted

PATH = "/v1/queues/{queue}"
LOOKS = ("overview", "paths", f"path?{urlencode({'path': PATH})}", "timeseries", "alerts", "health")
NOTHING: Mapping[str, object] = {}


class Statistics:
    """An installation with two venues, and whoever asks for its traffic."""

    def __init__(self, url: str, dawr: Dawr, venues: tuple[Venue, ...], database: SqliteDatabase) -> None:
        self.url = url
        self.dawr = dawr
        self.venues = venues
        self.database = database
        self.process_is_away = False

    async def look(self, what: str, by: str | None, query: Mapping[str, object] = NOTHING) -> Answer:
        return await self._ask("GET", f"/v1/traffic/{what}" + (f"?{urlencode(query)}" if query else ""), by)

    async def ask_for_snapshot(self, by: str | None) -> Answer:
        return await self._ask("POST", "/v1/traffic/snapshot/refresh", by)

    async def staff(self, name: str, **roles: Role) -> str:
        """A session of somebody with these roles: at the first venue, and at the second."""
        for venue, role in zip(self.venues, (roles.get("first"), roles.get("second")), strict=False):
            if role is not None:
                adding = await self.dawr.accounts.add_staff(name, role, PASSWORD, by=None, known_to={})
                await self.dawr.engine.do(venue.id, adding, origin=COMMAND_LINE)
        signed_in = await self.dawr.accounts.sign_in(name, PASSWORD)
        assert signed_in is not None
        return signed_in[0]

    async def token(self, kind: TokenKind, role: Role | None) -> str:
        venue_id = self.venues[0].id
        making, bearer = self.dawr.accounts.new_token(
            venue_id, kind, role, "A token", made_by="command line", account_id=None
        )
        await self.dawr.engine.do(venue_id, making, origin=COMMAND_LINE)
        return bearer

    async def _ask(self, method: str, path: str, by: str | None) -> Answer:
        def ask() -> Answer:
            with Client(self.url) as client:
                return client.ask(path, method=method, headers={} if by is None else {"Authorization": f"Bearer {by}"})

        return await asyncio.to_thread(ask)

    async def refresh(self) -> None:
        if self.process_is_away:
            raise TrafficProcessAway
        await snapshot.refresh(self.database, NOON)


@asynccontextmanager
async def statistics(directory: Path, *, venues: int, kept: bool = True) -> AsyncIterator[Statistics]:
    clock = DrivenClock(NOON)
    store, database = SqliteStore(directory / "dawr.sqlite", clock=clock), SqliteDatabase(directory / "traffic.sqlite")
    await store.migrate()
    await database.create_tables()
    made = tuple(a_venue() for _ in range(venues))
    for venue in made:
        await store.add_venue(venue, a_head(venue))
    async with installed(store, clock, quiet()) as dawr:
        asked = Statistics("", dawr, made, database)
        view = TrafficView(database, clock, asked.refresh) if kept else None

        def with_statistics(app: ASGIApp) -> ASGIApp:
            assert isinstance(app, App)
            parts = msgspec.structs.replace(app._parts, traffic=view, venue_ids=store.venue_ids)
            return App(ROUTES, parts, logs.access_log(dawr.settings), Instruments(), new_id=system.correlation_id)

        async with served(dawr, with_statistics) as asked.url:
            yield asked
    await database.close()
    await store.close()


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Statistics]:
    async with statistics(tmp_path, venues=2) as asked:
        await counted(asked.database, [an_event(n, at=NOON - 1 - n * 60_000, ms=4.0) for n in range(90)])
        yield asked


async def test_only_who_manages_every_venue_may_look(two: Statistics) -> None:
    bearers = {
        "manages both": await two.staff("both", first="manager", second="owner"),
        "owns one": await two.staff("one", first="owner"),
        "works at both": await two.staff("works", first="owner", second="staff"),
        "token": await two.token("api", "owner"),
    }

    for what in LOOKS:
        must_be_problem(await two.look(what, None), 401, "not-signed-in")
        for who, bearer in bearers.items():
            answer = await two.look(what, bearer)
            if who == "manages both":
                assert answer.status == 200, (what, answer)
            else:
                must_be_problem(answer, 403, "role-too-low")
    must_be_problem(await two.ask_for_snapshot(bearers["owns one"]), 403, "role-too-low")
    assert (await two.ask_for_snapshot(bearers["manages both"])).status == 200


async def test_with_one_venue_its_manager_and_their_token_may_look_and_no_device(tmp_path: Path) -> None:
    async with statistics(tmp_path, venues=1) as asked:
        expected = {
            await asked.staff("manager", first="manager"): 200,
            await asked.staff("staff", first="staff"): 403,
            await asked.token("api", "manager"): 200,
            await asked.token("display", None): 403,
        }

        found = {bearer: (await asked.look("overview", bearer)).status for bearer in expected}

    assert found == expected


async def test_where_no_statistics_are_kept_that_is_said_to_those_who_may_know(tmp_path: Path) -> None:
    async with statistics(tmp_path, venues=1, kept=False) as asked:
        manager, staff = await asked.staff("manager", first="manager"), await asked.staff("staff", first="staff")

        for what in LOOKS:
            must_be_problem(await asked.look(what, manager), 404, "traffic-off")
        must_be_problem(await asked.look("overview", staff), 403, "role-too-low")


@pytest.fixture
async def manager(two: Statistics) -> str:
    return await two.staff("both", first="manager", second="manager")


async def test_the_overview_comes_from_the_snapshot_once_there_is_one(two: Statistics, manager: str) -> None:
    live = (await two.look("overview", manager)).json
    refreshed = (await two.ask_for_snapshot(manager)).json
    kept = (await two.look("overview", manager)).json
    hour = (await two.look("overview", manager, {"from": NOON - MS_PER_HOUR})).json

    assert (live["source"], live["requests"]) == ("live", 90)
    assert refreshed == {"source": "snapshot", "age_seconds": 0.0, "stale": False}
    assert kept == {**live, "source": "snapshot"}
    assert kept["range"] == {"from": NOON - MS_PER_DAY, "to": NOON}
    assert kept["visitors"] == {"count": 90, "lower_bound": 90, "how": "exact", "over": "sum-of-days"}
    assert kept["peak"] == {"rpm": 1, "at": NOON - 90 * 60_000}
    assert [item["path"] for item in kept["top"]] == [PATH]
    assert (hour["source"], hour["requests"]) == ("live", 60)


async def test_paths_a_path_and_a_series_are_told(two: Statistics, manager: str) -> None:
    await counted(two.database, [an_event(1, at=NOON - 5, path="/b", status=503), an_event(2, at=NOON - 5, path="/a")])

    first = (await two.look("paths", manager, {"sort": "errors", "limit": 2})).json
    rest = (await two.look("paths", manager, {"limit": 2, "cursor": first["next"]})).json
    path = (await two.look("path", manager, {"path": PATH, "method": "GET"})).json
    series = (await two.look("timeseries", manager, {"metric": "rpm", "from": NOON - MS_PER_HOUR})).json

    assert [item["path"] for item in first["items"]] == ["/b", "/a"]
    assert ([item["path"] for item in rest["items"]], rest["next"]) == ([PATH], None)
    assert (path["requests"], path["statuses"], len(path["latest"])) == (90, {"2xx": 90}, 20)
    assert path["agents"] == {"requests": 90, "families": {"Chrome": 90}}
    assert series["points"] == [{"at": NOON - MS_PER_HOUR, "value": 1.03}]


async def test_an_alert_is_listed_with_its_sentence(two: Statistics, manager: str) -> None:
    row = ("backlog", NOON - 9, "warning", "Too much waits.", 1.5, NOON - 8, NOON - 7, None)
    await two.database.transact(lambda transaction: transaction.change_each("save_alerts", [row]))

    found = (await two.look("alerts", manager)).json

    names = ("name", "began_at", "level", "sentence", "value", "told_at", "seen_at", "ended_at")
    assert found == {"items": [dict(zip(names, row, strict=True))]}


async def test_health_says_how_the_statistics_fare_and_why_not_well(two: Statistics, manager: str) -> None:
    found = (await two.look("health", manager)).json

    assert (found["backlog"], found["dead_letters"], found["snapshot_age_seconds"]) == (0, 0, None)
    assert found["healthy"] is False
    assert found["reasons"] == ["No traffic process runs: nothing is counted."]


@pytest.mark.parametrize(
    ("what", "query", "named"),
    [
        ("overview", {"from": "yesterday"}, "from"),
        ("overview", {"from": NOON, "to": NOON - 1}, "from"),
        ("overview", {"from": NOON - 91 * MS_PER_DAY}, "from"),
        ("overview", {"to": -1}, "to"),
        ("overview", {"since": 1}, "since"),
        ("paths", {"sort": "size"}, "sort"),
        ("paths", {"limit": 101}, "limit"),
        ("paths", {"cursor": "xyz"}, "cursor"),
        ("path", {}, "path"),
        ("path", {"path": "/a\0"}, "path"),
        ("path", {"path": "/a", "method": "get"}, "method"),
        ("timeseries", {"metric": "joy"}, "metric"),
        ("timeseries", {"metric": "p95", "step": "minute"}, "metric"),
        ("timeseries", {"step": "minute", "from": NOON - 2 * MS_PER_DAY}, "step"),
        ("timeseries", {"step": "minute", "path": "/a"}, "path"),
    ],
)
async def test_a_question_that_does_not_fit_is_refused_by_its_field(
    two: Statistics, manager: str, what: str, query: Mapping[str, object], named: str
) -> None:
    answer = await two.look(what, manager, query)

    must_be_problem(answer, 422, "invalid-query")
    assert answer.json["field"] == named


async def test_a_database_that_is_away_and_a_process_that_is_gone_are_problems_to_retry(
    two: Statistics, manager: str
) -> None:
    two.process_is_away = True
    gone = await two.ask_for_snapshot(manager)
    await two.database.close()
    two.database.path.write_bytes(b"no database" * 100)
    away = await two.look("paths", manager)

    must_be_problem(gone, 503, "traffic-process-away")
    must_be_problem(away, 503, "traffic-away")

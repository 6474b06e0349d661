"""An installation with two venues, people of every role at each, tokens of every kind; and how they ask."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from dawr import bootstrap
from dawr.accounts.accounts import Accounts
from dawr.accounts.remembered import Remembered
from dawr.bootstrap import system
from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.domain.staff import ROLES, Role
from dawr.domain.token import TokenId, TokenKind, venue_of
from dawr.domain.venue import Venue, VenueId
from dawr.operations.tokens import RevokeToken
from dawr.settings import Settings
from tests.running import Answer, Client, zone_where_it_is_noon

PASSWORD: Final = "a long walk to the sea"
VENUES: Final = ("clinic", "bistro")
KINDS: Final[tuple[TokenKind, ...]] = ("kiosk", "display")
FRESH: Final = tuple(f"fresh{number}" for number in range(194))
HOUR_MS: Final = 60 * 60 * 1000
WEEK_MS: Final = 7 * 24 * HOUR_MS


class World(msgspec.Struct, frozen=True):
    """Who there is. A person is `role@venue`, an API token `role@venue`, a device `kiosk@venue`."""

    venue_ids: Mapping[str, str]
    sessions: Mapping[str, str]
    tokens: Mapping[str, str]
    expired: str
    """A session that was good until a while ago."""
    revoked: str


class Api:
    """Asks as anybody, or as whoever holds a bearer. A connection for each request: none is idle for too long."""

    def __init__(self, url: str, world: World) -> None:
        self.url = url
        self.world = world
        self._client = Client(url)

    def get(self, path: str, *, by: str | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        return self.ask("GET", path, by=by, headers=headers)

    def post(
        self,
        path: str,
        body: object = None,
        *,
        by: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        keyed = {} if key is None else {"Idempotency-Key": key}
        return self.ask("POST", path, body, by=by, headers={**keyed, **(headers or {})})

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        by: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """`by` is a bearer, or who holds it: `owner@clinic` with a session, `token:staff@clinic` with a token."""
        sent = dict(headers or {})
        if by is not None:
            sent["Authorization"] = f"Bearer {self.bearer(by)}"
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if data is not None and not any(name.lower() == "content-type" for name in sent):
            sent["Content-Type"] = "application/json"
        try:
            return self._client.ask(path, method=method, body=data, headers=sent)
        finally:
            self._client.close()

    def bearer(self, by: str) -> str:
        if by.startswith(("dws_", "dwt_")):
            return by
        name = by.removeprefix("token:")
        return self.world.tokens[name] if by.startswith("token:") else self.world.sessions[name]

    def take(self, queue: str, *, by: str | None = None, **given: object) -> dict[str, Any]:
        """A number, as anybody takes one."""
        answer = self.post(f"/v1/queues/{queue}/tickets", given, by=by)
        assert answer.status == 201, answer
        return answer.json

    def look(self, ticket: str, *, by: str = "owner@clinic") -> dict[str, Any]:
        answer = self.get(f"/v1/tickets/{ticket}", by=by)
        assert answer.status == 200, answer
        return answer.json

    def sign_in(self, username: str, password: str = PASSWORD) -> str:
        """A new session as bearer."""
        answer = self.post("/v1/login", {"username": username, "password": password})
        assert answer.status == 200, answer
        return str(answer.json["session"])

    def audit(self, venue: str = "clinic", *, after: int = 0, by: str | None = None) -> list[dict[str, Any]]:
        """Everything that happened after this version, whoever did it."""
        items: list[dict[str, Any]] = []
        cursor: str | None = str(after)
        while cursor is not None:
            page = self.get(
                f"/v1/venues/{venue}/audit?everything=true&limit=100&cursor={cursor}", by=by or f"owner@{venue}"
            ).json
            items += page["items"]
            cursor = page["next"]
        return items


def secret_of(link: str) -> str:
    """What the API takes, from a link as it is printed."""
    return link.removeprefix("/t/")


def create_world(data: Path) -> World:
    """Make the installation, before it is served."""
    return asyncio.run(_create(Settings(data=str(data))))


async def _create(settings: Settings) -> World:
    async with bootstrap.running(settings) as dawr:
        ids = {slug: await dawr.set_up(venue(slug)) for slug in VENUES}
        people = [(f"{role}@{slug}", ids[slug], role) for slug in VENUES for role in ROLES]
        await asyncio.gather(*(_add(dawr, *person) for person in people))
        tokens = {f"{role}@{slug}": await _token(dawr, ids[slug], "api", role) for slug in VENUES for role in ROLES}
        tokens |= {f"{kind}@{slug}": await _token(dawr, ids[slug], kind, None) for slug in VENUES for kind in KINDS}
        names = [name for name, _, _ in people]
        sessions = await asyncio.gather(*(_sign_in(dawr.accounts, name) for name in names))
        async with _a_week_ago(dawr) as accounts:
            expired = await _sign_in(accounts, "owner@clinic")
        revoked = await _token(dawr, ids["clinic"], "api", "owner")
        token_id = TokenId(revoked.removeprefix("dwt_").partition(".")[0])
        await dawr.engine.do(venue_of(token_id), RevokeToken(token_id, None), origin=COMMAND_LINE)
        return World(ids, dict(zip(names, sessions, strict=True)), tokens, expired, revoked)


def venue(slug: str) -> Venue:
    """A venue with queues of every kind, and many that nobody has used yet."""
    document = {
        "id": "",
        "slug": slug,
        "name": {"en": slug.capitalize()},
        "zone": zone_where_it_is_noon(),
        "kind": "restaurant" if slug == "bistro" else "clinic",
        "queues": [
            {"id": "lab", "name": {"en": "Lab"}, "prefix": "L"},
            {"id": "xray", "name": {"en": "X-ray"}, "prefix": "X", "aliases": ["xr"]},
            {"id": "small", "name": {"en": "Small"}, "capacity": 2, "reserve": 1},
            {"id": "desk", "name": {"en": "Desk"}},
            {"id": "closed", "name": {"en": "Closed"}, "state": "closed"},
            {"id": "never", "name": {"en": "Never"}, "hours": {"week": [[]] * 7}},
            *({"id": code, "name": {"en": code}} for code in FRESH),
        ],
        "desks": [{"id": "room", "name": {"en": "Room"}, "queues": ["lab", "xray"]}],
        "journeys": [
            {
                "id": "recruitment",
                "name": {"en": "Recruitment"},
                "aliases": ["تجنيد"],
                "fixed": [{"queue": "lab"}],
                "free": [{"queue": "xray"}, {"queue": "desk", "pin": False}],
            },
            {"id": "women", "name": {"en": "Women"}, "audience": "women", "fixed": [{"queue": "lab"}]},
        ],
    }
    return msgspec.convert(document, Venue)


async def _add(dawr: Dawr, name: str, venue_id: VenueId, role: Role) -> None:
    adding = await dawr.accounts.add_staff(name, role, PASSWORD, by=None, known_to={})
    await dawr.engine.do(venue_id, adding, origin=COMMAND_LINE)


async def _token(dawr: Dawr, venue_id: VenueId, kind: TokenKind, role: Role | None) -> str:
    making, bearer = dawr.accounts.new_token(venue_id, kind, role, f"A {kind}", made_by="command line", account_id=None)
    await dawr.engine.do(venue_id, making, origin=COMMAND_LINE)
    return bearer


async def _sign_in(accounts: Accounts, name: str) -> str:
    signed_in = await accounts.sign_in(name, PASSWORD)
    assert signed_in is not None
    return signed_in[0]


@asynccontextmanager
async def _a_week_ago(dawr: Dawr) -> AsyncIterator[Accounts]:
    """The same accounts, as they were: a session that begins then has ended."""

    def then() -> int:
        return system.now() - WEEK_MS - HOUR_MS

    yield Accounts(
        dawr.store,
        dawr.engine,
        dawr.passwords,
        then,
        dawr.ids,
        remembered=Remembered(system.ticks),
        idle_ms=12 * HOUR_MS,
        session_ms=WEEK_MS,
    )

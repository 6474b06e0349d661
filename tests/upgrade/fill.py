"""Makes the filled databases that the upgrade is tested with: one per store, and what a test must know of them.

    python -m tests.upgrade.fill

writes `{version}.sqlite.sql`, `{version}.postgres.sql` and `{version}.json` for the version that it is run with. It is
run once, when a version is released; what a release left behind is never made again. The story is told over
HTTP with a clock and ids of its own, so both stores hold the same rows. Nothing here opens anything but this sample:
passwords and secrets are made up, and stored as what they can be recognised by.
"""

import asyncio
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import argon2
import msgspec

from dawr.bootstrap.installation import Dawr
from dawr.bootstrap.system import SystemIds
from dawr.domain.staff import ROLES
from dawr.domain.venue import Venue, VenueId
from dawr.engine.clockwork import sweep
from dawr.stores.migrations import known
from dawr.stores.session import all_statements
from dawr.version import RELEASE
from tests.builders import MONDAY_AT_TEN, DrivenClock
from tests.doors.restaurant import restaurant_document
from tests.running import Answer, Client
from tests.servers import PostgresServer, server_directory
from tests.serving import installed, quiet, served
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase

HERE = Path(__file__).parent
DAY_MS = 24 * 60 * 60 * 1000
PASSWORD = "made-up-for-the-sample-7"
MADE_AT = {("migrations", "applied_at"), ("leases", "until_at")}
"""Columns that a database fills by its own clock."""

LAST_NUMBERS = """
    SELECT venues.slug, lines.queue_id, lines.last_number
    FROM lines JOIN heads ON heads.venue_id = lines.venue_id AND heads.day = lines.day
    JOIN venues ON venues.venue_id = lines.venue_id
    WHERE lines.round = (
        SELECT max(l.round) FROM lines AS l
        WHERE l.venue_id = lines.venue_id AND l.queue_id = lines.queue_id AND l.day = lines.day
    )
    ORDER BY venues.slug, lines.queue_id
"""

CLINIC = {
    "id": "",
    "slug": "clinic",
    "name": {"en": "Clinic", "ar": "عيادة"},
    "zone": "Asia/Qatar",
    "queues": [
        {"id": "lab", "name": {"en": "Lab"}, "prefix": "L", "aliases": ["laboratory"], "capacity": 200, "reserve": 5},
        {"id": "xray", "name": {"en": "X-ray"}, "prefix": "X"},
        {"id": "eye", "name": {"en": "Eye"}, "hours": {"week": [[[480, 960]]] * 7}},
    ],
    "desks": [{"id": "room-1", "name": {"en": "Room 1"}, "queues": ["lab", "xray", "eye"]}],
}


class Keyed(msgspec.Struct, frozen=True):
    """A request that came with a key, and what was answered."""

    path: str
    given: dict[str, Any]
    key: str
    bearer: str | None
    status: int
    body: str


class Sample(msgspec.Struct):
    """What a test must know of the filled database."""

    now: int = 0
    """When the last thing happened."""
    tokens: dict[str, str] = {}
    """Bearers: `staff`, `kiosk`, `display` at the clinic, `bistro` at the restaurant, and one that was `revoked`."""
    session: str = ""
    """The owner's."""
    links: dict[str, str] = {}
    """The visitors' secrets, by the label of the ticket."""
    tickets: dict[str, str] = {}
    """Tickets of the second day, by the state they are in."""
    entry: dict[str, str] = {}
    """A party that waits at the restaurant, with its secret."""
    last_numbers: dict[str, int] = {}
    """Of each line that is in use, by `venue:queue`."""
    keyed: list[Keyed] = []


class SampleIds(SystemIds):
    """The same ids every time."""

    def __init__(self, clock: DrivenClock) -> None:
        self._random = Random(9)
        self._clock = clock

    def token(self) -> str:
        return self._random.randbytes(16).hex()[:22]

    def new(self, venue_id: VenueId) -> str:
        return f"{venue_id}-{self._clock():012x}{self._random.randbytes(10).hex()}"

    def venue_code(self) -> str:
        return f"v{self._random.randbytes(2).hex()}a"

    def epoch(self) -> int:
        return self._random.getrandbits(48)


class Story:
    """Two days at a clinic and an evening at a restaurant. A second passes with every request."""

    def __init__(self, client: Client, clock: DrivenClock, sample: Sample) -> None:
        self._client = client
        self._clock = clock
        self._sample = sample
        self._requests = 0

    def ask(
        self, path: str, given: object, *, bearer: str | None = None, key: str | None = None, method: str = "POST"
    ) -> Answer:
        self._clock.advance(seconds=1)
        self._requests += 1
        answer = self._client.post(
            path, given, bearer=bearer, key=key, method=method, X_Correlation_Id=f"sample-{self._requests:04}"
        )
        assert answer.status in {200, 201}, answer
        return answer

    def keep(self, path: str, given: dict[str, Any], key: str, bearer: str | None = None) -> Answer:
        answer = self.ask(path, given, bearer=bearer, key=key)
        self._sample.keyed.append(Keyed(path, given, key, bearer, answer.status, answer.body.decode()))
        return answer

    def begin(self) -> None:
        """People and tokens of every kind, and the first day, which ends with people waiting."""
        sample = self._sample
        owner = self.sign_in()
        bistro = {**restaurant_document(), "zone": "Asia/Qatar"}
        self.ask("/v1/venues/bistro/set-up", bistro, bearer=owner, method="PUT")
        for name in (*ROLES, "gone"):
            given = {"username": f"the-{name}", "role": name if name in ROLES else "staff", "password": PASSWORD}
            self.ask("/v1/venues/clinic/staff", given, bearer=owner)
        self.ask("/v1/venues/clinic/staff/the-gone/disable", {"reason": "Left us"}, bearer=owner)
        for name, venue, kind, role in (
            ("staff", "clinic", "api", "staff"),
            ("kiosk", "clinic", "kiosk", None),
            ("display", "clinic", "display", None),
            ("bistro", "bistro", "api", "staff"),
            ("revoked", "clinic", "api", "manager"),
        ):
            asked = {"kind": kind, "role": role, "name": f"The {name} token"}
            made = self.ask(f"/v1/venues/{venue}/tokens", asked, bearer=owner)
            sample.tokens[name] = made.json["bearer"]
        revoked = sample.tokens["revoked"].removeprefix("dwt_").partition(".")[0]
        self.ask(f"/v1/venues/clinic/tokens/{revoked}/revoke", {}, bearer=owner)
        for number in range(1, 4):
            self.take("lab", f"Sunday {number}")
        self.finish_one()

    def go_on(self) -> None:
        """The second day: a second round at one queue, tickets in every state, priorities, and parties."""
        sample = self._sample
        self.sign_in()
        self.take("lab", "first on Monday")
        self.finish_one()
        self.take("xray", "first round")
        self.ask("/v1/queues/clinic:xray/reset", {"reason": "A new round"}, bearer=sample.session)
        self.take("xray", "second round")
        self.take("eye", None)
        for state in ("serving", "called", "missed"):
            sample.tickets[state] = self.take("lab", state)
        for _ in range(3):
            self.call_next()
        self.verb("serving", "start")
        self.verb("called", "recall")
        self.verb("missed", "miss")
        self.take("lab", "finished")
        self.finish_one()
        for state, verb in (("held", "hold"), ("left", "leave")):
            sample.tickets[state] = self.take("lab", state)
            self.verb(state, verb)
        sample.tickets["waiting"] = self.take("lab", "waiting")
        taking = {"visitor": "urgent", "priority": 2}
        self.keep("/v1/queues/clinic:lab/tickets", taking, "a-kiosk-key", sample.tokens["kiosk"])
        self.keep("/api/v1/queue/enter", {"clinic": "lab", "user": "door"}, "a-door-key")
        self.take("eye", "called from the eye queue")
        self.keep("/v1/queues/clinic:eye/call-next", {}, "a-desk-key", sample.tokens["staff"])
        self.ask("/v1/queues/clinic:eye/pause", {}, bearer=sample.session)
        self.welcome()
        sample.now = self._clock()

    def sign_in(self) -> str:
        given = {"username": "owner", "password": PASSWORD}
        self._sample.session = self.ask("/v1/login", given).json["session"]
        return self._sample.session

    def welcome(self) -> None:
        """Three parties: one sits, one is called, one waits."""
        entries = []
        for number in range(1, 4):
            party = {"name": f"Party {number}", "mobileNumber": f"+9743300000{number}", "partySize": number}
            entries.append(self.ask("/api/public/bistro/queue", party).json["data"])
        bearer = self._sample.tokens["bistro"]
        for _ in range(2):
            self.ask("/api/admin/bistro/queue/call-next", {}, bearer=bearer)
        self.ask(f"/api/admin/bistro/queue/{entries[0]['id']}", {"status": "SEATED"}, bearer=bearer)
        self._sample.entry = {"id": entries[2]["id"], "secret": entries[2]["secret"]}

    def take(self, queue: str, visitor: str | None) -> str:
        taken = self.ask(f"/v1/queues/clinic:{queue}/tickets", {"visitor": visitor}).json
        self._sample.links[taken["place"]["label"]] = taken["link"].removeprefix("/t/")
        return str(taken["ticket"])

    def call_next(self) -> str:
        called = self.ask("/v1/desks/clinic:room-1/call-next", {"queue": "lab"}, bearer=self._sample.tokens["staff"])
        return str(called.json["ticket"]["ticket"])

    def finish_one(self) -> None:
        self._sample.tickets["finished"] = self.call_next()
        self.verb("finished", "finish")

    def verb(self, state: str, verb: str) -> None:
        self.ask(f"/v1/tickets/{self._sample.tickets[state]}/{verb}", {}, bearer=self._sample.session)


async def filled(database: Database) -> Sample:
    """Live through the story on an empty database."""
    clock, sample = DrivenClock(MONDAY_AT_TEN - DAY_MS), Sample()
    store = await database.open()
    await store.migrate()
    async with installed(store, clock, quiet(), SampleIds(clock)) as dawr:
        venue = msgspec.convert(CLINIC, Venue)
        code = await dawr.accounts.owner_code()
        assert code is not None
        await dawr.accounts.first_owner(code, "owner", PASSWORD, venue)
        async with served(dawr) as url:
            with Client(url) as client:
                story = Story(client, clock, sample)
                await asyncio.to_thread(story.begin)
                clock.now = MONDAY_AT_TEN
                await asyncio.to_thread(story.go_on)
                await sweep(dawr.engine, await dawr.engine.find_venue("clinic"), [queue.id for queue in venue.queues])
        await _settle(dawr)
    await store.close()
    sample.last_numbers = {f"{slug}:{queue}": last for slug, queue, last in await database.rows(LAST_NUMBERS)}
    return sample


async def _settle(dawr: Dawr) -> None:
    """A lease as a server leaves it, and hashes that are the same every time: their salt is chance otherwise."""
    fence = await dawr.store.leases.take("clockwork", "a server of that time")
    assert fence is not None
    hasher = argon2.PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
    for name in ("owner", *(f"the-{role}" for role in (*ROLES, "gone"))):
        account = await dawr.store.accounts.find(name)
        assert account is not None
        hashed = hasher.hash(PASSWORD, salt=name.encode().ljust(16, b"."))
        await dawr.store.accounts.set_password(account.account_id, hashed, account.created_at)


async def dumped(database: Database) -> str:
    """The schema as the migrations made it, and every row."""
    text = [f"-- A filled database of Dawr {RELEASE}, made by tests/upgrade/fill.py. Never edited."]
    text.append(all_statements(database.dialect)["create_migrations"].rstrip().rstrip(";") + ";")
    text += [migration.sql.strip() for migration in known(database.dialect)]
    text.append("DELETE FROM installation;")
    for table, columns in (await columns_of(database)).items():
        order = ", ".join(str(place) for place in range(1, min(4, len(columns)) + 1))
        rows = await database.rows(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}")
        if rows:
            shown = (_row(database.dialect, table, columns, row) for row in rows)
            text.append(f"INSERT INTO {table} ({', '.join(columns)}) VALUES\n" + ",\n".join(shown) + ";")
    return "\n\n".join(text) + "\n"


COLUMNS = {
    "sqlite": "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c "
    "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid",
    "postgres": "SELECT table_name::text, column_name::text FROM information_schema.columns "
    "WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
}


async def columns_of(database: Database) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table, column in await database.rows(COLUMNS[database.dialect]):
        found.setdefault(table, []).append(column)
    return found


def _row(dialect: str, table: str, columns: Iterable[str], row: Iterable[object]) -> str:
    values = (
        MONDAY_AT_TEN if (table, column) in MADE_AT else value for column, value in zip(columns, row, strict=True)
    )
    return f"({', '.join(_literal(dialect, value) for value in values)})"


def _literal(dialect: str, value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'" if dialect == "sqlite" else f"'\\x{value.hex()}'"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


async def make(database: Database) -> Sample:
    sample = await filled(database)
    (HERE / f"{RELEASE}.{database.dialect}.sql").write_text(await dumped(database), encoding="utf-8")
    return sample


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        sample = asyncio.run(make(SqliteDatabase(Path(directory) / "dawr.sqlite")))
    with server_directory() as place, PostgresServer(place) as server, server.lend_database() as url:
        assert asyncio.run(make(PostgresDatabase(url))) == sample
    known_of_it = msgspec.json.format(msgspec.json.encode(sample), indent=2)
    (HERE / f"{RELEASE}.json").write_bytes(known_of_it + b"\n")


if __name__ == "__main__":
    main()

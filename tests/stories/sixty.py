"""The sample clinic, on a clock that the test drives: its people and its desks ask over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from dawr.bootstrap.installation import Dawr
from dawr.domain.hours import Hours
from dawr.domain.queue import Queue
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Ringer, Sweeper
from dawr.sample.venues import CLINIC
from tests.builders import DrivenClock
from tests.running import Answer, Client, must_be_problem
from tests.serving import installed, quiet, served
from tests.stores.databases import Database

PASSWORD: Final = "a long walk to the sea"
ARABIC: Final = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
ELEVEN: Final = 11 * 60
FULL_AT: Final = 3
CHANGED: Final[Mapping[str, dict[str, Any]]] = {
    "xray": {"miss_after": 120},
    "aud": {"capacity": FULL_AT},
    "der": {"hours": Hours(week=(((ELEVEN, ELEVEN + 360),),) * 7)},
}
"""What the sample clinic does not have: a call that is missed by the clock, a limit, and opening hours."""

_ALL = "lab xray bio eye int sur ent psy dnt der"
PLANS: Final = {
    "recruitment": _ALL,
    "promotion": _ALL,
    "transfer": _ALL,
    "referral": _ALL,
    "contract": _ALL,
    "aviation": "lab eye int ent ecg aud",
    "cooks": "lab int ent sur",
    "courses": "lab eye sur int",
    "women-general": "lab xray bio ent sur dnt int eye der",
}
"""As the clinic wrote them down."""
FIRST: Final = {name: ("lab", "xray", "bio") if "xray" in plan else ("lab",) for name, plan in PLANS.items()}
WORDS: Final = {"recruitment": "تجنيد", "promotion": "ترفيع", "aviation": "طيران", "women-general": "نساء"}
"""What some people say instead."""
WITHOUT_PIN: Final = {("women-general", queue) for queue in ("int", "eye", "der")}


class Person(msgspec.Struct):
    id: str
    exam: str
    gender: str
    plan: list[str]
    link: str = ""
    visit: str = ""
    missed: bool = False
    """They did not come to a call once."""

    @property
    def odd(self) -> bool:
        return int(self.id) % 2 == 1

    def typed(self, digits: str) -> str:
        """Every other one has an Arabic keyboard."""
        return digits.translate(ARABIC) if self.odd else digits


class Desk(msgspec.Struct):
    room: str
    queue: str
    bearer: str
    pin: str = ""
    here: dict[str, Any] | None = None
    """The ticket of whoever was called."""
    on_break: bool = False


class Clinic:
    """What can be asked of the clinic, and the hands of its clock."""

    def __init__(self, dawr: Dawr, clock: DrivenClock, client: Client, session: str) -> None:
        self.clock = clock
        self._dawr = dawr
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._ringer = Ringer(dawr.engine, dawr.store, clock)
        self._sweeper = Sweeper(dawr.engine, dawr.store)
        self.manager = session

    def post(self, path: str, given: object = None, *, bearer: str | None = None, key: str | None = None) -> Any:  # noqa: ANN401 - JSON
        answer = self.try_to(path, given, bearer=bearer, key=key)
        assert answer.status in {200, 201}, (path, given, answer)
        return answer.json

    def get(self, path: str, *, bearer: str | None = None, **query: object) -> Any:  # noqa: ANN401 - JSON
        answer = self._client.get(path, bearer=bearer, **query)
        assert answer.status == 200, (path, query, answer)
        return answer.json

    def refuses(self, code: str, path: str, given: object, *, status: int, bearer: str | None = None) -> Answer:
        answer = self.try_to(path, given, bearer=bearer)
        must_be_problem(answer, status, code)
        return answer

    def try_to(
        self,
        path: str,
        given: object = None,
        *,
        bearer: str | None = None,
        key: str | None = None,
        method: str = "POST",
    ) -> Answer:
        return self._client.post(path, given or {}, bearer=bearer, key=key, method=method)

    def set_up(self, queue: str, **changed: object) -> None:
        """Another set-up of one queue."""
        path = "/v1/venues/clinic/set-up"
        document = self.get(path, bearer=self.manager)
        found = next(one for one in document["queues"] if one["id"] == queue)
        found |= changed
        assert self.try_to(path, document, bearer=self.manager, method="PUT").status == 200

    def ring(self) -> None:
        """Let the clock do what is due."""
        asyncio.run_coroutine_threadsafe(self._ringer.ring_due(), self._loop).result(timeout=60)

    def sweep(self) -> None:
        """Let it end what the day left open."""
        asyncio.run_coroutine_threadsafe(self._sweeper.sweep_all(), self._loop).result(timeout=60)

    def desks(self) -> dict[str, Desk]:
        """One for each queue; whoever sits there has a token of their own."""
        desks: dict[str, Desk] = {}
        for queue in CLINIC.queues:
            asked = {"kind": "api", "role": "staff", "name": f"Room {queue.room}"}
            bearer = self.post("/v1/venues/clinic/tokens", asked, bearer=self.manager)["bearer"]
            desks[queue.id] = Desk(f"clinic:room-{queue.room}", queue.id, bearer)
        return desks


def people(number: int) -> list[Person]:
    """Of all exam types in turn, men and women; for some women only have a journey."""
    exams = list(PLANS)
    found = []
    for turn in range(number):
        exam = exams[turn % len(exams)]
        gender = "female" if exam == "women-general" or turn % 2 else "male"
        found.append(Person(str(20_000 + turn), exam, gender, PLANS[exam].split()))
    return found


@asynccontextmanager
async def opened(database: Database, clock: DrivenClock) -> AsyncIterator[Clinic]:
    """With its owner signed in."""
    store = await database.open()
    await store.migrate()
    settings = quiet(session_idle_hours=72)
    async with installed(store, clock, settings) as dawr:
        code = await dawr.accounts.owner_code()
        assert code is not None
        await dawr.accounts.first_owner(code, "owner", PASSWORD, _venue())
        async with served(dawr) as url:
            with Client(url) as client:
                signed_in = await dawr.accounts.sign_in("owner", PASSWORD)
                assert signed_in is not None
                yield Clinic(dawr, clock, client, signed_in[0])
    assert await store.faults() == []
    await store.close()


def _venue() -> Venue:
    return msgspec.structs.replace(CLINIC, queues=tuple(_changed(queue) for queue in CLINIC.queues))


def _changed(queue: Queue) -> Queue:
    return msgspec.structs.replace(queue, **CHANGED.get(queue.id, {}))

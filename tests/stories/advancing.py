"""A clinic of ten rooms in a process of its own, and people who go from room to room as fast as they are answered.

They keep asking under the same Idempotency-Key until they are told something, as a phone would.
"""

import contextlib
import http.client
import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.running import Answer, Client, DawrServer, eventually, must_be_problem, set_up, venue_document

ROOMS = [f"room-{number}" for number in range(10)]
SECONDS_UNTIL_ANSWERED = 60
PEOPLE_AT_ONCE = 8


class Asked(NamedTuple):
    """A request that was answered."""

    path: str
    given: dict[str, Any]
    key: str
    status: int
    body: bytes


class ClinicServer:
    """`dawr serve` on either store, with a PIN for every room."""

    def __init__(self, directory: Path, database_url: str) -> None:
        """Without a URL, on SQLite."""
        self.settings = {"DAWR_DATABASE_URL": database_url} if database_url else {"DAWR_DATA": str(directory)}
        self.database: Path | str = database_url or directory / "dawr.sqlite"
        self.server = DawrServer(directory, "serve", **self.settings)
        self._copies = directory / "copies"
        set_up("venue", "apply", "-", stdin=clinic(), **self.settings)
        token = ("token", "new", "--kind", "api", "--role", "manager", "--name", "Reception")
        self.bearer = set_up(*token, **self.settings).split()[-1]

    @property
    def url(self) -> str:
        return self.server.url

    def pins(self) -> dict[str, str]:
        with Client(self.url) as client:
            made = client.post("/v1/venues/clinic/pins/renew", {}, bearer=self.bearer)
            assert made.status == 200, made
            return {pin["queue"].removeprefix("clinic:"): pin["pin"] for pin in made.json["pins"]}

    def change(self, room: str, verb: str) -> None:
        """Open or close a room."""
        with Client(self.url) as client:
            assert client.post(f"/v1/queues/clinic:{room}/{verb}", {}, bearer=self.bearer).status == 200

    def nobodys_pin(self, pins: dict[str, str]) -> str:
        return next(pin for pin in (f"{number:02}" for number in range(100)) if pin not in pins.values())

    def left_behind(self) -> Path | str:
        """What a server that was killed left, to look at: a copy, so that it is the next server that recovers it."""
        if not isinstance(self.database, Path):
            return self.database
        shutil.rmtree(self._copies, ignore_errors=True)
        self._copies.mkdir()
        for part in self.database.parent.glob("dawr.sqlite*"):
            if not part.name.endswith("-shm"):
                shutil.copy(part, self._copies)
        return self._copies / self.database.name


def clinic() -> str:
    """Two rooms are fixed, the rest are free."""
    document = json.loads(venue_document(*({"id": room, "prefix": "R"} for room in ROOMS)))
    stages = [{"queue": room} for room in ROOMS]
    journey = {"id": "all", "name": {"en": "All rooms"}, "fixed": stages[:2], "free": stages[2:]}
    return json.dumps(document | {"journeys": [journey]})


class Patients:
    """A few at a time; whoever is done makes room for the next."""

    def __init__(self, clinic: ClinicServer, pins: dict[str, str]) -> None:
        self.asked: list[Asked] = []
        self.refusals: Counter[str] = Counter()
        self.replays = 0
        self.parked = 0
        """How often somebody was told that no room takes them now."""
        self.faults: list[BaseException] = []
        self._url = clinic.url
        self._pins = pins
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._come, args=(lane,)) for lane in range(PEOPLE_AT_ONCE)]

    @contextlib.contextmanager
    def coming(self) -> Iterator[None]:
        """Until the block ends; then whoever asked is answered, wherever they are on their way."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._enough.set()
            for thread in self._threads:
                thread.join()
        assert self.faults == []

    def must_go_on(self, *, by: int) -> None:
        """Return when so many more were answered."""
        before = len(self.asked)
        eventually(lambda: self._have_grown(before + by), seconds=30)

    def _have_grown(self, number: int) -> bool:
        if self.faults:
            raise self.faults[0]
        return len(self.asked) >= number

    def _come(self, lane: int) -> None:
        try:
            for turn in range(1_000_000):
                if self._enough.is_set():
                    return
                self._go_through(f"patient-{lane}-{turn}")
        except BaseException as fault:  # noqa: BLE001 - told to the test, which ends
            self.faults.append(fault)

    def _go_through(self, visitor: str) -> None:
        begun = self._ask("/v1/venues/clinic/journeys", {"journey": "all", "visitor": visitor}, visitor).json
        visit = f"/v1/visits/{begun['link'].removeprefix('/t/')}"
        place = begun["place"]
        while place is not None and not self._enough.is_set():
            room = place["queue"].removeprefix("clinic:")
            given = {"queue": room, "pin": self._pins[room]}
            went = self._ask(f"{visit}/finish-stage", given, f"{visitor}-leaves-{room}").json["visit"]
            place = went["tickets"][0] if went["state"] == "open" else None
            if place is not None and place["state"] == "finished":
                self.parked += 1
                place = self._enter(visit)

    def _enter(self, visit: str) -> dict[str, Any] | None:
        """Try again and again to enter what is next; None: enough people came."""
        while not self._enough.wait(0.02):
            with Client(self._url) as client, contextlib.suppress(OSError, http.client.HTTPException):
                entered = client.post(f"{visit}/enter", {})
                if entered.status != 200:
                    must_be_problem(entered, 409, "nothing-to-enter")  # an answer that did not arrive
                    entered = client.get(visit)
                place: dict[str, Any] = entered.json["tickets"][0]
                if place["state"] == "waiting":
                    return place
        return None

    def _ask(self, path: str, given: dict[str, Any], key: str) -> Answer:
        deadline = time.monotonic() + SECONDS_UNTIL_ANSWERED
        while time.monotonic() < deadline:
            with Client(self._url) as client, contextlib.suppress(OSError, http.client.HTTPException):
                answer = client.post(path, given, key=key)
                if answer.status in {200, 201}:
                    self.replays += "idempotency-replayed" in answer.headers
                    self.asked.append(Asked(path, given, key, answer.status, answer.body))
                    return answer
                code = answer.json["code"]
                must_be_problem(answer, 503, code)
                self.refusals[code] += 1
            time.sleep(0.02)
        raise TimeoutError(f"{key}: not answered within {SECONDS_UNTIL_ANSWERED} s.")

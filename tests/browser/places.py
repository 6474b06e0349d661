"""A server for the browser tests, and venues on it: each test has one of its own, set up and worked over HTTP."""

from itertools import count
from pathlib import Path
from typing import Any, Self

import msgspec

from dawr.domain import Venue
from dawr.sample.venues import CLINIC, RESTAURANT
from tests.running import Answer, Client, DawrServer, set_up, venue_document, zone_where_it_is_noon

PASSWORD = "a long walk to the sea"
FIRST = "first"
ROLES = ("owner", "manager", "staff", "viewer")


class Taken(msgspec.Struct, frozen=True):
    """A number, and the visitor's link."""

    ticket: str
    label: str
    link: str


class Door:
    """An installation as it is asked over HTTP, once it has its first venue and its owner."""

    def __init__(self) -> None:
        self.owner = ""
        self._slugs = count(1)

    @property
    def url(self) -> str:
        raise NotImplementedError

    def let_staff_in(self) -> None:
        """An account for each role, named for it."""
        self.owner = self.sign_in("owner")
        for role in ROLES[1:]:
            added = {"username": role, "role": role, "password": PASSWORD}
            assert self.ask("POST", f"/v1/venues/{FIRST}/staff", added).status == 201

    def place(self, venue: Venue, **changes: object) -> "Place":
        """A new venue like this one, where it is noon: no day ends during a test."""
        own = {"slug": f"{venue.slug}-{next(self._slugs)}", "zone": zone_where_it_is_noon()}
        return Place(self, venue.as_written() | own | changes)

    def clinic(self, **changes: object) -> "Place":
        return self.place(CLINIC, **changes)

    def restaurant(self, **changes: object) -> "Place":
        return self.place(RESTAURANT, **changes)

    def sign_in(self, username: str) -> str:
        """A new session: for a cookie, or as bearer."""
        answer = self.ask("POST", "/v1/login", {"username": username, "password": PASSWORD}, by="")
        assert answer.status == 200, answer
        return str(answer.json["session"])

    def ask(self, method: str, path: str, given: object = None, *, by: str | None = None) -> Answer:
        """As the owner, unless said otherwise: `by` is a session or token, and empty for anybody."""
        bearer = self.owner if by is None else by or None
        with Client(self.url) as client:
            if method == "GET":
                return client.get(path, bearer=bearer)
            return client.post(path, {} if given is None else given, bearer=bearer, method=method)


class House(Door):
    """`dawr serve` as people run it, with limits; but one account does everything for all tests."""

    def __init__(self, directory: Path, **settings: str | Path) -> None:
        super().__init__()
        limits = {"DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_CALLER": "1000000"}
        given = {"DAWR_DATA": directory / "data", **limits, **settings}
        set_up("venue", "apply", "-", stdin=venue_document({"id": "main"}, slug=FIRST), **given)
        added = ("staff", "add", "owner", "--role", "owner", "--venue", FIRST, "--password-stdin")
        set_up(*added, stdin=PASSWORD, **given)
        self.server = DawrServer(directory, "serve", **given)

    @property
    def url(self) -> str:
        return self.server.url

    def __enter__(self) -> Self:
        self.server.start()
        self.let_staff_in()
        return self

    def __exit__(self, *_: object) -> None:
        if self.server.is_running():
            self.server.stop()


class Place:
    """A venue, and what its people do."""

    def __init__(self, house: Door, set_up: dict[str, Any]) -> None:
        self.house = house
        self.slug = str(set_up["slug"])
        self._set_up = set_up
        self._roles = {"owner"}
        self.change()

    def change(self, **changes: object) -> None:
        """Of its set-up: `place.change(active=False)`."""
        self._set_up |= changes
        answer = self.house.ask("PUT", f"/v1/venues/{self.slug}/set-up", self._set_up)
        assert answer.status in {200, 201}, answer

    def change_queue(self, code: str, **changes: object) -> None:
        """Of one queue's: `place.change_queue("lab", capacity=2)`."""
        queues = [queue | (changes if queue["id"] == code else {}) for queue in self._set_up["queues"]]
        self.change(queues=queues)

    def session(self, role: str = "staff") -> str:
        """Of somebody with this role here, signed in anew."""
        if role not in self._roles:
            self.post(f"/v1/venues/{self.slug}/staff", {"username": role, "role": role})
            self._roles.add(role)
        return self.house.sign_in(role)

    def take(self, queue: str = "lab", **given: object) -> Taken:
        """A number, given by staff: so many that a visitor would be held back."""
        return _taken(self.post(f"/v1/queues/{self.slug}:{queue}/tickets", given))

    def start(self, journey: str = "recruitment", **given: object) -> Taken:
        """A journey through several queues; it needs a `visitor`."""
        return _taken(self.post(f"/v1/venues/{self.slug}/journeys", {"journey": journey, **given}))

    def call_next(self, desk: str = "room-101") -> str | None:
        """To this desk, in the name of the owner; the label, if somebody waited."""
        called = self.post(f"/v1/desks/{self.slug}:{desk}/call-next")["ticket"]
        return None if called is None else str(called["label"])

    def do(self, verb: str, ticket: str, **given: object) -> dict[str, Any]:
        """`place.do("miss", taken.ticket)`."""
        return self.post(f"/v1/tickets/{ticket}/{verb}", given)

    def look(self, ticket: str) -> dict[str, Any]:
        return self.get(f"/v1/tickets/{ticket}")

    def switch(self, verb: str, queue: str = "lab") -> None:
        """`open`, `pause`, `resume` or `close` a queue."""
        self.post(f"/v1/queues/{self.slug}:{queue}/{verb}")

    def pin(self, queue: str = "lab") -> str:
        return str(self.post(f"/v1/queues/{self.slug}:{queue}/pin")["pin"])

    def post(self, path: str, given: object = None) -> dict[str, Any]:
        answer = self.house.ask("POST", path, given)
        assert answer.status in {200, 201}, answer
        return answer.json

    def get(self, path: str) -> dict[str, Any]:
        answer = self.house.ask("GET", path)
        assert answer.status == 200, answer
        return answer.json


def _taken(answer: dict[str, Any]) -> Taken:
    return Taken(answer["ticket"], answer["place"]["label"], answer["link"])

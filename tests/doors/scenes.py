"""For every write that takes an idempotency key: how to come to where it can be asked for, and how it is asked."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from tests.doors.restaurant import Restaurant, a_party, restaurant_document
from tests.doors.roles import CLINIC, PASSWORD
from tests.doors.trail import trail
from tests.running import Answer, Client

WAY_TO = {
    "waiting": (),
    "called": ("call",),
    "held": ("hold",),
    "missed": ("call", "miss"),
}

_people = (f"person-{number}" for number in itertools.count(1))


class Asked(msgspec.Struct, frozen=True):
    path: str
    body: Mapping[str, Any] = {}


class Scene(msgspec.Struct, frozen=True):
    """One venue and one queue of it, where nothing has happened yet that the test did not do."""

    client: Client
    venue: str
    queue: str
    owner: str

    def of_queue(self, queue: str | None = None) -> str:
        return f"/v1/queues/{self.venue}:{queue or self.queue}"

    def take(self) -> dict[str, Any]:
        return self.client.post(f"{self.of_queue()}/tickets", {}).json

    def ticket(self, state: str = "waiting") -> str:
        """Of somebody new, in this state."""
        ticket = str(self.take()["ticket"])
        self.walk(ticket, state)
        return ticket

    def link(self, state: str = "waiting") -> str:
        """The path of a visit whose ticket is in this state."""
        taken = self.take()
        self.walk(taken["ticket"], state)
        return "/v1/visits/" + str(taken["link"]).removeprefix("/t/")

    def walk(self, ticket: str, state: str) -> None:
        for verb in WAY_TO[state]:
            done = self.client.post(f"/v1/tickets/{ticket}/{verb}", {}, bearer=self.owner)
            assert done.status == 200, done

    def member(self, *, disabled: bool = False) -> str:
        """The path of a staff member."""
        name = next(_people)
        path = f"/v1/venues/{self.venue}/staff"
        self.client.post(path, {"username": name, "role": "staff", "password": PASSWORD}, bearer=self.owner)
        if disabled:
            self.client.post(f"{path}/{name}/disable", {}, bearer=self.owner)
        return f"{path}/{name}"

    def token(self) -> str:
        """The path of a token."""
        path = f"/v1/venues/{self.venue}/tokens"
        made = self.client.post(path, {"kind": "display", "name": "Over the door"}, bearer=self.owner)
        return f"{path}/{made.json['token']['token']}"

    def events(self) -> int:
        """How much has happened: at the clinic, which all tests share, in this queue."""
        queue = self.queue if self.venue == CLINIC else None
        return len(trail(self.client, self.venue, queue, self.owner))


class Case(msgspec.Struct, frozen=True):
    ask: Callable[[Scene], Asked]
    other: Callable[[Scene, Asked], Asked] | None
    """Something else under the same route; None where a route can be asked for one thing only."""
    at: Literal["clinic", "restaurant"] = "restaurant"
    method: Literal["POST", "PUT"] = "POST"

    def send(self, scene: Scene, asked: Asked, key: str, bearer: str | None) -> Answer:
        return scene.client.post(asked.path, asked.body, key=key, bearer=bearer, method=self.method)


def _saying(**body: object) -> Callable[[Scene, Asked], Asked]:
    """The same with another body."""
    return lambda _, asked: Asked(asked.path, {**asked.body, **body})


def _at_another_ticket(scene: Scene, asked: Asked) -> Asked:
    verb = asked.path.rpartition("/")[2]
    return Asked(f"/v1/tickets/{scene.ticket()}/{verb}", asked.body)


def _verb(verb: str, state: str) -> Case:
    return Case(lambda scene: Asked(f"/v1/tickets/{scene.ticket(state)}/{verb}"), _at_another_ticket)


def _queue_verb(verb: str, before: str | None) -> Case:
    def ask(scene: Scene) -> Asked:
        if before is not None:
            scene.client.post(f"{scene.of_queue()}/{before}", {}, bearer=scene.owner)
        return Asked(f"{scene.of_queue()}/{verb}")

    return Case(ask, _saying(reason="Lunch."))


def _visit_verb(verb: str, state: str) -> Case:
    return Case(
        lambda scene: Asked(f"{scene.link(state)}/{verb}"), lambda scene, _: Asked(f"{scene.link(state)}/{verb}")
    )


def _entered(scene: Scene, user: str = "Amna") -> Mapping[str, str]:
    scene.client.enter(scene.queue, user)
    return {"clinic": scene.queue}


def _joined(scene: Scene, number: int = 1) -> str:
    entry = scene.client.post(f"/api/public/{scene.venue}/queue", a_party(number)).json["data"]
    return f"/api/admin/{scene.venue}/queue/{entry['id']}"


def _call_next(scene: Scene) -> Asked:
    _joined(scene)
    return Asked(f"/api/admin/{scene.venue}/queue/call-next")


def _called_from_queue(scene: Scene) -> Asked:
    scene.take()
    return Asked(f"{scene.of_queue()}/call-next")


def _called_to_desk(scene: Scene) -> Asked:
    scene.take()
    return Asked(f"/v1/desks/{scene.venue}:host/call-next")


CASES: dict[str, Case] = {
    "queue/enter": Case(
        lambda scene: Asked("/api/v1/queue/enter", {"clinic": scene.queue, "user": "Amna"}),
        _saying(user="Basma"),
        "clinic",
    ),
    "queue/call": Case(lambda scene: Asked("/api/v1/queue/call", _entered(scene)), _saying(desk="window"), "clinic"),
    "queue/done": Case(
        lambda scene: Asked("/api/v1/queue/done", {**_entered(scene), "user": "Amna"}), _saying(user="Basma"), "clinic"
    ),
    "queue/reset": Case(lambda scene: Asked("/api/v1/queue/reset", _entered(scene)), _saying(clinic="xray"), "clinic"),
    "restaurant/join": Case(lambda scene: Asked(f"/api/public/{scene.venue}/queue", a_party()), _saying(partySize=3)),
    "restaurant/call-next": Case(_call_next, None),
    "restaurant/change-status": Case(
        lambda scene: Asked(_joined(scene), {"status": "CALLED"}), _saying(status="CANCELLED")
    ),
    "take-ticket": Case(lambda scene: Asked(f"{scene.of_queue()}/tickets", {"visitor": "Amna"}), _saying(party_size=2)),
    "start-visit": Case(
        lambda scene: Asked(f"/v1/venues/{scene.venue}/visits", {"queue": scene.queue}), _saying(visitor="Amna")
    ),
    "leave-visit": _visit_verb("leave", "waiting"),
    "rejoin-visit": _visit_verb("rejoin", "missed"),
    "call-next-from-queue": Case(_called_from_queue, lambda scene, _: Asked(f"{scene.of_queue('bar')}/call-next")),
    "call-next": Case(_called_to_desk, _saying(queue="bar")),
    "reset-queue": Case(lambda scene: Asked(f"{scene.of_queue()}/reset"), _saying(reason="Lunch.")),
    "open-queue": _queue_verb("open", "close"),
    "close-queue": _queue_verb("close", None),
    "pause-queue": _queue_verb("pause", None),
    "resume-queue": _queue_verb("resume", "pause"),
    "call-ticket": _verb("call", "waiting"),
    "recall-ticket": _verb("recall", "called"),
    "start-ticket": _verb("start", "called"),
    "finish-ticket": _verb("finish", "called"),
    "miss-ticket": _verb("miss", "called"),
    "rejoin-ticket": _verb("rejoin", "missed"),
    "hold-ticket": _verb("hold", "waiting"),
    "resume-ticket": _verb("resume", "held"),
    "leave-ticket": _verb("leave", "waiting"),
    "set-up-venue": Case(
        lambda scene: Asked(
            f"/v1/venues/{scene.venue}/set-up", {**restaurant_document(), "name": {"en": "Under another name"}}
        ),
        _saying(name={"en": "And another"}),
        method="PUT",
    ),
    "add-staff": Case(
        lambda scene: Asked(
            f"/v1/venues/{scene.venue}/staff", {"username": next(_people), "role": "staff", "password": PASSWORD}
        ),
        _saying(role="viewer"),
    ),
    "change-role": Case(lambda scene: Asked(f"{scene.member()}/role", {"role": "viewer"}), _saying(role="manager")),
    "disable-staff": Case(lambda scene: Asked(f"{scene.member()}/disable"), _saying(reason="Gone.")),
    "enable-staff": Case(lambda scene: Asked(f"{scene.member(disabled=True)}/enable"), _saying(reason="Back.")),
    "make-token": Case(
        lambda scene: Asked(f"/v1/venues/{scene.venue}/tokens", {"kind": "kiosk", "name": "At the entrance"}),
        _saying(name="At the lift"),
    ),
    "revoke-token": Case(lambda scene: Asked(f"{scene.token()}/revoke"), _saying(reason="Lost.")),
}
"""By the name of the route."""


def scene_at(restaurant: Restaurant) -> Scene:
    return Scene(restaurant.client, restaurant.slug, "waitlist", restaurant.owner)

"""For every write that takes an idempotency key: how to come to where it can be asked for, and how it is asked."""

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from tests.doors.exams import a_patient_id
from tests.doors.restaurant import Restaurant, a_party, restaurant_document
from tests.doors.roles import CLINIC, PASSWORD
from tests.doors.trail import whole_trail
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

    def tour(self) -> dict[str, Any]:
        """Somebody new, who begins a journey of two queues."""
        begun = self.client.post(f"/v1/venues/{self.venue}/journeys", {"journey": "tour", "visitor": next(_people)})
        assert begun.status == 201, begun
        return dict(begun.json)

    def tour_link(self) -> str:
        return "/v1/visits/" + str(self.tour()["link"]).removeprefix("/t/")

    def tour_by_staff(self) -> str:
        return f"/v1/visits/{self.tour()['visit']}"

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

    def token(self, by: str | None = None) -> str:
        """The path of a token."""
        path = f"/v1/venues/{self.venue}/tokens"
        made = self.client.post(path, {"kind": "display", "name": "Over the door"}, bearer=by or self.owner)
        return f"{path}/{made.json['token']['token']}"

    def another_owner(self) -> str:
        """The session of somebody new."""
        name = next(_people)
        given = {"username": name, "role": "owner", "password": PASSWORD}
        self.client.post(f"/v1/venues/{self.venue}/staff", given, bearer=self.owner)
        return str(self.client.post("/v1/login", {"username": name, "password": PASSWORD}).json["session"])

    def events(self) -> int:
        """How much has happened: at the clinic, which all tests share, in this queue."""
        queue = self.queue if self.venue == CLINIC else None
        return len(whole_trail(self.client, self.venue, queue, self.owner))


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


def _edit(verb: str, **body: object) -> Case:
    """What staff do with a journey under way."""
    return Case(lambda scene: Asked(f"{scene.tour_by_staff()}/{verb}", body), _saying(reason="As they asked."))


def _entered_again(path: Callable[[Scene], str], verb: str) -> Case:
    """Of somebody who was taken out of their queue."""

    def ask(scene: Scene) -> Asked:
        visit = path(scene)
        removed = scene.client.post(f"{visit.partition('.')[0]}/remove", {}, bearer=scene.owner)
        assert removed.status == 200, removed
        return Asked(f"{visit}/{verb}")

    return Case(ask, lambda scene, _: ask(scene))


def _desk(verb: str, before: str | None = None, **body: object) -> Case:
    def ask(scene: Scene) -> Asked:
        desk = f"/v1/desks/{scene.venue}:host"
        if before is not None:
            scene.client.post(f"{desk}/{before}", {}, bearer=scene.owner)
        return Asked(f"{desk}/{verb}", body)

    return Case(ask, _saying(reason="Lunch."))


def _failed_before(scene: Scene) -> Asked:
    """Of a visit whose visitor typed a wrong PIN."""
    link = scene.tour_link()
    refused = scene.client.post(f"{link}/finish-stage", {"queue": "bar", "pin": "9999"})
    assert refused.status == 403, refused
    return Asked(f"{link.partition('.')[0]}/unlock")


def _right_pin(scene: Scene) -> Asked:
    pin = scene.client.post(f"{scene.of_queue('bar')}/pin", {}, bearer=scene.owner).json["pin"]
    return Asked(f"{scene.tour_link()}/finish-stage", {"queue": "bar", "pin": pin})


def _completed(scene: Scene, queue: str) -> str:
    visit = scene.tour_by_staff()
    done = scene.client.post(f"{visit}/complete-stage", {"queue": queue}, bearer=scene.owner)
    assert done.status == 200, done
    return visit


def _undone(scene: Scene) -> Asked:
    ticket = scene.ticket("called")
    seen = scene.client.get(f"/v1/tickets/{ticket}", bearer=scene.owner).json
    return Asked(f"/v1/tickets/{ticket}/undo", {"version": seen["version"]})


def _left_by_link(scene: Scene) -> Asked:
    link = scene.link("waiting")
    left = scene.client.post(f"{link}/leave", {})
    assert left.status == 200, left
    return Asked(f"{link}/undo-leave")


def _entered(scene: Scene, user: str = "Amna") -> Mapping[str, str]:
    scene.client.enter(scene.queue, user)
    return {"clinic": scene.queue}


def _logged_in(scene: Scene) -> Mapping[str, str]:
    """Somebody who came for this queue alone, as the clinic's door names them."""
    patient = a_patient_id()
    given = {"patientId": patient, "gender": "male", "examType": f"only-{scene.queue}"}
    entered = scene.client.post("/api/v1/patient/login", given)
    assert entered.json["clinic"] == scene.queue, entered
    return {"patientId": patient}


def _leaving(scene: Scene) -> Asked:
    pin = scene.client.get(f"/api/v1/pin/{scene.queue}/status", bearer=scene.owner).json["pin"]
    given = {**_logged_in(scene), "clinic": scene.queue, "pin": pin, "queueNumber": "1"}
    return Asked("/api/v1/patient/verify-pin", given)


def _freed_pin(scene: Scene) -> str:
    """One that no queue has any more."""
    pin = scene.client.get("/api/v1/pin/xray/status", bearer=scene.owner).json["pin"]
    scene.client.post("/api/v1/pin/rotate", {"clinic": "xray"}, bearer=scene.owner)
    return str(pin)


def _going_on(scene: Scene) -> Asked:
    patient = _logged_in(scene)
    removed = {**patient, "action": "remove-from-queue"}
    assert scene.client.post("/api/v1/admin/edit-patient", removed, bearer=scene.owner).status == 200
    return Asked("/api/v1/path/choose", {**patient, "queueNumber": 1})


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
    "patient/login": Case(
        lambda scene: Asked(
            "/api/v1/patient/login",
            {"patientId": a_patient_id(), "gender": "male", "examType": f"only-{scene.queue}"},
        ),
        _saying(gender="female"),
        "clinic",
    ),
    "patient/verify-pin": Case(_leaving, _saying(pin="00"), "clinic"),
    "path/enter": Case(_going_on, _saying(queueNumber=2), "clinic"),
    "admin/edit-patient": Case(
        lambda scene: Asked("/api/v1/admin/edit-patient", {**_logged_in(scene), "action": "end"}),
        _saying(action="unlock"),
        "clinic",
    ),
    "pin/assign": Case(
        lambda scene: Asked("/api/v1/pin/assign", {"clinic": scene.queue, "pin": _freed_pin(scene)}),
        _saying(clinic="small"),
        "clinic",
    ),
    "pin/rotate": Case(
        lambda scene: Asked("/api/v1/pin/rotate", {"clinic": scene.queue}), _saying(clinic="xray"), "clinic"
    ),
    "pin/renew": Case(lambda _: Asked("/api/v1/pin/renew"), None, "clinic"),
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
    "undo-leave-visit": Case(_left_by_link, lambda scene, _: _left_by_link(scene)),
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
    "put-back-ticket": _verb("put-back", "called"),
    "hold-ticket": _verb("hold", "waiting"),
    "resume-ticket": _verb("resume", "held"),
    "leave-ticket": _verb("leave", "waiting"),
    "extend-ticket": _verb("extend", "called"),
    "prioritize-ticket": Case(
        lambda scene: Asked(f"/v1/tickets/{scene.ticket()}/prioritize", {"priority": 1, "why": "elderly"}),
        _saying(priority=2),
    ),
    "transfer-ticket": Case(
        lambda scene: Asked(f"/v1/tickets/{scene.ticket()}/transfer", {"queue": "bar"}), _saying(reason="Nearer.")
    ),
    "undo-ticket": Case(_undone, _saying(reason="A slip.")),
    "start-journey": Case(
        lambda scene: Asked(f"/v1/venues/{scene.venue}/journeys", {"journey": "tour", "visitor": "Amna"}),
        _saying(visitor="Basma"),
    ),
    "finish-stage": Case(_right_pin, _saying(queue="waitlist")),
    "enter-visit": _entered_again(Scene.tour_link, "enter"),
    "enter-stage": _entered_again(Scene.tour_by_staff, "enter-stage"),
    "renew-link": _edit("renew-link"),
    "note": _edit("note", note="Hard of hearing"),
    "unlock": Case(_failed_before, _saying(reason="A slip.")),
    "remove": _edit("remove"),
    "end": _edit("end"),
    "add-stage": Case(
        lambda scene: Asked(f"{_completed(scene, 'bar')}/add-stage", {"queue": "bar"}), _saying(queue="waitlist")
    ),
    "skip-stage": _edit("skip-stage", queue="bar"),
    "complete-stage": _edit("complete-stage", queue="bar"),
    "reset-path": _edit("reset-path"),
    "change-path": _edit("change-path", journey="tour"),
    "open-desk": _desk("open"),
    "break-desk": Case(
        lambda scene: Asked(f"/v1/desks/{scene.venue}:host/break", {"until": int(time.time() * 1000) + 600_000}),
        _saying(reason="Lunch."),
    ),
    "close-desk": _desk("close", "open"),
    "show-pin": Case(lambda scene: Asked(f"{scene.of_queue()}/pin"), _saying(reason="To write it on the wall.")),
    "rotate-pin": Case(lambda scene: Asked(f"{scene.of_queue()}/pin/rotate"), _saying(reason="It was seen.")),
    "renew-pins": Case(lambda scene: Asked(f"/v1/venues/{scene.venue}/pins/renew"), _saying(reason="All were seen.")),
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
    "take-token-over": Case(
        lambda scene: Asked(f"{scene.token(scene.another_owner())}/take-over"), _saying(reason="They left.")
    ),
    "revoke-token": Case(lambda scene: Asked(f"{scene.token()}/revoke"), _saying(reason="Lost.")),
}
"""By the name of the route."""


def scene_at(restaurant: Restaurant) -> Scene:
    return Scene(restaurant.client, restaurant.slug, "waitlist", restaurant.owner)

"""A clinic of its own for a test: three rooms on two floors, a desk each, and journeys through them."""

from typing import Any

import msgspec

from tests.api.world import Api, secret_of
from tests.builders import a_new
from tests.running import Answer, zone_where_it_is_noon

OWNER = "owner@clinic"


class Clinic(msgspec.Struct, frozen=True):
    api: Api
    slug: str

    def alone(self) -> "Clinic":
        """Over a connection of one's own."""
        return Clinic(Api(self.api.url, self.api.world), self.slug)

    def begin(self, visitor: str | None = None, *, by: str | None = None, **given: object) -> dict[str, Any]:
        """A journey of somebody, new unless named."""
        body = {"journey": "recruitment", "visitor": visitor or a_new("person"), **given}
        answer = self.api.post(f"/v1/venues/{self.slug}/journeys", body, by=by)
        assert answer.status == 201, answer
        return answer.json

    def pin(self, queue: str) -> str:
        return str(self.post(f"/v1/queues/{self.slug}:{queue}/pin").json["pin"])

    def wrong_pin(self) -> str:
        """One that no room has."""
        pins = {self.pin(queue) for queue in ("lab", "eye", "int")}
        return next(f"{pin:02}" for pin in range(100) if f"{pin:02}" not in pins)

    def finish(self, begun: dict[str, Any], queue: str, pin: str | None, **sent: Any) -> Answer:  # noqa: ANN401
        path = f"/v1/visits/{secret_of(begun['link'])}/finish-stage"
        return self.api.post(path, {"queue": queue, "pin": pin}, **sent)

    def seen(self, begun: dict[str, Any]) -> dict[str, Any]:
        answer = self.api.get(f"/v1/visits/{secret_of(begun['link'])}")
        assert answer.status == 200, answer
        return answer.json

    def states(self, begun: dict[str, Any]) -> list[str]:
        return [stage["state"] for stage in self.seen(begun)["stages"]]

    def edit(self, begun: dict[str, Any], verb: str, by: str = OWNER, **body: object) -> Answer:
        return self.api.post(f"/v1/visits/{begun['visit']}/{verb}", body, by=by)

    def post(self, path: str, body: object = None, *, by: str = OWNER) -> Answer:
        answer = self.api.post(path, body or {}, by=by)
        assert answer.status < 300, answer
        return answer

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.api.audit(self.slug, by=OWNER) if event["kind"] == kind]


def new_clinic(api: Api, **changed: object) -> Clinic:
    slug = a_new("rooms")
    made = api.ask("PUT", f"/v1/venues/{slug}/set-up", {**document(), **changed}, by=OWNER)
    assert made.status == 201, made
    return Clinic(api, slug)


def document() -> dict[str, Any]:
    queues = [("lab", "M", "101"), ("eye", "2", "201"), ("int", "2", "202")]
    return {
        "name": {"en": "Rooms"},
        "zone": zone_where_it_is_noon(),
        "queues": [
            {"id": code, "name": {"en": code.title()}, "prefix": code[0].upper(), "floor": floor, "room": room}
            for code, floor, room in queues
        ],
        "desks": [{"id": f"room-{room}", "name": {"en": room}, "queues": [code]} for code, _, room in queues],
        "journeys": [
            {
                "id": "recruitment",
                "name": {"en": "Recruitment"},
                "aliases": ["تجنيد"],
                "fixed": [{"queue": "lab"}],
                "free": [{"queue": "eye"}, {"queue": "int", "pin": False}],
            },
            {"id": "women", "name": {"en": "Women"}, "audience": "women", "fixed": [{"queue": "int"}]},
        ],
        "walking_minutes": {"M": {"2": 3}},
    }

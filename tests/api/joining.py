"""The page by which one joins, as somebody meets it who scans the code at the door; and places to join."""

from collections.abc import Mapping
from html import unescape
from typing import Any

import msgspec

from tests.api.pages import A_BROWSERS, Page
from tests.api.test_forms import send
from tests.api.world import Api
from tests.builders import a_new
from tests.running import Answer, zone_where_it_is_noon

OWNER = "owner@clinic"


class Door(msgspec.Struct, frozen=True):
    """The page of one venue, as somebody meets it who scans the code at its door."""

    api: Api
    slug: str

    def open(self, query: str = "", **headers: str) -> Answer:
        said = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.api.get(f"/v/{self.slug}{query}", headers={**A_BROWSERS, **said})

    def see(self, query: str = "", language: str = "en") -> Page:
        return Page(self.open(query, Accept_Language=language).body)

    def press(self, fields: Mapping[str, str], query: str = "", **headers: str) -> Answer:
        """The form of the page, filled in and sent."""
        shown = self.see(query).typed
        return self.send({**shown, **fields}, **headers)

    def send(self, fields: Mapping[str, str], **headers: str) -> Answer:
        return send(self.api, f"/v/{self.slug}", fields, **headers)

    def waiting(self, queue: str = "lab") -> int:
        return int(self.api.get(f"/v1/queues/{self.slug}:{queue}").json["waiting"])

    def tickets(self, queue: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"/v1/queues/{self.slug}:{queue}/tickets", by=OWNER).json["items"]
        return found

    def change(self, verb: str, queue: str) -> None:
        assert self.api.post(f"/v1/queues/{self.slug}:{queue}/{verb}", {}, by=OWNER).status == 200


def new_place(api: Api, kind: str, *queues: dict[str, Any], **changed: object) -> Door:
    document = {
        "name": {"en": "Our place"},
        "kind": kind,
        "zone": zone_where_it_is_noon(),
        "queues": [{"id": "main", "name": {"en": "Main"}, "prefix": "A", **queue} for queue in queues],
    }
    door = Door(api, a_new("place"))
    made = api.ask("PUT", f"/v1/venues/{door.slug}/set-up", {**document, **changed}, by=OWNER)
    assert made.status == 201, made
    return door


def is_in(sentence: str, page: Page) -> bool:
    return sentence in " ".join(unescape(page.text).split())

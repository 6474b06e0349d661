"""A restaurant at its door: its guests, and those who work there."""

from collections.abc import Mapping
from typing import Any

import msgspec

from dawr.domain.staff import Role
from tests.running import Answer, Client, zone_where_it_is_noon


class Restaurant(msgspec.Struct, frozen=True):
    client: Client
    slug: str
    bearers: Mapping[Role, str]
    owner: str

    @property
    def public(self) -> str:
        return f"/api/public/{self.slug}"

    @property
    def admin(self) -> str:
        return f"/api/admin/{self.slug}/queue"

    def join(self, number: int = 1, **given: object) -> Answer:
        """A party that the number of its phone is made from; other fields as given."""
        return self.client.post(f"{self.public}/queue", a_party(number) | given)

    def status(self, entry: Mapping[str, Any]) -> Answer:
        """As the party itself asks, with its secret."""
        return self.client.get(f"{self.public}/queue-status", entryId=entry["id"], secret=entry["secret"])

    def call_next(self, *, key: str | None = None, by: Role = "staff") -> Answer:
        return self.client.post(f"{self.admin}/call-next", {}, key=key, bearer=self.bearers[by])

    def change(self, entry: str, status: str, *, key: str | None = None, by: Role = "staff") -> Answer:
        return self.client.post(f"{self.admin}/{entry}", {"status": status}, key=key, bearer=self.bearers[by])

    def list(self, *, by: Role = "viewer", **query: object) -> Answer:
        return self.client.get(self.admin, bearer=self.bearers[by], **query)

    def set_up(self, **changed: object) -> None:
        path = f"/v1/venues/{self.slug}/set-up"
        answer = self.client.post(path, restaurant_document() | changed, bearer=self.owner, method="PUT")
        assert answer.status == 200, answer


def a_party(number: int = 1) -> dict[str, object]:
    return {"name": f"Party {number}", "mobileNumber": f"+9743300{number:04}", "partySize": 2}


def restaurant_document() -> dict[str, Any]:
    """Without its slug, which stands in the path."""
    waitlist = {"id": "waitlist", "name": {"en": "Waitlist"}, "prefix": "R", "mean_service_seconds": 600}
    return {
        "name": {"en": "A restaurant"},
        "zone": zone_where_it_is_noon(),
        "kind": "restaurant",
        "queues": [waitlist, {"id": "bar", "name": {"en": "Bar"}}],
        "desks": [{"id": "host", "name": {"en": "Host"}, "queues": ["waitlist", "bar"]}],
        "journeys": [{"id": "tour", "name": {"en": "Tour"}, "fixed": [{"queue": "bar"}, {"queue": "waitlist"}]}],
    }

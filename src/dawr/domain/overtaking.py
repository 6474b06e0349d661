"""Who let whom be overtaken, and why: summed by day, so that anybody can ask whether a queue is fair."""

from typing import Literal

import msgspec

from dawr.domain.day import Day
from dawr.domain.venue import VenueId

Why = Literal["urgent", "elderly", "disabled", "pregnant", "appointment", "returned", "mistake", "pin", "other"]
"""Coded, so that it can be counted. `pin`: examined before being called, which their PIN shows."""

Sums = dict[str, dict[Why, tuple[int, int]]]
"""Actor → reason → how often, and how many were overtaken."""


class Overtakings(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    day: Day
    sums: str = "{}"

    def read(self) -> Sums:
        return _decode(self.sums)

    def with_one_more(self, actor: str, why: Why, overtaken: int) -> "Overtakings":
        sums = self.read()
        times, people = sums.setdefault(actor, {}).get(why, (0, 0))
        sums[actor][why] = (times + 1, people + overtaken)
        return msgspec.structs.replace(self, sums=msgspec.json.encode(sums).decode())


_decode = msgspec.json.Decoder(Sums).decode

"""What both databases do beside the venues' transactions: each call is one named statement."""

from typing import Protocol

from dawr.domain import VenueId
from dawr.reliability.records import Records


class RowsBeside(Records, Protocol):
    async def venue_ids(self) -> dict[str, VenueId]:
        return dict(await self.select_rows("venue_slugs"))

    async def purge_answers(self, now: int, *, most: int) -> int:
        return await self.change_rows("purge_answers", now, most)

    async def identity(self) -> str:
        [(identity,)] = await self.select_rows("identity")
        return str(identity)

"""What both databases do beside the venues' transactions: each call is one named statement."""

from typing import Protocol

from dawr.domain import Alarm, Day, LineKey, QueueId, VenueId
from dawr.reliability.records import Records


class RowsBeside(Records, Protocol):
    async def venue_ids(self) -> dict[str, VenueId]:
        return dict(await self.select_rows("venue_slugs"))

    async def venues_called(self, name: str) -> dict[str, VenueId]:
        return dict(await self.select_rows("venues_called", name))

    async def due_alarms(self, now: int, *, most: int) -> list[Alarm]:
        return [Alarm(*row) for row in await self.select_rows("due_alarms", now, most)]

    async def purge_alarms(self, *, most: int) -> int:
        return await self.change_rows("purge_alarms", most)

    async def ring_far_alarms(self, now: int, *, beyond: int) -> int:
        return await self.change_rows("ring_far_alarms", now, beyond)

    async def purge_answers(self, ran_ms: int, *, most: int) -> int:
        return await self.change_rows("purge_answers", ran_ms, most)

    async def lines_since(self, venue_id: VenueId, queue_id: QueueId, day: Day) -> list[LineKey]:
        rows = await self.select_rows("lines_since", venue_id, queue_id, day)
        return [LineKey(queue_id, *row) for row in rows]

    async def time_kept(self) -> tuple[int, int | None]:
        [(ran_ms, believed_at)] = await self.select_rows("time_kept")
        return ran_ms, believed_at

    async def keep_time(self, ran_ms: int, believed_at: int | None) -> None:
        await self.change_rows("keep_time", ran_ms, believed_at)

    async def identity(self) -> str:
        [(identity,)] = await self.select_rows("identity")
        return str(identity)

    async def secret(self, new: str) -> str:
        await self.change_rows("make_secret", new)
        [(secret,)] = await self.select_rows("secret")
        return str(secret)

"""What is asked of a claim before its work begins, and of a reply when it ends."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dawr.reliability.idempotency import Claim, Idempotency, InProgress, Reply
from dawr.reliability.records import Argument, Records
from tests.builders import DrivenClock
from tests.reliability.backends import LOG_SECRET, Backend

CLAIM = Claim.of({"amount": 5}, scope="payments", key="k-1")
DONE = Reply(201, b"paid")
LONGEST = "".join(chr(0x10000 + 7919 * number) for number in range(101)) * 2 + "\N{DEER}" * 53
"""Of four bytes each, and hard to press together."""


@pytest.fixture(params=["sqlite", "postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    backend = Backend(request.param, path=tmp_path / "kit.db", url=url)
    yield backend
    await backend.close()


class Slow:
    """Records that have written, and are slow to say so."""

    def __init__(self, records: Records) -> None:
        self.written = asyncio.Event()
        self.go = asyncio.Event()
        self._records = records

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self._records.select_rows(name, *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        changed = await self._records.change_rows(name, *arguments)
        self.written.set()
        await self.go.wait()
        return changed


class Overtaken(Slow):
    """Records that are slow before they write: somebody else was quicker."""

    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self.seen = asyncio.Event()
        self.lost = asyncio.Event()

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        self.seen.set()
        await self.go.wait()
        changed = await self._records.change_rows(name, *arguments)
        self.lost.set()
        return changed


async def pay() -> Reply:
    return DONE


@pytest.mark.parametrize("before", ["nothing", "failed"])
async def test_whoever_goes_away_before_the_work_began_leaves_it_to_the_next(backend: Backend, before: str) -> None:
    records, clock = await backend.open(), DrivenClock()
    if before == "failed":
        with pytest.raises(RuntimeError):
            async with Idempotency(records, clock, secret=LOG_SECRET).claimed(CLAIM):
                pass
    slow, began = Slow(records), []

    async def work() -> Reply:
        began.append("work")
        return DONE

    leaving = asyncio.create_task(Idempotency(slow, clock, secret=LOG_SECRET).run(CLAIM, work))
    await slow.written.wait()
    leaving.cancel()
    await asyncio.wait([leaving])
    slow.go.set()

    assert leaving.cancelled()
    assert await Idempotency(records, clock, secret=LOG_SECRET, patience_ms=10_000).run(CLAIM, pay) == DONE
    assert not began


async def test_whoever_goes_away_without_having_claimed_it_takes_it_from_nobody(backend: Backend) -> None:
    records, clock = await backend.open(), DrivenClock()
    holder, overtaken = Idempotency(records, clock, secret=LOG_SECRET), Overtaken(records)
    leaving = asyncio.create_task(Idempotency(overtaken, clock, secret=LOG_SECRET).run(CLAIM, pay))
    await overtaken.seen.wait()

    async with holder.claimed(CLAIM) as attempt:
        leaving.cancel()
        await asyncio.wait([leaving])
        overtaken.go.set()
        async with asyncio.timeout(60):
            await overtaken.lost.wait()
        await asyncio.sleep(0.05)  # nothing may happen

        with pytest.raises(InProgress):
            await holder.check(CLAIM)
        await attempt.complete(DONE)


async def test_a_reply_that_is_no_bytes_is_refused_and_its_work_not_repeated_at_once(backend: Backend) -> None:
    idempotency = Idempotency(await backend.open(), DrivenClock(), secret=LOG_SECRET, patience_ms=0)

    async def work() -> Reply:
        return Reply(201, "paid")  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="bytes, not str"):
        await idempotency.run(CLAIM, work)

    with pytest.raises(InProgress):
        await idempotency.check(CLAIM)


@pytest.mark.parametrize("part", ["scope", "principal", "key"])
@pytest.mark.parametrize("text", ["a\0b", "k" * 256, "\ud800"])
def test_what_no_database_could_keep_is_refused_before_anything_is_done(part: str, text: str) -> None:
    names = {"scope": "payments", "principal": "account:7", "key": "k-1"} | {part: text}

    with pytest.raises(ValueError, match=part):
        Claim.of({}, scope=names["scope"], principal=names["principal"], key=names["key"])


def test_names_that_are_too_long_together_are_refused() -> None:
    with pytest.raises(ValueError, match="together"):
        Claim.of({}, scope=LONGEST, principal=LONGEST, key=LONGEST)


@pytest.mark.parametrize("texts", [("ت" * 255,) * 3, (LONGEST, LONGEST, "k" * 255), ("", "", "k")])
async def test_the_longest_and_the_shortest_names_are_kept(backend: Backend, texts: tuple[str, str, str]) -> None:
    scope, principal, key = texts
    claim = Claim.of({}, scope=scope, principal=principal, key=key)
    idempotency = Idempotency(await backend.open(), DrivenClock(), secret=LOG_SECRET)

    assert [(await idempotency.run(claim, pay)).replayed for _ in range(2)] == [False, True]

"""Work under a claim: done by one of many, answered to all, on every database."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import blake2b, sha256
from pathlib import Path

import msgspec
import pytest
import structlog

from dawr.reliability.idempotency import (
    ANONYMOUS,
    AnswerKey,
    Attempt,
    Claim,
    ClaimLost,
    Idempotency,
    InProgress,
    KeyReused,
    Reply,
)
from dawr.reliability.idempotency.claims import PATIENCE_MS
from dawr.reliability.records import Records
from tests.builders import DrivenClock
from tests.reliability.backends import KINDS, LOG_SECRET, Backend

CLAIM = Claim.of({"amount": 5, "to": {"name": "Noor", "tags": ["a", "b"]}}, scope="payments", key="k-1", keep_ms=60_000)
DONE = Reply(201, b"\x00paid\xff")
REPLAYED = Reply(201, b"\x00paid\xff", replayed=True)
STATES = "SELECT state, fence > 0, status FROM idempotency"


@pytest.fixture(params=KINDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    url = request.getfixturevalue("postgres_url") if "postgres" in request.param else ""
    backend = Backend(request.param, path=tmp_path / "kit.db", url=url)
    yield backend
    await backend.close()


@pytest.fixture
async def records(backend: Backend) -> Records:
    return await backend.open()


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
def counted() -> Counter[str]:
    return Counter()


@pytest.fixture
def idempotency(records: Records, clock: DrivenClock, counted: Counter[str]) -> Idempotency:
    """Not patient: a test that waits for somebody says so."""
    return Idempotency(records, clock, secret=LOG_SECRET, patience_ms=0, count=lambda word: counted.update([word]))


class Work:
    """Counts how often it is done."""

    def __init__(self, outcome: Reply | Exception = DONE) -> None:
        self.outcome = outcome
        self.times = 0

    async def __call__(self) -> Reply:
        self.times += 1
        await asyncio.sleep(0.02)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


async def everybody(backend: Backend, clock: DrivenClock, work: Callable[[], Awaitable[Reply]]) -> list[Reply]:
    """A hundred at once, through four connections, each as another process has it."""
    services = [Idempotency(await backend.open(), clock, secret=LOG_SECRET, patience_ms=20_000) for _ in range(4)]
    return await asyncio.gather(*(services[n % 4].run(CLAIM, work) for n in range(100)))


async def test_work_is_done_once_and_its_answer_replayed_to_the_byte(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock, counted: Counter[str]
) -> None:
    work = Work()

    replies = [await idempotency.run(CLAIM, work) for _ in range(3)]

    assert (replies, work.times) == ([DONE, REPLAYED, REPLAYED], 1)
    assert await backend.rows("SELECT * FROM idempotency") == [
        (*CLAIM.key, CLAIM.fingerprint, "completed", None, clock.now, 201, DONE.body, clock.now + 60_000)
    ]
    assert counted == {"run": 1, "replay": 2}


async def test_of_a_hundred_who_come_at_once_one_does_the_work(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    work = Work()

    replies = await everybody(backend, clock, work)

    assert work.times == 1
    assert Counter(replies) == {DONE: 1, REPLAYED: 99}


async def test_of_a_hundred_who_retry_what_failed_one_does_the_work(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    with pytest.raises(ConnectionError):
        await idempotency.run(CLAIM, Work(ConnectionError("the bank is closed")))
    assert await backend.rows(STATES) == [("failed", True, 0)]
    work = Work()

    replies = await everybody(backend, clock, work)

    assert work.times == 1
    assert Counter(replies) == {DONE: 1, REPLAYED: 99}


async def test_of_a_hundred_who_find_a_claim_whose_lease_ran_out_one_takes_over(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    async with held_for_ever(idempotency):
        clock.advance(ms=CLAIM.lease_ms)
        work = Work()

        replies = await everybody(backend, clock, work)

    assert work.times == 1
    assert Counter(replies) == {DONE: 1, REPLAYED: 99}


async def test_work_that_fails_may_be_done_again_at_once(idempotency: Idempotency, counted: Counter[str]) -> None:
    for _ in range(2):
        with pytest.raises(ConnectionError, match="closed"):
            await idempotency.run(CLAIM, Work(ConnectionError("the bank is closed")))

    assert await idempotency.run(CLAIM, Work()) == DONE
    assert counted == {"run": 3, "failed": 2, "take_over": 2}


async def test_work_that_is_cancelled_is_not_done_again_before_its_lease_has_run_out(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    async with held_for_ever(idempotency):
        pass

    with pytest.raises(InProgress):
        await idempotency.run(CLAIM, Work())
    assert await backend.rows(STATES) == [("started", True, 0)]
    clock.advance(ms=CLAIM.lease_ms)
    assert await idempotency.run(CLAIM, Work()) == DONE


async def test_a_frozen_holder_does_not_undo_the_answer_of_the_one_who_took_over(
    idempotency: Idempotency, clock: DrivenClock
) -> None:
    async def freeze() -> Reply:
        clock.advance(ms=CLAIM.lease_ms)
        assert await idempotency.run(CLAIM, Work()) == DONE
        return Reply(500, b"late")

    with pytest.raises(ClaimLost) as lost:
        await idempotency.run(CLAIM, freeze)

    assert lost.value.code == "idempotency-claim-lost"
    assert await idempotency.check(CLAIM) == REPLAYED


async def test_a_frozen_holder_that_fails_does_not_open_what_another_is_doing(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    async with held_for_ever(idempotency) as frozen:
        clock.advance(ms=CLAIM.lease_ms)
        async with held_for_ever(idempotency):
            await frozen.fail()

            assert await backend.rows(STATES) == [("started", True, 0)]


@pytest.mark.parametrize("meanwhile", ["renewed", "completed", "taken over", "nothing"])
async def test_a_claim_is_taken_over_only_as_it_was_seen(
    records: Records, idempotency: Idempotency, clock: DrivenClock, meanwhile: str
) -> None:
    async with held_for_ever(idempotency) as slow:
        clock.advance(ms=CLAIM.lease_ms)
        lease = (CLAIM.fingerprint, clock.now + 1000, clock.now, clock.now + 1000)
        if meanwhile == "renewed":
            await records.change_rows("renew_claim", *CLAIM.key, slow.fence, clock.now + 1)
        elif meanwhile == "completed":
            await slow.complete(DONE)
        elif meanwhile == "taken over":
            again = (CLAIM.fingerprint, clock.now, slow.fence + 1, clock.now)
            assert await records.change_rows("take_over_answer", *CLAIM.key, *again, slow.fence, clock.now) == 1

        taken = await records.change_rows("take_over_answer", *CLAIM.key, *lease, slow.fence, clock.now)

    assert taken == (1 if meanwhile == "nothing" else 0)


async def test_a_fence_is_never_given_twice_even_after_the_purge(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    async with held_for_ever(idempotency) as frozen:
        clock.advance(days=1)
        assert await idempotency.purge() == 1
        async with held_for_ever(idempotency) as other:
            assert other.fence > frozen.fence
            with pytest.raises(ClaimLost):
                await frozen.complete(DONE)

            assert await backend.rows(STATES) == [("started", True, 0)]


async def test_another_payload_under_the_same_key_is_refused_at_any_depth(
    idempotency: Idempotency, counted: Counter[str]
) -> None:
    work = Work()
    await idempotency.run(CLAIM, work)

    for other in (
        {"amount": 5, "to": {"name": "Noor", "tags": ["b", "a"]}},
        {"amount": 5, "to": {"name": "Nour", "tags": ["a", "b"]}},
        {"amount": 5, "to": {"name": "Noor", "tags": ["a", "b"], "more": None}},
    ):
        with pytest.raises(KeyReused):
            await idempotency.run(Claim.of(other, scope="payments", key="k-1"), work)

    assert (work.times, counted["conflict"]) == (1, 3)


async def test_the_order_of_fields_is_no_difference_at_any_depth(idempotency: Idempotency) -> None:
    await idempotency.run(CLAIM, Work())
    turned = {"to": {"tags": ["a", "b"], "name": "Noor"}, "amount": 5}

    assert await idempotency.run(Claim.of(turned, scope="payments", key="k-1"), Work()) == REPLAYED


@pytest.mark.parametrize("state", ["started", "failed"])
async def test_another_payload_is_refused_also_while_the_first_is_under_way_or_failed(
    idempotency: Idempotency, state: str
) -> None:
    async with held_for_ever(idempotency) as attempt:
        if state == "failed":
            await attempt.fail()

        with pytest.raises(KeyReused):
            await idempotency.run(Claim.of("another", scope="payments", key="k-1"), Work())


@pytest.mark.parametrize(
    "key",
    [
        AnswerKey("payments", "account:7", "k-1"),
        AnswerKey("payments", "", "k-1"),
        AnswerKey("bookings", ANONYMOUS, "k-1"),
        AnswerKey("payments", ANONYMOUS, "K-1"),
        AnswerKey("payments", ANONYMOUS, "k-1 "),
    ],
)
async def test_principals_scopes_and_keys_never_meet(idempotency: Idempotency, key: AnswerKey) -> None:
    work = Work()
    await idempotency.run(CLAIM, work)

    assert await idempotency.run(msgspec.structs.replace(CLAIM, key=key), work) == DONE
    assert work.times == 2


async def test_two_who_are_anonymous_are_one_principal(backend: Backend, idempotency: Idempotency) -> None:
    await idempotency.run(CLAIM, Work())

    assert await idempotency.run(CLAIM, Work()) == REPLAYED
    assert await backend.rows("SELECT count(*) FROM idempotency WHERE principal = 'anonymous'") == [(1,)]


async def test_whoever_comes_while_it_is_done_waits_for_the_answer(records: Records, clock: DrivenClock) -> None:
    idempotency = Idempotency(records, clock, secret=LOG_SECRET)
    going_on, finish = asyncio.Event(), asyncio.Event()

    async def work() -> Reply:
        going_on.set()
        await finish.wait()
        return DONE

    first = asyncio.create_task(idempotency.run(CLAIM, work))
    await going_on.wait()
    second = asyncio.create_task(idempotency.run(CLAIM, work))
    assert not (await asyncio.wait([second], timeout=0.05))[0]
    finish.set()

    assert (await first, await second) == (DONE, REPLAYED)


async def test_nobody_waits_longer_than_their_patience(
    records: Records, idempotency: Idempotency, clock: DrivenClock, counted: Counter[str]
) -> None:
    async with held_for_ever(idempotency):
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(InProgress) as refusal:
            await Idempotency(records, clock, secret=LOG_SECRET, patience_ms=150).run(CLAIM, Work())
        waited = loop.time() - began

        assert waited >= 0.15
        assert refusal.value.code == "idempotency-in-progress"
        with pytest.raises(InProgress):
            await idempotency.check(CLAIM)
    assert PATIENCE_MS == 2000
    assert counted == {"run": 1, "in_progress": 1}


async def test_checking_tells_and_changes_nothing(backend: Backend, idempotency: Idempotency) -> None:
    assert await idempotency.check(CLAIM) is None
    assert await backend.rows("SELECT count(*) FROM idempotency") == [(0,)]

    await idempotency.run(CLAIM, Work())

    assert await idempotency.check(CLAIM) == REPLAYED
    with pytest.raises(KeyReused):
        await idempotency.check(Claim.of("another", scope="payments", key="k-1"))


async def test_what_has_expired_is_as_if_it_had_never_been_even_before_the_purge(
    idempotency: Idempotency, clock: DrivenClock
) -> None:
    await idempotency.run(CLAIM, Work(Reply(200, b"yesterday")))
    clock.advance(ms=CLAIM.keep_ms - 1)
    assert await idempotency.check(CLAIM) is not None

    clock.advance(ms=1)

    assert await idempotency.check(CLAIM) is None
    other = Claim.of("another payload", scope="payments", key="k-1")
    assert await idempotency.run(other, Work()) == DONE


async def test_the_purge_takes_what_has_expired_in_steps_and_leaves_the_rest(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    for number in range(7):
        keep_ms = 1000 if number < 5 else 60_000
        await idempotency.run(Claim.of(number, scope="s", key=f"k{number}", keep_ms=keep_ms), Work())
    clock.advance(ms=1000)
    assert await idempotency.purge() == 0
    clock.advance(ms=1)

    assert await idempotency.purge(at_once=2, most_steps=1) == 2
    assert await idempotency.purge(at_once=2) == 3
    assert sorted(await backend.rows("SELECT key FROM idempotency")) == [("k5",), ("k6",)]


async def test_a_claim_is_never_purged_while_somebody_is_at_work_on_it(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    short = msgspec.structs.replace(CLAIM, keep_ms=1)
    async with idempotency.claimed(short) as attempt:
        clock.advance(ms=CLAIM.lease_ms - 1)

        assert await idempotency.purge() == 0
        with pytest.raises(InProgress):
            await idempotency.run(short, Work())
        await attempt.complete(DONE)


async def test_a_lease_is_renewed_while_the_work_takes_longer(
    backend: Backend, idempotency: Idempotency, clock: DrivenClock
) -> None:
    brief = msgspec.structs.replace(CLAIM, lease_ms=1500, keep_ms=1)

    async with idempotency.claimed(brief) as attempt:
        for _ in range(2):
            clock.advance(ms=1400)
            await until(backend, f"SELECT 1 FROM idempotency WHERE lease_until = {clock.now + 1500}")
            assert await idempotency.purge() == 0
            with pytest.raises(InProgress):
                await idempotency.run(brief, Work())
        await attempt.complete(DONE)

    assert await idempotency.check(brief) == REPLAYED


async def test_work_is_cancelled_once_its_claim_is_lost(
    backend: Backend, idempotency: Idempotency, counted: Counter[str]
) -> None:
    brief = msgspec.structs.replace(CLAIM, lease_ms=900)
    ended = []

    async def work() -> Reply:
        try:
            await backend.rows("UPDATE idempotency SET fence = fence + 1 RETURNING 1")
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")
        return DONE

    with pytest.raises(ClaimLost):
        await idempotency.run(brief, work)

    assert (ended, counted) == (["cancelled"], {"run": 1, "lost": 1})


async def test_work_that_runs_out_of_its_own_time_has_failed(backend: Backend, idempotency: Idempotency) -> None:
    async def work() -> Reply:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)
        return DONE

    with pytest.raises(TimeoutError):
        await idempotency.run(CLAIM, work)

    assert await backend.rows(STATES) == [("failed", True, 0)]


async def test_work_that_ends_without_a_reply_has_failed(backend: Backend, idempotency: Idempotency) -> None:
    with pytest.raises(RuntimeError, match="without a reply"):
        async with idempotency.claimed(CLAIM):
            pass

    assert await backend.rows(STATES) == [("failed", True, 0)]


async def test_work_whose_answer_the_database_will_not_take_is_not_repeated_at_once(
    backend: Backend, idempotency: Idempotency
) -> None:
    with pytest.raises(Exception, match=r"(?i)int|Unstorable|DataError"):
        await idempotency.run(CLAIM, Work(Reply(2**70, b"")))

    assert await backend.rows(STATES) == [("started", True, 0)]


async def test_a_decorated_function_is_done_once_for_each_claim(idempotency: Idempotency) -> None:
    booked = []

    def claim_of(room: str, *, key: str | None) -> Claim | None:
        return None if key is None else Claim.of(room, scope="rooms", key=key)

    @idempotency.once(claim_of)
    async def book(room: str, *, key: str | None) -> Reply:
        booked.append(room)
        return Reply(201, room.encode())

    replies = [await book("a", key=key) for key in ("1", "1", "2", None, None)]

    assert [reply.replayed for reply in replies] == [False, True, False, False, False]
    assert booked == ["a"] * 4
    assert book.__name__ == "book"


async def test_a_lost_race_is_told_with_the_scope_and_a_hash_of_the_key(backend: Backend, clock: DrivenClock) -> None:
    secret = msgspec.structs.replace(CLAIM, key=CLAIM.key._replace(key="a-secret-key"))
    services = [Idempotency(await backend.open(), clock, secret=LOG_SECRET) for _ in range(2)]
    with structlog.testing.capture_logs() as lines:
        for _ in range(100):
            if any(line["event"] == "idempotency.race_lost" for line in lines):
                break
            await asyncio.gather(*(services[n % 2].run(secret, Work()) for n in range(20)))
            clock.advance(ms=CLAIM.keep_ms)

    lost = next(line for line in lines if line["event"] == "idempotency.race_lost")
    assert (lost["log_level"], lost["scope"]) == ("info", "payments")
    assert re.fullmatch("[0-9a-f]{16}", lost["key_hash"])
    assert "a-secret-key" not in str(lines)
    assert sha256(b"a-secret-key").hexdigest()[:16] not in str(lines)
    assert blake2b(b"a-secret-key", digest_size=8).hexdigest() not in str(lines)


async def test_without_a_secret_for_its_log_lines_there_is_no_service(records: Records, clock: DrivenClock) -> None:
    with pytest.raises(ValueError, match="secret"):
        Idempotency(records, clock, secret=b"")


def test_an_empty_key_makes_no_claim() -> None:
    with pytest.raises(ValueError, match="is empty"):
        Claim.of({}, scope="rooms", key="")
    with pytest.raises(ValueError, match="is empty"):
        Claim(AnswerKey("rooms", "me", ""), "a fingerprint", 1)


async def test_tables_are_made_once_however_often_and_by_however_many(backend: Backend) -> None:
    await asyncio.gather(*(backend.open() for _ in range(5)))

    assert await backend.rows("SELECT count(*) FROM idempotency") == [(0,)]


@asynccontextmanager
async def held_for_ever(idempotency: Idempotency, claim: Claim = CLAIM) -> AsyncIterator[Attempt]:
    """A claim whose holder never comes to an end by itself, and is cancelled after all."""
    holding: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        async with idempotency.claimed(claim) as attempt:
            holding.set_result(attempt)
            await asyncio.sleep(60)

    task = asyncio.create_task(hold())
    try:
        async with asyncio.timeout(60):
            yield await holding
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(backend: Backend, sql: str) -> None:
    async with asyncio.timeout(60):
        while not await backend.rows(sql):  # noqa: ASYNC110 - what is waited for happens in the database
            await asyncio.sleep(0.01)

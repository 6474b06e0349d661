"""What comes while a batch is under way goes together in the next one, and nobody is left behind."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar

import pytest

from dawr.reliability.drain import Drain, settle, take_all

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")

Item = tuple[str, asyncio.Future[str]]


class Kitchen:
    """Handles items when it is let, and remembers its batches."""

    def __init__(self, *, most: int | None = None) -> None:
        self.drain: Drain[Item, list[Item]] = Drain(
            take_all if most is None else taking(most), self._handle, self._fail
        )
        self.batches: list[list[str]] = []
        self.open = asyncio.Event()
        self.who: list[str] = []
        self.task: asyncio.Task[None] | None = None

    def order(self, name: str) -> asyncio.Future[str]:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.drain.add((name, future))
        return future

    async def _handle(self, batch: Sequence[Item]) -> None:
        self.batches.append([name for name, _ in batch])
        self.who.append(WHO.get())
        self.task = asyncio.current_task()
        await self.open.wait()
        for name, future in batch:
            if name == "burnt":
                raise ValueError(name)
            if not future.done():
                future.set_result(f"{name} is ready")

    def _fail(self, batch: Sequence[Item], error: BaseException) -> None:
        for _, future in batch:
            settle(future, error)


def taking(most: int) -> Callable[[deque[Item]], list[Item]]:
    return lambda waiting: [waiting.popleft() for _ in range(min(most, len(waiting)))]


async def under_way() -> None:
    """Let a drain that was begun reach its first wait."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_what_comes_meanwhile_goes_together_in_the_next_batch() -> None:
    kitchen = Kitchen()

    first = kitchen.order("soup")
    await under_way()
    others = [kitchen.order(name) for name in ("bread", "rice", "tea")]
    kitchen.open.set()
    answers = await asyncio.gather(first, *others)

    assert kitchen.batches == [["soup"], ["bread", "rice", "tea"]]
    assert answers == ["soup is ready", "bread is ready", "rice is ready", "tea is ready"]


async def test_a_batch_is_what_the_user_takes() -> None:
    kitchen = Kitchen(most=2)
    kitchen.open.set()

    await asyncio.gather(*(kitchen.order(str(number)) for number in range(5)))

    assert kitchen.batches == [["0", "1"], ["2", "3"], ["4"]]


async def test_a_failure_reaches_those_whose_items_it_had_and_nobody_else() -> None:
    kitchen = Kitchen(most=2)
    kitchen.open.set()

    outcomes = await asyncio.gather(
        *(kitchen.order(name) for name in ("burnt", "bread", "rice")), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [ValueError, ValueError, str]


async def test_an_item_that_comes_as_the_last_one_is_answered_is_not_left_behind() -> None:
    kitchen = Kitchen()
    kitchen.open.set()

    for number in range(100):
        assert await asyncio.wait_for(kitchen.order(str(number)), 10) == f"{number} is ready"


async def test_items_added_at_any_moment_are_all_handled() -> None:
    kitchen = Kitchen(most=3)
    kitchen.open.set()

    async def come(number: int) -> str:
        for _ in range(number % 7):
            await asyncio.sleep(0)
        return await kitchen.order(str(number))

    answers = await asyncio.wait_for(asyncio.gather(*map(come, range(500))), 30)

    assert answers == [f"{number} is ready" for number in range(500)]
    assert sorted(int(name) for batch in kitchen.batches for name in batch) == list(range(500))


async def test_a_caller_who_is_cancelled_takes_nobody_along() -> None:
    kitchen = Kitchen()

    async def wait_for(name: str) -> str:
        return await kitchen.order(name)

    first, second = asyncio.create_task(wait_for("soup")), asyncio.create_task(wait_for("bread"))
    await under_way()
    first.cancel()
    await asyncio.wait([first])
    kitchen.open.set()

    assert await second == "bread is ready"
    assert first.cancelled()


async def test_it_runs_in_a_context_of_its_own() -> None:
    kitchen = Kitchen()
    kitchen.open.set()

    WHO.set("whoever came first")
    await kitchen.order("soup")

    assert kitchen.who == ["nobody"]


async def test_who_joins_waits_for_what_is_added_meanwhile_too() -> None:
    kitchen = Kitchen()
    kitchen.order("soup")
    await under_way()

    joining = asyncio.create_task(kitchen.drain.join())
    last = kitchen.order("tea")
    assert kitchen.drain.is_running
    kitchen.open.set()
    await joining

    assert last.done()
    assert not kitchen.drain.is_running


async def test_joining_when_nothing_is_there_waits_for_nothing() -> None:
    await asyncio.wait_for(Kitchen().drain.join(), 10)


async def test_who_gives_up_joining_stops_nothing() -> None:
    kitchen = Kitchen()
    soup = kitchen.order("soup")

    joining = asyncio.create_task(kitchen.drain.join())
    await under_way()
    joining.cancel()
    await asyncio.wait([joining])
    kitchen.open.set()

    assert await soup == "soup is ready"


async def test_when_it_is_cancelled_nobody_waits_for_ever() -> None:
    kitchen = Kitchen(most=1)
    answers = [kitchen.order(name) for name in ("soup", "bread", "tea")]
    await under_way()
    assert kitchen.task is not None

    kitchen.task.cancel()
    await asyncio.wait([*answers], timeout=10)

    assert [answer.cancelled() for answer in answers] == [True, True, True]
    assert not kitchen.drain.waiting
    assert not kitchen.drain.is_running


async def test_after_a_cancellation_it_begins_anew() -> None:
    kitchen = Kitchen()
    soup = kitchen.order("soup")
    await under_way()
    assert kitchen.task is not None
    kitchen.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soup
    kitchen.open.set()

    assert await asyncio.wait_for(kitchen.order("tea"), 10) == "tea is ready"


async def test_what_waits_for_a_drain_that_was_cancelled_before_it_began_is_handled_with_the_next() -> None:
    kitchen = Kitchen()
    kitchen.open.set()
    soup = kitchen.order("soup")
    assert kitchen.drain._task is not None
    kitchen.drain._task.cancel()
    await under_way()

    tea = kitchen.order("tea")

    await asyncio.wait([soup, tea], timeout=10)
    assert [soup.result(), tea.result()] == ["soup is ready", "tea is ready"]


async def test_who_joins_a_drain_that_was_cancelled_before_it_began_waits_for_what_was_left() -> None:
    kitchen = Kitchen()
    kitchen.open.set()
    soup = kitchen.order("soup")
    assert kitchen.drain._task is not None
    kitchen.drain._task.cancel()
    await under_way()

    await asyncio.wait_for(kitchen.drain.join(), 10)

    assert soup.result() == "soup is ready"


async def test_a_fault_while_telling_of_a_fault_leaves_nobody_behind() -> None:
    handled: list[list[int]] = []

    async def handle(batch: list[int]) -> None:
        handled.append(batch)
        raise ValueError

    def fail(_: list[int], __: BaseException) -> None:
        raise RuntimeError("a fault of its own")

    drain: Drain[int, list[int]] = Drain(lambda waiting: [waiting.popleft()], handle, fail)
    for number in range(3):
        drain.add(number)
    await asyncio.wait_for(drain.join(), 10)

    assert handled == [[0], [1], [2]]


async def test_a_cancellation_from_inside_is_one_batchs() -> None:
    done: list[int] = []
    failed: list[list[int]] = []

    async def handle(batch: list[int]) -> None:
        if batch == [1]:
            raise asyncio.CancelledError
        done.extend(batch)

    drain: Drain[int, list[int]] = Drain(
        lambda waiting: [waiting.popleft()], handle, lambda batch, _: failed.append(batch)
    )
    for number in range(3):
        drain.add(number)
    await asyncio.wait_for(drain.join(), 10)

    assert (done, failed) == ([0, 2], [[1]])

"""Passwords: slow to try, quick to refuse when too many come, and never in the event loop's way."""

import asyncio
import time
from collections.abc import Iterator

import argon2
import pytest

from dawr.accounts.passwords import NOBODYS, THREADS, Passwords
from dawr.ports.faults import Busy


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    passwords = Passwords()
    yield passwords
    passwords.close()


async def test_a_password_fits_its_own_hash_and_no_other_does(passwords: Passwords) -> None:
    kept = await passwords.hash("correct horse")

    assert await passwords.verify("correct horse", kept)
    assert not await passwords.verify("Correct horse", kept)
    assert "correct" not in kept


async def test_a_hash_is_argon2id_as_strong_as_it_must_be(passwords: Passwords) -> None:
    kept = await passwords.hash("correct horse")

    parameters = argon2.extract_parameters(kept)
    assert parameters.type is argon2.Type.ID
    assert (parameters.time_cost, parameters.memory_cost, parameters.parallelism) == (2, 19456, 1)


async def test_one_password_has_another_hash_each_time(passwords: Passwords) -> None:
    assert await passwords.hash("correct horse") != await passwords.hash("correct horse")


async def test_a_letter_with_a_mark_is_the_same_however_a_keyboard_writes_it(passwords: Passwords) -> None:
    assert await passwords.verify("cafe\u0301 au lait", await passwords.hash("caf\u00e9 au lait"))


async def test_any_text_can_be_tried(passwords: Passwords) -> None:
    kept = await passwords.hash("correct horse")

    assert not await passwords.verify("\ud800\udc80\x00", kept)
    assert not await passwords.verify("", kept)


@pytest.mark.parametrize("damaged", ["", "plain text", "$argon2id$v=19$m=19456,t=2,p=1$short"])
async def test_a_hash_that_is_damaged_fits_nothing(passwords: Passwords, damaged: str) -> None:
    assert not await passwords.verify("correct horse", damaged)


async def test_nobodys_account_fits_nothing_and_takes_as_long(passwords: Passwords) -> None:
    kept = await passwords.hash("correct horse")

    known = sum([await seconds(passwords, kept) for _ in range(5)])
    unknown = sum([await seconds(passwords, None) for _ in range(5)])

    assert not await passwords.verify("correct horse", None)
    assert argon2.extract_parameters(NOBODYS) == argon2.extract_parameters(kept)
    assert 0.5 < unknown / known < 2


async def seconds(passwords: Passwords, kept: str | None) -> float:
    """Of work, and not of waiting for others."""
    began = time.process_time()
    await passwords.verify("a wrong one", kept)
    return time.process_time() - began


async def test_the_event_loop_goes_on_while_passwords_are_tried(passwords: Passwords) -> None:
    trying = asyncio.gather(*(passwords.verify("a wrong one", NOBODYS) for _ in range(6)))

    turns = 0
    while not trying.done():
        await asyncio.sleep(0)
        turns += 1

    assert turns > 100


async def test_when_too_many_wait_the_next_is_told_to_come_back() -> None:
    passwords = Passwords(max_waiting=10)
    most = THREADS + 10

    outcomes = await asyncio.gather(
        *(passwords.verify("a wrong one", NOBODYS) for _ in range(most + 5)), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [bool] * most + [Busy] * 5
    assert not await passwords.verify("a wrong one", NOBODYS)
    passwords.close()


async def test_who_has_waited_too_long_is_told_to_come_back() -> None:
    passwords = Passwords(max_wait_seconds=0)

    outcomes = await asyncio.gather(
        *(passwords.verify("a wrong one", NOBODYS) for _ in range(THREADS + 5)), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [bool] * THREADS + [Busy] * 5
    assert not await passwords.verify("a wrong one", NOBODYS)
    passwords.close()


async def test_known_callers_come_before_others_that_came_earlier(passwords: Passwords) -> None:
    done: list[str] = []

    async def verify(name: str, *, is_known: bool) -> None:
        await passwords.verify("a wrong one", NOBODYS, is_known=is_known)
        done.append(name)

    others = [verify(f"other {number}", is_known=False) for number in range(30)]
    await asyncio.gather(*others, *(verify(f"known {number}", is_known=True) for number in range(3)))

    assert len(done) == 33
    # The two that had begun already are first, and one of two threads may be slower than the other.
    assert all(done.index(f"known {number}") < 15 for number in range(3)), done


async def test_whoever_goes_away_leaves_their_place_to_others() -> None:
    passwords = Passwords(max_waiting=10)
    for _ in range(3):
        trying = [asyncio.ensure_future(passwords.verify("a wrong one", NOBODYS)) for _ in range(THREADS + 10)]
        await asyncio.sleep(0)
        for one in trying:
            one.cancel()
        await asyncio.wait(trying)

    async with asyncio.timeout(60):
        assert not await passwords.verify("a wrong one", NOBODYS)
    passwords.close()


async def test_a_caller_who_goes_away_when_the_turn_comes_passes_it_on(
    passwords: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that nobody gives back would be lost for good."""
    pass_on = passwords._pass_turn_on
    going: list[asyncio.Future[bool]] = []

    def pass_on_and_go(loop: asyncio.AbstractEventLoop) -> None:
        pass_on(loop)
        while going:
            going.pop().cancel()  # in the step of the loop in which the turn came, before the caller notices

    monkeypatch.setattr(passwords, "_pass_turn_on", pass_on_and_go)
    for _ in range(THREADS):
        running = [asyncio.ensure_future(passwords.verify("a wrong one", NOBODYS)) for _ in range(THREADS)]
        waiting = asyncio.ensure_future(passwords.verify("a wrong one", NOBODYS))
        await asyncio.sleep(0)
        going.append(waiting)
        await asyncio.wait([*running, waiting])
        assert waiting.cancelled()

    assert passwords._running == 0
    assert not await passwords.verify("a wrong one", NOBODYS)

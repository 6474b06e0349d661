"""The key that addresses are hashed with: another every day, the same on all hosts, and none of days gone by."""

import fcntl
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from dawr.traffic.event import MS_PER_DAY, MS_PER_MINUTE
from dawr.traffic.keys import VisitorKeys, check_of, visitor_hash

MIDNIGHT = 1_730_937_600_000
"""2024-11-07 00:00 UTC."""
NOON = MIDNIGHT + MS_PER_DAY // 2


def numbered() -> Callable[[], bytes]:
    numbers = itertools.count(1)
    return lambda: next(numbers).to_bytes(32, "big")


def at(file: Path, now: int, new_key: Callable[[], bytes] | None = None) -> tuple[bytes, bytes | None]:
    """By a process that has just started."""
    keys = VisitorKeys(file, new_key or numbered()).at(now)
    return keys.today, keys.yesterday


def test_a_day_has_one_key_for_all_processes_of_a_host(tmp_path: Path) -> None:
    one, other = VisitorKeys(tmp_path / "key", numbered()), VisitorKeys(tmp_path / "key", numbered())

    assert one.at(NOON) == other.at(NOON + MS_PER_MINUTE)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_another_day_has_another_key_and_the_file_forgets_the_one_before(tmp_path: Path) -> None:
    first, _ = at(tmp_path / "key", NOON)

    second, before = at(tmp_path / "key", NOON + MS_PER_DAY)

    assert second != first
    assert before is None
    assert first.hex() not in (tmp_path / "key").read_text()
    assert visitor_hash(first, "10.0.0.1") != visitor_hash(second, "10.0.0.1")


def test_yesterdays_key_serves_repeats_until_ten_past_midnight(tmp_path: Path) -> None:
    file = tmp_path / "key"
    yesterday, _ = at(file, NOON - MS_PER_DAY)
    ten_past = MIDNIGHT + 10 * MS_PER_MINUTE

    assert at(file, MIDNIGHT - 1) == (yesterday, None)
    assert at(file, MIDNIGHT)[1] == yesterday
    assert at(file, ten_past - 1)[1] == yesterday
    assert at(file, ten_past)[1] is None
    assert yesterday.hex() not in file.read_text()


def test_a_running_process_is_told_when_other_keys_are_due(tmp_path: Path) -> None:
    keys = VisitorKeys(tmp_path / "key", numbered())

    assert keys.at(NOON).until == MIDNIGHT + MS_PER_DAY
    assert keys.at(MIDNIGHT + MS_PER_DAY).until == MIDNIGHT + MS_PER_DAY + 10 * MS_PER_MINUTE
    assert keys.at(MIDNIGHT + MS_PER_DAY + 10 * MS_PER_MINUTE).until == MIDNIGHT + 2 * MS_PER_DAY


def test_hosts_that_began_with_the_same_file_have_the_same_key_every_day(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    at(one, NOON)
    other.write_bytes(one.read_bytes())

    days = [at(one, NOON + days * MS_PER_DAY)[0] for days in range(1, 9)]

    assert days[-1] == at(other, NOON + 8 * MS_PER_DAY)[0]
    assert len(set(days)) == 8


def test_hosts_with_different_keys_can_be_told_apart_without_the_keys(tmp_path: Path) -> None:
    one, _ = at(tmp_path / "one", NOON)
    other, _ = at(tmp_path / "other", NOON, lambda: b"x" * 32)

    assert check_of(one) != check_of(other)
    assert check_of(one) not in one.hex()


def test_a_clock_that_was_a_year_ahead_leaves_no_key_for_a_year(tmp_path: Path) -> None:
    file, new_key = tmp_path / "key", numbered()
    ahead, _ = at(file, NOON + 365 * MS_PER_DAY, new_key)

    today, _ = at(file, NOON, new_key)
    tomorrow, _ = at(file, NOON + MS_PER_DAY, new_key)

    assert len({ahead, today, tomorrow}) == 3


@pytest.mark.parametrize(
    "spoiled", [b"", b"{}", b"\xff", b'{"day": 1, "key": "00"}', b'{"day": 0, "key": "zz"}', b"[" * 10_000]
)
def test_a_file_that_cannot_be_read_is_replaced(tmp_path: Path, spoiled: bytes) -> None:
    (tmp_path / "key").write_bytes(spoiled)

    first, _ = at(tmp_path / "key", NOON)

    assert at(tmp_path / "key", NOON)[0] == first


def test_without_a_place_for_the_file_a_process_has_keys_of_its_own(tmp_path: Path) -> None:
    keys = VisitorKeys(tmp_path / "nowhere" / "key", numbered())

    first, second = keys.at(NOON), keys.at(NOON + MS_PER_DAY)

    assert first.today != second.today
    assert keys.at(NOON + MS_PER_DAY) == second


def test_a_lock_that_somebody_keeps_is_not_waited_for_and_the_key_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "key"
    today, _ = at(file, NOON)
    with (tmp_path / "key.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        meanwhile = VisitorKeys(file, lambda: b"z" * 32).at(NOON)

    assert meanwhile.today == today
    assert meanwhile.until <= NOON + MS_PER_MINUTE


def test_a_file_that_appears_later_is_taken_soon(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "key"
    keys = VisitorKeys(file, lambda: b"own" + bytes(29))
    early = keys.at(NOON)
    file.parent.mkdir()
    shared, _ = at(file, NOON)

    assert early.until <= NOON + MS_PER_MINUTE
    assert keys.at(early.until).today == shared

"""Spools and counters that were removed or could not be begun are written again, without a try for every request."""

import os
import shutil
from pathlib import Path

import pytest

from dawr.traffic import spool as spool_module
from dawr.traffic.event import MS_PER_HOUR
from dawr.traffic.spool_file import counters_beside
from dawr.traffic.spool_reader import read_counters, spools_in
from tests.traffic.builders import NOON, bodies_in
from tests.traffic.spools import a_spool, answers_beside, read_all, unspooled_beside


@pytest.mark.parametrize("removed", ["the file", "the directory"])
def test_what_was_written_to_a_file_that_somebody_removed_is_written_again(tmp_path: Path, removed: str) -> None:
    spools = tmp_path / "spools"
    with a_spool(spools) as spool:
        spool.append(b"before", NOON)
        spool.count_answer()
        name = spools_in(spools)[0].name
        shutil.rmtree(spools) if removed == "the directory" else spools_in(spools)[0].unlink()
        spool.append(b"into nowhere", NOON)
        spool.count_answer()

        spool.sync()
        spool.flush()
        spool.append(b"after", NOON)

    [path] = spools_in(spools)
    assert path.name == name
    assert read_all(path)[0] == [b"before", b"into nowhere", b"after"]
    assert answers_beside(spools) == 2


def test_a_counter_that_was_removed_is_written_again(tmp_path: Path) -> None:
    with a_spool(tmp_path) as spool:
        spool.append(b"one", NOON)
        spool.count_answer()
        shutil.rmtree(counters_beside(tmp_path))
        spool.count_answer()

        spool.sync()
        spool.flush()
        spool.count_answer()

        assert answers_beside(tmp_path) == 3


@pytest.mark.parametrize("tried_by", ["the timer", "the next answer", "a clean stop"])
def test_a_counter_that_could_not_be_begun_is_tried_again_within_its_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried_by: str
) -> None:
    monkeypatch.setattr(spool_module, "SYNC_SECONDS", 3600.0)
    spools = tmp_path / "spools"
    counters_beside(spools).write_text("no directory can be here")
    with a_spool(spools) as spool:
        for number in range(3):
            assert spool.append(b"%d" % number, NOON)
            spool.count_answer()
        counters_beside(spools).unlink()

        if tried_by != "a clean stop":
            spool.sync()  # as its thread does
            spool.flush() if tried_by == "the timer" else spool.count_answer()
            assert answers_beside(spools) == (3 if tried_by == "the timer" else 4)
    assert answers_beside(spools) == (4 if tried_by == "the next answer" else 3)


def test_the_counter_of_an_hour_that_could_not_be_begun_is_begun_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers meanwhile are in the counter of the hour before."""
    monkeypatch.setattr(spool_module, "SYNC_SECONDS", 3600.0)
    with a_spool(tmp_path) as spool:
        spool.append(b"one", NOON)
        spool.count_answer()
        blocking = counters_beside(tmp_path) / f"{NOON + MS_PER_HOUR:013}-{os.getpid()}-0001-000001.begun"
        blocking.mkdir()
        spool.append(b"two", NOON + MS_PER_HOUR)
        spool.count_answer()
        blocking.rmdir()

        spool.sync()  # as its thread does
        spool.flush()
        spool.count_answer()

        assert [counted.answers for counted in read_counters(counters_beside(tmp_path))] == [2, 1]


def test_a_spool_that_is_removed_for_good_shows_its_requests_and_keeps_no_more_than_its_bound(tmp_path: Path) -> None:
    spools = tmp_path / "spools"
    with a_spool(spools) as spool:
        spool.append(b"before", NOON)
        shutil.rmtree(spools)
        spools.write_text("no directory can be here")
        spool.sync()
        spool.flush()
        assert (spool.unspooled, unspooled_beside(spools)) == (1, 1)

        assert not spool.append(b"next hour", NOON + MS_PER_HOUR)
        assert (spool.unspooled, unspooled_beside(spools)) == (2, 2)

        spools.unlink()
        spool.sync()
        spool.flush()
        assert (spool.unspooled, unspooled_beside(spools)) == (0, 0)
    assert bodies_in(spools) == [b"before", b"next hour"]


def test_a_removed_spool_that_cannot_be_written_again_is_tried_once_a_second_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "SYNC_SECONDS", 3600.0)
    calls = list[str]()
    opened, read = os.open, os.pread

    def noted_open(path: Path, *arguments: int) -> int:
        calls.extend([".begun"] if Path(path).suffix == ".begun" else [])
        return opened(path, *arguments)

    def noted_read(*arguments: int) -> bytes:
        calls.append("read")
        return read(*arguments)

    with a_spool(tmp_path) as spool:
        spool.append(b"before", NOON)
        [path] = spools_in(tmp_path)
        path.unlink()
        path.with_suffix(".begun").mkdir()  # no file of this name can be made
        monkeypatch.setattr(os, "open", noted_open)
        monkeypatch.setattr(os, "pread", noted_read)

        for second in range(3):
            spool.sync()  # as its thread does
            for number in range(100):
                assert not spool.append(b"%d" % number, NOON)
            spool.flush()
            assert calls == [".begun"] * (second + 1)

        path.with_suffix(".begun").rmdir()
    assert (len(bodies_in(tmp_path)), spool.in_memory) == (301, 0)


def test_answers_are_kept_when_the_hour_changes_while_no_file_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "SYNC_SECONDS", 3600.0)
    spools = tmp_path / "spools"
    with a_spool(spools) as spool:

        def answer(requests: int, at: int) -> None:
            for _ in range(requests):
                spool.append(b"a request", at)
                spool.count_answer()

        answer(50, NOON)
        spool.sync()
        spool.flush()
        for directory in (spools, counters_beside(spools)):
            shutil.rmtree(directory)
            directory.write_text("no directory can be here")
        for at in (NOON, NOON + MS_PER_HOUR):
            spool.sync()
            spool.flush()
            answer(5, at)
        spool.sync()
        answer(1, NOON + MS_PER_HOUR)
        for directory in (spools, counters_beside(spools)):
            directory.unlink()
        answer(1, NOON + MS_PER_HOUR)
        spool.sync()
        spool.flush()
        answer(3, NOON + MS_PER_HOUR)

    assert answers_beside(spools) == 65
    assert sum(len(read_all(path)[0]) for path in spools_in(spools)) == 65

"""What a process writes down is read once, whatever became of the process, the disk or a line."""

import asyncio
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from dawr.traffic import spool as spool_module
from dawr.traffic import spool_reader
from dawr.traffic.event import MS_PER_HOUR
from dawr.traffic.spool import MOST_IN_MEMORY, framed
from dawr.traffic.spool_file import HEADER, SpoolFile
from dawr.traffic.spool_reader import SpoolReader, spools_in
from tests.traffic.builders import NOON, bodies_in
from tests.traffic.spools import a_spool, answers_beside, read_all

LEFT_BY_A_KILL = """
import os, signal, sys
from pathlib import Path
from dawr.traffic.spool import Spool
spool = Spool(Path(sys.argv[1]), lambda: "killed")
for number in range(100):
    spool.append(b"%d" % number, 0)
    spool.count_answer()
os.write(spool._file.handle, b"0123abcd torn in the mid")
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """As a disk that is full: what is written beyond fails, or is cut."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_holds_nobody_up_and_what_waited_is_written_when_there_is_a_place(tmp_path: Path) -> None:
    with capture_logs() as logs, a_spool(tmp_path) as spool:
        with no_file_larger_than(len(HEADER) + 100):
            done = [spool.append(b"%d" % number, NOON) for number in range(1000)]
            waiting, on_disk = spool.in_memory, len(bodies_in(tmp_path))

        assert spool.append(b"1000", NOON)

    assert 0 < on_disk < 20
    assert done == [True] * on_disk + [False] * (1000 - on_disk)
    assert waiting == 1000 - on_disk
    assert bodies_in(tmp_path) == [b"%d" % number for number in range(1001)]
    assert [line["event"] for line in logs] == ["traffic.spool-failed"]


def test_beyond_ten_thousand_in_memory_each_is_counted_as_lost_in_its_hour(tmp_path: Path) -> None:
    spools = tmp_path / "spools"
    spools.write_text("no directory can be here")
    with capture_logs() as logs, a_spool(spools) as spool:
        for number in range(MOST_IN_MEMORY + 7):
            assert not spool.append(b"%d" % number, NOON)
        for number in range(3):
            assert not spool.append(b"later %d" % number, NOON + MS_PER_HOUR)
        spools.unlink()

        assert spool.append(b"the disk is back", NOON + MS_PER_HOUR) is True

        assert (spool.in_memory, spool.lost) == (0, 11)
    assert bodies_in(spools) == [b"%d" % number for number in range(MOST_IN_MEMORY)]
    assert {line["event"] for line in logs} == {"traffic.spool-failed"}
    [path] = spools_in(spools)
    assert losses_in(path) == {NOON: 7, NOON + MS_PER_HOUR: 4}


def test_a_disk_that_was_full_from_the_beginning_is_tried_again_without_another_request(tmp_path: Path) -> None:
    spools = tmp_path / "spools"
    spools.write_text("no directory can be here")
    with a_spool(spools) as spool:
        for number in range(3):
            spool.append(b"%d" % number, NOON)
            spool.count_answer()
        spools.unlink()

        spool.flush()

        [path] = spools_in(spools)
        assert (read_all(path)[0], answers_beside(spools)) == ([b"0", b"1", b"2"], 3)


def losses_in(path: Path) -> dict[int, int]:
    position, lost = 0, dict[int, int]()
    with closing(SpoolReader(path)) as reader:
        while True:
            piece = reader.read(position, 0)
            lost |= piece.lost
            position = piece.position
            if piece.is_last:
                return lost


def test_more_than_its_share_of_the_disk_waits_in_memory_until_some_was_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "MOST_ON_DISK", 1000)
    monkeypatch.setattr(spool_module, "LARGEST_FILE", 600)
    with a_spool(tmp_path) as spool:
        for _ in range(17):
            spool.append(b"x" * 100, NOON)
        spool.sync()
        assert spool.append(b"too much", NOON) is False

        os.unlink(spools_in(tmp_path)[0])  # noqa: PTH108 - as shipping does
        spool.sync()

        assert spool.append(b"fits again", NOON) is True
        assert spool.in_memory == 0
    assert bodies_in(tmp_path)[-2:] == [b"too much", b"fits again"]


def test_a_new_file_begins_with_each_start_each_hour_and_when_one_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "LARGEST_FILE", 200)
    with a_spool(tmp_path) as spool:
        for at in (NOON, NOON + MS_PER_HOUR - 1, NOON + MS_PER_HOUR):
            spool.append(b"small", at)
        spool.append(b"x" * 200, NOON + MS_PER_HOUR)
        spool.append(b"after the large one", NOON + MS_PER_HOUR)

        spools = spools_in(tmp_path)
        read = [read_all(path)[0] for path in spools]
        over = [is_over(path) for path in spools]

    assert read == [[b"small", b"small"], [b"small", b"x" * 200], [b"after the large one"]]
    assert over == [False] * 3  # the first two are closed by the next sync
    assert [is_over(path) for path in spools] == [True] * 3


def is_over(path: Path) -> bool:
    with closing(SpoolReader(path)) as reader:
        return reader.is_over


def test_a_process_that_was_forked_writes_to_files_of_its_own(tmp_path: Path) -> None:
    with a_spool(tmp_path) as spool:
        spool.append(b"parent", NOON)
        child = os.fork()
        if child == 0:
            spool.append(b"child", NOON)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        spool.append(b"parent again", NOON)

        assert sorted((is_over(path), read_all(path)[0]) for path in spools_in(tmp_path)) == [
            (False, [b"parent", b"parent again"]),
            (True, [b"child"]),
        ]


def test_what_a_killed_process_wrote_is_there_and_its_torn_line_costs_only_itself(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", LEFT_BY_A_KILL, str(tmp_path)], check=False)

    assert killed.returncode == -signal.SIGKILL
    [path] = spools_in(tmp_path)
    assert is_over(path)
    assert read_all(path) == ([b"%d" % number for number in range(100)], [b"0123abcd torn in the mid"])
    assert answers_beside(tmp_path) == 100


def test_what_was_begun_and_never_got_its_name_vanishes_unless_somebody_works_on_it(tmp_path: Path) -> None:
    (tmp_path / "dead.begun").write_bytes(HEADER)
    (tmp_path / "alive.begun").write_bytes(HEADER)
    alive = SpoolReader(tmp_path / "alive.begun")

    assert spools_in(tmp_path) == []

    assert [path.name for path in tmp_path.iterdir()] == ["alive.begun"]
    alive.close()


@pytest.mark.parametrize("most_read", [64, 1000, 128 * 1024])
def test_whatever_is_damaged_costs_only_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_read: int
) -> None:
    """Each byte of a file in turn, read in pieces of any size."""
    monkeypatch.setattr(spool_reader, "MOST_READ", most_read)
    bodies = [b"number %d" % number for number in range(8)]
    whole = HEADER + b"".join(map(framed, bodies))
    path = tmp_path / "0000000000000-x.spool"
    chance = random.Random(f"damage {most_read}")

    for place in range(len(HEADER), len(whole)):
        spoiled = bytearray(whole)
        spoiled[place] ^= chance.randrange(1, 256)
        path.write_bytes(spoiled)
        read, damaged = read_all(path)

        assert len(set(bodies) - set(read)) <= (2 if whole[place : place + 1] == b"\n" else 1), (place, read)
        assert set(read) <= set(bodies)
        assert damaged


@pytest.mark.parametrize(
    "body", [b'{"lost":1}', b'{"lost":[[-1,2]]}', b'{"lost":[[1,99999999999999999999]]}', b'{"lost":[],"more":1}']
)
def test_what_only_begins_like_a_loss_is_a_message_like_others(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "0000000000000-x.spool"
    path.write_bytes(HEADER + framed(body) + framed(b"{}"))

    assert read_all(path) == ([body, b"{}"], [])
    assert losses_in(path) == {}


def test_a_file_that_cannot_be_begun_leaves_nothing_behind(tmp_path: Path) -> None:
    with no_file_larger_than(10), pytest.raises(OSError, match="No space left"):
        SpoolFile(tmp_path / "x.spool", NOON)

    assert list(tmp_path.iterdir()) == []
    shutil.rmtree(tmp_path)


async def test_all_answers_of_one_turn_are_one_write_and_leave_after_it(tmp_path: Path) -> None:
    said: list[tuple[str, int]] = []
    with a_spool(tmp_path) as spool:
        for number in range(3):
            spool.append_soon(b"%d" % number, NOON)
            spool.when_written(lambda: said.append(("sent", len(bodies_in(tmp_path)))))
        assert bodies_in(tmp_path) == []
        await asyncio.sleep(0)

        assert said == [("sent", 3)] * 3
        spool.when_written(lambda: said.append(("at once", 3)))
        assert said[-1] == ("at once", 3)
    assert bodies_in(tmp_path) == [b"0", b"1", b"2"]


async def test_answers_leave_also_when_nothing_can_be_written(tmp_path: Path) -> None:
    said: list[str] = []
    with a_spool(tmp_path) as spool:
        spool.is_full = True

        spool.append_soon(b"kept", NOON)
        spool.when_written(lambda: said.append("sent"))
        await asyncio.sleep(0)

        assert (said, spool.in_memory) == (["sent"], 1)


def broken() -> None:
    raise LookupError


async def test_one_that_cannot_be_sent_keeps_no_other_from_being_sent(tmp_path: Path) -> None:
    said: list[str] = []
    with a_spool(tmp_path) as spool:
        spool.append_soon(b"one", NOON)
        spool.when_written(broken)
        spool.when_written(lambda: said.append("sent"))
        await asyncio.sleep(0)

    assert said == ["sent"]

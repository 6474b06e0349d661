"""Workers that die are started again, ever later if they die at once; workers that do not stop are not waited for."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dawr.bootstrap.supervisor import Worker, in_a_child, pause_after
from tests.running import eventually

pytestmark = pytest.mark.slow

PARENT = """
import sys, time, signal, select
from pathlib import Path
from dawr.bootstrap.supervisor import Supervisor

diary = Path(sys.argv[1])

def note(word):
    with diary.open("a") as file:
        file.write(f"{word} {time.monotonic()}\\n")

def dies_at_once(life):
    note("started")
    life.say_ready()
    raise SystemExit(3)

def the_second_dies(life):
    note(f"started-{life.slot}")
    if life.slot == 1:
        raise SystemExit(3)
    life.say_ready()
    select.select([life.parent_gone], [], [])

def fails(life):
    note("started")
    raise ValueError("on purpose")

def does_not_stop(life):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("started")
    life.say_ready()
    while True:
        time.sleep(10)

def stops_when_alone(life):
    note("started")
    life.say_ready()
    select.select([life.parent_gone], [], [])
    note("alone")

code = Supervisor(
    int(sys.argv[3]),
    globals()[sys.argv[2]],
    ready=lambda: note("ready"),
    stopping=lambda: note("stopping"),
    ended=lambda slot: note(f"ended-{slot}"),
).run()
note("over")
sys.exit(code)
"""


class Parent:
    """A supervisor in a process of its own, and what its workers noted."""

    def __init__(self, directory: Path, work: str, workers: int = 1) -> None:
        self._diary = directory / "diary"
        self._diary.touch()
        self._log = directory / "log"
        command = [sys.executable, "-c", PARENT, str(self._diary), work, str(workers)]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def times(self, word: str) -> list[float]:
        lines = [line.split() for line in self._diary.read_text().splitlines()]
        return [float(at) for noted, at in lines if noted == word]

    def wait_for(self, word: str, count: int = 1) -> list[float]:
        eventually(lambda: len(self.times(word)) >= count)
        return self.times(word)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self._process.send_signal(number)
        return self._process.wait(10)

    def said(self) -> str:
        return self._log.read_text()


def test_a_worker_that_dies_at_once_is_started_again_ever_later(tmp_path: Path) -> None:
    parent = Parent(tmp_path, "dies_at_once")

    first, second, third, fourth = parent.wait_for("started", 4)[:4]
    code = parent.end()

    assert second - first >= 0.1
    assert third - second >= 0.2
    assert fourth - third >= 0.4
    assert code == 0
    assert len(parent.times("ready")) == 1


def test_the_pause_grows_to_five_seconds_and_a_long_life_ends_it() -> None:
    worker = Worker()
    worker.started(pid=1, now=100.0)
    worker.ended(now=100.1)
    short = worker.due
    worker.started(pid=2, now=200.0)
    worker.ended(now=205.0)

    assert [pause_after(lives) for lives in (1, 2, 3, 6, 7, 50)] == pytest.approx([0.1, 0.2, 0.4, 3.2, 5.0, 5.0])
    assert short == pytest.approx(100.2)
    assert worker.due == 205.0


def test_a_worker_that_fails_says_why_and_is_started_again(tmp_path: Path) -> None:
    parent = Parent(tmp_path, "fails")

    parent.wait_for("started", 2)
    code = parent.end()

    assert code == 0
    assert "on purpose" in parent.said()
    assert parent.times("ready") == []


def test_a_worker_that_does_not_stop_is_not_waited_for(tmp_path: Path) -> None:
    parent = Parent(tmp_path, "does_not_stop", workers=2)
    parent.wait_for("ready")
    began = time.monotonic()

    code = parent.end()

    assert code == 1
    assert 2.5 < time.monotonic() - began < 25
    assert len(parent.times("started")) == 2
    assert len(parent.times("stopping")) == 1
    assert "worker.killed" in parent.said()


def test_a_worker_learns_that_its_parent_is_gone(tmp_path: Path) -> None:
    parent = Parent(tmp_path, "stops_when_alone", workers=2)
    parent.wait_for("ready")

    parent.end(signal.SIGKILL)

    assert len(parent.wait_for("alone", 2)) == 2


def test_work_in_a_child_leaves_nothing_behind_but_its_answer() -> None:
    here: list[int] = []

    def work() -> bytes:
        here.append(1)
        return b"done"

    def fail() -> bytes:
        raise SystemExit(1)

    assert in_a_child(work) == b"done"
    assert in_a_child(fail) is None
    assert here == []


def test_it_is_told_whose_slot_is_empty_and_the_next_one_gets_that_slot(tmp_path: Path) -> None:
    parent = Parent(tmp_path, "the_second_dies", workers=2)

    parent.wait_for("ended-1", 3)
    assert parent.end() == 0

    assert len(parent.times("started-1")) >= 3
    assert len(parent.times("started-0")) == 1
    assert len(parent.times("ended-0")) == 1

"""Whoever logs is never kept waiting; what is lost by that is counted and said."""

import itertools
import os
import subprocess
import sys
import threading
import time

from dawr.observe.log_writer import LAST_SECONDS, MOST_WAITING, WRITTEN_WHOLE, LogWriter, pieces
from tests.running import eventually


class Reader:
    """Somebody who may stop reading: then whoever writes waits."""

    def __init__(self) -> None:
        self.read: list[bytes] = []
        self.reads = threading.Event()
        self.is_gone = False
        self.asked = 0

    def __call__(self, piece: bytes) -> None:
        self.asked += 1
        self.reads.wait()
        if self.is_gone:
            raise BrokenPipeError
        self.read.append(piece)

    @property
    def lines(self) -> list[bytes]:
        return b"".join(self.read).splitlines()


def must_not_be_called(_: bytes) -> None:
    raise AssertionError


def writing_to(reader: Reader) -> LogWriter:
    writer = LogWriter(reader, must_not_be_called)
    writer.start(lambda lines: b"lost %d\n" % lines)
    return writer


def told(lines: list[bytes]) -> int:
    """How many are lost, as the lines say it."""
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"lost "))


def test_lines_are_written_in_the_order_they_came() -> None:
    reader = Reader()
    reader.reads.set()
    writer = writing_to(reader)

    for turn in range(1000):
        writer(b"%d\n" % turn)
    writer.stop()

    assert reader.lines == [b"%d" % turn for turn in range(1000)]


def test_what_waits_is_bounded_and_whoever_reads_again_is_told_what_was_lost() -> None:
    reader = Reader()
    writer = writing_to(reader)
    line = b"x" * 1023 + b"\n"

    for _ in range(2 * MOST_WAITING // len(line)):
        writer(line)
    reader.reads.set()
    eventually(lambda: told(reader.lines) > 0)
    writer(b"after\n")
    writer.stop()

    assert len(reader.lines) == MOST_WAITING // len(line) + 2
    assert reader.lines[-2:] == [b"lost %d" % (MOST_WAITING // len(line)), b"after"]


def test_a_loss_is_told_where_it_happened() -> None:
    reader = Reader()
    writer = writing_to(reader)
    writer(b"first\n" * (MOST_WAITING // 6))
    writer(b"too much\n" * 3)
    writer(b"2\n")

    reader.reads.set()
    writer.stop()

    assert reader.lines[-3:] == [b"first", b"lost 3", b"2"]


def test_where_nobody_is_at_the_other_end_the_loss_waits_for_somebody() -> None:
    reader = Reader()
    reader.reads.set()
    reader.is_gone = True
    writer = writing_to(reader)
    writer(b"one\ntwo\n")
    eventually(lambda: reader.asked == 1)
    writer(b"three\n")
    eventually(lambda: reader.asked == 3)

    reader.is_gone = False
    writer(b"four\n")
    writer.stop()

    assert reader.lines == [b"lost 3", b"four"]
    assert reader.asked == 5


def test_the_end_waits_for_a_slow_reader_and_not_for_one_who_does_not_read() -> None:
    slow, gone = Reader(), Reader()
    writer = writing_to(slow)
    writer(b"last words\n")
    threading.Timer(0.05, slow.reads.set).start()
    writer.stop()
    assert slow.lines == [b"last words"]

    writer = writing_to(gone)
    writer(b"last words\n")
    began = time.monotonic()
    writer.stop()
    writer(b"not even these are waited for\n")
    took = time.monotonic() - began
    gone.reads.set()

    assert took < 2 * LAST_SECONDS


def test_without_a_thread_lines_are_written_at_once() -> None:
    directly: list[bytes] = []
    reader = Reader()
    reader.reads.set()
    writer = LogWriter(reader, directly.append)

    writer(b"before\n")
    writer.start(lambda _: b"")
    writer(b"meanwhile\n")
    writer.stop()
    writer(b"after\n")

    assert directly == [b"before\n", b"after\n"]
    assert reader.lines == [b"meanwhile"]


def test_several_threads_do_not_mix_their_lines() -> None:
    reader = Reader()
    reader.reads.set()
    writer = writing_to(reader)

    def say(name: int) -> None:
        for turn in range(500):
            writer(b"%d %d\n" % (name, turn))

    threads = [threading.Thread(target=say, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.stop()

    said = [tuple(map(int, line.split())) for line in reader.lines]
    assert sorted(said) == list(itertools.product(range(4), range(500)))
    for name in range(4):
        assert [turn for who, turn in said if who == name] == list(range(500))


def test_lines_are_written_in_pieces_that_a_pipe_takes_whole() -> None:
    short = [b"%d %s\n" % (turn, b"x" * (turn % 97)) for turn in range(1000)]
    lines = [*short, b"y" * 2 * WRITTEN_WHOLE + b"\n", b"last\n"]

    written = list(pieces(b"".join(lines)))

    assert b"".join(written) == b"".join(lines)
    assert all(piece.endswith(b"\n") for piece in written)
    assert [len(piece) > WRITTEN_WHOLE for piece in written].count(True) == 1
    assert list(pieces(b"")) == []


FORKING = """
import os, sys
from dawr.observe import logs
from dawr.settings import Settings

log = logs.access_log_of_server(Settings(log_format="json"))
log.failed("/parent", 503, "busy", "abc")
log.flush()
logs.standard_error.stop()
logs.access_log_of_server(Settings(log_format="json"))
child = os.fork()
if not child:
    logs.standard_error(b"directly\\n")
    log = logs.access_log_of_server(Settings(log_format="json"))
    log.failed("/child", 503, "busy", "abc")
    log.close()
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_process_that_was_forked_has_a_thread_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True, timeout=60)

    assert [line.partition('"route":')[2][:9] or line for line in done.stderr.splitlines()] == [
        '"/parent"',
        "directly",
        '"/child",',
    ]


DIRECTLY = """
import structlog
from dawr.observe import logs
from dawr.settings import Settings

logs.configure(Settings(log_format="json"))
structlog.get_logger("x").warning("worker.ended")
"""


def test_a_parent_that_has_workers_to_look_after_does_not_wait_for_a_reader_either() -> None:
    heard, said = os.pipe()
    os.set_blocking(said, False)
    filler = 0
    try:
        while True:
            filler += os.write(said, b"x" * WRITTEN_WHOLE)
    except BlockingIOError:
        os.set_blocking(said, True)
    try:
        done = subprocess.run([sys.executable, "-c", DIRECTLY], stderr=said, check=False, timeout=60)
    finally:
        os.close(said)
        os.close(heard)

    assert done.returncode == 0
    assert filler >= 16 * WRITTEN_WHOLE

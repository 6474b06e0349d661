"""Tools reach the running server through its socket, and nobody else does."""

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from dawr.bootstrap.control import ControlFailed, Handler, ask, listening
from dawr.domain.errors import QueueClosed
from dawr.ports.faults import StoreAway
from tests.running import Client, DawrServer, dawr, eventually, venue_document

GARBAGE = [
    b"",
    b"\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x00\xff\xfe\n",
    b"null\n",
    b'{"command":42}\n',
    b'{"command":"no-such-command"}\n',
    b'{"command":"set-up"}\n',
    b'{"command":"set-up","argument":{"slug":"clinic"}}\n',
    b'{"command":"set-up","argument":"\\ud800"}\n',
    b'{"command":"status","argument":' + b"[" * 100_000 + b"\n",
    b"x" * 2_000_000 + b"\n",
    b'{"command":"status"',
]


async def double(number: msgspec.Raw) -> int:
    return 2 * msgspec.json.decode(number, type=int)


async def refuse(_: msgspec.Raw) -> None:
    raise QueueClosed("lab")


async def fail(_: msgspec.Raw) -> None:
    raise StoreAway("The database cannot be reached.")


@asynccontextmanager
async def answering(path: Path) -> AsyncIterator[Path]:
    handlers: dict[str, Handler] = {"double": double, "refuse": refuse, "fail": fail}
    async with listening(path, handlers):
        yield path


async def test_a_tool_gets_the_answer_of_the_server(tmp_path: Path) -> None:
    async with answering(tmp_path / "control.sock") as path:
        assert await asyncio.to_thread(ask, path, "double", 21) == b"42"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("refuse", "Queue lab is closed."),
        ("fail", "The database cannot be reached."),
        ("double", "Expected `int`, got `null`"),
        ("halve", "This server knows no command 'halve'; is it older than the tool?"),
    ],
)
async def test_a_tool_is_told_in_a_sentence_why_not(tmp_path: Path, command: str, sentence: str) -> None:
    async with answering(tmp_path / "control.sock") as path:
        with pytest.raises(ControlFailed) as refused:
            await asyncio.to_thread(ask, path, command)

    assert str(refused.value) == sentence


async def test_many_tools_may_ask_at_once(tmp_path: Path) -> None:
    async with answering(tmp_path / "control.sock") as path:
        answers = await asyncio.gather(*(asyncio.to_thread(ask, path, "double", number) for number in range(20)))

    assert [int(answer) for answer in answers] == [2 * number for number in range(20)]


async def test_only_the_owner_may_open_the_socket(tmp_path: Path) -> None:
    async with answering(tmp_path / "control.sock") as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_socket_is_gone_when_the_server_is(tmp_path: Path) -> None:
    async with answering(tmp_path / "control.sock") as path:
        assert path.is_socket()

    assert not path.exists()
    with pytest.raises(ControlFailed, match="The server does not answer at"):
        ask(path, "double", 21)


async def test_a_socket_that_a_killed_server_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))

    async with answering(path):
        assert await asyncio.to_thread(ask, path, "double", 21) == b"42"


async def test_a_path_that_is_too_long_for_a_socket_is_no_hindrance(tmp_path: Path) -> None:
    directory = tmp_path / ("a long name " * 10) / ("another one " * 10)
    directory.mkdir(parents=True)

    async with answering(directory / "control.sock") as path:
        assert len(str(path)) > 108
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert await asyncio.to_thread(ask, path, "double", 21) == b"42"

    assert not path.exists()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / ("a directory with a long name " * 4) / "data"


@pytest.fixture
def server(tmp_path: Path, data: Path) -> Iterator[DawrServer]:
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=data).exit_code == 0
    with DawrServer(tmp_path, "serve", DAWR_DATA=data) as server:
        yield server


def test_a_server_in_a_deep_directory_is_reached_by_tools(server: DawrServer, data: Path) -> None:
    changed = venue_document({"id": "lab", "prefix": "Z"})

    applied = dawr("venue", "apply", "-", stdin=changed, DAWR_DATA=data)

    assert len(str(data / "control.sock")) > 108
    assert stat.S_IMODE((data / "control.sock").stat().st_mode) == 0o600
    assert applied.exit_code == 0, applied
    with Client(server.url) as client:
        assert client.enter("lab", "Amna").json["display_number"] == "Z001"


def test_garbage_on_the_socket_does_not_hurt_the_server(server: DawrServer, data: Path) -> None:
    for garbage in GARBAGE:
        with socket.socket(socket.AF_UNIX) as tool:
            connect(tool, data / "control.sock")
            send_all_that_it_takes(tool, garbage)

    with Client(server.url) as client:
        assert client.enter("lab", "Amna").json["number"] == 1
    assert "A server runs here and can store." in dawr("check", DAWR_DATA=data).said
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()
    server.start()


def test_a_tool_that_says_nothing_does_not_keep_others_waiting(server: DawrServer, data: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        connect(silent, data / "control.sock")

        eventually(lambda: dawr("check", DAWR_DATA=data).exit_code == 0)


def connect(tool: socket.socket, path: Path) -> None:
    """By way of the directory, because the path itself is too long."""
    short = path.parents[2] / "short"
    if not short.is_symlink():
        short.symlink_to(path.parent)
    tool.connect(str(short / path.name))


def send_all_that_it_takes(tool: socket.socket, garbage: bytes) -> None:
    try:
        tool.sendall(garbage)
        tool.shutdown(socket.SHUT_WR)
        while tool.recv(65536):
            pass
    except (BrokenPipeError, ConnectionResetError):
        pass

"""Messages between processes: heard by all who listen, and known to be missed when they were."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from random import Random

import pytest

from dawr.bootstrap.system import ticks
from dawr.reliability import channel as channels
from dawr.reliability.channel import Channel
from dawr.reliability.shared import Shared, SharedAway
from tests.servers import ValkeyServer, server_directory

SECONDS = 60.0
ROOMS = count(1)


class Listener:
    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.heard: list[bytes] = []
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1


@asynccontextmanager
async def listening(url: str, *, prefix: str) -> AsyncIterator[Listener]:
    shared = Shared.open(url, ticks, prefix=prefix)
    listener = Listener(Channel(shared, "messages", Random(1)))
    task = asyncio.create_task(listener.channel.listen(listener.heard.append, listener.begin))
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.wait([task])
        await shared.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110 - whatever it is
            await asyncio.sleep(0.005)


async def publish_until_heard(speaker: Listener, message: bytes, *listeners: Listener) -> None:
    """Words may be lost, so it is said again; the first that is heard by all is enough."""
    async with asyncio.timeout(SECONDS):
        while not all(message in listener.heard for listener in listeners):
            with suppress(SharedAway):
                await speaker.channel.publish(message)
            await asyncio.sleep(0.05)


@pytest.fixture
def prefix() -> str:
    return f"test:channel-{os.getpid()}-{next(ROOMS)}:"


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


async def test_a_word_is_heard_once_by_each_who_listens_and_in_order(valkey_server: ValkeyServer, prefix: str) -> None:
    messages = [f"message {number}".encode() for number in range(100)] + [b"\x00\xff"]
    async with (
        listening(valkey_server.url, prefix=prefix) as speaker,
        listening(valkey_server.url, prefix=prefix) as listener,
        listening(valkey_server.url, prefix=f"{prefix}others:") as stranger,
    ):
        await until(lambda: (speaker.begun, listener.begun, stranger.begun) == (1, 1, 1))

        for message in messages:
            await speaker.channel.publish(message)

        await until(lambda: len(listener.heard) == len(speaker.heard) == len(messages))
        assert listener.heard == speaker.heard == messages
        assert stranger.heard == []


async def test_who_listens_again_after_the_server_was_killed_knows_that_words_were_missed(
    own_valkey: ValkeyServer, prefix: str
) -> None:
    async with (
        listening(own_valkey.url, prefix=prefix) as speaker,
        listening(own_valkey.url, prefix=prefix) as listener,
    ):
        await until(lambda: listener.begun == speaker.begun == 1)

        own_valkey.kill()
        with pytest.raises(SharedAway):
            await speaker.channel.publish(b"lost")
        own_valkey.start()
        await until(lambda: listener.begun == 2)
        await publish_until_heard(speaker, b"after", listener)

    assert b"lost" not in listener.heard


async def test_who_listens_before_there_is_a_server_hears_when_it_comes(prefix: str) -> None:
    with server_directory() as directory:
        valkey = ValkeyServer(directory)
        async with listening(valkey.url, prefix=prefix) as listener:
            with pytest.raises(SharedAway):
                await listener.channel.publish(b"too early")
            assert listener.begun == 0

            with valkey:
                await publish_until_heard(listener, b"there", listener)
                assert listener.begun == 1


async def test_a_server_that_gives_no_sign_is_left_and_found_again(
    own_valkey: ValkeyServer, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the link is cut: the connection looks open, and nothing comes any more."""
    monkeypatch.setattr(channels, "QUIET_SECONDS", 0.2)
    monkeypatch.setattr(channels, "ANSWER_SECONDS", 0.2)
    async with listening(own_valkey.url, prefix=prefix) as listener:
        await until(lambda: listener.begun == 1)

        os.kill(own_valkey.pid, signal.SIGSTOP)
        with pytest.raises(SharedAway):
            await listener.channel.publish(b"into the void")
        await asyncio.sleep(1.0)  # longer than it waits for a sign: nothing can be seen of it from outside
        os.kill(own_valkey.pid, signal.SIGCONT)

        await until(lambda: listener.begun > 1)
        await publish_until_heard(listener, b"there", listener)


async def test_a_quiet_server_that_answers_is_kept(
    valkey_server: ValkeyServer, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "QUIET_SECONDS", 0.05)
    async with listening(valkey_server.url, prefix=prefix) as listener:
        await until(lambda: listener.begun == 1)
        await asyncio.sleep(0.5)  # ten times as long as it stays quiet

        await publish_until_heard(listener, b"still there", listener)

        assert listener.begun == 1

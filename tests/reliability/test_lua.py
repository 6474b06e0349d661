"""A script is sent once, and again to a server that has forgotten it."""

from pathlib import Path

from redis.asyncio import Redis

from dawr.reliability.lua import Script
from tests.servers import ValkeyServer

ECHO = "return {KEYS[1], ARGV[1], ARGV[2]}"


async def test_a_script_runs_on_a_server_that_does_not_know_it_and_is_known_then(valkey_server: ValkeyServer) -> None:
    script = Script.of(f"-- a script of this test's own\n{ECHO}")
    async with Redis.from_url(valkey_server.url) as client:
        before = await client.script_exists(script.sha)
        first = await script.run(client, ["key"], "one", 2)
        after = await client.script_exists(script.sha)
        second = await script.run(client, ["key"], "one", b"2")

    assert (before, after) == ([False], [True])
    assert first == second == [b"key", b"one", b"2"]


def test_a_script_is_the_file_beside_its_module(tmp_path: Path) -> None:
    (tmp_path / "echo.lua").write_text(f"-- دور\n{ECHO}", encoding="utf-8")

    script = Script.beside(str(tmp_path / "module.py"), "echo")

    assert script == Script.of(f"-- دور\n{ECHO}")

"""The commands and examples of the documents that the doors were first described in, run against `dawr demo`.

Nothing is switched off: this is what somebody sees who types them in.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import Client, DawrServer

PASSWORD = "for the demo only"

FIVE_AT_ONCE = """
   for i in {1..5}; do
     curl -X POST https://www.mmc-mms.com/api/v1/queue/enter \\
       -H "Content-Type: application/json" \\
       -d "{\\"clinic\\":\\"lab\\",\\"user\\":\\"TEST_$i\\"}" &
   done
   wait
"""
WATCHED = "curl -N https://www.mmc-mms.com/api/v1/events/stream?clinic=lab"

A_PARTY = {
    "name": "John Doe",
    "mobileNumber": "+1234567890",
    "partySize": 2,
    "idempotencyKey": "uuid-from-client",
}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DawrServer]:
    with DawrServer(
        tmp_path, "demo", "--password", PASSWORD, "--data", tmp_path / "data", DAWR_RATE_LIMITS="on"
    ) as demo:
        yield demo


def here(command: str, demo: DawrServer) -> list[str]:
    """The command with only its host changed."""
    return ["bash", "-c", command.replace("https://www.mmc-mms.com", demo.url)]


def test_five_at_once_get_numbers_without_a_double(demo: DawrServer) -> None:
    run = subprocess.run(here(FIVE_AT_ONCE, demo), capture_output=True, text=True, check=True, timeout=30)

    assert sorted(int(number) for number in re.findall(r'"number":(\d+)', run.stdout)) == [1, 2, 3, 4, 5]


def test_the_loop_run_again_gives_everybody_the_number_they_have(demo: DawrServer) -> None:
    first, again = (
        subprocess.run(here(FIVE_AT_ONCE, demo), capture_output=True, text=True, check=True, timeout=30).stdout
        for _ in range(2)
    )

    assert numbers_of(again) == numbers_of(first)
    assert again.count("already in queue") == 5


def test_ten_and_more_at_once_are_served_as_well(demo: DawrServer) -> None:
    loop = FIVE_AT_ONCE.replace("{1..5}", "{1..20}")

    run = subprocess.run(here(loop, demo), capture_output=True, text=True, check=True, timeout=30)

    assert sorted(numbers_of(run.stdout).values()) == list(range(1, 21))


def test_a_watcher_is_connected_at_once_and_hears_of_every_change(demo: DawrServer) -> None:
    with (
        subprocess.Popen(here(f"exec {WATCHED}", demo), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as watching,
        Client(demo.url) as client,
    ):
        assert watching.stdout is not None
        heard = iter(watching.stdout.readline, b"")
        connected = next(line for line in heard if line.startswith(b"data:"))
        at_first = next(line for line in heard if line.startswith(b"data:"))

        client.enter("lab", "TEST_1")
        afterwards = next(line for line in heard if line.startswith(b"data:"))
        watching.terminate()

    assert b'"CONNECTED"' in connected
    assert b'"QUEUE_UPDATE"' in at_first
    assert b'"waiting":0' in at_first
    assert b'"waiting":1' in afterwards


def test_the_entry_of_the_example_is_made_once_however_often_it_is_sent(demo: DawrServer) -> None:
    with Client(demo.url) as client:
        first, again = (client.post("/api/public/demo-restaurant/queue", A_PARTY) for _ in range(2))

        assert (first.status, first.json["data"]["tokenNumber"]) == (201, 1)
        assert (again.status, again.body) == (201, first.body)


def test_the_next_customer_of_the_example_is_called_and_then_nobody(demo: DawrServer) -> None:
    with Client(demo.url) as client:
        entry = client.post("/api/public/demo-restaurant/queue", A_PARTY).json["data"]
        login = client.post("/api/v1/admin/login", {"username": "demo", "password": PASSWORD}).json

        called, nobody = (
            client.post("/api/admin/demo-restaurant/queue/call-next", bearer=login["token"]) for _ in range(2)
        )

    assert (called.json["data"]["id"], called.json["data"]["status"]) == (entry["id"], "CALLED")
    assert (nobody.status, nobody.json["data"]) == (200, None)


def numbers_of(said: str) -> dict[str, int]:
    return {user: int(number) for number, user in re.findall(r'"number":(\d+).*?"user":"(\w+)"', said)}

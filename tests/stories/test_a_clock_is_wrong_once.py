"""A machine without a battery starts a year ahead, serves for a while, and is put right again.

Who waited still waits, a retry gets its first answer, what is wrong is named, and one command repairs it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, dawr, eventually, must_be_problem, venue_document

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(LIBRARY is None, reason="libfaketime is not installed; tests/stores shows the same"),
]

HERE = Path(__file__).parents[2]
DOUBLES = "SELECT queue_id, day, round, number FROM tickets GROUP BY 1, 2, 3, 4 HAVING count(*) > 1"


class Machine(DawrServer):
    """Its clock is so much ahead; nothing synchronises it, and the time that runs is the real one."""

    ahead = "+0d"

    def _command(self) -> list[str]:
        env, *given, _ = super()._command()[: -len(self._arguments)]
        wrong = [f"LD_PRELOAD={LIBRARY}", f"FAKETIME={self.ahead}", "DONT_FAKE_MONOTONIC=1", f"PYTHONPATH={HERE}"]
        return [env, *given, *wrong, sys.executable, "-m", "tests.stories.unsynchronised", *self._arguments]


def states(data: Path) -> dict[str, str]:
    return dict(rows_of(data / "dawr.sqlite", "SELECT visitor, state FROM tickets"))


def health(client: Client) -> Mapping[str, Any]:
    return client.ask("/health").json


def test_a_year_ahead_for_a_while_does_no_lasting_damage(tmp_path: Path) -> None:
    data = tmp_path / "data"
    queues = ({"id": "lab", "capacity": 3}, {"id": "eye"})
    dawr("venue", "apply", "-", stdin=venue_document(*queues), DAWR_DATA=data)
    machine = Machine(tmp_path, "serve", DAWR_DATA=data)
    with machine, Client(machine.url) as client:
        for name in ("Amna", "Basma"):
            assert client.enter("lab", name).json["number"] in {1, 2}
        first = client.enter("eye", "Celia", key="a-key")
        eventually(lambda: rows_of(data / "dawr.sqlite", "SELECT believed_at FROM installation") != [(None,)])

    machine.ahead = "+365d"
    with machine, Client(machine.url) as client:
        ahead = [client.enter("lab", name).json["number"] for name in ("Dana", "Eman", "Farah")]
        full = client.enter("lab", "Ghada")
        asked_again = client.enter("lab", "Basma").json["number"]
        meanwhile = client.enter("eye", "Celia", key="a-key")
        eventually(lambda: health(client)["time"] != [])
        doubted = health(client)

    machine.ahead = "+0d"
    with machine, Client(machine.url) as client:
        again = client.enter("eye", "Celia", key="a-key")
        waiting = states(data)
        wrong = dawr("check", DAWR_DATA=data)
        eventually(lambda: health(client)["status"] == "degraded")
        repaired = dawr("venue", "repair-day", "clinic", DAWR_DATA=data)
        well = health(client)
        late = client.enter("lab", "Ghada").json["number"]
    right = dawr("check", DAWR_DATA=data)

    assert (ahead, asked_again) == ([1, 2, 3], 2)
    must_be_problem(full, 503, "queue-full")
    assert doubted["time"][0].startswith("The clock of this machine is 365 days ahead of what it said last")
    assert [reply.body for reply in (meanwhile, again)] == [first.body] * 2
    assert waiting == dict.fromkeys(("Amna", "Basma", "Celia", "Dana", "Eman", "Farah"), "waiting")
    assert (wrong.exit_code, "Venue clinic is at 20" in wrong.said) == (1, True)
    assert repaired.said.splitlines()[1:] == [f"In queue lab 00{n} is now 00{n + 2}." for n in (1, 2, 3)]
    assert (well["time"], late) == ([], 6)
    assert (right.exit_code, rows_of(data / "dawr.sqlite", DOUBLES)) == (0, [])

"""A new round begins though nobody can be swept away just then: the clock does it later, in whichever process."""

import pytest

from dawr.engine.clockwork import Sweeper
from dawr.engine.engine import Engine
from dawr.stores.sqlite import SqliteStore
from tests.builders import Told
from tests.doors.here import Here
from tests.stores.doing import kinds_of
from tests.stores.locked import Elsewhere


async def test_a_reset_whose_sweep_fails_is_answered_and_swept_by_another_process(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    store = here.dawr.store
    assert isinstance(store, SqliteStore)
    elsewhere, other_store = Elsewhere(store), SqliteStore(store.path, clock=here.clock)
    other = Engine(other_store, here.clock)
    clockwork = Sweeper(other, other_store)
    bearer = await here.bearer("manager")
    for user in ("Amna", "Basma"):
        await here.enter("lab", user)
    await clockwork.sweep_all()

    here.engine._lanes[0]._listeners = [Told(elsewhere.lock)]
    reset = await here.post("reset", {"clinic": "lab"}, bearer=bearer)
    elsewhere.unlock()
    left_behind = await kinds_of(here.engine, here.venue)
    await clockwork.sweep_all()

    assert (reset.status, reset.json["round"]) == (200, 2)
    assert "sweep.postponed" in capsys.readouterr().out
    assert left_behind[-1] == "queue.reset"
    assert (await kinds_of(here.engine, here.venue))[-2:] == ["ticket.expired"] * 2
    await other.stop()
    await other_store.close()
    elsewhere.close()

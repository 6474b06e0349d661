"""Two hosts and a database on a third; the cable of one is cut for ten seconds. Nobody loses a number.

Needs root and network namespaces; `make prove` runs it.
"""

import contextlib
import time
from pathlib import Path

import pytest

from tests.cli.databases import rows_of
from tests.running import dawr, eventually
from tests.servers.network import Port, why_not
from tests.stories.two_hosts import Clinic, Host, People, open_clinic, seconds_until

CUT_SECONDS = 10.0
SHORT_CUTS, SHORT_SECONDS = 3, 2.0
IN_FLIGHT_SECONDS = 0.3
BACK_SECONDS = 20.0
FIRST = 60
HELD_UP_SECONDS = 9.0
"""A host that vanishes may hold a venue's lock: PostgreSQL ends its transaction after 5 s, and others try every 2 s."""


@pytest.mark.prove
@pytest.mark.timeout(300)
def test_cutting_a_hosts_cable_loses_and_doubles_nothing_and_it_comes_back_by_itself(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    with open_clinic(tmp_path) as clinic:
        one, two = clinic.hosts
        workers = [host.workers for host in clinic.hosts]
        people = People(clinic)
        with people.here():
            eventually(lambda: all(people.answers_of(host) > FIRST for host in clinic.hosts), seconds=30)
            outlive(people, clinic, one, two, one.front, one.back, seconds=CUT_SECONDS)
            outlive(people, clinic, two, one, two.back, seconds=CUT_SECONDS)
            must_say_stale(people)
            for _ in range(SHORT_CUTS):
                outlive(people, clinic, one, two, one.back, seconds=SHORT_SECONDS)
                outlive(people, clinic, two, one, two.front, two.back, seconds=SHORT_SECONDS)

        assert [host.workers for host in clinic.hosts] == workers
        must_be_whole(clinic, people)


def outlive(people: People, clinic: Clinic, cut: Host, other: Host, *ports: Port, seconds: float) -> None:
    """The other goes on meanwhile; afterwards the cut one is ready, gives numbers and shows what happened."""
    what = f"{cut.name} cut off from {'everybody' if len(ports) > 1 else 'the database'}"
    with contextlib.ExitStack() as stack:
        with people.hurry():
            stack.enter_context(clinic.network.cut(*ports))
            began = time.monotonic()
            time.sleep(min(seconds, IN_FLIGHT_SECONDS))
        time.sleep(seconds - min(seconds, IN_FLIGHT_SECONDS))
    restored = time.monotonic()
    times = [moment for moment in people.answered[other.name] if began <= moment <= restored]
    longest = max(after - before for before, after in zip([began, *times], [*times, restored], strict=True))
    said = people.answers_of(cut)
    ready = seconds_until(cut.is_ready, most=BACK_SECONDS)
    eventually(lambda: people.answers_of(cut) > said, seconds=BACK_SECONDS)
    answering = time.monotonic() - restored
    caught_up = seconds_until(lambda: is_caught_up(people, clinic), most=BACK_SECONDS)
    print(  # noqa: T201
        f"{what} for {seconds:g} s: {other.name} answered {len(times)} meanwhile, at the longest {longest:.1f} s "
        f"apart; back after: ready {ready:.1f} s, answers {answering:.1f} s, all watchers {answering + caught_up:.1f} s"
    )

    assert longest < HELD_UP_SECONDS


def is_caught_up(people: People, clinic: Clinic) -> bool:
    """Everybody has seen what was stored when this was asked."""
    ((version,),) = rows_of(clinic.database, "SELECT version FROM heads")
    eventually(lambda: all(watcher.at >= version for watcher in people.watchers), seconds=BACK_SECONDS)
    return True


def must_say_stale(people: People) -> None:
    """A host that does not reach the database keeps its streams, and says what they are."""
    _, at_two, _ = people.watchers

    eventually(lambda: at_two.words["fresh"] > 0)
    assert at_two.words["stale"] == at_two.words["fresh"] == 1
    assert at_two.openings == 1
    assert {"store-away", "outcome-unknown"} & people.refused["host2"].keys()


def must_be_whole(clinic: Clinic, people: People) -> None:
    tickets = rows_of(clinic.database, "SELECT visitor, number FROM tickets ORDER BY number")
    events = rows_of(clinic.database, "SELECT version, kind FROM events ORDER BY version")
    last = events[-1][0]
    calls = [version for version, kind in events if kind == "ticket.called"]
    print(  # noqa: T201
        f"{len(tickets)} numbers, {len(people.called)} calls, {people.replays} replayed; refused: "
        f"{ {host: dict(codes) for host, codes in people.refused.items()} }; streams opened: "
        f"{[watcher.openings for watcher in people.watchers]}"
    )

    assert dict(tickets) == people.numbers
    assert [number for _, number in tickets] == list(range(1, len(tickets) + 1))
    assert [version for version, _ in events] == list(range(1, last + 1))
    assert len(set(people.called.values())) == len(people.called) == len(calls)
    assert people.replays > 0
    *_, roaming = people.watchers
    assert roaming.openings > 10
    for watcher in people.watchers:
        assert watcher.words["reset"] == 0
        assert watcher.versions == list(range(watcher.began_at + 1, last + 1))
    assert dawr("check", DAWR_DATABASE_URL=clinic.database).exit_code == 0

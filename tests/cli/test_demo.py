"""`dawr demo`: the sample venues, at once."""

import asyncio
import re
from pathlib import Path
from random import Random

import argon2
import msgspec

from dawr import __version__
from dawr.bootstrap.system import SystemIds, now
from dawr.domain.venue import VenueId
from dawr.engine.engine import Engine
from dawr.operations.snapshots import LookAtQueue
from dawr.sample.life import SampleLife
from dawr.sample.venues import CLINIC
from dawr.stores.sqlite import SqliteStore
from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, dawr, eventually, venue_document
from tests.stores.doing import create_venue, kinds_of


def test_the_demo_has_a_clinic_and_a_restaurant(demo: DawrServer, tmp_path: Path) -> None:
    listed = dawr("venue", "list", "--data", tmp_path / "data")

    assert sorted(listed.said.split()) == ["clinic", "demo-restaurant"]


def test_every_queue_of_the_demo_takes_people_round_the_clock(demo: DawrServer) -> None:
    with Client(demo.url) as client:
        entered = {queue.id: client.enter(queue.id, "Amna").json for queue in CLINIC.queues}

    assert list(entered) == ["lab", "xray", "bio", "eye", "int", "sur", "ent", "psy", "dnt", "der", "ecg", "aud"]
    assert {answer["number"] for answer in entered.values()} == {1}


def test_the_demo_has_a_database_of_its_own(tmp_path: Path) -> None:
    settings = {"DAWR_DATABASE_URL": "postgresql://nowhere.invalid/production"}

    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", **settings) as demo, Client(demo.url) as client:
        assert client.enter("lab", "Amna").json["number"] == 1


def test_a_demo_that_is_started_again_carries_on_where_it_was(demo: DawrServer, tmp_path: Path) -> None:
    with Client(demo.url) as client:
        client.enter("lab", "Amna")
    others = ({"id": queue.id} for queue in CLINIC.queues[1:])
    changed = venue_document({"id": "lab", "prefix": "Z"}, *others, zone=CLINIC.zone)
    assert dawr("venue", "apply", "-", "--data", tmp_path / "data", stdin=changed).exit_code == 0

    demo.stop()
    demo.start()

    with Client(demo.url) as client:
        assert client.enter("lab", "Basma").json["display_number"] == "Z002"


def test_a_live_demo_leaves_the_laboratory_alone_and_stops_in_order(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--live", "--data", tmp_path / "data") as demo:
        with Client(demo.url) as client:
            assert client.enter("lab", "Amna").json["number"] == 1
            assert client.enter("lab", "Basma").json["ahead"] == 1

        assert demo.stop() == 0


async def test_a_day_that_is_played_brings_people_who_are_served(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=now)
    await store.migrate()
    venue = await create_venue(store, msgspec.structs.replace(CLINIC, id=VenueId("sample")), now())
    engine = Engine(store, now)
    life = asyncio.create_task(SampleLife(engine, SystemIds(), Random(1), speed=1000).play([venue.id]))

    kinds: list[str] = []
    async with asyncio.timeout(60):
        while not {"ticket.finished", "ticket.missed"} <= set(kinds):
            await asyncio.sleep(0.02)
            kinds = await kinds_of(engine, venue)
    life.cancel()
    await asyncio.wait([life])
    await engine.stop()

    for left_alone in ("lab", "xray"):
        assert (await engine.read(venue.id, LookAtQueue(left_alone))).line.last_number == 0
    assert await store.faults() == []
    await store.close()


def test_the_sample_account_owns_both_venues_with_the_password_that_is_told(demo: DawrServer, tmp_path: Path) -> None:
    told = re.search(r"^Sign in as demo with the password (\S+)$", demo.log.read_text(), re.MULTILINE)

    assert told is not None
    for slug in ("clinic", "demo-restaurant"):
        assert dawr("staff", "list", "--venue", slug, "--data", tmp_path / "data").said == "demo  owner\n"
    assert fits(tmp_path, told.group(1))
    assert "/first-run" not in demo.log.read_text()


def test_the_demo_takes_any_password_and_does_not_repeat_it(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", "--password", "sesame") as demo:
        assert fits(tmp_path, "sesame")
        log = demo.log.read_text()

    assert "sesame" not in log
    assert "Sign in as demo with the password that you chose\n" in log


def test_a_demo_that_is_started_again_has_the_new_password_alone(demo: DawrServer, tmp_path: Path) -> None:
    demo.stop()
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", "--password", "first"):
        pass
    demo.start()
    told = re.findall(r"^Sign in as demo with the password (\S+)$", demo.log.read_text(), re.MULTILINE)

    assert len(set(told)) == 2
    assert [fits(tmp_path, password) for password in (told[-1], "first", told[0])] == [True, False, False]


def test_the_first_lines_say_what_runs_where_as_whom_and_what_to_open(demo: DawrServer, tmp_path: Path) -> None:
    first, _, _ = demo.log.read_text().partition("What follows is the log.\n")

    assert first.splitlines()[0] == f"Dawr is ready at {demo.url}"
    assert len(first.splitlines()) < 20
    assert "{" not in first
    for fact in (f"{demo.url}/", f"{demo.url}/docs", "clinic", "demo-restaurant", str(tmp_path / "data"), __version__):
        assert fact in first
    with Client(demo.url) as client:
        assert [client.ask(path).status for path in ("/", "/docs")] == [200, 200]


def test_the_demo_logs_what_happens_after_its_first_lines(demo: DawrServer) -> None:
    with Client(demo.url) as client:
        client.enter("lab", "Amna")

    eventually(lambda: '"kind":"ticket.issued"' in demo.log.read_text())


def fits(directory: Path, password: str) -> bool:
    """Whether the sample account has this password."""
    ((kept,),) = rows_of(directory / "data" / "dawr.sqlite", "SELECT password_hash FROM accounts")
    try:
        return argon2.PasswordHasher().verify(kept, password)
    except argon2.exceptions.VerifyMismatchError:
        return False

"""`dawr migrate --back`: from PostgreSQL to the directory again, and no number twice on the way."""

import asyncio
import json
import shutil
from pathlib import Path
from socket import gethostname
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from dawr.bootstrap.system import now
from dawr.engine.engine import Engine
from dawr.operations.admin import Reset
from dawr.ports.faults import StoreAway
from dawr.stores.data_directory import DataDirectory
from dawr.stores.postgres import PostgresStore
from tests.cli.here import run_here
from tests.cli.installations import Installation, take_numbers
from tests.running import Client, Finished, eventually, venue_document
from tests.servers import PostgresServer

EVERY_NUMBER = "SELECT queue_id, day, round, number FROM tickets"
EVERY_LABEL = "SELECT queue_id, day, label FROM tickets"
NUMBERS_WERE_GIVEN = "--even-though-numbers-were-given"
NOBODY_ANSWERS = "--even-though-nobody-answers"
BOTH = (NUMBERS_WERE_GIVEN, NOBODY_ANSWERS)


@pytest.fixture
def moved(embedded: Installation, scaled: Installation, ten_numbers: Path) -> Installation:
    """A directory that has given ten numbers, and has moved to `scaled`."""
    shutil.copytree(ten_numbers, embedded.settings["DAWR_DATA"])
    done = run_here(embedded, "migrate", "--to", str(scaled.database))
    assert done.exit_code == 0, done
    return embedded


def go_back(moved: Installation, *flags: str, **more: str) -> Finished:
    return run_here(moved, "migrate", "--back", *flags, **more)


def join(installation: Installation, people: int = 1) -> list[int]:
    """So many come who were never seen before; the numbers they get."""
    with installation.serve() as server, Client(server.url) as client:
        return [int(client.enter("lab", f"person {uuid4()}").json["number"]) for _ in range(people)]


def lose(moved: Installation, nowhere: str = "postgresql://dawr@127.0.0.1:1/dawr") -> str:
    """As if the database that it moved to had been there, where nobody is."""
    mark = DataDirectory(Path(moved.settings["DAWR_DATA"])).moved
    mark.write_text("\n".join([nowhere, *mark.read_text(encoding="utf-8").splitlines()[1:]]), encoding="utf-8")
    return nowhere


def must_still_be_away(moved: Installation) -> None:
    done = run_here(moved, "migrate")
    assert done.exit_code == 1
    assert "has moved to postgresql://" in done.complained


def must_be_given_once(moved: Installation, scaled: Installation) -> None:
    """What both databases gave since they went different ways; the first ten are the same people."""
    for every in (EVERY_NUMBER, EVERY_LABEL):
        here, there = set(moved.rows(every)), set(scaled.rows(every))
        assert len(here & there) == 10


@pytest.mark.parametrize("flags", [(), BOTH], ids=["plainly", "with both flags"])
def test_nobody_goes_back_while_a_server_gives_numbers_there(
    moved: Installation, scaled: Installation, flags: tuple[str, ...]
) -> None:
    with scaled.serve() as server:
        done = go_back(moved, *flags)
        take_numbers(server, 3)

    assert done.exit_code == 1
    assert "A Dawr uses that PostgreSQL database (" in done.complained
    assert "stop every server on it first" in done.complained
    must_still_be_away(moved)


def test_a_server_that_was_killed_a_moment_ago_may_still_come_back(moved: Installation, scaled: Installation) -> None:
    """Its supervisor starts it again, and its connections are gone until then."""
    scaled.rows("INSERT INTO leases (name, holder, fence, until_at) VALUES ('clockwork', 'host 1', 1, 1::bigint << 60)")

    done = go_back(moved, *BOTH)

    assert done.exit_code == 1
    assert "(0 connections, 1 lease holders)" in done.complained


def test_what_a_mere_start_writes_is_nothing_that_was_done(embedded: Installation, scaled: Installation) -> None:
    embedded.create_venue({"id": "lab", "hours": {"week": [["06:00-23:00"]] * 7}})
    assert run_here(embedded, "migrate", "--to", str(scaled.database)).exit_code == 0
    with scaled.serve():
        eventually(lambda: scaled.rows("SELECT * FROM alarms") != [])

    back = go_back(embedded)

    assert (back.exit_code, back.complained) == (0, "")


@pytest.mark.parametrize("flag", [NUMBERS_WERE_GIVEN, NOBODY_ANSWERS])
def test_no_stream_resumes_from_one_history_into_the_other(
    moved: Installation, scaled: Installation, flag: str
) -> None:
    before = moved.epoch()
    join(scaled)
    if flag == NOBODY_ANSWERS:
        lose(moved)

    assert go_back(moved, flag).exit_code == 0
    join(moved)

    assert moved.epoch() != before


def test_what_nothing_was_done_to_goes_on_where_it_stopped(moved: Installation, scaled: Installation) -> None:
    back = go_back(moved)

    assert back.exit_code == 0, back
    assert "gives numbers again, from where it stopped when it moved to postgresql://" in back.said
    assert moved.rows("SELECT max(round), max(last_number) FROM lines") == [(1, 10)]
    assert join(moved) == [11]


def test_a_server_that_was_only_started_there_has_given_nothing(moved: Installation, scaled: Installation) -> None:
    with scaled.serve():
        pass

    assert go_back(moved).exit_code == 0

    assert join(moved) == [11]


def test_numbers_that_were_given_there_do_not_come_twice(moved: Installation, scaled: Installation) -> None:
    join(scaled, 3)

    refused = go_back(moved)
    must_still_be_away(moved)
    back = go_back(moved, NUMBERS_WERE_GIVEN)
    join(moved, 4)
    checked = run_here(moved, "check")

    assert refused.exit_code == 1
    assert "Something was stored in PostgreSQL since the move (in the table heads)" in refused.complained
    assert NUMBERS_WERE_GIVEN in refused.complained
    assert back.exit_code == 0, back
    assert "Every queue begins a new round (1 queues), behind the numbers that were given there." in back.said
    assert moved.rows("SELECT round, number FROM tickets WHERE number > 10 ORDER BY number") == [
        (2, number) for number in (14, 15, 16, 17)
    ]
    must_be_given_once(moved, scaled)
    assert checked.exit_code == 0, checked


def test_a_reset_there_does_not_bring_its_first_numbers_again(moved: Installation, scaled: Installation) -> None:
    """The round there began at 1: the highest number of the day counts, in whichever round."""
    join(scaled, 3)
    run_here(scaled, "queue", "reset", "lab")
    join(scaled, 2)

    assert go_back(moved, NUMBERS_WERE_GIVEN).exit_code == 0
    join(moved, 1)

    assert moved.rows("SELECT round, number FROM tickets WHERE round > 1") == [(3, 14)]


def test_whoever_waited_here_is_not_called_any_more(moved: Installation, scaled: Installation) -> None:
    """They may have been served there."""
    join(scaled, 1)
    go_back(moved, NUMBERS_WERE_GIVEN)

    with moved.serve() as server, Client(server.url) as client:
        entered = client.enter("lab", "somebody new").json

    assert (entered["number"], entered["ahead"]) == (12, 0)


def test_the_capacity_of_the_day_is_counted_in_people_not_in_numbers(moved: Installation, scaled: Installation) -> None:
    join(scaled, 3)
    go_back(moved, NUMBERS_WERE_GIVEN)
    venue = json.loads(run_here(moved, "venue", "show", "clinic").said)
    venue["queues"][0]["capacity"] = 2
    assert run_here(moved, "venue", "apply", "-", stdin=json.dumps(venue)).exit_code == 0

    with moved.serve() as server, Client(server.url) as client:
        numbers = [client.enter("lab", f"person {n}").json.get("number") for n in range(3)]

    assert numbers == [14, 15, None]


def test_where_nobody_answers_numbers_go_on_far_beyond(
    moved: Installation, scaled: Installation, postgres_server: PostgresServer
) -> None:
    join(scaled, 3)
    nowhere = lose(moved)

    refused = go_back(moved, "--from", nowhere)
    also_refused = go_back(moved, NUMBERS_WERE_GIVEN, DAWR_DATABASE_URL=nowhere)
    must_still_be_away(moved)
    back = go_back(moved, NOBODY_ANSWERS, "--from", nowhere)
    join(moved, 2)
    checked = run_here(moved, "check")

    assert (refused.exit_code, also_refused.exit_code) == (1, 1)
    for done in (refused, also_refused):
        assert f"Nobody answers at {nowhere}: nobody listens at its address." in done.complained
        assert NOBODY_ANSWERS in done.complained
        assert "Errno" not in done.complained
    assert back.exit_code == 0, back
    assert moved.rows("SELECT round, number FROM tickets WHERE round > 1 ORDER BY 2") == [(2, 10_011), (2, 10_012)]
    must_be_given_once(moved, scaled)
    assert checked.exit_code == 0, checked


def test_a_queue_that_gave_no_number_here_may_have_given_some_there(
    embedded: Installation, scaled: Installation
) -> None:
    embedded.create_venue({"id": "lab"}, {"id": "xray"})
    run_here(embedded, "migrate", "--to", str(scaled.database))
    join(scaled, 2)

    lose(embedded)

    go_back(embedded, NOBODY_ANSWERS)

    assert join(embedded) == [10_001]


@pytest.mark.parametrize("flags", [(), BOTH], ids=["plainly", "with both flags"])
def test_another_database_knows_nothing_of_it(
    moved: Installation, postgres_server: PostgresServer, flags: tuple[str, ...]
) -> None:
    with postgres_server.lend_database() as other:
        done = go_back(moved, *flags, "--from", other)

    assert done.exit_code == 1
    assert "That database is not the one that this directory moved to" in done.complained
    must_still_be_away(moved)


def test_a_database_that_lets_nobody_in_answers(moved: Installation, scaled: Installation) -> None:
    stranger = str(scaled.database).replace("//dawr@", "//stranger@")

    done = go_back(moved, *BOTH, "--from", stranger)

    assert done.exit_code == 1
    assert "PostgreSQL answers, but cannot be asked: it does not let this account in." in done.complained
    must_still_be_away(moved)


def test_a_database_that_was_dropped_does_not_answer(moved: Installation, scaled: Installation) -> None:
    lose(moved, str(scaled.database) + "_gone")

    refused = go_back(moved)
    back = go_back(moved, NOBODY_ANSWERS)

    assert (refused.exit_code, back.exit_code) == (1, 0)
    assert "it has no database of this name" in refused.complained


@pytest.mark.parametrize("mistake", ["127.0.0.1:1/", "localhost.invalid/", "{server}/no_such_database"])
def test_a_wrong_address_is_no_silence_while_the_right_one_answers(
    moved: Installation, scaled: Installation, mistake: str
) -> None:
    server = urlsplit(str(scaled.database)).netloc.rpartition("@")[2]
    wrong = f"postgresql://dawr@{mistake.format(server=server)}"

    with scaled.serve():
        done = go_back(moved, *BOTH, "--from", wrong)

    assert done.exit_code == 1
    assert "A Dawr uses that PostgreSQL database (" in done.complained
    must_still_be_away(moved)


def test_a_server_that_answers_is_not_silent(moved: Installation, scaled: Installation) -> None:
    done = go_back(moved, NOBODY_ANSWERS, "--from", f"{scaled.database}?sslmode=require")

    assert done.exit_code == 1
    assert "PostgreSQL answers, but cannot be asked: " in done.complained
    must_still_be_away(moved)


def test_a_queue_that_was_made_there_goes_on_behind_if_it_is_made_here_too(
    moved: Installation, scaled: Installation
) -> None:
    with_xray = venue_document({"id": "lab"}, {"id": "xray"})
    assert run_here(scaled, "venue", "apply", "-", stdin=with_xray).exit_code == 0
    with scaled.serve() as server, Client(server.url) as client:
        there = [client.enter("xray", f"visitor {number}").json["number"] for number in range(3)]

    back = go_back(moved, NUMBERS_WERE_GIVEN)
    applied = run_here(moved, "venue", "apply", "-", stdin=with_xray)
    with moved.serve() as server, Client(server.url) as client:
        here = client.enter("xray", "somebody else").json["number"]

    assert (there, here) == ([1, 2, 3], 4)
    assert (back.exit_code, applied.exit_code) == (0, 0)
    assert run_here(moved, "check", DAWR_PORT="0").exit_code == 0


async def test_a_server_that_was_cut_off_and_comes_back_can_store_nothing(
    moved: Installation, scaled: Installation
) -> None:
    """It was not stopped, so it does not start anew, and does not ask whether the database was left."""
    assert (await asyncio.to_thread(go_back, moved)).exit_code == 0
    store = await PostgresStore.open(str(scaled.database), clock=now)
    engine = Engine(store, now)

    try:
        (venue_id,) = (await store.venue_ids()).values()
        with pytest.raises(StoreAway, match="the installation of this database went back to "):
            await engine.do(venue_id, Reset("lab"))
        with pytest.raises(StoreAway, match="went back to"):
            await engine.ready()
    finally:
        await engine.stop()
        await store.close()


def test_the_database_that_was_left_gives_no_numbers_any_more(moved: Installation, scaled: Installation) -> None:
    go_back(moved)

    served = scaled.dawr("serve", "--port", "0")
    written = run_here(scaled, "queue", "pause", "lab")
    moved_again = run_here(moved, "migrate", "--to", str(scaled.database))
    checked = run_here(scaled, "check", DAWR_PORT="0")

    for done in (served, written, moved_again):
        assert done.exit_code == 1
        assert "The installation of this database went back to " in done.complained
        assert str(moved.settings["DAWR_DATA"]) in done.complained
    assert checked.exit_code == 1
    assert f"✗  PostgreSQL: the installation of this database went back to {gethostname()}:" in checked.said


def test_a_mark_of_an_earlier_version_names_no_database(moved: Installation, scaled: Installation) -> None:
    mark = Path(moved.settings["DAWR_DATA"]) / "dawr.sqlite-moved"
    mark.write_text(mark.read_text().splitlines()[0])

    with scaled.serve():
        refused = go_back(moved)

    assert refused.exit_code == 1
    assert "A Dawr uses that PostgreSQL database" in refused.complained
    assert go_back(moved).exit_code == 0


def test_with_a_mark_of_an_earlier_version_no_other_address_is_believed(
    moved: Installation, scaled: Installation
) -> None:
    mark = Path(moved.settings["DAWR_DATA"]) / "dawr.sqlite-moved"
    mark.write_text(mark.read_text().splitlines()[0])
    elsewhere = str(scaled.database).replace("127.0.0.1", "localhost")

    other = go_back(moved, *BOTH, "--from", elsewhere)
    scaled.rows("UPDATE installation SET home = 'of what it is a copy of'")
    copy = go_back(moved, *BOTH)

    assert elsewhere != scaled.database
    assert (other.exit_code, copy.exit_code) == (1, 1)
    for done in (other, copy):
        assert "That database is not the one that this directory moved to" in done.complained


CANNOT_BE = [
    ("mysql://dawr:hunter2@db/dawr", "must begin with postgresql://"),
    ("postgresql://dawr:hun/ter2@127.0.0.1/dawr", "The address of PostgreSQL cannot be used"),
]


@pytest.mark.parametrize(("url", "sentence"), CANNOT_BE)
def test_an_address_that_cannot_be_used_is_a_sentence_without_its_password(
    moved: Installation, url: str, sentence: str
) -> None:
    done = go_back(moved, *BOTH, "--from", url)

    assert done.exit_code == 1
    assert sentence in done.complained
    assert "hun" not in done.said + done.complained
    must_still_be_away(moved)


@pytest.mark.parametrize("option", [("--from", "postgresql://x"), (NUMBERS_WERE_GIVEN,), (NOBODY_ANSWERS,)])
def test_how_to_go_back_is_said_with_the_way_back_only(embedded: Installation, option: tuple[str, ...]) -> None:
    assert run_here(embedded, "migrate", *option).exit_code == 2


def test_a_directory_that_has_not_moved_stays_where_it_is(embedded: Installation) -> None:
    run_here(embedded, "migrate")

    done = go_back(embedded, *BOTH)

    assert done.exit_code == 1
    assert "has not moved: it gives numbers as before" in done.complained

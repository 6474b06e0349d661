"""The power goes out again and again while people go from room to room. Nobody is lost between two rooms or in both.

And what was counted against a visit is still counted when the power is back.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.running import Answer, Client, at_once, dawr, eventually, must_be_problem
from tests.stories.accounting import Books, must_stand_somewhere
from tests.stories.advancing import ROOMS, Asked, ClinicServer, Patients

KILLS = 8
MORE_KILLS = 20
MANY_KILLS = 100
AT_ONCE = 50


@pytest.fixture(params=["sqlite", "postgres"])
def clinic(request: pytest.FixtureRequest, tmp_path: Path) -> ClinicServer:
    url = "" if request.param == "sqlite" else request.getfixturevalue("migrated_url")
    return ClinicServer(tmp_path, url)


@pytest.mark.parametrize(
    "kills",
    [
        KILLS,
        pytest.param(MORE_KILLS, marks=pytest.mark.slow),
        pytest.param(MANY_KILLS, marks=pytest.mark.prove),
    ],
)
def test_whenever_the_server_is_killed_everybody_stands_in_one_room_or_may_enter_one(
    clinic: ClinicServer, kills: int
) -> None:
    with clinic.server:
        patients = Patients(clinic, clinic.pins())
        outlive(clinic, patients, kills=kills)
        books = Books(clinic.database)
        must_give_the_same_again(clinic, patients.asked)
        assert Books(clinic.database).version == books.version

    must_hold_what_was_told(books, patients.asked)
    checked = dawr("check", **clinic.settings)
    assert checked.exit_code == 0, checked
    kinds = books.kinds()
    print(  # noqa: T201
        f"{kills} kills: {len(patients.asked)} answers, {patients.replays} of them replayed, "
        f"{kinds['ticket.finished']} advances, {kinds['visit.parked']} of them to no room, "
        f"refused meanwhile: {dict(patients.refusals)}"
    )


def outlive(clinic: ClinicServer, patients: Patients, *, kills: int) -> None:
    """So many at random moments, always with people on the way; every third while a room is closed."""
    chance = random.Random(f"{kills} kills")
    with patients.coming():
        for turn in range(kills):
            patients.must_go_on(by=chance.randint(1, 30))
            with closed(clinic, patients) if turn % 3 == 2 else nullcontext():
                time.sleep(chance.uniform(0, 0.05))
                clinic.server.kill()
                _, ready = must_stand_somewhere(clinic.left_behind())
                assert ready or turn % 3 < 2
                clinic.server.start()
        patients.must_go_on(by=20)


@contextmanager
def closed(clinic: ClinicServer, patients: Patients) -> Iterator[None]:
    """The room that everybody goes to second: when the block begins, somebody was told so."""
    parked = patients.parked
    clinic.change(ROOMS[1], "close")
    eventually(lambda: patients.parked > parked, seconds=30)
    yield
    clinic.change(ROOMS[1], "open")


def must_give_the_same_again(clinic: ClinicServer, asked: list[Asked]) -> None:
    with Client(clinic.url) as client:
        for one in asked:
            answer = client.post(one.path, one.given, key=one.key)
            assert (answer.status, answer.body) == (one.status, one.body)
            assert "idempotency-replayed" in answer.headers


def must_hold_what_was_told(books: Books, asked: list[Asked]) -> None:
    """Every advance that somebody was told of is there once, and there is none that nobody was told of."""
    books.must_have_no_holes()
    books.must_have_been_in_one_place_at_a_time()
    books.must_have_done_each_stage_once({visit.visitor: ROOMS for visit in books.visits})
    finished = Counter((visit, room) for visit, rooms in books.finished().items() for room in rooms)
    left = [one for one in asked if one.path.endswith("/finish-stage")]
    assert finished == Counter((one.path.split("/")[3].partition(".")[0], one.given["queue"]) for one in left)
    assert len(books.visits) == len(asked) - len(left)


def test_fifty_wrong_pins_at_once_count_as_five_and_still_do_when_the_power_is_back(clinic: ClinicServer) -> None:
    with clinic.server as server:
        pins = clinic.pins()
        path, first = begin(clinic, "Amna")
        wrong = {"queue": first, "pin": clinic.nobodys_pin(pins)}

        answers = at_once(lambda _: post(clinic, path, wrong), range(AT_ONCE))
        server.kill()
        (locked,) = Books(clinic.left_behind()).visits
        server.start()
        refused = post(clinic, path, {"queue": first, "pin": pins[first]})

        assert Counter(answer.json["code"] for answer in answers) == {"pin-wrong": 5, "visit-locked": AT_ONCE - 5}
        assert (locked.locked, locked.failures) == (True, 5)
        assert len(Books(clinic.database).of("pin.failed")) == 5
        must_be_problem(refused, 403, "visit-locked")

        with Client(clinic.url) as client:
            unlocked = client.post(f"/v1/visits/{locked.visit}/unlock", {}, bearer=clinic.bearer)
        assert unlocked.json["visit"]["locked"] is False
        assert post(clinic, path, {"queue": first, "pin": pins[first]}).status == 200
    assert dawr("check", **clinic.settings).exit_code == 0


def test_fifty_wrong_pins_under_one_key_count_as_one_before_and_after_the_power_went_out(clinic: ClinicServer) -> None:
    with clinic.server as server:
        pins = clinic.pins()
        path, first = begin(clinic, "Basma")
        wrong = {"queue": first, "pin": clinic.nobodys_pin(pins)}

        answers = at_once(lambda _: post(clinic, path, wrong, key="one-try"), range(AT_ONCE))
        server.kill()
        server.start()
        again = post(clinic, path, wrong, key="one-try")
        (visit,) = Books(clinic.database).visits
        right = post(clinic, path, {"queue": first, "pin": pins[first]}, key="one-try")

        assert {answer.json["code"] for answer in (*answers, again)} == {"pin-wrong"}
        assert (visit.locked, visit.failures) == (False, 1)
        assert right.status == 200


def test_fifty_right_pins_at_once_are_one_advance_and_fifty_equal_answers(clinic: ClinicServer) -> None:
    with clinic.server as server:
        pins = clinic.pins()
        path, first = begin(clinic, "Dana")
        right = {"queue": first, "pin": pins[first]}

        answers = at_once(lambda _: post(clinic, path, right, key="once"), range(AT_ONCE))
        server.kill()
        must_stand_somewhere(clinic.left_behind())
        server.start()
        answers.append(post(clinic, path, right, key="once"))

        assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
        books = Books(clinic.database)
        assert [event.queue for event in books.of("ticket.finished")] == [first]
        assert [event.queue for event in books.of("ticket.issued")] == ROOMS[:2]


def begin(clinic: ClinicServer, visitor: str) -> tuple[str, str]:
    """Where to say that a room is done with, and the first room."""
    with Client(clinic.url) as client:
        begun = client.post("/v1/venues/clinic/journeys", {"journey": "all", "visitor": visitor}).json
    path = f"/v1/visits/{begun['link'].removeprefix('/t/')}/finish-stage"
    return path, begun["place"]["queue"].removeprefix("clinic:")


def post(clinic: ClinicServer, path: str, given: object, *, key: str | None = None) -> Answer:
    with Client(clinic.url) as client:
        return client.post(path, given, key=key)

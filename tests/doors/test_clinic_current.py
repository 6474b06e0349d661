"""`current` is the number that was called last by calling, however somebody was finished."""

import pytest

from dawr.domain.staff import Role
from tests.doors.exams import Exam
from tests.doors.roles import CLINIC
from tests.running import Client

CALL, DONE = "/api/v1/queue/call", "/api/v1/queue/done"


@pytest.fixture
def three(client: Client, queue: str, staff: str) -> str:
    """A queue where the first of three was called."""
    for user in ("Amna", "Basma", "Dana"):
        client.enter(queue, user)
    client.post(CALL, {"clinic": queue}, bearer=staff)
    return queue


def test_finishing_somebody_who_waits_is_no_call(client: Client, three: str, staff: str) -> None:
    client.post(DONE, {"clinic": three, "user": "Dana"}, bearer=staff)

    seen = client.status(three).json
    assert (seen["current"], seen["next"], seen["waiting"], seen["length"]) == (1, 2, 1, 2)
    native = client.get(f"/v1/queues/{CLINIC}:{three}").json
    assert (native["current"], native["next_label"]) == (1, "002")


def test_a_pin_typed_by_somebody_who_waits_is_no_call(client: Client, three: str, bearers: dict[Role, str]) -> None:
    pin = client.get(f"/api/v1/pin/{three}/status", bearer=bearers["manager"]).json["pin"]

    assert client.post(DONE, {"clinic": three, "user": "Dana", "pin": pin}).json["status"] == "DONE"

    assert client.status(three).json["current"] == 1


@pytest.mark.parametrize("way", ["verify", "force-complete", "remove-from-queue", "end"])
def test_a_journey_that_goes_on_is_no_call(exam: Exam, way: str) -> None:
    first, other = exam.patient(), exam.patient()
    exam.client.post(CALL, {"clinic": exam.first}, bearer=exam.bearers["staff"])

    done = exam.verify(other) if way == "verify" else exam.edit(other, way, clinic=exam.first)

    assert done.status == 200, done
    seen = exam.client.status(exam.first).json
    assert (seen["current"], seen["waiting"], seen["length"]) == (first.number, 0, 1)
    assert exam.client.status(exam.second).json["current"] is None


@pytest.mark.parametrize(
    ("verbs", "current"),
    [
        ((("2", "call"),), 2),
        ((("2", "call"), ("1", "recall")), 2),
        ((("2", "call"), ("2", "undo")), 1),
        ((("2", "call"), ("2", "leave")), 2),
        ((("2", "call"), ("2", "transfer")), 2),
        ((("2", "call"), ("2", "miss"), ("2", "rejoin")), 2),
        ((("1", "miss"), ("1", "rejoin"), ("1", "call")), 1),
        ((("2", "hold"), ("2", "resume"), ("3", "transfer")), 1),
        ((("3", "prioritize"),), 1),
    ],
    ids=str,
)
def test_only_a_call_and_its_undoing_change_it(
    client: Client, three: str, staff: str, verbs: tuple[tuple[str, str], ...], current: int
) -> None:
    listed = client.get(f"/v1/queues/{CLINIC}:{three}/tickets", bearer=staff).json["items"]
    tickets = {str(ticket["number"]): ticket["ticket"] for ticket in listed}

    for number, verb in verbs:
        path = f"/v1/tickets/{tickets[number]}"
        given: dict[str, object] = {
            "undo": {"version": client.get(path, bearer=staff).json["version"]},
            "transfer": {"queue": "xray"},
            "prioritize": {"priority": 2, "why": "urgent"},
        }.get(verb, {})
        changed = client.post(f"{path}/{verb}", given, bearer=staff)
        assert changed.status == 200, changed

    assert client.status(three).json["current"] == current


def test_a_new_round_has_called_nobody(client: Client, three: str, bearers: dict[Role, str]) -> None:
    client.post("/api/v1/queue/reset", {"clinic": three}, bearer=bearers["manager"])

    assert client.status(three).json["current"] is None
    assert client.enter(three, "Noor").json["current"] is None


def test_whoever_enters_is_told_their_number_and_the_one_called_last(client: Client, three: str, staff: str) -> None:
    entered = client.enter(three, "Eman", key="enters").json
    client.post(CALL, {"clinic": three}, bearer=staff)
    retried, again = client.enter(three, "Eman", key="enters").json, client.enter(three, "Eman").json

    assert (entered["yourNumber"], entered["number"], entered["current"]) == (4, 4, 1)
    assert retried == entered
    assert (again["yourNumber"], again["current"], again["message"]) == (4, 2, "already in queue")

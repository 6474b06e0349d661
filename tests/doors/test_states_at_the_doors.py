"""A ticket's states as the glossary draws them are true at every door, in its own words."""

import re
from typing import Final

import pytest

from tests.docs.pages import drawings_in, text_of
from tests.doors.exams import Exam
from tests.doors.restaurant import Restaurant
from tests.doors.roles import CLINIC
from tests.running import Answer, Client, must_be_problem

DRAWN: Final = {
    (found[1], found[2])
    for line in drawings_in(text_of("docs/glossary.md"))[0]
    if (found := re.fullmatch(r"(\w+) --> \w+: (\w+)", line))
}
"""Which verb is drawn from which state."""
WAY_TO: Final[dict[str, tuple[str, ...]]] = {
    "waiting": (),
    "held": ("hold",),
    "called": ("call",),
    "serving": ("call", "start"),
    "missed": ("call", "miss"),
    "finished": ("call", "finish"),
    "left": ("leave",),
}
NOT_BY_STAFF: Final = {("missed", "finish")}
"""Only a PIN shows that whoever missed the call was there after all."""
VERB_OF: Final = {"CALLED": "call", "SEATED": "finish", "NO_SHOW": "miss", "CANCELLED": "leave"}

every_state = pytest.mark.parametrize("state", WAY_TO)


@every_state
@pytest.mark.parametrize("status", VERB_OF)
def test_a_party_changes_as_it_is_drawn(restaurant: Restaurant, state: str, status: str) -> None:
    entry = restaurant.join(1).json["data"]
    walk(restaurant.client, entry["id"], state, restaurant.bearers["staff"])

    changed = restaurant.change(entry["id"], status)

    if (state, VERB_OF[status]) in DRAWN - NOT_BY_STAFF:
        assert (changed.status, changed.json["data"]["status"]) == (200, status)
    else:
        must_be_problem(changed, 409, "ticket-in-wrong-state")


@every_state
@pytest.mark.parametrize("verb", sorted({verb for _, verb in DRAWN} - {"issue", "expire"}))
def test_a_ticket_changes_as_it_is_drawn(client: Client, queue: str, staff: str, state: str, verb: str) -> None:
    ticket = client.post(f"/v1/queues/{CLINIC}:{queue}/tickets", {}).json["ticket"]
    walk(client, ticket, state, staff)

    changed = verb_by_staff(client, ticket, verb, staff)

    if (state, verb) in DRAWN - NOT_BY_STAFF:
        assert changed.status == 200, changed
    else:
        must_be_problem(changed, 409, "ticket-in-wrong-state")


@pytest.mark.parametrize("state", [state for state in WAY_TO if state not in {"finished", "left"}])
def test_a_patient_is_taken_out_of_a_queue_as_it_is_drawn(exam: Exam, state: str) -> None:
    patient = exam.patient()
    walk(exam.client, ticket_of(exam), state, exam.bearers["staff"])

    removed = exam.edit(patient, "remove-from-queue")

    if (state, "leave") in DRAWN:
        assert (removed.status, removed.json["status"]) == (200, "READY_TO_ENTER")
    else:
        must_be_problem(removed, 409, "ticket-in-wrong-state")


@pytest.mark.parametrize("state", [state for state in WAY_TO if state not in {"finished", "left"}])
def test_a_visitor_is_done_as_it_is_drawn(client: Client, queue: str, staff: str, state: str) -> None:
    """Who waits is called and started in the same step."""
    client.enter(queue, "Amna")
    (listed,) = client.get(f"/v1/queues/{CLINIC}:{queue}/tickets", bearer=staff).json["items"]
    walk(client, listed["ticket"], state, staff)

    done = client.post("/api/v1/queue/done", {"clinic": queue, "user": "Amna"}, bearer=staff)

    if state == "waiting" or (state, "finish") in DRAWN - NOT_BY_STAFF:
        assert (done.status, done.json["status"]) == (200, "DONE")
    else:
        must_be_problem(done, 409, "ticket-in-wrong-state")


def walk(client: Client, ticket: str, state: str, staff: str) -> None:
    for verb in WAY_TO[state]:
        changed = verb_by_staff(client, ticket, verb, staff)
        assert changed.status == 200, changed


def verb_by_staff(client: Client, ticket: str, verb: str, staff: str) -> Answer:
    given = {"priority": 1, "why": "elderly"} if verb == "prioritize" else {}
    return client.post(f"/v1/tickets/{ticket}/{verb}", given, bearer=staff)


def ticket_of(exam: Exam) -> str:
    (listed,) = exam.client.get(f"/v1/queues/{CLINIC}:{exam.first}/tickets", bearer=exam.bearers["staff"]).json["items"]
    return str(listed["ticket"])

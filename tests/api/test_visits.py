"""Visits over HTTP: what the holder of a secret link sees and does, and nobody else."""

import pytest

from tests.api.world import Api, secret_of
from tests.running import must_be_problem

STAFF = "staff@clinic"


def test_a_visit_begins_with_its_first_number(api: Api, code: str) -> None:
    answer = api.post("/v1/venues/clinic/visits", {"queue": code, "name": "Noor"})

    assert answer.status == 201
    seen = api.get(f"/v1/visits/{secret_of(answer.json['link'])}").json
    assert seen["venue"] == "clinic"
    assert [ticket["queue"] for ticket in seen["tickets"]] == [f"clinic:{code}"]


def test_the_link_shows_where_one_stands(api: Api, queue: str) -> None:
    api.take(queue)
    visit = secret_of(api.take(queue, visitor="secret-name")["link"])

    answer = api.get(f"/v1/visits/{visit}")

    (place,) = answer.json["tickets"]
    assert (place["number"], place["state"], place["ahead"], place["position"]) == (2, "waiting", 1, 2)
    assert answer.json["visit"] == visit.partition(".")[0]
    assert visit.partition(".")[2].encode() not in answer.body


def test_the_holder_of_the_link_leaves_and_is_called_no_more(api: Api, queue: str) -> None:
    taken = api.take(queue)
    visit = secret_of(taken["link"])

    left = api.post(f"/v1/visits/{visit}/leave", {})

    assert (left.status, left.json["tickets"][0]["state"], left.json["tickets"][0]["position"]) == (200, "left", 0)
    assert api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF).json["ticket"] is None
    must_be_problem(api.post(f"/v1/visits/{visit}/leave", {}), 409, "ticket-in-wrong-state")


def test_leaving_is_retried_safely(api: Api, queue: str) -> None:
    visit = secret_of(api.take(queue)["link"])

    first = api.post(f"/v1/visits/{visit}/leave", {}, key="leave")
    again = api.post(f"/v1/visits/{visit}/leave", {}, key="leave")

    assert (first.status, first.body) == (again.status, again.body) == (200, first.body)


def test_whoever_missed_their_call_rejoins_at_the_end(api: Api, queue: str) -> None:
    taken = api.take(queue)
    api.take(queue)
    for verb in ("call", "miss"):
        api.post(f"/v1/tickets/{taken['ticket']}/{verb}", {}, by=STAFF)

    rejoined = api.post(f"/v1/visits/{secret_of(taken['link'])}/rejoin", {})

    (place,) = rejoined.json["tickets"]
    assert (place["number"], place["state"], place["ahead"]) == (1, "waiting", 1)


def test_nobody_rejoins_who_did_not_miss_a_call(api: Api, queue: str) -> None:
    visit = secret_of(api.take(queue)["link"])

    must_be_problem(api.post(f"/v1/visits/{visit}/rejoin", {}), 409, "ticket-in-wrong-state")


@pytest.mark.parametrize("verb", ["", "/leave", "/undo-leave", "/rejoin"])
@pytest.mark.parametrize("wrong", ["another secret", "no secret", "no dot", "longer", "shorter", "of another visit"])
def test_without_the_secret_there_is_no_visit(api: Api, queue: str, verb: str, wrong: str) -> None:
    taken, other = api.take(queue), api.take(queue)
    visit, _, secret = secret_of(taken["link"]).partition(".")
    token = {
        "another secret": f"{visit}.{'x' * len(secret)}",
        "no secret": f"{visit}.",
        "no dot": visit,
        "longer": f"{visit}.{secret}x",
        "shorter": f"{visit}.{secret[:-1]}",
        "of another visit": f"{visit}.{secret_of(other['link']).partition('.')[2]}",
    }[wrong]

    answer = api.ask("POST" if verb else "GET", f"/v1/visits/{token}{verb}", {} if verb else None)

    must_be_problem(answer, 404, "unknown-visit")
    assert api.look(taken["ticket"])["state"] == "waiting"


@pytest.mark.parametrize("visit", ["x", "nowher-x.y", ".", "-", "%00", "clinic", "x" * 201])
def test_what_is_no_link_at_all_is_not_found_either(api: Api, visit: str) -> None:
    assert api.get(f"/v1/visits/{visit}").status == 404


def test_a_link_is_no_credential_for_anything_else(api: Api, queue: str) -> None:
    taken = api.take(queue)
    headers = {"Authorization": f"Bearer {secret_of(taken['link'])}"}

    must_be_problem(api.get(f"/v1/tickets/{taken['ticket']}", headers=headers), 401, "credentials-invalid")


def test_a_visit_cannot_begin_where_nobody_is_taken(api: Api) -> None:
    must_be_problem(api.post("/v1/venues/clinic/visits", {"queue": "closed"}), 409, "queue-closed")
    must_be_problem(api.post("/v1/venues/clinic/visits", {"queue": "nowhere"}), 404, "unknown-queue")
    must_be_problem(api.post("/v1/venues/nowhere/visits", {"queue": "lab"}), 404, "unknown-venue")
    must_be_problem(api.post("/v1/venues/clinic/visits", {"queue": "lab", "priority": 1}), 403, "role-too-low")


def test_whoever_left_by_mistake_takes_it_back_at_once(api: Api, queue: str) -> None:
    taken = api.take(queue)
    api.take(queue)
    path = f"/v1/visits/{secret_of(taken['link'])}"

    left = api.post(f"{path}/leave", {}).json
    seen = api.get(path).json
    back = api.post(f"{path}/undo-leave", {})

    assert left["undo_until"] == seen["undo_until"] is not None
    assert (back.status, back.json["state"], back.json["undo_until"]) == (200, "open", None)
    (place,) = back.json["tickets"]
    assert (place["state"], place["number"], place["ahead"]) == ("waiting", taken["place"]["number"], 0)


def test_taking_back_is_retried_safely_and_done_once(api: Api, queue: str) -> None:
    path = f"/v1/visits/{secret_of(api.take(queue)['link'])}"
    api.post(f"{path}/leave", {})

    answers = [api.post(f"{path}/undo-leave", {}, key="stay") for _ in range(2)]

    assert (answers[0].status, answers[0].body) == (200, answers[1].body)
    must_be_problem(api.post(f"{path}/undo-leave", {}), 409, "cannot-undo")


def test_what_staff_ended_cannot_be_taken_back_by_the_link(api: Api, queue: str) -> None:
    taken = api.take(queue)
    api.post(f"/v1/tickets/{taken['ticket']}/leave", {}, by="staff@clinic")
    path = f"/v1/visits/{secret_of(taken['link'])}"

    assert api.get(path).json["undo_until"] is None
    must_be_problem(api.post(f"{path}/undo-leave", {}), 409, "cannot-undo")

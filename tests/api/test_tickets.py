"""Tickets over HTTP: taken by anybody, seen and moved by staff."""

from typing import Any

import pytest

from tests.api.world import Api, secret_of
from tests.running import at_once, must_be_problem

STAFF = "staff@clinic"


def test_anybody_takes_a_number_and_gets_a_secret_link(api: Api, queue: str) -> None:
    first, second = api.take(queue), api.take(queue)

    assert [first["place"]["number"], second["place"]["number"]] == [1, 2]
    assert second["place"]["queue"] == queue
    assert (second["place"]["state"], second["place"]["ahead"], second["place"]["position"]) == ("waiting", 1, 2)
    assert not second["already"]
    assert second["link"].startswith("/t/")
    assert second["ticket"] not in second["link"]


def test_a_visitor_who_comes_again_has_the_same_number_and_no_link(api: Api, queue: str) -> None:
    first = api.take(queue, visitor="Noor")

    again = api.take(queue, visitor=" Noor ")
    to_staff = api.take(queue, visitor="Noor", by=STAFF)

    assert again["already"]
    assert (again["ticket"], again["place"]["number"], again["link"]) == (None, 1, None)
    assert (to_staff["ticket"], to_staff["already"]) == (first["ticket"], True)
    assert api.take(queue)["place"]["number"] == 2


def test_staff_see_who_it_is(api: Api, queue: str) -> None:
    taken = api.take(queue, visitor="+97433001122", name="Noor", party_size=4, area="outdoor")

    seen = api.look(taken["ticket"], by="viewer@clinic")

    assert seen["queue"] == queue
    assert (seen["visitor"], seen["name"], seen["party_size"], seen["area"]) == ("+97433001122", "Noor", 4, "outdoor")
    assert (seen["state"], seen["number"], seen["recalls"], seen["called_at"]) == ("waiting", 1, 0, None)


def move(api: Api, ticket: str, verb: str, by: str = STAFF, **given: object) -> dict[str, Any]:
    answer = api.post(f"/v1/tickets/{ticket}/{verb}", given, by=by)
    assert answer.status == 200, answer
    return answer.json


def test_a_ticket_goes_from_waiting_to_finished(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]

    called = move(api, ticket, "call", desk="room")
    recalled = move(api, ticket, "recall")
    started = move(api, ticket, "start")
    finished = move(api, ticket, "finish")

    assert (called["state"], called["desk"]) == ("called", "clinic:room")
    assert (recalled["state"], recalled["recalls"]) == ("called", 1)
    assert started["state"] == "serving"
    assert finished["state"] == "finished"
    assert finished["issued_at"] <= finished["called_at"] <= finished["started_at"] <= finished["finished_at"]
    assert called["version"] < recalled["version"] < started["version"] < finished["version"]


@pytest.mark.parametrize(("where", "calls_next"), [("first", 1), ("last", 2), (None, 2)])
def test_a_missed_visitor_rejoins_first_or_last(api: Api, queue: str, where: str | None, calls_next: int) -> None:
    ticket = api.take(queue)["ticket"]
    api.take(queue)
    move(api, ticket, "call")
    move(api, ticket, "miss")

    rejoined = move(api, ticket, "rejoin", **({} if where is None else {"where": where}))

    assert (rejoined["state"], rejoined["desk"]) == ("waiting", None)
    assert api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF).json["ticket"]["number"] == calls_next


def test_a_held_visitor_keeps_the_place_and_is_not_called(api: Api, queue: str) -> None:
    held = api.take(queue)["ticket"]
    api.take(queue)
    api.take(queue)

    assert move(api, held, "hold")["state"] == "held"
    first = api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF).json
    assert move(api, held, "resume")["state"] == "waiting"
    second = api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF).json

    assert (first["ticket"]["number"], second["ticket"]["number"]) == (2, 1)


def test_staff_take_a_visitor_out_of_the_line(api: Api, queue: str) -> None:
    ticket = api.take(queue, visitor="Noor")["ticket"]

    assert move(api, ticket, "leave", reason="went home")["state"] == "left"

    assert api.take(queue, visitor="Noor")["place"]["number"] == 2


@pytest.mark.parametrize("verb", ["recall", "start", "finish", "miss", "rejoin", "resume"])
def test_a_verb_that_does_not_fit_is_refused_and_changes_nothing(api: Api, queue: str, verb: str) -> None:
    ticket = api.take(queue)["ticket"]
    before = api.look(ticket)

    answer = api.post(f"/v1/tickets/{ticket}/{verb}", {}, by=STAFF)

    must_be_problem(answer, 409, "ticket-in-wrong-state")
    assert (answer.json["state"], answer.json["verb"]) == ("waiting", verb)
    assert api.look(ticket) == before


@pytest.mark.parametrize("verb", ["call", "recall", "start", "finish", "miss", "rejoin", "hold", "resume", "leave"])
def test_a_ticket_that_has_ended_is_moved_no_more(api: Api, queue: str, verb: str) -> None:
    ticket = api.take(queue)["ticket"]
    move(api, ticket, "leave")

    must_be_problem(api.post(f"/v1/tickets/{ticket}/{verb}", {}, by=STAFF), 409, "ticket-in-wrong-state")


def test_a_visitor_is_called_to_no_desk_that_is_not_there(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]

    must_be_problem(api.post(f"/v1/tickets/{ticket}/call", {"desk": "nowhere"}, by=STAFF), 404, "unknown-desk")
    assert api.look(ticket)["state"] == "waiting"


def test_nobody_is_called_from_a_paused_queue(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]
    api.post(f"/v1/queues/{queue}/pause", {}, by="manager@clinic")

    must_be_problem(api.post(f"/v1/tickets/{ticket}/call", {}, by=STAFF), 409, "queue-paused")


def test_a_ticket_of_a_round_that_ended_does_not_come_back(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]
    move(api, ticket, "call")
    move(api, ticket, "miss")
    api.post(f"/v1/queues/{queue}/reset", {}, by="manager@clinic")

    answer = api.post(f"/v1/tickets/{ticket}/rejoin", {}, by=STAFF)

    assert answer.json["code"] in {"line-ended", "ticket-in-wrong-state"}
    assert answer.status == 409


@pytest.mark.parametrize(
    ("where", "status", "refusal"),
    [
        ("clinic:nowhere", 404, "unknown-queue"),
        ("nowhere:lab", 404, "unknown-venue"),
        ("clinic", 404, "unknown-queue"),
        ("clinic:closed", 409, "queue-closed"),
        ("clinic:never", 409, "outside-hours"),
    ],
)
def test_a_queue_that_takes_nobody_says_why(api: Api, where: str, status: int, refusal: str) -> None:
    must_be_problem(api.post(f"/v1/queues/{where}/tickets", {}), status, refusal)


def test_a_full_queue_refuses_after_its_reserve(api: Api) -> None:
    places = [api.take("clinic:small")["place"] for _ in range(3)]

    full = api.post("/v1/queues/clinic:small/tickets", {})

    assert [place["reserve_mode"] for place in places] == [False, False, True]
    must_be_problem(full, 409, "queue-full")


@pytest.mark.parametrize("by", ["staff@clinic", "token:staff@clinic", "token:kiosk@clinic", "owner@clinic"])
def test_staff_and_kiosks_give_priority(api: Api, queue: str, by: str) -> None:
    api.take(queue)
    api.take(queue)

    first = api.take(queue, by=by, priority=2)

    assert (first["place"]["number"], first["place"]["position"]) == (3, 1)
    assert api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF).json["ticket"]["number"] == 3


@pytest.mark.parametrize(
    "by", [None, "viewer@clinic", "token:display@clinic", "token:viewer@clinic", "owner@bistro", "token:kiosk@bistro"]
)
def test_nobody_else_gives_priority(api: Api, queue: str, by: str | None) -> None:
    refused = api.post(f"/v1/queues/{queue}/tickets", {"priority": 1}, by=by)

    must_be_problem(refused, 403, "role-too-low")
    assert api.get(f"/v1/queues/{queue}").json["waiting"] == 0


def test_a_retry_under_the_same_key_has_one_effect_and_the_same_bytes(api: Api, queue: str) -> None:
    first = api.post(f"/v1/queues/{queue}/tickets", {"name": "Noor"}, key="a-tap")

    again = api.post(f"/v1/queues/{queue}/tickets", {"name": "Noor"}, key="a-tap")

    assert (again.status, again.body) == (first.status, first.body)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert api.get(f"/v1/queues/{queue}").json["waiting"] == 1


def test_fifty_taps_at_once_under_one_key_take_one_number(api: Api, queue: str) -> None:
    def tap(_: int) -> tuple[int, bytes]:
        answer = Api(api.url, api.world).post(f"/v1/queues/{queue}/tickets", {}, key="fifty")
        return answer.status, answer.body

    answers = at_once(tap, range(50))

    assert len(set(answers)) == 1
    assert api.get(f"/v1/queues/{queue}").json["waiting"] == 1


def test_a_key_is_not_taken_for_another_request(api: Api, queue: str) -> None:
    api.post(f"/v1/queues/{queue}/tickets", {"name": "Noor"}, key="another")

    must_be_problem(
        api.post(f"/v1/queues/{queue}/tickets", {"name": "Amna"}, key="another"), 422, "idempotency-key-reused"
    )


def test_a_key_is_its_senders_own(api: Api, queue: str) -> None:
    numbers = [
        api.post(f"/v1/queues/{queue}/tickets", {}, by=by, key="mine").json["place"]["number"]
        for by in (None, "staff@clinic", "token:kiosk@clinic")
    ]
    elsewhere = api.post("/v1/queues/bistro:fresh0/tickets", {}, key="mine")

    assert numbers == [1, 2, 3]
    assert "idempotency-replayed" not in elsewhere.headers


def test_a_verb_is_retried_safely(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]
    first = api.post(f"/v1/tickets/{ticket}/call", {}, by=STAFF, key="call")

    again = api.post(f"/v1/tickets/{ticket}/call", {}, by=STAFF, key="call")

    assert (again.status, again.body) == (200, first.body)
    must_be_problem(api.post(f"/v1/tickets/{ticket}/call", {}, by=STAFF), 409, "ticket-in-wrong-state")


def test_the_link_is_no_ticket_and_the_ticket_no_link(api: Api, queue: str) -> None:
    taken = api.take(queue)

    must_be_problem(api.get(f"/v1/visits/{taken['ticket']}"), 404, "unknown-visit")
    must_be_problem(api.get(f"/v1/tickets/{secret_of(taken['link'])}", by=STAFF), 404, "unknown-ticket")

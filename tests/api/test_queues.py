"""Queues over HTTP: how they stand, who is in them, who is called next, and what managers do with them."""

from typing import Any

import pytest

from tests.api.world import Api
from tests.running import at_once, must_be_problem

STAFF, MANAGER = "staff@clinic", "manager@clinic"


def call_next(api: Api, queue: str, **how: Any) -> dict[str, Any]:  # noqa: ANN401
    answer = api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF, **how)
    assert answer.status == 200, answer
    return answer.json


def test_anybody_sees_how_a_queue_stands_and_not_who_is_in_it(api: Api, queue: str) -> None:
    for name in ("Noor", "Amna", "Omar"):
        api.take(queue, visitor=f"secret-{name}", name=name)
    call_next(api, queue)

    answer = api.get(f"/v1/queues/{queue}")
    seen = answer.json

    assert (seen["queue"], seen["state"], seen["round"]) == (queue, "open", 1)
    assert (seen["current"], seen["current_label"], seen["next_label"]) == (1, "001", "002")
    assert (seen["waiting"], seen["called"], seen["serving"]) == (2, 1, 0)
    assert b"Noor" not in answer.body
    assert b"secret" not in answer.body


@pytest.mark.parametrize("name", ["clinic:xray", "clinic:XRAY", "clinic:xr", "clinic:XR"])
def test_a_queue_answers_to_its_code_and_aliases(api: Api, name: str) -> None:
    assert api.get(f"/v1/queues/{name}").json["queue"] == "clinic:xray"


@pytest.mark.parametrize(
    ("name", "refusal"), [("clinic:nowhere", "unknown-queue"), ("nowhere:lab", "unknown-venue"), (":", "unknown-venue")]
)
def test_a_queue_that_is_not_there_is_not_found(api: Api, name: str, refusal: str) -> None:
    must_be_problem(api.get(f"/v1/queues/{name}"), 404, refusal)


@pytest.mark.parametrize(("path", "code"), [("/v1/queues/lab", "unknown-queue"), ("/v1/desks/room", "unknown-desk")])
def test_a_name_without_its_venue_says_how_it_is_written(api: Api, path: str, code: str) -> None:
    answer = api.get(path, by=STAFF)

    must_be_problem(answer, 404, code)
    assert answer.json["why"] == "form"
    assert "clinic:" in answer.json["detail"]


def test_a_stream_of_a_queue_without_its_venue_says_how_it_is_written(api: Api) -> None:
    answer = api.get("/v1/events?queue=lab")

    must_be_problem(answer, 404, "unknown-queue")
    assert (answer.json["queue"], answer.json["why"]) == ("lab", "form")


def test_a_bearer_without_its_word_says_so(api: Api) -> None:
    answer = api.get("/v1/me", headers={"Authorization": api.bearer(STAFF)})

    must_be_problem(answer, 401, "credentials-invalid")
    assert answer.json["why"] == "no-bearer"
    assert "Bearer" in answer.json["detail"]


@pytest.mark.parametrize(
    ("name", "why_not", "status"), [("closed", "queue-closed", 409), ("never", "outside-hours", 409)]
)
def test_a_queue_that_takes_nobody_says_why_as_a_join_is_told(api: Api, name: str, why_not: str, status: int) -> None:
    seen = api.get(f"/v1/queues/clinic:{name}").json

    assert (seen["joinable"], seen["why_not"], seen["opens_at"]) == (False, why_not, None)
    must_be_problem(api.post(f"/v1/queues/clinic:{name}/tickets", {}), status, why_not)


def test_a_queue_says_how_many_numbers_are_left_until_it_is_full(api: Api) -> None:
    api.post("/v1/queues/bistro:small/reset", {}, by="manager@bistro")
    seen = [api.get("/v1/queues/bistro:small").json]
    for _ in range(3):
        api.take("bistro:small")
        seen.append(api.get("/v1/queues/bistro:small").json)

    assert [one["places_left"] for one in seen] == [3, 2, 1, 0]
    assert [one["why_not"] for one in seen] == [None, None, None, "queue-full"]
    assert seen[-1]["opens_at"] > seen[-1]["wait_minutes"]
    assert api.post("/v1/queues/bistro:small/tickets", {}).json["code"] == "queue-full"


def test_staff_see_the_line_in_the_order_of_calling(api: Api, queue: str) -> None:
    for _ in range(3):
        api.take(queue)
    api.take(queue, by=STAFF, priority=3)

    listed = api.get(f"/v1/queues/{queue}/tickets", by="viewer@clinic").json

    assert [ticket["number"] for ticket in listed["items"]] == [4, 1, 2, 3]
    assert listed["next"] is None


def test_walking_the_pages_while_others_join_meets_everybody_once(api: Api, queue: str) -> None:
    """Before the walk came twenty-five; while it goes, some come, some with priority, and some leave."""
    were_there = [api.take(queue)["ticket"] for _ in range(25)]
    leaving = were_there[-3:]
    seen: list[str] = []
    path: str | None = f"/v1/queues/{queue}/tickets?limit=4"

    while path is not None:
        page = api.get(path, by="viewer@clinic").json
        seen += [ticket["ticket"] for ticket in page["items"]]
        api.take(queue)
        api.take(queue, by=STAFF, priority=1)
        if leaving:
            api.post(f"/v1/tickets/{leaving.pop()}/leave", {}, by=STAFF)
        assert len(page["items"]) <= 4
        assert len(seen) < 100
        path = None if page["next"] is None else f"/v1/queues/{queue}/tickets?limit=4&cursor={page['next']}"

    assert len(seen) == len(set(seen))
    assert set(were_there[:-3]) <= set(seen)


@pytest.mark.parametrize("cursor", ["nonsense", "1", "1.", ".1", "1.2.3", "9" * 30 + ".1", "0.1%00", "x" * 201])
def test_a_cursor_that_no_page_gave_is_refused(api: Api, queue: str, cursor: str) -> None:
    answer = api.get(f"/v1/queues/{queue}/tickets?cursor={cursor}", by="viewer@clinic")

    must_be_problem(answer, 422, "invalid-query")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=", "limit=1&limit=2", "size=3"])
def test_a_query_that_does_not_fit_is_refused(api: Api, queue: str, query: str) -> None:
    must_be_problem(api.get(f"/v1/queues/{queue}/tickets?{query}", by="viewer@clinic"), 422, "invalid-query")


def test_whoever_is_first_is_called_until_nobody_waits(api: Api, queue: str) -> None:
    api.take(queue)
    api.take(queue)

    first, second, nobody = call_next(api, queue), call_next(api, queue), call_next(api, queue)

    assert (first["ticket"]["number"], first["next_label"], first["waiting"]) == (1, "002", 1)
    assert (second["ticket"]["number"], second["next_label"], second["waiting"]) == (2, None, 0)
    assert nobody == {"ticket": None, "next_label": None, "waiting": 0, "paused": []}


def test_a_retried_call_returns_the_visitor_already_called(api: Api, queue: str) -> None:
    api.take(queue)
    api.take(queue)

    answers = [api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF, key="once") for _ in range(3)]

    assert len({answer.body for answer in answers}) == 1
    assert api.get(f"/v1/queues/{queue}").json["waiting"] == 1


def test_desks_that_call_at_once_never_call_the_same_visitor(api: Api, queue: str) -> None:
    for _ in range(12):
        api.take(queue)

    def call(_: int) -> int:
        answer = Api(api.url, api.world).post(f"/v1/queues/{queue}/call-next", {}, by=STAFF)
        return int(answer.json["ticket"]["number"])

    assert sorted(at_once(call, range(12))) == list(range(1, 13))


def test_a_desk_calls_over_all_its_queues_or_one_of_them(api: Api) -> None:
    for queue in ("clinic:xray", "clinic:lab"):
        api.post(f"/v1/queues/{queue}/reset", {}, by=MANAGER)
    xray, lab = api.take("clinic:xray"), api.take("clinic:lab")

    def call(**given: object) -> dict[str, Any]:
        answer = api.post("/v1/desks/clinic:room/call-next", given, by=STAFF)
        assert answer.status == 200, answer
        return dict(answer.json["ticket"])

    one = call(queue="lab")
    other = call()

    assert (one["ticket"], one["desk"]) == (lab["ticket"], "clinic:room")
    assert (other["ticket"], other["desk"]) == (xray["ticket"], "clinic:room")


@pytest.mark.parametrize(
    ("desk", "given", "status", "refusal"),
    [
        ("clinic:nowhere", {}, 404, "unknown-desk"),
        ("clinic", {}, 404, "unknown-desk"),
        ("nowhere:room", {}, 404, "unknown-venue"),
        ("clinic:room", {"queue": "nowhere"}, 404, "unknown-queue"),
        ("clinic:room", {"queue": "closed"}, 422, "invalid-value"),
    ],
)
def test_a_desk_calls_from_its_own_queues_only(
    api: Api, desk: str, given: dict[str, str], status: int, refusal: str
) -> None:
    must_be_problem(api.post(f"/v1/desks/{desk}/call-next", given, by=STAFF), status, refusal)


def change(api: Api, queue: str, verb: str) -> str:
    answer = api.post(f"/v1/queues/{queue}/{verb}", {"reason": "lunch"}, by=MANAGER)
    assert answer.status == 200, answer
    assert answer.json["queue"] == queue
    return str(answer.json["state"])


def test_a_manager_pauses_resumes_closes_and_opens_a_queue(api: Api, queue: str) -> None:
    api.take(queue)

    assert change(api, queue, "pause") == "paused"
    must_be_problem(api.post(f"/v1/queues/{queue}/call-next", {}, by=STAFF), 409, "queue-paused")
    assert api.take(queue)["place"]["number"] == 2

    assert change(api, queue, "resume") == "open"
    assert call_next(api, queue)["ticket"]["number"] == 1

    assert change(api, queue, "close") == "closed"
    must_be_problem(api.post(f"/v1/queues/{queue}/tickets", {}), 409, "queue-closed")
    assert call_next(api, queue)["ticket"]["number"] == 2

    assert change(api, queue, "open") == "open"
    assert api.get(f"/v1/queues/{queue}").json["state"] == "open"


@pytest.mark.parametrize(
    ("before", "verb"), [([], "open"), ([], "resume"), (["pause"], "pause"), (["close"], "pause"), (["close"], "close")]
)
def test_a_queue_is_changed_only_from_a_state_that_allows_it(
    api: Api, queue: str, before: list[str], verb: str
) -> None:
    for earlier in before:
        change(api, queue, earlier)

    must_be_problem(api.post(f"/v1/queues/{queue}/{verb}", {}, by=MANAGER), 409, "queue-in-wrong-state")


def test_a_new_round_begins_at_number_one_and_ends_who_waited(api: Api, queue: str) -> None:
    waited = api.take(queue, visitor="Noor")["ticket"]

    answer = api.post(f"/v1/queues/{queue}/reset", {"reason": "printer"}, by=MANAGER)

    assert (answer.json["queue"], answer.json["round"]) == (queue, 2)
    assert api.look(waited)["state"] == "expired"
    assert api.take(queue, visitor="Noor")["place"]["number"] == 1


def test_a_retried_reset_begins_one_round(api: Api, queue: str) -> None:
    first = api.post(f"/v1/queues/{queue}/reset", {}, by=MANAGER, key="reset")
    number = api.take(queue)["ticket"]

    again = api.post(f"/v1/queues/{queue}/reset", {}, by=MANAGER, key="reset")

    assert again.body == first.body
    assert api.look(number)["state"] == "waiting"

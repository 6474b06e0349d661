"""A request that is sent twice under one Idempotency-Key has one effect and one answer."""

import json
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.doors.here import Here
from tests.running import Client, DawrServer, at_once, dawr, must_be_problem, venue_document

TWO_DAYS = 2


def test_a_retry_gets_the_very_same_answer_with_its_secret(client: Client, queue: str) -> None:
    first = client.enter(queue, "Amna", key="a-key")
    client.enter(queue, "Basma")

    again = client.enter(queue, "Amna", key="a-key")

    assert (again.status, again.body) == (first.status, first.body)
    assert again.json["ticket"]
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert client.enter(queue, "Celine").json["number"] == 3


def test_a_key_may_come_in_quotes_as_the_standard_has_it(client: Client, queue: str) -> None:
    first = client.enter(queue, "Amna", key='"in-quotes"')

    assert client.enter(queue, "Amna", key="in-quotes").body == first.body


def test_the_order_of_fields_makes_no_other_request(client: Client, queue: str) -> None:
    first = client.enter(queue, "Amna", key="any-order")

    again = client.send(f'{{ "user":"Amna","clinic":"{queue}" }}'.encode(), key="any-order")

    assert again.body == first.body


def test_another_request_under_the_same_key_is_refused_and_told_nothing(client: Client, queue: str) -> None:
    first = client.enter(queue, "Amna", key="reused")

    other = client.enter(queue, "Basma", key="reused")

    must_be_problem(other, 422, "idempotency-key-reused")
    assert first.json["ticket"].encode() not in other.body
    assert b"Amna" not in other.body
    assert client.enter(queue, "Basma").json["number"] == 2


@pytest.mark.parametrize("key", ["", '""', "two words", "x" * 256, "clé", "tab\there"])
def test_a_malformed_key_is_refused_and_no_number_is_given(client: Client, queue: str, key: str) -> None:
    must_be_problem(client.enter(queue, "Amna", key=key), 400, "invalid-idempotency-key")

    assert client.status(queue).json["length"] == 0


@pytest.mark.parametrize("key", ["x", "x" * 255, "!#$%&'*+-.^_`|~", "8e03978e-40d5-43dd-bc93-6894a57f9324"])
def test_a_well_formed_key_is_taken(client: Client, queue: str, key: str) -> None:
    first = client.enter(queue, "Amna", key=key)

    assert client.enter(queue, "Amna", key=key).body == first.body


def test_fifty_retries_at_once_make_one_ticket_and_fifty_equal_answers(clinic: DawrServer, queue: str) -> None:
    def enter(_: int) -> bytes:
        with Client(clinic.url) as client:
            return client.enter(queue, "Amna", key="fifty-at-once").body

    answers = at_once(enter, range(50))

    assert len(set(answers)) == 1
    with Client(clinic.url) as client:
        assert client.status(queue).json["length"] == 1


def test_a_refused_request_does_not_use_its_key_up(client: Client, queue: str) -> None:
    must_be_problem(client.enter("nowhere", "Amna", key="once-refused"), 404, "unknown-queue")

    assert client.enter(queue, "Amna", key="once-refused").json["number"] == 1


def test_already_in_queue_is_no_effect_so_the_key_stays_free(client: Client, queue: str) -> None:
    client.enter(queue, "Amna")
    already = client.enter(queue, "Amna", key="no-effect")

    entered = client.enter(queue, "Basma", key="no-effect")

    assert already.json["message"] == "already in queue"
    assert (entered.json["number"], "ticket" in entered.json) == (2, True)


def test_a_retry_is_recognised_after_the_server_was_killed(tmp_path: Path) -> None:
    dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path) as server:
        with Client(server.url) as client:
            first = client.enter("lab", "Amna", key="before-the-kill")
        server.kill()
        server.start()
        with Client(server.url) as client:
            again = client.enter("lab", "Amna", key="before-the-kill")

    assert (again.body, again.headers["idempotency-replayed"]) == (first.body, "true")


async def test_after_two_days_a_key_is_forgotten(here: Here) -> None:
    first = await here.enter("lab", "Amna", key="old")

    here.clock.advance(days=TWO_DAYS)
    afterwards = await here.enter("lab", "Amna", key="old")

    assert "idempotency-replayed" not in afterwards.headers
    assert afterwards.json["ticket"] != first.json["ticket"]


def test_two_keys_on_one_request_are_refused(clinic: DawrServer, client: Client, queue: str) -> None:
    body = json.dumps({"clinic": queue, "user": "Amna"}).encode()
    connection = HTTPConnection("127.0.0.1", clinic.port, timeout=60)
    connection.putrequest("POST", "/api/v1/queue/enter")
    connection.putheader("Content-Type", "application/json")
    for name, value in (("Idempotency-Key", "one"), ("Idempotency-Key", "two"), ("Content-Length", str(len(body)))):
        connection.putheader(name, value)
    connection.endheaders(body)

    answer = connection.getresponse()

    assert (answer.status, json.loads(answer.read())["code"]) == (400, "invalid-idempotency-key")
    connection.close()
    assert client.status(queue).json["length"] == 0

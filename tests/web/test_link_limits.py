"""A hall full of phones behind one address: each is counted by its own link, and only guesses by the address."""

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.installations import Installation
from tests.running import Answer, Client, DawrServer, must_be_problem

OF_ADDRESS, OF_VISIT = 30, 12
STREAMS_OF_VISIT = 10


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DawrServer]:
    settings = {"DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_LOOK": str(OF_ADDRESS), "DAWR_LIMIT_VISIT": str(OF_VISIT)}
    installation = Installation({"DAWR_DATA": str(tmp_path / "data"), **settings}, "", tmp_path)
    installation.create_venue()
    with installation.serve() as server:
        yield server


def look(server: DawrServer, link: str) -> Answer:
    with Client(server.url) as client:
        return client.ask(f"/v1/visits/{link.removeprefix('/t/')}")


def links(server: DawrServer, many: int) -> list[str]:
    with Client(server.url) as client:
        taken = [client.post("/v1/queues/clinic:lab/tickets", {}) for _ in range(many)]
    return [answer.json["link"] for answer in taken]


def test_many_phones_of_one_address_come_back_and_one_that_asks_too_often_does_not(server: DawrServer) -> None:
    hall = links(server, 15)

    answers = [look(server, link) for _ in range(4) for link in hall]
    often = [look(server, hall[0]) for _ in range(OF_VISIT)]

    assert len(answers) > OF_ADDRESS
    assert {answer.status for answer in answers} == {200}
    must_be_problem(often[-1], 429, "quota-exceeded")
    assert often[-1].json["violated-policies"] == ["visit"]
    assert look(server, hall[1]).status == 200


def test_a_visit_has_so_many_streams_and_another_behind_the_same_address_has_its_own(server: DawrServer) -> None:
    first, second = links(server, 2)
    address = urlsplit(server.url)
    opened = [HTTPConnection(address.hostname or "", address.port) for _ in range(STREAMS_OF_VISIT + 2)]

    for connection in opened:
        link = second if connection is opened[-1] else first
        connection.request("GET", f"/v1/events?ticket={link.removeprefix('/t/')}")
    statuses = [connection.getresponse().status for connection in opened]
    for connection in opened:
        connection.close()

    assert sorted(statuses[:-1]) == [*[200] * STREAMS_OF_VISIT, 429]
    assert statuses[-1] == 200


def test_guesses_count_for_the_address_and_take_nothing_from_the_visit(server: DawrServer) -> None:
    link = links(server, 1)[0]

    guesses = [look(server, f"{link[:-4]}{number:04}") for number in range(OF_ADDRESS + 1)]

    assert {answer.status for answer in guesses[:-1]} == {404}
    must_be_problem(guesses[-1], 429, "quota-exceeded")
    assert guesses[-1].json["violated-policies"] == ["look"]
    assert look(server, link).status == 200

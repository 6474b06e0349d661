"""A hall full of phones behind one address: each is counted by its own link, and only guesses by the address.

The proxy in front of the server is trusted here, so that every test has an address of its own.
"""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from itertools import count
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.cli.installations import Installation
from tests.running import Answer, Client, DawrServer, at_once, must_be_problem

OF_ADDRESS, OF_VISIT, GUESSES = 30, 12, 40
STREAMS_OF_VISIT, STREAMS_OF_HALL = 10, 15

_addresses = (f"198.51.{number // 250}.{number % 250}" for number in count())


class Hall(msgspec.Struct, frozen=True):
    """Everybody behind one address."""

    server: DawrServer
    address: str

    def look(self, link: str) -> Answer:
        with Client(self.server.url) as client:
            return client.ask(f"/v1/visits/{link.removeprefix('/t/')}", headers={"X-Forwarded-For": self.address})

    def watch(self, link: str) -> HTTPConnection:
        address = urlsplit(self.server.url)
        connection = HTTPConnection(address.hostname or "", address.port)
        headers = {"X-Forwarded-For": self.address}
        connection.request("GET", f"/v1/events?ticket={link.removeprefix('/t/')}", headers=headers)
        return connection

    def links(self, many: int) -> list[str]:
        """Of people who took their numbers elsewhere, each from an address of their own."""
        path = "/v1/queues/clinic:lab/tickets"
        with Client(self.server.url) as client:
            taken = [client.post(path, {}, X_Forwarded_For=next(_addresses)) for _ in range(many)]
        return [answer.json["link"] for answer in taken]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    directory = tmp_path_factory.mktemp("hall")
    settings = {
        "DAWR_DATA": str(directory / "data"),
        "DAWR_RATE_LIMITS": "on",
        "DAWR_LIMIT_LOOK": str(OF_ADDRESS),
        "DAWR_LIMIT_VISIT": str(OF_VISIT),
        "DAWR_LIMIT_GUESS": str(GUESSES),
        "DAWR_MOST_VISIT_STREAMS_PER_ADDRESS": str(STREAMS_OF_HALL),
    }
    installation = Installation(settings, "", directory)
    installation.create_venue()
    with installation.serve() as server:
        yield server


@pytest.fixture
def hall(server: DawrServer) -> Hall:
    return Hall(server, next(_addresses))


def test_many_phones_of_one_address_come_back_and_one_that_asks_too_often_does_not(hall: Hall) -> None:
    links = hall.links(15)

    answers = [hall.look(link) for _ in range(4) for link in links]
    often = [hall.look(links[0]) for _ in range(OF_VISIT)]

    assert len(answers) > OF_ADDRESS
    assert {answer.status for answer in answers} == {200}
    must_be_problem(often[-1], 429, "quota-exceeded")
    assert often[-1].json["violated-policies"] == ["visit"]
    assert hall.look(links[1]).status == 200


def test_a_visit_has_so_many_streams_and_another_behind_the_same_address_has_its_own(hall: Hall) -> None:
    first, second = hall.links(2)

    opened = [*(hall.watch(first) for _ in range(STREAMS_OF_VISIT + 1)), hall.watch(second)]
    statuses = [connection.getresponse().status for connection in opened]
    for connection in opened:
        connection.close()

    assert sorted(statuses[:-1]) == [*[200] * STREAMS_OF_VISIT, 429]
    assert statuses[-1] == 200


def test_all_visits_of_an_address_have_so_many_streams_together(server: DawrServer, hall: Hall) -> None:
    *links, last = hall.links(4)

    opened = [hall.watch(link) for link in links for _ in range(STREAMS_OF_HALL // 3)]
    statuses = [connection.getresponse().status for connection in opened]
    beyond, elsewhere = hall.watch(last), Hall(server, next(_addresses)).watch(last)
    refused, let_in = beyond.getresponse(), elsewhere.getresponse()
    code = json.loads(refused.read())["code"] if refused.status == 429 else None
    for connection in (*opened, beyond, elsewhere):
        connection.close()

    assert statuses == [200] * STREAMS_OF_HALL
    assert (code, let_in.status) == ("too-many-streams", 200)


def test_guesses_count_for_the_address_and_take_nothing_from_the_visit(hall: Hall) -> None:
    link = hall.links(1)[0]

    guesses = [hall.look(f"{link[:-4]}{number:04}") for number in range(OF_ADDRESS + 1)]

    assert {answer.status for answer in guesses[:-1]} == {404}
    must_be_problem(guesses[-1], 429, "quota-exceeded")
    assert guesses[-1].json["violated-policies"] == ["look"]
    assert hall.look(link).status == 200


def test_right_links_that_come_all_at_once_are_no_guesses(hall: Hall) -> None:
    answers = at_once(hall.look, hall.links(GUESSES + 20))

    assert {answer.status for answer in answers} == {200}


def test_past_so_many_guesses_no_link_is_looked_up_that_is_not_known_here(hall: Hall) -> None:
    known, new = hall.links(2)
    assert hall.look(known).status == 200

    guesses = [hall.look(f"{known[:-4]}{number:04}") for number in range(GUESSES)]
    right = hall.look(new)

    assert {answer.status for answer in guesses} == {404, 429}
    must_be_problem(right, 429, "quota-exceeded")
    assert right.json["violated-policies"] == ["guess"]
    assert hall.look(known).status == 200

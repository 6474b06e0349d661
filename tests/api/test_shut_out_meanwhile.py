"""Whoever is shut out while their request is on its way is turned away when it arrives."""

import json
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dawr.reliability.fingerprint import fingerprint
from dawr.web.api.staff import AddStaffInput
from tests.api.world import PASSWORD, Api
from tests.builders import a_new
from tests.running import eventually


def begun(api: Api, path: str, body: bytes, bearer: str) -> socket.socket:
    """A request of which all has come but the end of its body."""
    address = urlsplit(api.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {bearer}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    connection.sendall(head.encode() + body[:5])
    return connection


def ended(connection: socket.socket, body: bytes) -> tuple[int, dict[str, object]]:
    with closing(connection):
        connection.sendall(body[5:])
        said = b""
        while piece := connection.recv(65536):
            said += piece
    head, _, answer = said.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(answer)


@pytest.fixture
def manager(api: Api) -> dict[str, str]:
    """A manager's token that nobody else needs."""
    given = {"kind": "api", "role": "manager", "name": a_new("a program")}
    made = api.post("/v1/venues/clinic/tokens", given, by="owner@clinic").json
    return {"bearer": made["bearer"], "token": made["token"]["token"]}


def test_a_token_that_is_revoked_while_the_body_comes_changes_nothing(
    api: Api, manager: dict[str, str], queue: str
) -> None:
    body = json.dumps({"reason": "to do harm"}).encode()
    request = begun(api, f"/v1/queues/{queue}/close", body, manager["bearer"])
    assert api.post(f"/v1/venues/clinic/tokens/{manager['token']}/revoke", {}, by="owner@clinic").status == 200
    wait_longer_than_at_once(api)

    status, problem = ended(request, body)

    assert (status, problem["code"]) == (401, "credentials-invalid")
    assert api.get(f"/v1/queues/{queue}").json["state"] == "open"


def test_who_is_still_what_they_were_may_take_their_time(api: Api, manager: dict[str, str], queue: str) -> None:
    body = json.dumps({"reason": "it is late"}).encode()
    request = begun(api, f"/v1/queues/{queue}/close", body, manager["bearer"])
    wait_longer_than_at_once(api)

    status, _ = ended(request, body)

    assert status == 200


def test_nothing_that_is_kept_lets_a_password_be_guessed(api: Api, everybodys_data: Path) -> None:
    username = a_new("new")
    given = {"username": username, "role": "viewer", "password": PASSWORD}
    key = a_new("key")
    assert api.post("/v1/venues/clinic/staff", given, by="owner@clinic", key=key).status == 201

    again = api.post("/v1/venues/clinic/staff", {**given, "password": "another-one-55"}, by="owner@clinic", key=key)

    assert (again.status, again.headers["idempotency-replayed"]) == (201, "true")
    kept = everything_in(everybodys_data)
    with_password, without = (
        fingerprint({"venue": "clinic"}, AddStaffInput(username, "viewer", password)) for password in (PASSWORD, None)
    )
    assert with_password.encode() not in kept
    assert without.encode() in kept


def everything_in(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in directory.iterdir() if file.is_file())


def wait_longer_than_at_once(api: Api) -> None:
    """Until the server's clock has shown a whole second: it moves on twice, for the first may come at once."""
    for _ in range(2):
        began = api.get("/v1/venues/clinic", by=None).headers["date"]
        eventually(lambda began=began: api.get("/v1/venues/clinic", by=None).headers["date"] != began)  # type: ignore[misc]

"""Who comes to the doors: an owner with a password, and a token of each role."""

from typing import Final

from dawr.domain.staff import ROLES, Role
from tests.running import Client

CLINIC: Final = "clinic"
OWNER: Final = "boss"
PASSWORD: Final = "a long walk to the sea"


def signed_in(client: Client) -> str:
    """A new session of the owner."""
    answer = client.post("/v1/login", {"username": OWNER, "password": PASSWORD})
    assert answer.status == 200, answer
    return str(answer.json["session"])


def bearers_of(client: Client, venue: str, owner: str) -> dict[Role, str]:
    return {role: a_token(client, venue, owner, role) for role in ROLES}


def a_token(client: Client, venue: str, owner: str, role: Role | None, kind: str = "api") -> str:
    """What to send as bearer."""
    made = client.post(f"/v1/venues/{venue}/tokens", {"kind": kind, "name": "A test", "role": role}, bearer=owner)
    assert made.status == 201, made
    return str(made.json["bearer"])

"""What the tests of accounts do again and again: add somebody, sign in, make a token."""

from dawr.accounts.accounts import Accounts
from dawr.domain.events import Origin
from dawr.domain.staff import Role, StaffMember
from dawr.domain.token import Token
from dawr.domain.venue import Venue
from dawr.reliability.idempotency import Reply

HOUR = 60 * 60 * 1000
PASSWORD = "a long walk to the sea"
BY_TOOL = Origin(actor="command line")
BY_AMNA = Origin(actor="staff:amna")


def rendered(made: StaffMember | Token) -> Reply:
    return Reply(201, (made.username if isinstance(made, StaffMember) else made.token_id).encode())


async def add(accounts: Accounts, venue: Venue, name: str = "amna", role: Role = "owner") -> None:
    await accounts.add_staff(venue.id, name, role, PASSWORD, by=None, known_to={}, render=rendered, origin=BY_TOOL)


async def signed_in(accounts: Accounts, name: str = "amna", password: str = PASSWORD) -> str:
    session = await accounts.sign_in(name, password)
    assert session is not None
    return session[0]


async def make_token(accounts: Accounts, venue: Venue, role: Role = "staff", by: Role | None = "owner") -> str:
    _, bearer = await accounts.make_token(venue.id, "api", role, "A program", by=by, render=rendered, origin=BY_AMNA)
    return bearer

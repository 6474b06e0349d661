"""What the tests of accounts do again and again: add somebody, disable them, sign in, make a token."""

from typing import Any

from dawr.accounts.accounts import Accounts
from dawr.domain.account import AccountId
from dawr.domain.events import Origin
from dawr.domain.staff import Role, StaffMember
from dawr.domain.venue import Venue
from dawr.operations.operation import Operation
from dawr.operations.people import DisableStaff, StaffChanged
from dawr.operations.tokens import TokenState
from dawr.reliability.idempotency import Claim, Reply

HOUR = 60 * 60 * 1000
PASSWORD = "a long walk to the sea"
BY_TOOL = Origin(actor="command line")
BY_AMNA = Origin(actor="staff:amna")


def rendered(made: StaffMember | StaffChanged | TokenState) -> Reply:
    if isinstance(made, TokenState):
        return Reply(201, made.token.token_id.encode())
    return Reply(201, (made.username if isinstance(made, StaffMember) else made.member.username).encode())


async def do(
    accounts: Accounts,
    venue: Venue,
    operation: Operation[Any],
    *,
    claim: Claim | None = None,
    origin: Origin = BY_AMNA,
) -> Reply:
    return await accounts._engine.answer(venue.id, operation, rendered, claim=claim, origin=origin)


async def add(accounts: Accounts, venue: Venue, name: str = "amna", role: Role = "owner") -> None:
    adding = await accounts.add_staff(name, role, PASSWORD, by=None, known_to={})
    await do(accounts, venue, adding, origin=BY_TOOL)


async def disable(
    accounts: Accounts, venue: Venue, name: str, by: str | None = None, *, claim: Claim | None = None
) -> Reply:
    disabling = DisableStaff(name, None if by is None else await account_of(accounts, by))
    reply = await do(accounts, venue, disabling, claim=claim)
    await accounts.sign_out_unless_member(name)
    return reply


async def account_of(accounts: Accounts, name: str) -> AccountId:
    account = await accounts.find(name)
    assert account is not None
    return account.account_id


async def signed_in(accounts: Accounts, name: str = "amna", password: str = PASSWORD) -> str:
    session = await accounts.sign_in(name, password)
    assert session is not None
    return session[0]


async def make_token(accounts: Accounts, venue: Venue, role: Role = "staff", *, by: str | None = None) -> str:
    account_id = None if by is None else await account_of(accounts, by)
    making, bearer = accounts.new_token(venue.id, "api", role, "A program", made_by="staff:amna", account_id=account_id)
    await do(accounts, venue, making)
    return bearer

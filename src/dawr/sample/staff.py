"""The sample staff account of `dawr demo`: it owns both sample venues.

Its password is whatever the demo is started with: nothing here is anybody's, so it is not judged.
"""

from collections.abc import Iterable

from dawr.accounts.passwords import Passwords
from dawr.domain import Account, AccountId, Origin, VenueId
from dawr.engine.engine import Engine
from dawr.operations.people import AddStaff, LookAtStaff
from dawr.ports import AccountStore, Clock, Ids

USERNAME = "demo"
PLAYED = Origin(actor="sample")


async def set_up_account(
    accounts: AccountStore, passwords: Passwords, clock: Clock, ids: Ids, *, password: str
) -> Account:
    """The account with this password. Who is signed in stays so, if it had this password before."""
    account = await accounts.find(USERNAME)
    if account is None:
        account = Account(AccountId(ids.token()), USERNAME, await passwords.hash(password), clock())
        await accounts.add(account)
    elif not await passwords.verify(password, account.password_hash):
        await accounts.set_password(account.account_id, await passwords.hash(password), clock())
        await accounts.end_sessions(account.account_id)
    return account


async def add_to_venues(engine: Engine, account: Account, venues: Iterable[VenueId]) -> None:
    for venue_id in venues:
        staff = await engine.read(venue_id, LookAtStaff())
        if all(member.account_id != account.account_id for member in staff):
            await engine.do(venue_id, AddStaff(account.account_id, USERNAME, "owner", None), origin=PLAYED)

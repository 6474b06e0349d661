"""What whoever asks for a change of people or tokens may, judged in the transaction that makes it.

The door judged them before. Whoever was disabled or demoted since then changes nothing more:
otherwise they would bring themselves back by a request that was under way.
"""

from dawr.domain import AccountId, Role
from dawr.domain.errors import UnknownVenue
from dawr.domain.staff import must_grant
from dawr.operations.rows import STAFF
from dawr.operations.transaction import Transaction


def must_grant_now(tx: Transaction, by: AccountId | None, role: Role) -> None:
    """Refuse unless `by` may give this role, or act on somebody who has it. None is the command line, which may."""
    must_grant(role_now(tx, by), role)


def role_now(tx: Transaction, by: AccountId | None) -> Role | None:
    """Of a member; None is the command line. To anybody else there is no such venue, as the door says."""
    if by is None:
        return None
    member = tx.find(STAFF, by)
    if member is None or not member.is_active:
        raise UnknownVenue(tx.venue.slug)
    return member.role

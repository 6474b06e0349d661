"""Accounts and their sessions, for both databases: each call is one named statement."""

from collections.abc import Iterable

import msgspec

from dawr.domain import Account, AccountId, Role, SignedIn, StaffMember, Token, TokenId, VenueId
from dawr.domain.account import Session
from dawr.reliability.records import Records

SESSION_COLUMNS = len(Session.__struct_fields__)
ACCOUNT_COLUMNS = len(Account.__struct_fields__)


class StoredAccounts:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def find(self, username: str) -> Account | None:
        rows = await self._records.select_rows("account_by_username", username)
        return Account(*rows[0]) if rows else None

    async def get(self, account_id: AccountId) -> Account | None:
        rows = await self._records.select_rows("account_by_id", account_id)
        return Account(*rows[0]) if rows else None

    async def add(self, account: Account) -> bool:
        return await self._records.change_rows("add_account", *msgspec.structs.astuple(account)) == 1

    async def set_password(self, account_id: AccountId, password_hash: str, unlocked_at: int) -> None:
        await self._records.change_rows("set_password", account_id, password_hash, unlocked_at)

    async def set_disabled(self, account_id: AccountId, disabled_at: int | None) -> None:
        await self._records.change_rows("set_disabled", account_id, disabled_at)

    async def set_unlocked(self, account_id: AccountId, unlocked_at: int) -> None:
        await self._records.change_rows("set_unlocked", account_id, unlocked_at)

    async def memberships(self, account_id: AccountId) -> list[StaffMember]:
        rows = await self._records.select_rows("staff_of_account", account_id)
        return _by_venue(StaffMember(*row) for row in rows)

    async def has_owner(self) -> bool:
        return bool(await self._records.select_rows("first_active_owner"))

    async def add_session(self, session: Session, *, password_hash: str) -> bool:
        columns = msgspec.structs.astuple(session)
        return await self._records.change_rows("add_session", *columns, password_hash) == 1

    async def signed_in(self, session_hash: str, now: int, *, idle_ms: int) -> SignedIn | None:
        rows = await self._records.select_rows("signed_in", session_hash, now, now - idle_ms)
        if not rows:
            return None
        session, rest = rows[0][:SESSION_COLUMNS], rows[0][SESSION_COLUMNS:]
        members = [tuple(row)[SESSION_COLUMNS + ACCOUNT_COLUMNS :] for row in rows]
        return SignedIn(
            Session(*session),
            Account(*rest[:ACCOUNT_COLUMNS]),
            tuple(_by_venue(StaffMember(*member) for member in members if member[0] is not None)),
        )

    async def touch_session(self, session_hash: str, now: int) -> None:
        await self._records.change_rows("touch_session", session_hash, now)

    async def end_session(self, session_hash: str) -> None:
        await self._records.change_rows("end_session", session_hash)

    async def end_sessions(self, account_id: AccountId) -> None:
        await self._records.change_rows("end_sessions", account_id)

    async def end_sessions_unless_member(self, account_id: AccountId) -> None:
        await self._records.change_rows("end_sessions_unless_member", account_id)

    async def purge_sessions(self, now: int, *, most: int) -> int:
        return await self._records.change_rows("purge_sessions", now, most)

    async def token(self, venue_id: VenueId, token_id: TokenId) -> tuple[Token, Role | None] | None:
        rows = await self._records.select_rows("token_by_id", venue_id, token_id)
        if not rows:
            return None
        *columns, theirs = rows[0]
        return Token(*columns), theirs

    async def set_owner_code(self, code_hash: str, now: int) -> None:
        await self._records.change_rows("set_owner_code", code_hash, now)

    async def is_owner_code(self, code_hash: str, *, made_after: int) -> bool:
        return bool(await self._records.select_rows("right_owner_code", code_hash, made_after))

    async def take_owner_code(self, code_hash: str, *, made_after: int) -> bool:
        return await self._records.change_rows("take_owner_code", code_hash, made_after) == 1


def _by_venue(memberships: Iterable[StaffMember]) -> list[StaffMember]:
    return sorted(memberships, key=lambda member: member.venue_id)

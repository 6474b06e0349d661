"""Who may: signing in and out, staff and their passwords, tokens, and the first owner.

Sessions and tokens are random secrets, told once and kept as hashes. Whether a name, a
password or a membership was wrong is never told apart. What changes a venue is an operation like
any other, with its event.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec

from dawr.accounts.create_venue import Kept, create_owned_venue, nothing_kept
from dawr.accounts.passwords import Passwords
from dawr.accounts.remembered import Remembered
from dawr.domain import Account, AccountId, Origin, Role, SignedIn, Token, TokenId, TokenKind, Venue, VenueId
from dawr.domain.account import USERNAME, Session, checked_password, checked_username
from dawr.domain.errors import InvalidValue, OwnerCodeInvalid, TooManyVenues, UnknownStaff, UsernameTaken
from dawr.domain.secret import fits, hash_of
from dawr.domain.staff import LONGEST_USERNAME, MANAGES_PEOPLE, at_least, must_grant, must_leave_an_owner
from dawr.domain.token import venue_of
from dawr.domain.venue import DEFAULT_LIMITS, VenueLimits, checked
from dawr.engine.engine import Engine
from dawr.operations.people import AddStaff, DisableStaff, EnableStaff, LookAtStaff
from dawr.operations.tokens import MakeToken, TokenState
from dawr.ports import Clock, Ids, Store
from dawr.ports.faults import StoreFault

SESSION = "dws_"
TOKEN = "dwt_"  # noqa: S105 - the mark of one, not one
"""What a secret begins with says what it is, also to somebody who finds it in a file."""

LONGEST_SECRET = 200
SEEN_EVERY_MS = 5 * 60 * 1000
OWNER_CODE_MS = 24 * 60 * 60 * 1000
MOST_VENUES = 50

FIRST_RUN = Origin(actor="first run")


class Accounts:
    def __init__(
        self,
        store: Store,
        engine: Engine,
        passwords: Passwords,
        clock: Clock,
        ids: Ids,
        *,
        remembered: Remembered,
        idle_ms: int,
        session_ms: int,
        most_venues: int = MOST_VENUES,
        venue_limits: VenueLimits = DEFAULT_LIMITS,
    ) -> None:
        self._all = store
        self._store = store.accounts
        self._making_owner = asyncio.Lock()
        self._making_venue = asyncio.Lock()
        self._engine = engine
        self._passwords = passwords
        self._clock = clock
        self._ids = ids
        self._remembered = remembered
        self._idle_ms = idle_ms
        self._session_ms = session_ms
        self._most_venues = most_venues
        self.venue_limits = venue_limits

    # Sessions

    async def find(self, username: str) -> Account | None:
        """A name that could be nobody's is looked for nowhere: no database need understand it."""
        name = username.strip().lower()
        return await self._store.find(name) if USERNAME.fullmatch(name) else None

    async def sign_in(
        self, username: str, password: str, *, is_known_browser: bool = False
    ) -> tuple[str, SignedIn] | None:
        """A new session's secret and whose it is; None, and as late, whatever was wrong."""
        account = await self.find(username)
        password_hash = None if account is None else account.password_hash
        right = await self._passwords.verify(password, password_hash, is_known=is_known_browser)
        if account is None or not right or account.disabled_at is not None:
            return None
        memberships = tuple(m for m in await self._store.memberships(account.account_id) if m.is_active)
        if not memberships:
            return None
        secret, now = SESSION + self._ids.token(), self._clock()
        session = Session(hash_of(secret), account.account_id, now, now, now + self._session_ms)
        if not await self._store.add_session(session, password_hash=account.password_hash):
            return None
        return secret, SignedIn(session, account, memberships)

    async def sign_out(self, session: str) -> None:
        with self._dropping():
            await self._store.end_session(hash_of(session))

    async def who(self, session: str) -> SignedIn | None:
        """Whose session this is, if it is good and they work anywhere: as it was a second ago at most."""
        kept = self._remembered.get(key := hash_of(session))
        if isinstance(kept, SignedIn) and kept.session.is_good(self._clock(), idle_ms=self._idle_ms):
            return kept
        return await self._remembered.keep(key, self.who_now(session))

    async def who_now(self, session: str) -> SignedIn | None:
        """The same, asked of the store."""
        if not _could_be(session, SESSION):
            return None
        now = self._clock()
        signed_in = await self._store.signed_in(hash_of(session), now, idle_ms=self._idle_ms)
        if signed_in is None or not signed_in.memberships:
            return None
        if now - signed_in.session.seen_at >= SEEN_EVERY_MS:
            with suppress(StoreFault):  # a disk that is full keeps nobody from looking
                await self._store.touch_session(signed_in.session.session_hash, now)
        return signed_in

    # Tokens

    async def token(self, bearer: str) -> Token | None:
        """The token behind `dwt_{token_id}.{secret}`, if it is good: as it was a second ago at most.

        Its role is what it may now: never more than whoever answers for it.
        """
        kept = self._remembered.get(key := hash_of(bearer))
        return kept if isinstance(kept, Token) else await self._remembered.keep(key, self.token_now(bearer))

    async def token_now(self, bearer: str) -> Token | None:
        """The same, asked of the store."""
        token_id, _, secret = bearer.removeprefix(TOKEN).partition(".")
        if not _could_be(bearer, TOKEN) or not secret:
            return None
        found = await self._store.token(venue_of(token_id), TokenId(token_id))
        if found is None or not fits(secret, found[0].secret_hash):
            return None
        token, theirs = found
        role = token.role_now(theirs)
        return None if role is None else msgspec.structs.replace(token, role=role)

    def new_token(
        self,
        venue_id: VenueId,
        kind: TokenKind,
        role: Role | None,
        name: str,
        *,
        made_by: str,
        account_id: AccountId | None,
    ) -> tuple[MakeToken, str]:
        """What makes it, and the bearer text to be told once: nothing that is stored has it, so a replay cannot."""
        token_id, secret = TokenId(self._ids.new(venue_id)), self._ids.token()
        making = MakeToken(
            token_id=token_id,
            secret_hash=hash_of(secret),
            kind=kind,
            name=name,
            role=role,
            made_by=made_by,
            account_id=account_id,
        )
        return making, f"{TOKEN}{token_id}.{secret}"

    # Staff

    async def add_staff(
        self,
        username: str,
        role: Role,
        password: str | None,
        *,
        by: tuple[AccountId, Role] | None,
        known_to: Mapping[VenueId, Role],
    ) -> AddStaff:
        """What makes somebody staff of a venue; with an account, which is made here if they have none.

        An account that is there keeps its password. `by` is whoever asks, with their role as the door saw it.
        The command line (None) adds any; others add whom they manage elsewhere (`known_to`): to everybody
        else such a name is just taken.
        """
        name = checked_username(username)
        asker, askers_role = by or (None, None)
        must_grant(askers_role, role)
        account, is_new = await self._store.find(name), False
        if account is None:
            account, is_new = await self._new_account(name, password)
        if not is_new and by is not None and not await self._is_known(account, known_to, password):
            raise UsernameTaken(name)
        return AddStaff(account.account_id, account.username, role, asker)

    async def sign_out_unless_member(self, username: str) -> None:
        """What follows when somebody was disabled at a venue. Who works elsewhere stays signed in, for there."""
        with suppress(StoreFault), self._dropping():  # who is disabled may nothing there any more, signed in or not
            await self._store.end_sessions_unless_member((await self._called(username)).account_id)

    async def disable(self, username: str, *, origin: Origin) -> tuple[TokenState, ...]:
        """The whole account: at every venue, and signed out. A venue's last owner is refused before anything.

        Says which tokens it answers for: they open nothing any more.
        """
        account = await self._called(username)
        memberships = [m for m in await self._store.memberships(account.account_id) if m.is_active]
        for membership in memberships:
            staff = await self._engine.read(membership.venue_id, LookAtStaff())
            must_leave_an_owner(staff, membership)
        disabling = DisableStaff(account.username, None)
        done = [await self._engine.do(one.venue_id, disabling, origin=origin) for one in memberships]
        with self._dropping():
            await self._store.set_disabled(account.account_id, self._clock())
            await self._store.end_sessions(account.account_id)
        return tuple(token for changed in done for token in changed.tokens)

    async def enable(self, username: str, *, origin: Origin) -> tuple[TokenState, ...]:
        """The whole account, at every venue where it is a member. Says which tokens it answers for."""
        account = await self._called(username)
        await self._store.set_disabled(account.account_id, None)
        enabling = EnableStaff(account.username, None)
        memberships = await self._store.memberships(account.account_id)
        done = [await self._engine.do(one.venue_id, enabling, origin=origin) for one in memberships]
        return tuple(token for changed in done for token in changed.tokens)

    async def is_disabled(self, username: str) -> bool:
        """The whole account: then no membership of it opens anything."""
        return (await self._called(username)).disabled_at is not None

    # Passwords

    async def unlock(self, username: str) -> None:
        """From now on: wrong passwords from before hold nobody back."""
        await self._store.set_unlocked((await self._called(username)).account_id, self._clock())

    async def change_password(self, account_id: AccountId, old: str, new: str) -> Account | None:
        """By the person themselves: None when the old one is wrong. Every session ends, the one that asked too."""
        account = await self._store.get(account_id)
        password_hash = None if account is None else account.password_hash
        right = await self._passwords.verify(old, password_hash, is_known=True)
        if account is None or not right:
            return None
        return await self._set_password(account, new)

    async def set_password(self, username: str, new: str) -> None:
        """By the command line, without the old one."""
        await self._set_password(await self._called(username), new)

    # Owners

    async def owner_code(self) -> str | None:
        """A code that makes the owner's account, once and within a day; None when there is an owner."""
        if await self._store.has_owner():
            return None
        code = self._ids.token()
        await self._store.set_owner_code(hash_of(code), self._clock())
        return code

    async def has_owner(self) -> bool:
        return await self._store.has_owner()

    async def has_venue(self) -> bool:
        return bool(await self._all.venue_ids())

    async def first_owner(self, code: str, username: str, password: str, venue: Venue | None = None) -> Account:
        """Make the account that owns every venue there is, or the one that is made with it.

        Who has no right code is told nothing else; what goes wrong with the rest does not use the code up. One at a
        time: whoever pressed twice finds the owner there, and not a code that was used.
        """
        async with self._making_owner:
            return await self._make_first_owner(code, username, password, venue)

    async def _make_first_owner(self, code: str, username: str, password: str, venue: Venue | None) -> Account:
        code_hash, made_after = hash_of(code), self._clock() - OWNER_CODE_MS
        right = await self._store.is_owner_code(code_hash, made_after=made_after)
        if not right or await self._store.has_owner():
            raise OwnerCodeInvalid
        name = checked_username(username)
        checked_password(password, username=name)
        if venue is not None:
            checked(venue, limits=self.venue_limits)
        elif not await self.has_venue():
            raise InvalidValue("venue", "no-venue-yet")
        account, is_new = await self._new_account(name, password)
        if not is_new and not await self._is_known(account, {}, password):
            raise UsernameTaken(name)
        if not await self._store.take_owner_code(code_hash, made_after=made_after):
            raise OwnerCodeInvalid
        try:
            await self._own(account, venue)
        except BaseException:  # the code is for an owner, and there is none
            with suppress(StoreFault):
                await self._store.set_owner_code(code_hash, self._clock())
            raise
        return account

    async def _own(self, account: Account, venue: Venue | None) -> None:
        """Let the first owner have every venue there is, and the new one."""
        owned: set[VenueId] = set()
        if venue is not None:
            owned.add((await self._create_venue(venue, account, FIRST_RUN, nothing_kept)).id)
        for venue_id in set((await self._all.venue_ids()).values()) - owned:
            owner = AddStaff(account.account_id, account.username, "owner", None)
            await self._engine.do(venue_id, owner, origin=FIRST_RUN)

    async def create_venue(
        self, venue: Venue, account_id: AccountId, origin: Origin, kept: Kept = nothing_kept
    ) -> Venue:
        """Make a venue that this account owns, from its first moment on. One at a time, for it may own so many."""
        account = await self._store.get(account_id)
        if account is None:
            raise UnknownStaff("")
        async with self._making_venue:
            owned = [m for m in await self._store.memberships(account_id) if m.role == "owner"]
            if len(owned) >= self._most_venues:
                raise TooManyVenues(self._most_venues)
            with self._dropping():
                return await self._create_venue(venue, account, origin, kept)

    # Inside

    async def _create_venue(self, venue: Venue, owner: Account, origin: Origin, kept: Kept) -> Venue:
        ran_ms = await self._engine.ran_ms()
        made = await create_owned_venue(
            self._all,
            self._clock,
            self._ids,
            venue,
            owner=owner,
            origin=origin,
            ran_ms=ran_ms,
            kept=kept,
            limits=self.venue_limits,
        )
        self._engine.meet(made)
        return made

    async def _called(self, username: str) -> Account:
        account = await self.find(username)
        if account is None:
            raise UnknownStaff(username[:LONGEST_USERNAME])
        return account

    async def _new_account(self, name: str, password: str | None) -> tuple[Account, bool]:
        """The account of this name, and whether it was made here: somebody may have been quicker."""
        if password is None:
            raise InvalidValue("password", "password-needed")
        hashed = await self._passwords.hash(checked_password(password, username=name))
        account = Account(AccountId(self._ids.token()), name, hashed, self._clock())
        if await self._store.add(account):
            return account, True
        return await self._called(name), False

    async def _is_known(self, account: Account, roles: Mapping[VenueId, Role], password: str | None) -> bool:
        """To somebody of these roles. An account without any membership is left of a try that was cut short."""
        memberships = await self._store.memberships(account.account_id)
        if not memberships and password is not None:
            return await self._passwords.verify(password, account.password_hash, is_known=True)
        return any(at_least(roles.get(m.venue_id, "viewer"), MANAGES_PEOPLE) for m in memberships)

    async def _set_password(self, account: Account, new: str) -> Account:
        """It unlocks, too: what was tried before was another password."""
        hashed = await self._passwords.hash(checked_password(new, username=account.username))
        now = self._clock()
        with self._dropping():
            await self._store.set_password(account.account_id, hashed, now)
            await self._store.end_sessions(account.account_id)
        return msgspec.structs.replace(account, password_hash=hashed, unlocked_at=now)

    @contextmanager
    def _dropping(self) -> Iterator[None]:
        """Around what no event tells of. A change whose outcome is unknown may have been made."""
        try:
            yield
        finally:
            self._remembered.drop()


def _could_be(text: str, mark: str) -> bool:
    """Whether this looks like a secret of ours at all."""
    return text.startswith(mark) and len(text) <= LONGEST_SECRET and text.isascii() and text.isprintable()

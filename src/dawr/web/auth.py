"""Who is asking: a bearer of a session or token, a browser with its cookie, or anybody.

A cookie is taken from our own pages only: a browser sends it along with whatever any
page asks for, so for a change the browser must say that the page is ours.
"""

import re
from collections.abc import Awaitable, Callable

from dawr.accounts.accounts import SESSION, TOKEN, Accounts
from dawr.accounts.known_browsers import KEPT_MS, KnownBrowsers
from dawr.domain import Account, AccountId, Role, SignedIn, Token, VenueId
from dawr.domain.errors import UnknownTicket, UnknownVenue, UnknownVisit
from dawr.reliability.client_address import Clients
from dawr.web.problems import BadRequest
from dawr.web.raw_request import ANYBODY, DEVICES, WATCHING_KINDS, Caller, RawRequest, cookies
from dawr.web.response import Header

SECURE_COOKIE = "__Host-dawr"
LOOPBACK_COOKIE = "dawr"
"""Without TLS a browser keeps no `__Host-` cookie; on this machine alone there is nobody in between."""

KNOWN_BROWSER = "-browser"
"""Ends the name of the cookie by which a browser is known."""
KNOWN_SECONDS = KEPT_MS // 1000
DISPLAY = "-display"
"""Ends the name of the cookie with the token of a display."""
PAGES_OF_SCREENS = "/d/"
DISPLAY_SECONDS = 365 * 24 * 60 * 60

LOOPBACK_HOST = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
SAFE_METHODS = frozenset({"GET", "HEAD"})
CHALLENGE: Header = (b"www-authenticate", b'Bearer realm="dawr"')

Who = Callable[[str], Awaitable[SignedIn | None]]
WhichToken = Callable[[str], Awaitable[Token | None]]


class Auth:
    def __init__(
        self,
        accounts: Accounts,
        clients: Clients,
        browsers: KnownBrowsers,
        *,
        on_loopback: bool,
        session_seconds: int,
    ) -> None:
        self._accounts = accounts
        self._clients = clients
        self._browsers = browsers
        self._on_loopback = on_loopback
        self._session_seconds = session_seconds

    async def caller(self, raw: RawRequest) -> Caller:
        """Who they were a second ago at most.

        Credentials that are no good are refused, except a cookie: a browser sends it whether it is or not.
        """
        return await self._caller(raw, self._accounts.who, self._accounts.token)

    async def caller_now(self, raw: RawRequest) -> Caller:
        """The same, asked of the store."""
        return await self._caller(raw, self._accounts.who_now, self._accounts.token_now)

    def cookie(self, raw: RawRequest, session: str) -> Header:
        """The session as a cookie that scripts cannot read and other sites cannot send along."""
        return self._set_cookie(raw, "", session, self._session_seconds)

    def no_cookie(self, raw: RawRequest) -> Header:
        return self._set_cookie(raw, "", "", 0)

    def display_cookie(self, raw: RawRequest, token: str) -> Header:
        """A display's token, for the screen that shows it."""
        return self._set_cookie(raw, DISPLAY, token, DISPLAY_SECONDS)

    def is_kept(self, raw: RawRequest) -> bool:
        """Whether a browser keeps the cookie. Over plain HTTP one that is on this machine does, and no other."""
        return self._on_loopback or self._clients.is_secure(raw.scope) or calls_itself_loopback(raw)

    def known_browser(self, raw: RawRequest, account: Account | None) -> str | None:
        """Which of the account's browsers this is, by the cookie of an earlier sign-in; None: one that is not known."""
        marks = self._given_cookie(raw, KNOWN_BROWSER)
        return self._browsers.recognise(account, marks) if marks else None

    def remember_browser(self, raw: RawRequest, account: Account) -> Header:
        """The cookie of a sign-in, for the next ones."""
        marks = self._browsers.remember(account, self._given_cookie(raw, KNOWN_BROWSER) or "")
        return self._set_cookie(raw, KNOWN_BROWSER, marks, KNOWN_SECONDS)

    async def _caller(self, raw: RawRequest, who: Who, which_token: WhichToken) -> Caller:
        bearer = raw.headers.get(b"authorization")
        if bearer is not None:
            return await self._by_bearer(bearer, who, which_token)
        if b"cookie" not in raw.headers:
            return ANYBODY
        return await self._by_cookie(raw, who, which_token)

    async def _by_bearer(self, header: bytes, who: Who, which_token: WhichToken) -> Caller:
        scheme, _, credentials = header.decode("latin-1").partition(" ")
        credentials = credentials.strip()
        if scheme.lower() != "bearer":
            raise BadRequest(401, "credentials-invalid", CHALLENGE, why="no-bearer")
        if credentials.startswith(SESSION):
            signed_in = await who(credentials)
            if signed_in is not None:
                return _account(signed_in, credentials)
        elif credentials.startswith(TOKEN):
            token = await which_token(credentials)
            if token is not None:
                return _bearer(token)
        raise BadRequest(401, "credentials-invalid", CHALLENGE)

    async def _by_cookie(self, raw: RawRequest, who: Who, which_token: WhichToken) -> Caller:
        session = self._given_cookie(raw, "")
        signed_in = await who(session) if session and session.startswith(SESSION) else None
        if signed_in is None:
            return await self._display(raw, which_token)
        if raw.scope["method"] not in SAFE_METHODS and not is_from_our_own_page(raw, self._clients):
            raise BadRequest(403, "cross-site")
        return _account(signed_in, session)

    async def _display(self, raw: RawRequest, which_token: WhichToken) -> Caller:
        """A screen, which sees no more than anybody does. A token that may more is taken as bearer only.

        On other pages the same browser is anybody: whoever wants to sign in there is let.
        """
        if not raw.scope["path"].startswith(PAGES_OF_SCREENS):
            return ANYBODY
        given = self._given_cookie(raw, DISPLAY)
        token = await which_token(given) if given and given.startswith(TOKEN) else None
        return ANYBODY if token is None or token.kind not in WATCHING_KINDS else _bearer(token)

    def _given_cookie(self, raw: RawRequest, which: str) -> str | None:
        """Over https one that any page of the domain could set does not count."""
        given = cookies(raw)
        value = given.get(SECURE_COOKIE + which)
        if value is None and not self._clients.is_secure(raw.scope):
            value = given.get(LOOPBACK_COOKIE + which)
        return value

    def _set_cookie(self, raw: RawRequest, which: str, value: str, seconds: int) -> Header:
        plain = self._on_loopback and not self._clients.is_secure(raw.scope)
        name, secure = (LOOPBACK_COOKIE, "") if plain else (SECURE_COOKIE, "; Secure")
        text = f"{name}{which}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
        return (b"set-cookie", text.encode())


def must_be_allowed(caller: Caller, needed: Role, venue_id: VenueId, venue: str, *, by: str | None) -> None:
    """Nobody: 401. Somebody of another venue: 404, as if it were not there. Somebody of too low a role: 403."""
    must_be_known(caller)
    if venue_id not in caller.roles:
        raise UnknownTicket if by == "ticket" else UnknownVisit if by == "visit" else UnknownVenue(venue)
    if not caller.may(needed, venue_id):
        mine = caller.token_kind if caller.token_kind in DEVICES else caller.roles[venue_id]
        raise BadRequest(403, "role-too-low", role=mine, needed=needed)


def must_be_known(caller: Caller) -> None:
    if not caller.is_known:
        raise BadRequest(401, "not-signed-in", CHALLENGE)


def must_be_a_person(caller: Caller) -> AccountId:
    """With an account and its password: a token can be lost, and must not outlive that by what it made."""
    if caller.account_id is None:
        raise BadRequest(403, "not-an-account")
    return caller.account_id


def must_be_able_to_join(caller: Caller) -> None:
    """Refuse a display's token at every venue because a screen takes no numbers."""
    if caller.token_kind in WATCHING_KINDS:
        raise BadRequest(403, "role-too-low", why="display")


def _bearer(token: Token) -> Caller:
    token_id, roles = token.token_id, {token.venue_id: token.role}
    return Caller(f"token:{token_id}", roles, token_id=token_id, token_kind=token.kind)


def _account(signed_in: SignedIn, session: str | None) -> Caller:
    return Caller(
        f"staff:{signed_in.account.username}",
        {member.venue_id: member.role for member in signed_in.memberships},
        account_id=signed_in.account.account_id,
        username=signed_in.account.username,
        session=session,
    )


def calls_itself_loopback(raw: RawRequest) -> bool:
    """Whether the address in the browser is one of the machine's own."""
    return LOOPBACK_HOST.fullmatch(raw.headers.get(b"host", b"")) is not None


def is_from_our_own_page(raw: RawRequest, clients: Clients) -> bool:
    """A page that came over http is none of ours over https: whoever is in between may have written it."""
    site = raw.headers.get(b"sec-fetch-site")
    if site is not None:
        return site in {b"same-origin", b"none"}
    # `Origin: null` names no host. An empty Host would be the same as that, and is nobody's. Very old browsers send
    # no Origin with a form of the same site, and name the page it was on.
    host = raw.headers.get(b"host", b"")
    named = raw.headers.get(b"origin") or raw.headers.get(b"referer", b"")
    scheme, _, rest = named.partition(b"://")
    ours = b"https" if clients.is_secure(raw.scope) else b"http"
    return host != b"" and scheme == ours and _place(rest.partition(b"/")[0], scheme) == _place(host, scheme)


def _place(host: bytes, scheme: bytes) -> bytes:
    """Browsers leave out the port that goes without saying."""
    return host.removesuffix(b":443" if scheme == b"https" else b":80").lower()

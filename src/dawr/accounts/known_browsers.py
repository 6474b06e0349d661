"""Browsers that somebody signed in with before. Each keeps a signed mark of it in a cookie.

A mark lets nobody in. Whoever brings one is not held back by what strangers have tried, so that a stranger can lock
nobody out. It is good for 30 days, for one account, and until its password changes; it does not say whose it is.
"""

import hmac
import re
from base64 import urlsafe_b64encode

from dawr.accounts.passwords import NOBODYS
from dawr.domain import Account, AccountId
from dawr.ports import Clock, Ids

KEPT_MS = 30 * 24 * 60 * 60 * 1000
MOST_MARKS = 8
"""Of as many accounts in one browser: several people share one at a reception."""
SIGNATURE_BYTES = 16
MARK = re.compile(r"[0-9]{1,16}\.[A-Za-z0-9_-]{1,32}\.[A-Za-z0-9_-]{22}")
"""When it expires, which browser it is, and the signature."""

NOBODY = Account(AccountId("nobody's".ljust(22)), "", NOBODYS, 0)
"""An account that there is not takes as long as one that there is."""


class KnownBrowsers:
    """`secret` is the installation's own: whatever it signs is good in all of its processes."""

    def __init__(self, secret: str, clock: Clock, ids: Ids) -> None:
        self._secret = secret.encode()
        self._clock = clock
        self._ids = ids

    def recognise(self, account: Account | None, marks: str) -> str | None:
        """Which of the account's browsers brings these; None: it is not known."""
        for expires_at, browser, signature in self._good(marks):
            if self._fits(account or NOBODY, expires_at, browser, signature):
                return browser
        return None

    def remember(self, account: Account, marks: str) -> str:
        """What the browser is to keep from now on: a new mark of this account, and the latest of others."""
        others = [".".join(mark) for mark in self._good(marks) if not self._fits(account, *mark)]
        expires_at, browser = str(self._clock() + KEPT_MS), self._ids.token()
        new = f"{expires_at}.{browser}.{self._signature(account, expires_at, browser)}"
        return "~".join([new, *others[: MOST_MARKS - 1]])

    def _good(self, marks: str) -> list[tuple[str, str, str]]:
        """What could be marks, and has not expired. Anybody can send anything."""
        sent = marks.split("~", MOST_MARKS)[:MOST_MARKS]
        parts = (mark.split(".") for mark in sent if MARK.fullmatch(mark))
        return [
            (expires_at, browser, signature)
            for expires_at, browser, signature in parts
            if int(expires_at) > self._clock()
        ]

    def _fits(self, account: Account, expires_at: str, browser: str, signature: str) -> bool:
        return hmac.compare_digest(signature, self._signature(account, expires_at, browser))

    def _signature(self, account: Account, expires_at: str, browser: str) -> str:
        """Of the password too: with another one, every mark from before is worth nothing."""
        signed = f"known browser\n{account.account_id}\n{account.password_hash}\n{expires_at}\n{browser}"
        digest = hmac.digest(self._secret, signed.encode(), "sha256")[:SIGNATURE_BYTES]
        return urlsafe_b64encode(digest).decode().rstrip("=")

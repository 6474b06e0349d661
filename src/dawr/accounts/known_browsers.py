"""Browsers that somebody signed in with before. Each keeps a signed mark of it in a cookie.

A mark lets nobody in. Whoever brings one is not held back by what strangers have tried, so that a stranger can lock
nobody out. It is good for 30 days, for one account, and until its password changes; it does not say whose it is.
"""

import hmac
from base64 import urlsafe_b64encode

from dawr.domain import Account
from dawr.ports import Clock, Ids

KEPT_MS = 30 * 24 * 60 * 60 * 1000
MOST_MARKS = 8
"""Of as many accounts in one browser: several people share one at a reception."""
SIGNATURE_BYTES = 16


class KnownBrowsers:
    """`secret` is the installation's own: whatever it signs is good in all of its processes."""

    def __init__(self, secret: str, clock: Clock, ids: Ids) -> None:
        self._secret = secret.encode()
        self._clock = clock
        self._ids = ids

    def recognise(self, account: Account, marks: str) -> str | None:
        """Which of the account's browsers brings these; None: it is not known."""
        for mark in _split(marks):
            expires_at, browser, signature = mark.split(".")
            if self._fits(account, expires_at, browser, signature) and int(expires_at) > self._clock():
                return browser
        return None

    def remember(self, account: Account, marks: str) -> str:
        """What the browser is to keep from now on: a new mark of this account, and the latest of others."""
        others = [mark for mark in _split(marks) if not self._fits(account, *mark.split("."))]
        expires_at, browser = str(self._clock() + KEPT_MS), self._ids.token()
        new = f"{expires_at}.{browser}.{self._signature(account, expires_at, browser)}"
        return "~".join([new, *others[: MOST_MARKS - 1]])

    def _fits(self, account: Account, expires_at: str, browser: str, signature: str) -> bool:
        return hmac.compare_digest(signature, self._signature(account, expires_at, browser))

    def _signature(self, account: Account, expires_at: str, browser: str) -> str:
        """Of the password too: with another one, every mark from before is worth nothing."""
        signed = f"known browser\n{account.account_id}\n{account.password_hash}\n{expires_at}\n{browser}"
        digest = hmac.digest(self._secret, signed.encode(), "sha256")[:SIGNATURE_BYTES]
        return urlsafe_b64encode(digest).decode().rstrip("=")


def _split(marks: str) -> list[str]:
    """What could be marks. Anybody can send anything."""
    if not marks.isascii():
        return []
    return [mark for mark in marks.split("~", MOST_MARKS)[:MOST_MARKS] if mark.count(".") == 2]  # noqa: PLR2004

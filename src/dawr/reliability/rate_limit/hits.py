"""Who ran into a limit: one line a second for each policy, however many there are."""

from collections.abc import Callable
from hashlib import blake2b

from dawr.reliability.log import log

SAID_EVERY_MS = 1000
DIGEST_BYTES = 8


class Hits:
    """`count` is told the policy's name for each. `secret` keeps a key from being guessed by its hash."""

    def __init__(
        self, ticks: Callable[[], int], secret: bytes, *, count: Callable[[str], None] = lambda _: None
    ) -> None:
        self._ticks = ticks
        self._secret = secret
        self._count = count
        self._unsaid: dict[str, tuple[int, int]] = {}
        """By policy: how many since the last line, and when the next one may be."""

    def note(self, policy: str, key: str) -> None:
        """The line names the last of those that it counts."""
        self._count(policy)
        now = self._ticks()
        unsaid, next_line_at = self._unsaid.get(policy, (0, now))
        if now < next_line_at:
            self._unsaid[policy] = (unsaid + 1, next_line_at)
            return
        self._unsaid[policy] = (0, now + SAID_EVERY_MS)
        whose = blake2b(key.encode(), digest_size=DIGEST_BYTES, key=self._secret).hexdigest()
        log.info("limit.hit", policy=policy, key=whose, times=unsaid + 1)

"""How often passwords may be tried: only wrong ones count, and no stranger can lock anybody out for good."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dawr.domain import Account
from dawr.web.problems import BadRequest
from dawr.web.raw_request import RawRequest
from dawr.web.routes import Parts

VOUCHED_FOR_MS = 15 * 60 * 1000


class WrongPassword(BadRequest):
    """What counts."""


@asynccontextmanager
async def trying_password(
    parts: Parts, raw: RawRequest, username: str, account: Account | None, *, browser: str | None
) -> AsyncIterator[None]:
    """A try is charged before it is judged, so that many at once are no way around; what is not wrong is given back.

    What was tried before an account was unlocked counts no more, and for a quarter of an hour neither does what was
    tried from the same address. A name that is nobody's is held back like any other.
    """
    unlocked_at = 0 if account is None else account.unlocked_at or 0
    if account is None:
        whose = parts.limits.mark(username.strip().lower())
    else:
        whose = f"{account.account_id} since {unlocked_at}"
    vouched_for = 0 <= parts.engine.now() - unlocked_at < VOUCHED_FOR_MS
    async with parts.limits.turn_to_try(whose, raw, browser):
        charged = await parts.limits.charge_password(whose, raw, browser, vouched_for=vouched_for)
        try:
            yield
        except WrongPassword:
            raise
        except BaseException:  # whoever is cut off was not told whether it was right
            await parts.limits.give_back(*charged)
            raise
        await parts.limits.give_back(*charged)

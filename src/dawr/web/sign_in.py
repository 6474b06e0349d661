"""Signing in, whichever door it comes through: throttled, and the same answer for every kind of wrong."""

from typing import Annotated

import msgspec
from msgspec import Meta

from dawr.domain.account import SignedIn
from dawr.web.parts import Parts
from dawr.web.problems import BadRequest
from dawr.web.request import Request


class SignInInput(msgspec.Struct, forbid_unknown_fields=True):
    username: Annotated[str, Meta(max_length=64)]
    password: Annotated[str, Meta(max_length=128)]


async def sign_in(parts: Parts, request: Request[SignInInput]) -> tuple[str, SignedIn]:
    """A new session and whose it is. A try is charged before it is judged; a right one is given back."""
    username = request.given.username
    tried = await parts.limits.try_login(username, request.raw)
    signed_in = await parts.accounts.sign_in(username, request.given.password)
    if signed_in is None:
        raise BadRequest(401, "wrong-credentials", "The name or the password is not right.")
    await parts.limits.login_succeeded(tried)
    return signed_in

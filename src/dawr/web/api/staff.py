"""Staff of a venue, and their roles."""

from typing import Annotated

import msgspec

from dawr.domain import Role, StaffMember
from dawr.domain.errors import AlreadyStaff, InvalidValue, LastOwner, UnknownStaff, UnknownVenue, UsernameTaken
from dawr.operations.people import ChangeRole, DisableStaff, EnableStaff, LookAtStaff, StaffChanged
from dawr.reliability.idempotency import Reply
from dawr.web.api.queues import Reason
from dawr.web.api.tokens import TokenAnswer, token_answer
from dawr.web.pagination import ListQuery, Page, page_by
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "staff"


class StaffAnswer(msgspec.Struct, frozen=True):
    username: str
    role: Role
    added_at: int
    disabled_at: int | None


class StaffChangedAnswer(StaffAnswer, frozen=True):
    tokens: list[TokenAnswer]
    """Those that they answer for, and what each may now."""


class AddStaffInput(msgspec.Struct, forbid_unknown_fields=True):
    username: Annotated[str, msgspec.Meta(max_length=64)]
    role: Role
    password: (
        Annotated[str, msgspec.Meta(max_length=128, description="Of a new account; leave it out for one that exists.")]
        | None
    ) = None
    reason: Annotated[str, msgspec.Meta(max_length=500)] | None = None


class RoleInput(msgspec.Struct, forbid_unknown_fields=True):
    role: Role
    reason: Annotated[str, msgspec.Meta(max_length=500)] | None = None


async def list_staff(parts: Parts, request: Request[ListQuery]) -> Response:
    """By name: the cursor is the last name of the page before."""
    staff = await parts.engine.read(request.venue_id, LookAtStaff())
    return answered(page_by(lambda member: member.username, staff, request.given, _answer))


async def add(parts: Parts, request: Request[AddStaffInput]) -> Reply:
    given = request.given
    request.origin(given.reason)  # a reason that is none is refused before an account is made
    adding = await parts.accounts.add_staff(
        given.username, given.role, given.password, by=(request.account_id, request.role), known_to=request.caller.roles
    )
    return await request.do(adding, _answer, status=201, reason=given.reason)


async def change_role(_: Parts, request: Request[RoleInput]) -> Reply:
    changing = ChangeRole(request.params["username"], request.given.role, request.account_id)
    return await request.do(changing, _changed, reason=request.given.reason)


async def disable(parts: Parts, request: Request[Reason]) -> Reply:
    username = request.params["username"]
    reply = await request.do(DisableStaff(username, request.account_id), _changed, reason=request.given.reason)
    await parts.accounts.sign_out_unless_member(username)
    return reply


async def enable(_: Parts, request: Request[Reason]) -> Reply:
    enabling = EnableStaff(request.params["username"], request.account_id)
    return await request.do(enabling, _changed, reason=request.given.reason)


def _answer(member: StaffMember) -> StaffAnswer:
    return StaffAnswer(member.username, member.role, member.added_at, member.disabled_at)


def _changed(changed: StaffChanged) -> StaffChangedAnswer:
    member, tokens = changed.member, [token_answer(token) for token in changed.tokens]
    return StaffChangedAnswer(member.username, member.role, member.added_at, member.disabled_at, tokens)


ROUTES = (
    Route(
        method="GET",
        path="/v1/venues/{venue}/staff",
        name="list-staff",
        summary="Who works here, by name",
        tag=TAG,
        handler=list_staff,
        query=ListQuery,
        answer=Page[StaffAnswer],
        who="manager",
        venue="venue",
        refusals=(UnknownVenue,),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/staff",
        name="add-staff",
        summary="Add a staff member, with a new account or one that you manage elsewhere",
        tag=TAG,
        handler=add,
        body=AddStaffInput,
        answer=StaffAnswer,
        status=201,
        who="manager",
        for_people=True,
        venue="venue",
        refusals=(UnknownVenue, AlreadyStaff, UsernameTaken, InvalidValue),
        secret_fields=("password",),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/staff/{username}/role",
        name="change-role",
        summary="Give a staff member another role",
        tag=TAG,
        handler=change_role,
        body=RoleInput,
        answer=StaffChangedAnswer,
        who="manager",
        for_people=True,
        venue="venue",
        refusals=(UnknownVenue, UnknownStaff, LastOwner),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/staff/{username}/disable",
        name="disable-staff",
        summary="Shut a staff member out of this venue at once; what they answer for opens nothing any more",
        tag=TAG,
        handler=disable,
        body=Reason,
        answer=StaffChangedAnswer,
        who="manager",
        for_people=True,
        venue="venue",
        refusals=(UnknownVenue, UnknownStaff, LastOwner),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/staff/{username}/enable",
        name="enable-staff",
        summary="Let a staff member in again",
        tag=TAG,
        handler=enable,
        body=Reason,
        answer=StaffChangedAnswer,
        who="manager",
        for_people=True,
        venue="venue",
        refusals=(UnknownVenue, UnknownStaff),
    ),
)

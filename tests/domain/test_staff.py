"""Roles: who may what to whom, and that a venue keeps an owner."""

import itertools

import pytest

from dawr.domain.account import AccountId
from dawr.domain.errors import LastOwner, RoleTooLow, UnknownStaff
from dawr.domain.staff import ROLES, Role, StaffMember, at_least, member_called, must_grant, must_leave_an_owner
from dawr.domain.venue import VenueId


def a_member(username: str, role: Role = "staff", *, disabled_at: int | None = None) -> StaffMember:
    return StaffMember(VenueId("v1"), AccountId(f"account-of-{username}"), username, role, 0, disabled_at)


def test_roles_rise_from_viewer_to_owner() -> None:
    assert ROLES == ("viewer", "staff", "manager", "owner")
    for role in ROLES:
        assert [at_least(role, needed) for needed in ROLES] == [place <= ROLES.index(role) for place in range(4)]


MAY_GRANT = {
    ("manager", "viewer"),
    ("manager", "staff"),
    ("manager", "manager"),
    ("owner", "viewer"),
    ("owner", "staff"),
    ("owner", "manager"),
    ("owner", "owner"),
}


@pytest.mark.parametrize(("by", "role"), list(itertools.product(ROLES, ROLES)))
def test_only_managers_and_owners_grant_and_nobody_above_their_own(by: Role, role: Role) -> None:
    if (by, role) in MAY_GRANT:
        must_grant(by, role)
        return
    with pytest.raises(RoleTooLow) as refused:
        must_grant(by, role)

    assert refused.value.facts == {"role": by, "needed": "owner" if role == "owner" else "manager"}


@pytest.mark.parametrize("role", ROLES)
def test_the_command_line_grants_everything(role: Role) -> None:
    must_grant(None, role)


def test_a_staff_member_is_found_by_name_in_any_case() -> None:
    assert member_called([a_member("amna"), a_member("basma")], " Basma ") == a_member("basma")


def test_a_name_that_nobody_has_is_not_repeated_at_any_length() -> None:
    with pytest.raises(UnknownStaff) as refused:
        member_called([a_member("amna")], "x" * 5000)

    assert refused.value.facts == {"username": "x" * 64}


def test_the_last_active_owner_cannot_go() -> None:
    amna = a_member("amna", "owner")

    with pytest.raises(LastOwner):
        must_leave_an_owner([amna, a_member("basma", "manager"), a_member("celia", "owner", disabled_at=1)], amna)


@pytest.mark.parametrize(
    "leaving", [a_member("amna", "owner"), a_member("basma", "manager"), a_member("celia", "owner", disabled_at=1)]
)
def test_anybody_goes_where_another_owner_stays(leaving: StaffMember) -> None:
    must_leave_an_owner([leaving, a_member("dana", "owner")], leaving)


def test_a_venue_without_an_owner_has_none_to_lose() -> None:
    must_leave_an_owner([a_member("amna")], a_member("amna"))

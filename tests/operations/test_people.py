"""Staff and tokens as rules alone: every role against every role, and what a refusal leaves behind."""

import itertools
from typing import Any

import msgspec
import pytest

from dawr.domain.account import AccountId
from dawr.domain.errors import (
    AlreadyStaff,
    InvalidValue,
    LastOwner,
    Refused,
    RoleTooLow,
    UnknownStaff,
    UnknownToken,
    UnknownVenue,
)
from dawr.domain.events import Origin
from dawr.domain.staff import ROLES, Role, StaffMember
from dawr.domain.token import Token, TokenId
from dawr.operations.loaded import NotLoaded
from dawr.operations.operation import Operation
from dawr.operations.people import AddStaff, ChangeRole, DisableStaff, EnableStaff, LookAtStaff, StaffChanged
from dawr.operations.rows import STAFF, TOKENS
from dawr.operations.tokens import LookAtTokens, MakeToken, RevokeToken, TakeTokenOver
from dawr.operations.transaction import Transaction
from dawr.ports import Rows, Wants
from tests.domain.builders import VENUE
from tests.operations.clinic import CLINIC, HEAD, NOW, RAN_MS


def account_of(username: str) -> AccountId:
    return AccountId(f"account-of-{username}")


OWNER, MANAGER = account_of("owner"), account_of("manager")


def a_member(username: str, role: Role = "staff", *, disabled_at: int | None = None) -> StaffMember:
    return StaffMember(VENUE, account_of(username), username, role, 1, disabled_at)


def a_token(
    number: int,
    role: Role = "staff",
    *,
    made_at: int = 1,
    revoked_at: int | None = None,
    account_id: AccountId | None = None,
) -> Token:
    return Token(
        VENUE, TokenId(f"v1-{number}"), "hash", "api", role, f"Token {number}", "amna", made_at, revoked_at, account_id
    )


PEOPLE = (
    a_member("owner", "owner"),
    a_member("other-owner", "owner"),
    a_member("manager", "manager"),
    a_member("staff"),
    a_member("viewer", "viewer"),
    a_member("gone", "staff", disabled_at=5),
)


def a_transaction(*staff: StaffMember, tokens: tuple[Token, ...] = ()) -> Transaction:
    tx = Transaction(CLINIC, HEAD, now=NOW, ran_ms=RAN_MS)
    tx.absorb(
        Wants(rows={STAFF: set(), TOKENS: set()}),
        Rows(rows={STAFF: list(staff or PEOPLE), TOKENS: list(tokens)}),
        depth=1,
    )
    tx.begin(Origin(actor="staff:amna"))
    return tx


def add(username: str = "new", role: Role = "staff", by: AccountId | None = OWNER) -> AddStaff:
    return AddStaff(account_of(username), username, role, by)


def make(role: Role | None = "staff", by: AccountId | None = OWNER, *, name: str = "A program") -> MakeToken:
    return MakeToken(
        token_id=TokenId("v1-new"),
        secret_hash="hash",
        kind="api",
        name=name,
        role=role,
        made_by="staff:amna",
        account_id=by,
    )


def test_whoever_is_added_is_there_and_the_event_says_who_did_it() -> None:
    tx = a_transaction()

    member = add().decide(tx, NOW)

    (event,) = tx.changes().events
    assert member == StaffMember(VENUE, AccountId("account-of-new"), "new", "staff", NOW)
    assert tx.changes().of(STAFF) == [member]
    assert (event.kind, event.actor, event.data) == ("staff.added", "staff:amna", '{"username":"new","role":"staff"}')


@pytest.mark.parametrize("name", ["staff", "gone"])
def test_nobody_is_added_twice(name: str) -> None:
    with pytest.raises(AlreadyStaff):
        add(name).decide(a_transaction(), NOW)


@pytest.mark.parametrize(
    ("operation", "kind", "data"),
    [
        (ChangeRole("staff", "manager", OWNER), "staff.role_changed", {"role": "manager", "before": "staff"}),
        (ChangeRole("OWNER", "viewer", OWNER), "staff.role_changed", {"role": "viewer", "before": "owner"}),
        (DisableStaff("manager", MANAGER), "staff.disabled", {"role": "manager"}),
        (EnableStaff("gone", MANAGER), "staff.enabled", {"role": "staff"}),
    ],
)
def test_each_change_of_somebody_is_one_event(
    operation: Operation[StaffChanged], kind: str, data: dict[str, str]
) -> None:
    tx = a_transaction()

    changed = operation.decide(tx, NOW)

    (event,) = tx.changes().events
    assert isinstance(changed, StaffChanged)
    member = changed.member
    assert tx.changes().of(STAFF) == [member]
    assert event.kind == kind
    assert msgspec.json.decode(event.data) == {"username": member.username, **data}


@pytest.mark.parametrize(
    "operation",
    [ChangeRole("staff", "staff", OWNER), DisableStaff("gone", OWNER), EnableStaff("staff", OWNER)],
    ids=lambda operation: type(operation).__name__,
)
def test_what_is_so_already_is_no_change(operation: Operation[StaffChanged]) -> None:
    tx = a_transaction()

    operation.decide(tx, NOW)

    assert tx.changes().is_empty
    assert tx.changes().of(STAFF) == []


@pytest.mark.parametrize(("by", "of", "to"), list(itertools.product(ROLES, ROLES, ROLES)))
def test_a_role_is_changed_by_whoever_manages_and_stands_above_neither_it_nor_the_new_one(
    by: Role, of: Role, to: Role
) -> None:
    may = by in {"manager", "owner"} and ROLES.index(by) >= max(ROLES.index(of), ROLES.index(to))

    assert (outcome(ChangeRole(of, to, account_of(by))) is not RoleTooLow) is may


@pytest.mark.parametrize(("by", "of"), list(itertools.product(ROLES, ROLES)))
def test_the_same_holds_for_adding_disabling_enabling_and_tokens(by: Role, of: Role) -> None:
    may = by in {"manager", "owner"} and ROLES.index(by) >= ROLES.index(of)

    asker = account_of(by)
    for operation in (add(role=of, by=asker), DisableStaff(of, asker), EnableStaff(of, asker), make(of, asker)):
        assert (outcome(operation) is not RoleTooLow) is may, operation
    revoked = outcome(RevokeToken(TokenId("v1-1"), asker), tokens=(a_token(1, of),))
    assert (revoked is not RoleTooLow) is may


@pytest.mark.parametrize(
    "operation",
    [
        ChangeRole("owner", "manager", None),
        ChangeRole("owner", "manager", OWNER),
        DisableStaff("owner", None),
        DisableStaff("owner", OWNER),
    ],
    ids=str,
)
def test_the_last_active_owner_stays_whoever_asks(operation: Operation[StaffChanged]) -> None:
    gone = a_member("gone", "owner", disabled_at=5)

    assert outcome(operation, a_member("owner", "owner"), gone) is LastOwner
    assert outcome(operation, a_member("owner", "owner"), a_member("second", "owner")) is None


@pytest.mark.parametrize("operation", [ChangeRole("x", "staff", None), DisableStaff("x", None), EnableStaff("x", None)])
def test_somebody_who_does_not_work_here_is_unknown(operation: Operation[StaffChanged]) -> None:
    assert outcome(operation) is UnknownStaff


A_TOKEN = TokenId("v1-1")

BY_MANAGER: list[Operation[Any]] = [
    add(by=MANAGER),
    ChangeRole("manager", "manager", MANAGER),
    ChangeRole("staff", "viewer", MANAGER),
    DisableStaff("staff", MANAGER),
    EnableStaff("manager", MANAGER),
    EnableStaff("gone", MANAGER),
    make(by=MANAGER),
    RevokeToken(A_TOKEN, MANAGER),
]


@pytest.mark.parametrize("operation", BY_MANAGER, ids=str)
def test_whoever_was_demoted_or_disabled_since_the_door_let_them_in_changes_nothing(operation: Operation[Any]) -> None:
    others = [member for member in PEOPLE if member.username != "manager"]
    disabled, demoted = a_member("manager", "manager", disabled_at=5), a_member("manager", "staff")

    assert outcome(operation, *others, a_member("manager", "manager"), tokens=(a_token(1),)) is None
    assert outcome(operation, *others, disabled, tokens=(a_token(1),)) is UnknownVenue
    assert outcome(operation, *others, demoted, tokens=(a_token(1),)) is RoleTooLow
    assert outcome(operation, *others, tokens=(a_token(1),)) is UnknownVenue


def test_only_an_owner_who_still_is_one_takes_a_token_over() -> None:
    taking = TakeTokenOver(A_TOKEN, "other-owner", account_of("other-owner"))
    demoted, disabled = a_member("other-owner", "manager"), a_member("other-owner", "owner", disabled_at=5)

    assert outcome(taking, tokens=(a_token(1),)) is None
    assert outcome(taking, *PEOPLE[:1], demoted, tokens=(a_token(1),)) is RoleTooLow
    assert outcome(taking, *PEOPLE[:1], disabled, tokens=(a_token(1),)) is UnknownVenue


def test_a_token_revokes_by_what_it_may_at_that_moment() -> None:
    revoking = RevokeToken(A_TOKEN, None, by_token=TokenId("v1-2"))
    lost, managers = a_token(1), a_token(2, "manager", account_id=MANAGER)

    assert outcome(revoking, tokens=(lost, managers)) is None
    assert outcome(revoking, a_member("manager"), tokens=(lost, managers)) is RoleTooLow
    assert outcome(revoking, a_member("manager", "manager", disabled_at=5), tokens=(lost, managers)) is UnknownVenue
    assert outcome(revoking, tokens=(lost, a_token(2, "manager", revoked_at=5))) is UnknownVenue
    assert outcome(revoking, tokens=(lost,)) is UnknownVenue


def test_a_token_is_made_and_revoked_with_its_events_and_without_its_secret() -> None:
    tx = a_transaction()

    made = make().decide(tx, NOW).token
    revoked = RevokeToken(made.token_id, MANAGER).decide(tx, NOW + 1).token
    RevokeToken(made.token_id, MANAGER).decide(tx, NOW + 2)

    facts = {"token": "v1-new", "name": "A program", "token_kind": "api", "role": "staff"}
    assert (made.is_active, revoked.is_active, revoked.revoked_at) == (True, False, NOW + 1)
    assert tx.changes().of(TOKENS) == [revoked]
    assert [event.kind for event in tx.changes().events] == ["token.made", "token.revoked"]
    assert [msgspec.json.decode(event.data) for event in tx.changes().events] == [facts, facts]


def test_a_token_that_there_is_not_is_not_revoked() -> None:
    assert outcome(RevokeToken(TokenId("v1-9"), None), tokens=(a_token(1),)) is UnknownToken


def test_a_token_without_a_name_is_not_made() -> None:
    assert outcome(make(name=" ")) is InvalidValue


@pytest.mark.parametrize(
    "operation",
    [add(), ChangeRole("staff", "viewer", None), DisableStaff("staff", None), EnableStaff("gone", None), make()],
    ids=lambda operation: type(operation).__name__,
)
def test_what_is_taken_back_was_never_there(operation: Operation[Any]) -> None:
    tx = a_transaction()
    before = (tx.all(STAFF), tx.all(TOKENS))

    operation.decide(tx, NOW)
    assert (tx.all(STAFF), tx.all(TOKENS)) != before
    tx.take_back()

    assert (tx.all(STAFF), tx.all(TOKENS)) == before
    assert (tx.changes().of(STAFF), tx.changes().of(TOKENS), tx.changes().is_empty) == ([], [], True)


@pytest.mark.parametrize("operation", [add(), ChangeRole("x", "staff", None), RevokeToken(TokenId("v1-1"), None)])
def test_rows_that_are_not_here_yet_are_asked_for(operation: Operation[Any]) -> None:
    with pytest.raises(NotLoaded) as missing:
        operation.decide(Transaction(CLINIC, HEAD, now=NOW, ran_ms=RAN_MS), NOW)

    expected = Wants()
    operation.wants(CLINIC, expected)
    assert missing.value.wants.rows.keys() <= expected.rows.keys()


def test_a_late_load_does_not_undo_what_was_changed_meanwhile() -> None:
    tx = Transaction(CLINIC, HEAD, now=NOW, ran_ms=RAN_MS)
    make(by=None).decide(tx, NOW)

    tx.absorb(Wants(rows={TOKENS: set()}), Rows(rows={TOKENS: [a_token(1)]}), depth=1)

    assert {token.token_id for token in tx.all(TOKENS)} == {"v1-new", "v1-1"}
    assert [token.token_id for token in tx.changes().of(TOKENS)] == ["v1-new"]


def test_staff_are_listed_by_name_and_tokens_by_age() -> None:
    tx = a_transaction(a_member("b"), a_member("a"), tokens=(a_token(2, made_at=9), a_token(3), a_token(1)))

    assert [member.username for member in LookAtStaff().look(tx, NOW)] == ["a", "b"]
    assert [now.token.token_id for now in LookAtTokens().look(tx, NOW)] == ["v1-1", "v1-3", "v1-2"]


def outcome(operation: Operation[Any], *staff: StaffMember, tokens: tuple[Token, ...] = ()) -> type[Refused] | None:
    """How it was refused, if it was."""
    try:
        operation.decide(a_transaction(*staff, tokens=tokens), NOW)
    except Refused as refusal:
        return type(refusal)
    return None

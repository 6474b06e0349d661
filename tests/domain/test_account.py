"""Names and passwords: what is taken, and what is refused without repeating it."""

import pytest

from dawr.domain.account import (
    COMMON_PASSWORDS,
    Account,
    AccountId,
    Session,
    SignedIn,
    checked_password,
    checked_username,
)
from dawr.domain.errors import InvalidValue
from dawr.domain.staff import StaffMember
from dawr.domain.venue import VenueId


@pytest.mark.parametrize("name", ["amna", "a1", "amna.al-ali_2@clinic.example", "x" * 64])
def test_a_username_of_letters_digits_and_a_few_marks_is_taken(name: str) -> None:
    assert checked_username(name) == name


def test_a_username_is_the_same_in_any_case_and_without_the_space_around_it() -> None:
    assert checked_username("  Amna.B ") == "amna.b"


@pytest.mark.parametrize("name", ["", "a", "x" * 65, "two words", "أمنة", "a\x00b", "amna:b", "K" * 70, "ﬁne"])
def test_any_other_username_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        checked_username(name)

    assert refused.value.facts["field"] == "username"


@pytest.mark.parametrize(
    "password", ["8letters", "p" * 127 + "q", "كلمة سر طويلة", "correct horse battery staple", "  spaces  "]
)
def test_a_password_needs_no_kinds_of_characters(password: str) -> None:
    assert checked_password(password, username="amna") == password


@pytest.mark.parametrize(
    "password",
    ["", "seven77", "x" * 7 + "y" * 122, "aaaaaaaa", "12345678", "87654321", "abcdefghij", "ABCDEFGH", "ZYXWVUTSR"],
)
def test_a_short_long_or_plain_password_is_refused_without_repeating_it(password: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        checked_password(password, username="amna")

    assert refused.value.facts["field"] == "password"
    assert not password or password not in str(refused.value)


def test_the_username_is_no_password_in_any_case() -> None:
    with pytest.raises(InvalidValue):
        checked_password("Amna.Al-Ali", username="amna.al-ali")


@pytest.mark.parametrize("password", ["password", "PassWord1", "qwertyuiop", "iloveyou", "letmein123", "P@ssw0rd"])
def test_a_password_that_is_tried_first_is_refused(password: str) -> None:
    with pytest.raises(InvalidValue):
        checked_password(password, username="amna")


def test_the_common_passwords_could_all_be_chosen_otherwise() -> None:
    assert all(len(password) >= 8 and password == password.lower() for password in COMMON_PASSWORDS)
    assert len(COMMON_PASSWORDS) > 150


def test_somebody_who_is_signed_in_has_a_role_only_where_they_work() -> None:
    here, elsewhere = VenueId("here"), VenueId("elsewhere")
    amna = AccountId("a1")
    signed_in = SignedIn(
        Session("hash", amna, 0, 0, 1),
        Account(amna, "amna", "hash", 0),
        (StaffMember(here, amna, "amna", "manager", 0),),
    )

    assert (signed_in.role_at(here), signed_in.role_at(elsewhere)) == ("manager", None)

"""Tokens and secrets: what a device may, and what is kept of a secret."""

import pytest

from dawr.bootstrap.system import SystemIds
from dawr.domain.errors import InvalidValue
from dawr.domain.secret import fits, hash_of
from dawr.domain.staff import ROLES, Role
from dawr.domain.token import TokenKind, checked_name, checked_role, venue_of
from dawr.domain.venue import VenueId


@pytest.mark.parametrize("role", ROLES)
def test_an_api_token_has_the_role_that_is_asked_for(role: Role) -> None:
    assert checked_role("api", role) == role


def test_an_api_token_needs_a_role() -> None:
    with pytest.raises(InvalidValue):
        checked_role("api", None)


@pytest.mark.parametrize("kind", ["kiosk", "display"])
def test_a_device_is_a_viewer_whatever_is_asked_for(kind: TokenKind) -> None:
    assert (checked_role(kind, None), checked_role(kind, "viewer")) == ("viewer", "viewer")
    with pytest.raises(InvalidValue):
        checked_role(kind, "staff")


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\nb", "a\x00b", "a\u2028b"])
def test_a_token_needs_a_name_that_can_be_shown(name: str) -> None:
    with pytest.raises(InvalidValue):
        checked_name(name)


def test_a_tokens_name_is_kept_without_the_space_around_it() -> None:
    assert checked_name("  كشك الباب ") == "كشك الباب"


@pytest.mark.parametrize("venue", ["3k9x2m", "v-1"])
def test_a_tokens_id_says_which_venue_it_is_of(venue: str) -> None:
    assert venue_of(SystemIds().new(VenueId(venue))) == venue


@pytest.mark.parametrize("nonsense", ["", "-", "no hyphen", "\ud800"])
def test_an_id_that_is_none_is_of_no_venue(nonsense: str) -> None:
    assert venue_of(nonsense) == ""


def test_a_secret_is_recognised_by_its_hash_alone() -> None:
    kept = hash_of("a secret")

    assert fits("a secret", kept)
    assert not fits("another", kept)
    assert not fits("\ud800", kept)
    assert "secret" not in kept
    assert len(kept) == 64

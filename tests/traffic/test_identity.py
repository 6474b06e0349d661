"""The id that a request is counted under. The first seven tests are the seed's, by their names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.traffic import extract_timestamp, generate, is_valid
from dawr.traffic.identity import ID, id_of, whole_hash

MOMENT = 1730956800000
GIVEN = (MOMENT, "192.168.1.1", "/api/users", "req-123")


def test_should_generate_a_valid_idempotent_id() -> None:
    assert ID.fullmatch(generate(*GIVEN))


def test_same_input_should_generate_the_same_id() -> None:
    assert generate(*GIVEN) == generate(*GIVEN)


def test_different_input_should_generate_different_ids() -> None:
    assert generate(*GIVEN) != generate(MOMENT + 1, *GIVEN[1:])


def test_should_accept_a_valid_id() -> None:
    assert is_valid("1730956800000-a1b2c3d4")


def test_should_reject_invalid_ids() -> None:
    assert not is_valid("invalid")
    assert not is_valid("1730956800000")
    assert not is_valid("1730956800000-xyz")


def test_should_extract_the_timestamp_from_an_id() -> None:
    assert extract_timestamp("1730956800000-a1b2c3d4") == MOMENT


def test_an_invalid_id_should_return_none() -> None:
    assert extract_timestamp("invalid") is None


def test_it_is_the_id_that_the_seeds_own_code_makes() -> None:
    """SHA-256 of `192.168.1.1:/api/users:req-123`, as `sha256sum` has it."""
    assert generate(*GIVEN) == "1730956800000-ca81a161"


@pytest.mark.parametrize("other", [("10.0.0.1", "/api/users", "req-123"), ("192.168.1.1", "/", "req-123")])
def test_another_visitor_or_path_is_another_request(other: tuple[str, str, str]) -> None:
    assert generate(MOMENT, *other) != generate(*GIVEN)


@pytest.mark.parametrize(
    "text",
    [
        "1730956800000-A1B2C3D4",
        "1730956800000-a1b2c3d4\n",
        "٠" * 13 + "-a1b2c3d4",
        "",
        None,
        1730956800000,
        b"1730956800000-a1b2c3d4",
        ["1730956800000-a1b2c3d4"],
    ],
)
def test_what_only_looks_like_an_id_is_none(text: object) -> None:
    assert not is_valid(text)
    assert extract_timestamp(text) is None


@given(st.integers(0, 9_999_999_999_999), st.text(), st.text(), st.text())
def test_every_id_is_valid_and_tells_its_time(at: int, visitor: str, path: str, request_id: str) -> None:
    made = generate(at, visitor, path, request_id)

    assert is_valid(made)
    assert extract_timestamp(made) == at
    assert made == id_of(at, whole_hash(visitor, path, request_id))

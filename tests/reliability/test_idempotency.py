"""A retried request has one effect and one answer."""

from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.reliability.idempotency import ANONYMOUS, Answer, AnswerKey, Claim, InProgress, KeyReused, Reply

CLAIM = Claim(AnswerKey("v1/enter", ANONYMOUS, "k-1"), fingerprint="f-1", keep_ms=1000)


def test_the_answer_to_a_retry_is_the_first_one_and_says_so() -> None:
    answer = Reply(201, b'{"number":1}').kept(CLAIM, now=50)

    assert answer.replay(CLAIM, now=60) == Reply(201, b'{"number":1}', replayed=True)


def test_another_request_under_the_same_key_is_refused() -> None:
    answer = Reply(201, b"{}").kept(CLAIM, now=50)
    other = msgspec.structs.replace(CLAIM, fingerprint="f-2")

    with pytest.raises(KeyReused) as refusal:
        answer.replay(other, now=60)

    assert refusal.value.code == "idempotency-key-reused"


def test_a_kept_answer_is_complete_and_expires() -> None:
    answer = Reply(201, b"{}").kept(CLAIM, now=50)

    assert answer == Answer(
        scope="v1/enter",
        principal="anonymous",
        key="k-1",
        fingerprint="f-1",
        state="completed",
        lease_until=None,
        fence=0,
        status=201,
        body=b"{}",
        expires_at=1050,
    )


def test_a_fresh_reply_was_not_replayed() -> None:
    assert not Reply(200, b"").replayed


def test_keys_of_two_people_or_two_routes_never_meet() -> None:
    keys = {AnswerKey("v1/enter", "a", "k"), AnswerKey("v1/enter", "b", "k"), AnswerKey("v1/leave", "a", "k")}

    assert len(keys) == 3


@given(status=st.integers(200, 599), body=st.binary(max_size=200), now=st.integers(0, 2**50), again=st.integers(1, 5))
def test_however_often_it_is_asked_for_an_answer_stays_byte_for_byte(
    status: int, body: bytes, now: int, again: int
) -> None:
    answer = Reply(status, body).kept(CLAIM, now)

    replies = {answer.replay(CLAIM, now) for _ in range(again)}

    assert replies == {Reply(status, body, replayed=True)}
    assert answer.expires_at == now + CLAIM.keep_ms


@pytest.mark.parametrize(
    ("state", "lease_until", "expected"),
    [
        ("started", 61, "in progress"),
        ("started", 60, None),
        ("started", None, None),
        ("failed", None, None),
        ("failed", 61, None),
        ("completed", None, "replayed"),
    ],
)
def test_only_what_was_completed_is_replayed(
    state: Literal["started", "completed", "failed"], lease_until: int | None, expected: str | None
) -> None:
    answer = msgspec.structs.replace(Reply(200, b"").kept(CLAIM, now=50), state=state, lease_until=lease_until)
    try:
        reply = answer.replay(CLAIM, now=60)
    except InProgress:
        told: str | None = "in progress"
    else:
        told = None if reply is None else "replayed"

    assert told == expected


@pytest.mark.parametrize("state", ["started", "failed", "completed"])
def test_what_has_expired_is_nothing_whatever_it_was(state: Literal["started", "completed", "failed"]) -> None:
    answer = msgspec.structs.replace(Reply(200, b"").kept(CLAIM, now=50), state=state, lease_until=10_000)
    other = msgspec.structs.replace(CLAIM, fingerprint="f-2")

    assert answer.replay(other, now=1050) is None
    with pytest.raises(KeyReused):
        answer.replay(other, now=1049)


def test_every_conflict_says_in_a_sentence_what_to_do() -> None:
    assert str(InProgress()).endswith("Try again in a second.")
    assert str(KeyReused()) == "This idempotency key was used for another request."

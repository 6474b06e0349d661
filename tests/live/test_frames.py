"""The bytes of server-sent events: what is put into one cannot begin another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.live.frames import EventId, event_id, frame, mark, retry


@given(st.text())
def test_no_data_can_begin_a_field_of_its_own(text: str) -> None:
    data = text.encode(errors="replace")

    lines = frame("update", data, at=b"1.2").split(b"\n")

    assert lines[:2] == [b"id: 1.2", b"event: update"]
    assert lines[-2:] == [b"", b""]
    assert all(line.startswith(b"data: ") and b"\r" not in line for line in lines[2:-2])
    sent = b"\n".join(line.removeprefix(b"data: ") for line in lines[2:-2])
    assert sent == data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


@pytest.mark.parametrize(
    "text", ["", "1", "1.", ".1", "1.2.3", "-1.2", "1.-2", " 1.2", "1.2\n", "1,2", "a.b", "١.٢", "9" * 40 + ".1"]
)
def test_what_is_no_id_of_ours_is_none(text: str) -> None:
    assert event_id(text) is None


@given(st.integers(0, 2**48), st.integers(0, 2**53))
def test_an_id_comes_back_as_it_went(epoch: int, version: int) -> None:
    assert event_id(bytes(EventId(epoch, version)).decode()) == EventId(epoch, version)


def test_a_mark_and_a_retry_are_no_events() -> None:
    assert mark(b"1.2") == b"id: 1.2\n\n"
    assert retry(1500) == b"retry: 1500\n\n"

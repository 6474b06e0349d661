"""What this machine says of its clock."""

import ctypes
import struct
from types import SimpleNamespace

import pytest

from dawr.bootstrap.system import is_synchronised

SYSTEM_SIZE = 512
STATUS_AT = 5 * ctypes.sizeof(ctypes.c_long)
UNSYNCHRONISED = 0x0040 | 0x1000
"""STA_UNSYNC and STA_CLOCKERR, by which the kernel itself judges."""


@pytest.mark.parametrize("said", range(5))
def test_a_clock_is_synchronised_where_the_system_says_so(said: int) -> None:
    assert is_synchronised(SimpleNamespace(adjtimex=lambda _: said))


@pytest.mark.parametrize("said", [5, -1])
def test_a_clock_is_not_synchronised_where_the_system_denies_it_or_fails(said: int) -> None:
    assert not is_synchronised(SimpleNamespace(adjtimex=lambda _: said))


def test_a_system_that_cannot_be_asked_has_no_synchronised_clock() -> None:
    assert not is_synchronised(SimpleNamespace())


def test_asking_changes_nothing_and_agrees_with_the_status_of_this_machine() -> None:
    told = ctypes.create_string_buffer(SYSTEM_SIZE)
    result = ctypes.CDLL(None).adjtimex(told)
    (status,) = struct.unpack_from("i", told.raw, STATUS_AT)

    assert is_synchronised() is (result >= 0 and not status & UNSYNCHRONISED)

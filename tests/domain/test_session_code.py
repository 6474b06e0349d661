"""A ticket's code: read back as it was written, and never made up."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.day import Day
from dawr.domain.queue import QueueId
from dawr.domain.session_code import LETTERS, SessionCodes, read_session_code
from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import VenueId
from tests.domain.builders import a_queue, a_ticket, a_venue

VENUE = a_venue(a_queue("lab"), slug="clinic")
CODES = SessionCodes("a secret of the installation")


def check_of(ticket: Ticket, codes: SessionCodes = CODES) -> str:
    return codes.code_of(VENUE, ticket)[-4:]


def test_a_code_is_the_prefix_the_queue_the_number_the_day_and_a_check() -> None:
    ticket = a_ticket(7, day=Day("2026-11-17"))

    code = CODES.code_of(VENUE, ticket)

    assert code == f"CLINIC-LAB-07-261117-{check_of(ticket)}"
    assert len(check_of(ticket)) == 4


def test_a_venue_may_begin_its_codes_otherwise() -> None:
    venue = a_venue(code_prefix="hq-7")

    assert CODES.code_of(venue, a_ticket(107)).startswith("HQ-7-LAB-107-250310-")


def test_the_check_differs_by_venue_queue_day_round_number_and_ticket() -> None:
    ticket = a_ticket(7)
    others = [
        a_ticket(7, ticket_id=TicketId("t8")),
        a_ticket(7, venue_id=VenueId("v2")),
        a_ticket(7, queue_id=QueueId("eye")),
        a_ticket(7, day=Day("2025-03-11")),
        a_ticket(7, round=2),
        a_ticket(7, number=8),
    ]

    checks = [check_of(each) for each in (ticket, *others)]

    assert len(set(checks)) == len(checks)
    assert check_of(a_ticket(7, state="finished")) == checks[0]


def test_nobody_makes_a_code_who_knows_the_ticket_but_not_the_installations_secret() -> None:
    ticket = a_ticket(7)
    forged = read_session_code(VENUE, SessionCodes("another secret").code_of(VENUE, ticket))
    real = read_session_code(VENUE, CODES.code_of(VENUE, ticket))

    assert forged is not None
    assert real is not None
    assert (CODES.is_of(forged, ticket), CODES.is_of(real, ticket)) == (False, True)


def test_the_check_has_twenty_bits_and_no_letters_that_are_taken_for_others() -> None:
    checks = {check_of(a_ticket(7, ticket_id=TicketId(f"t{number}"))) for number in range(3000)}

    assert len(checks) > 2980  # of 2^20; a check of 12 bits would have 2140
    assert set(itertools.chain(*checks)) == set(LETTERS)
    assert not set("ILOU") & set(LETTERS)
    assert len(LETTERS) ** 4 >= 2**20


@given(number=st.integers(1, 999_999_999), queue=st.sampled_from(["lab", "women-eye", "a_1", "x-1-2"]))
def test_every_code_is_read_back_in_any_case(number: int, queue: str) -> None:
    ticket = a_ticket(number, queue=queue)

    read = read_session_code(VENUE, f" {CODES.code_of(VENUE, ticket).lower()} ")

    assert read == (queue, number, ticket.day, check_of(ticket))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "LAB-07-261117-8K2Q",
        "OTHER-LAB-07-261117-8K2Q",
        "CLINIC-LAB-07-261117",
        "CLINIC-LAB-7x-261117-8K2Q",
        "CLINIC-LAB-٠٧-261117-8K2Q",
        "CLINIC-LAB-07-26111-8K2Q",
        "CLINIC-LAB-1234567890-261117-8K2Q",
        "CLINIC",
        "A007",
    ],
)
def test_what_does_not_look_like_a_code_of_this_venue_is_none(text: str) -> None:
    assert read_session_code(VENUE, text) is None

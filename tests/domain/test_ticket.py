"""One visitor's place in one line: the table of verbs, walked whole and at random."""

from itertools import product
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.errors import Fact, InvalidValue, TicketInWrongState
from dawr.domain.ticket import (
    ENDED_STATES,
    LONGEST_VISITOR,
    OPEN_STATES,
    VERBS,
    State,
    Ticket,
    Verb,
    checked_visitor,
    open_key,
    successor,
)
from tests.domain.builders import LAB, VENUE, a_ticket

TABLE: dict[Verb, tuple[set[State], State, str]] = {
    "issue": (set(), "waiting", "ticket.issued"),
    "call": ({"waiting"}, "called", "ticket.called"),
    "recall": ({"called"}, "called", "ticket.recalled"),
    "extend": ({"called"}, "called", "ticket.extended"),
    "start": ({"called"}, "serving", "ticket.started"),
    "finish": ({"called", "serving", "missed"}, "finished", "ticket.finished"),
    "miss": ({"called"}, "missed", "ticket.missed"),
    "rejoin": ({"missed"}, "waiting", "ticket.rejoined"),
    "hold": ({"waiting", "called"}, "held", "ticket.held"),
    "resume": ({"held"}, "waiting", "ticket.resumed"),
    "prioritize": ({"waiting"}, "waiting", "ticket.prioritized"),
    "leave": ({"waiting", "called", "held", "missed"}, "left", "ticket.left"),
    "expire": ({"waiting", "called", "serving", "held", "missed"}, "expired", "ticket.expired"),
}
STATES: tuple[State, ...] = get_args(State)
WORDS: tuple[Verb, ...] = get_args(Verb)
ALLOWED = [(verb, state) for verb, (sources, _, _) in TABLE.items() for state in sorted(sources)]
REFUSED = [pair for pair in product(WORDS, STATES) if pair not in ALLOWED]
NOW = 2_000_000


def forgetful(ticket: Ticket) -> Ticket:
    """The same, but that what happened before it cannot be undone."""
    return msgspec.structs.replace(ticket, previous=None)


def test_the_table_of_verbs_is_the_one_that_was_designed() -> None:
    real = {verb: (set(change.sources), change.target, change.event) for verb, change in VERBS.items()}

    assert real == TABLE
    assert set(WORDS) == set(TABLE)


def test_every_state_is_either_open_or_ended() -> None:
    assert set(STATES) == OPEN_STATES | ENDED_STATES
    assert not OPEN_STATES & ENDED_STATES


def test_the_event_is_the_participle_and_the_column_is_the_participle_and_at() -> None:
    fields = Ticket.__struct_fields__

    for change in VERBS.values():
        assert change.stamp == change.event.removeprefix("ticket.") + "_at"
        assert change.stamp in fields


@pytest.mark.parametrize(("verb", "state"), ALLOWED)
def test_a_verb_that_is_allowed_changes_the_state_and_stamps_the_time(verb: Verb, state: State) -> None:
    before = a_ticket(state=state)

    after = before.after(verb, NOW)

    _, target, event = TABLE[verb]
    stamp = event.removeprefix("ticket.") + "_at"
    assert after.state == target
    assert getattr(after, stamp) == NOW
    same = {name for name in Ticket.__struct_fields__ if getattr(after, name) == getattr(before, name)}
    assert set(Ticket.__struct_fields__) - same <= {"state", stamp, "open_key", "previous"}


@pytest.mark.parametrize(("verb", "state"), ALLOWED)
def test_a_ticket_that_ended_frees_its_visitor(verb: Verb, state: State) -> None:
    after = a_ticket(state=state).after(verb, NOW)

    assert (after.open_key is None) == (after.state in ENDED_STATES)
    assert after.is_open == (after.state in OPEN_STATES)


@pytest.mark.parametrize(("verb", "state"), ALLOWED)
def test_what_a_change_replaced_is_kept_with_it(verb: Verb, state: State) -> None:
    before = a_ticket(state=state)

    after = before.after(verb, NOW, desk_id="desk-1", recalls=3, sequence=-9)

    assert (after.desk_id, after.recalls, after.sequence) == ("desk-1", 3, -9)
    assert after.before() == (before, None)


def test_two_changes_of_one_command_are_undone_as_one() -> None:
    called = forgetful(a_ticket().after("call", NOW, desk_id="desk-1"))

    back = called.after("miss", NOW + 1).after("rejoin", NOW + 2, undone_to=called, sequence=9, desk_id=None)

    assert (back.state, back.desk_id, back.latest_verbs, back.changed_at) == (
        "waiting",
        None,
        ("miss", "rejoin"),
        NOW + 2,
    )
    assert back.before() == (called, None)


def test_a_refusal_says_which_desk_has_the_visitor_and_whether_it_called_just_now() -> None:
    called = a_ticket().after("call", NOW, desk_id="desk-1")
    elsewhere = called.after("miss", NOW)

    assert where_of(called, "resume", NOW + 59_999) == {"desk": "desk-1", "just_now": True}
    assert where_of(called, "resume", NOW + 60_000) == {"desk": "desk-1", "just_now": False}
    assert where_of(called.after("recall", NOW + 60_000), "resume", NOW + 60_000)["just_now"]
    assert where_of(called.after("start", NOW), "call", NOW)["desk"] == "desk-1"
    assert where_of(elsewhere, "call", NOW) == where_of(a_ticket().after("call", NOW), "call", NOW) == {}


def where_of(ticket: Ticket, verb: Verb, now: int) -> dict[str, Fact]:
    with pytest.raises(TicketInWrongState) as refusal:
        ticket.after(verb, now)
    return {name: fact for name, fact in refusal.value.facts.items() if name not in {"label", "state", "verb"}}


def test_a_call_keeps_whom_its_line_had_called_before() -> None:
    called = a_ticket().after("call", NOW, current=7)

    assert called.before() == (a_ticket(), 7)
    assert called.after("recall", NOW, current=1).before()[1] is None


def test_what_was_undone_is_not_undone_again() -> None:
    undone, _ = a_ticket().after("call", NOW).after("start", NOW).before()

    assert undone.previous is None
    assert undone.before() == (undone, None)


@pytest.mark.parametrize(("verb", "state"), REFUSED)
def test_a_verb_that_is_not_allowed_is_refused_and_changes_nothing(verb: Verb, state: State) -> None:
    ticket = a_ticket(state=state)
    untouched = msgspec.json.encode(ticket)

    with pytest.raises(TicketInWrongState) as refusal:
        ticket.after(verb, NOW)

    assert refusal.value.facts == {"label": "L001", "state": state, "verb": verb}
    assert msgspec.json.encode(ticket) == untouched


@given(verbs=st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 60_000)), max_size=60))
def test_however_verbs_follow_each_other_a_ticket_is_where_the_table_says(verbs: list[tuple[Verb, int]]) -> None:
    ticket, state, now = a_ticket(), "waiting", 1_000_000

    for verb, passed in verbs:
        now += passed
        sources, target, _ = TABLE[verb]
        if state not in sources:
            with pytest.raises(TicketInWrongState):
                ticket.after(verb, now)
            continue
        before, ticket, state = ticket, ticket.after(verb, now), target

        assert ticket.state == state
        assert ticket.is_open == (state in OPEN_STATES)
        assert ticket.before()[0] == forgetful(before)
        assert ticket.number == 1


def test_a_ticket_that_ended_never_changes_again() -> None:
    for state, verb in product(sorted(ENDED_STATES), WORDS):
        with pytest.raises(TicketInWrongState):
            a_ticket(state=state).after(verb, NOW)


def test_who_rejoined_waits_from_then_on() -> None:
    called = a_ticket(issued_at=1000).after("call", 5000)
    again = called.after("miss", 6000).after("rejoin", 7000).after("call", 9000)

    assert a_ticket().waited_ms is None
    assert called.waited_ms == 4000
    assert again.waited_ms == 2000


def test_who_was_held_after_a_call_waits_anew_once_they_may_be_called_again() -> None:
    called = a_ticket(issued_at=1000).after("call", 5000)
    back = called.after("hold", 6000).after("resume", 8000)
    held_again = back.after("hold", 8500).after("resume", 9500)

    assert (back.waits_since, back.after("call", 9000).waited_ms) == (8000, 1000)
    assert held_again.after("call", 10_000).waited_ms == 2000
    assert back.before()[0].waits_since == 1000


def test_who_was_held_before_a_call_has_waited_from_the_beginning() -> None:
    held = a_ticket(issued_at=1000).after("hold", 2000)
    missed = held.after("resume", 3000).after("call", 5000).after("miss", 6000)
    rejoined = missed.after("rejoin", 7000).after("hold", 8000).after("resume", 9000)

    assert missed.waited_ms == 4000
    assert rejoined.after("call", 10_000).waited_ms == 3000


def test_a_service_lasts_from_its_start_or_else_from_the_call() -> None:
    called = a_ticket().after("call", 5000)

    assert called.served_ms is None
    assert called.after("finish", 9000).served_ms == 4000
    assert called.after("start", 6000).after("finish", 9000).served_ms == 3000
    assert a_ticket(finished_at=5).served_ms is None


def test_a_clock_that_stepped_back_makes_no_wait_and_no_service_shorter_than_nothing() -> None:
    called = a_ticket(issued_at=10_000).after("call", 5000)

    assert called.waited_ms == 0
    assert called.after("finish", 1000).served_ms == 0


def test_a_higher_priority_stands_before_a_smaller_sequence() -> None:
    last, first, second = a_ticket(priority=0, sequence=1), a_ticket(priority=2, sequence=9), a_ticket(sequence=-4)

    assert sorted([last, second, first], key=lambda ticket: ticket.place) == [first, second, last]


def test_two_visitors_or_queues_never_share_a_key() -> None:
    assert open_key(LAB, "a:b") == "lab:a:b"
    assert a_ticket(1).open_key != a_ticket(2).open_key
    assert a_ticket().line_key == ("lab", "2025-03-10", 1)


def test_what_carries_on_from_a_ticket_has_an_id_of_its_own_that_begins_with_its_venue() -> None:
    first, second = (successor("t1", VENUE, NOW, version) for version in (1, 2))

    assert first != second
    assert first == successor("t1", VENUE, NOW, 1)
    assert first.startswith("v1-0000001e8480")
    assert len(first) == len("v1-") + 12 + 32


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("  12345 ", "12345"),
        ("نورة", "نورة"),
        ("李 雷", "李 雷"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("x" * 128, "x" * 128),
        ("٤٥٩", "459"),
        ("۴۵۹\u200d", "459"),
        ("４５９", "459"),
        ("غرفة ٤", "غرفة ٤"),
    ],
)
def test_a_visitor_is_called_as_they_said(said: str, kept: str) -> None:
    assert checked_visitor(said) == kept


@pytest.mark.parametrize(
    "said",
    ["", " \t\n", "\u200d", "\u200c \u200d", "x" * (LONGEST_VISITOR + 1), "a\x00b", "a\nb", "\ud800", "a\u202eb"],
)
def test_a_name_that_cannot_be_shown_is_refused(said: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        checked_visitor(said)

    assert refusal.value.facts["field"] == "visitor"

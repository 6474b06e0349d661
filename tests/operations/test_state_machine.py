"""All operations, at random, one by one and at once, against a model, on both real stores."""

import pytest

from dawr.domain.ticket import VERBS as TICKET_VERBS
from tests.operations.machine import Venues, World, walk

VERBS = {change.event for change in TICKET_VERBS.values()}
OFTEN = {
    *VERBS,
    *(f"ticket.{what}" for what in ("undone", "adopted")),
    *(f"visit.{what}" for what in ("started", "parked", "finished", "left", "path_reset", "path_changed")),
    *(f"pin.{what}" for what in ("made", "failed", "rotated")),
    *(f"desk.{what}" for what in ("opened", "on_break", "closed")),
}
"""Events that a walk comes to, unless it is short."""
SELDOM = {
    *(f"visit.{what}" for what in ("locked", "unlocked", "stage_added", "stage_skipped", "stage_completed")),
    *(f"queue.{what}" for what in ("opened", "closed", "paused", "resumed", "reset", "hours_began", "hours_ended")),
    *(f"visit.{what}" for what in ("expired", "link_renewed")),
}
REFUSALS = {
    *("cannot-undo", "changed-since", "undo-too-late", "place-taken", "line-ended", "ticket-in-wrong-state"),
    *("not-in-plan", "not-its-turn", "not-entered", "number-wrong", "visit-locked", "pin-wrong", "pin-needed"),
    *("pin-of-another-clinic", "pin-rotated", "pin-taken", "not-at-this-desk", "unknown-visit", "unknown-journey"),
    *("visit-in-wrong-state", "stage-in-wrong-state", "nothing-to-enter", "not-for-this-audience", "not-in-queue"),
    *("queue-closed", "queue-full", "queue-paused", "outside-hours", "invalid-value", "idempotency-key-reused"),
}


@pytest.mark.parametrize(
    ("world", "examples"),
    [
        ("sqlite", 24),
        pytest.param("sqlite", 80, marks=pytest.mark.slow),
        pytest.param("postgres", 24, marks=pytest.mark.slow),
    ],
    indirect=["world"],
)
def test_whatever_people_do_at_once_the_venue_does_as_if_it_were_one_after_the_other(
    world: World, examples: int
) -> None:
    walk(world, Venues, examples=examples)

    assert world.steps >= examples * 45
    assert world.kinds >= (OFTEN if examples >= 80 else VERBS)


@pytest.mark.prove
@pytest.mark.parametrize(("world", "examples"), [("sqlite", 600), ("postgres", 200)], indirect=["world"])
def test_a_long_walk_finds_no_other_way(world: World, examples: int) -> None:
    walk(world, Venues, examples=examples, steps=100)

    assert world.steps >= examples * 90
    assert world.kinds >= OFTEN | SELDOM
    assert world.refusals >= REFUSALS

"""Every error has one status, one code and one shape, and a fault shows nothing of its inside."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest
from structlog.testing import capture_logs

from dawr.bootstrap.system import SystemIds
from dawr.domain import errors
from dawr.domain.errors import Refused
from dawr.domain.venue import VenueId
from dawr.ports.faults import (
    Busy,
    ClockUntrusted,
    OutcomeUnknown,
    Stopping,
    StoreAway,
    StoreDamaged,
    StoreFault,
    StoreMissing,
    Unstorable,
)
from dawr.reliability.idempotency import ClaimLost, InProgress, KeyReused, Reply
from dawr.stores.sqlite import SqliteStore
from dawr.web.api.queues import NoInput
from dawr.web.app import App
from dawr.web.problems import BadRequest, problem_of
from dawr.web.routes import Parts, Request, Route
from dawr.web.wording import sentence_of
from tests.builders import DrivenClock, a_head, a_venue
from tests.running import PROBLEM_FIELDS, STANDARD_TYPES, Answer, Client, must_be_problem
from tests.serving import installed, quiet, served

INSIDE = "password=hunter2"
REQUEST = "the-request"

STATUSES: list[tuple[Exception, int, str, bool]] = [
    (errors.UnknownVenue("nowhere"), 404, "unknown-venue", False),
    (errors.UnknownQueue("nowhere"), 404, "unknown-queue", False),
    (errors.UnknownDesk("nowhere"), 404, "unknown-desk", False),
    (errors.UnknownTicket(), 404, "unknown-ticket", False),
    (errors.UnknownVisit(), 404, "unknown-visit", False),
    (errors.UnknownStaff("amna"), 404, "unknown-staff", False),
    (errors.UnknownToken(), 404, "unknown-token", False),
    (errors.NotInQueue("lab"), 404, "not-in-queue", False),
    (errors.RoleTooLow("staff", "owner"), 403, "role-too-low", False),
    (errors.OwnerCodeInvalid(), 403, "owner-code-invalid", False),
    (errors.TicketInWrongState("A001", "finished", "call"), 409, "ticket-in-wrong-state", False),
    (errors.QueueInWrongState("lab", "open", "open"), 409, "queue-in-wrong-state", False),
    (errors.LineEnded("A001", "call"), 409, "line-ended", False),
    (errors.QueuePaused("lab"), 409, "queue-paused", False),
    (errors.LastOwner("amna"), 409, "last-owner", False),
    (errors.UsernameTaken("amna"), 409, "username-taken", False),
    (errors.AlreadyStaff("amna"), 409, "already-staff", False),
    (errors.CannotRepairDay("clinic", "not-ahead", day="2026-11-15"), 409, "cannot-repair-day", False),
    (errors.CannotUndo("A001"), 409, "cannot-undo", False),
    (errors.ChangedSince("A001", 7), 409, "changed-since", False),
    (errors.NotAtThisDesk("lab"), 403, "not-at-this-desk", False),
    (errors.NotEntered("lab"), 409, "not-entered", False),
    (errors.NotForThisAudience("women-visit", "women"), 403, "not-for-this-audience", False),
    (errors.NotInPlan("lab"), 404, "not-in-plan", False),
    (errors.NotItsTurn("lab", "locked"), 409, "not-its-turn", False),
    (errors.NothingToEnter(), 409, "nothing-to-enter", False),
    (errors.NumberWrong(), 403, "number-wrong", False),
    (errors.PinForeign(3), 403, "pin-of-another-clinic", False),
    (errors.PinNeeded("lab"), 403, "pin-needed", False),
    (errors.PinRotated(), 403, "pin-rotated", False),
    (errors.PinTaken(), 409, "pin-taken", False),
    (errors.PinWrong(4), 403, "pin-wrong", False),
    (errors.PlaceTaken("A001", "another-number", other="A002"), 409, "place-taken", False),
    (errors.StageInWrongState("lab", "completed", "skip"), 409, "stage-in-wrong-state", False),
    (errors.UndoTooLate("A001", 10), 409, "undo-too-late", False),
    (errors.UnknownJourney("army"), 404, "unknown-journey", False),
    (errors.VisitInWrongState("finished", "leave"), 409, "visit-in-wrong-state", False),
    (errors.VisitLocked(), 403, "visit-locked", False),
    (errors.VenueInactive("bistro"), 409, "venue-inactive", False),
    (errors.QueueClosed("lab"), 409, "queue-closed", False),
    (errors.OutsideHours("lab", "2026-03-02 08:00"), 409, "outside-hours", False),
    (errors.QueueFull("lab", 20, 10), 409, "queue-full", False),
    (errors.TooManyVenues(50), 409, "too-many-venues", False),
    (errors.JoinedTooOften("+97433001122", 3, again_seconds=60), 429, "quota-exceeded", True),
    (
        errors.PinTriedTooOften("29012345678", most=5, window_seconds=900, again_seconds=600),
        429,
        "pin-tries-used-up",
        True,
    ),
    (errors.InvalidValue("user", "visitor-empty"), 422, "invalid-value", False),
    (KeyReused(), 422, "idempotency-key-reused", False),
    (InProgress(), 409, "idempotency-in-progress", True),
    (ClaimLost(), 409, "idempotency-claim-lost", True),
    (Busy(), 503, "busy", True),
    (Stopping(), 503, "stopping", True),
    (StoreAway(INSIDE), 503, "store-away", True),
    (ClockUntrusted(), 503, "clock-untrusted", True),
    (StoreDamaged("The file is damaged."), 503, "store-damaged", False),
    (StoreMissing("The file was removed."), 503, "store-missing", False),
    (OutcomeUnknown(INSIDE), 503, "outcome-unknown", False),
    (Unstorable(INSIDE), 422, "unstorable", False),
    (BadRequest(415, "not-json"), 415, "not-json", False),
]


@pytest.mark.parametrize(("error", "status", "code", "retryable"), STATUSES, ids=[code for _, _, code, _ in STATUSES])
def test_every_error_is_answered_with_its_status_and_code(
    error: Exception, status: int, code: str, *, retryable: bool
) -> None:
    problem = problem_of(error)

    body = json.loads(problem.body(REQUEST))
    assert (problem.status, body["status"], body["code"], body["retryable"]) == (status, status, code, retryable)
    assert body["type"] == STANDARD_TYPES.get(code, f"urn:dawr:problem:{code}")
    assert body.keys() >= PROBLEM_FIELDS
    assert body["correlation_id"] == REQUEST
    assert body["title"].endswith(".")
    assert INSIDE not in problem.body(REQUEST).decode()


def test_no_error_was_forgotten() -> None:
    listed = {type(error) for error, *_ in STATUSES}

    for kind in (Refused, StoreFault, Busy):
        assert set(leaves(kind)) <= listed, f"a leaf of {kind.__name__} is not in the table above"


@pytest.mark.parametrize("error", [error for error, *_ in STATUSES if isinstance(error, Refused)])
def test_a_refusal_says_what_the_client_may_need(error: Refused) -> None:
    body = json.loads(problem_of(error).body(REQUEST))

    assert body["detail"] == sentence_of(error)
    assert body.items() >= error.facts.items() - {("state", error.facts.get("state"))}


def test_whoever_asks_again_too_early_is_told_when_to_come_back() -> None:
    assert problem_of(InProgress()).headers_of_response() == ((b"retry-after", b"1"),)
    assert problem_of(KeyReused()).headers_of_response() == ()


def test_an_unknown_outcome_is_retryable_only_under_a_key() -> None:
    under_a_key = OutcomeUnknown("lost")
    under_a_key.has_key = True

    assert problem_of(under_a_key).retryable
    assert not problem_of(OutcomeUnknown("lost")).retryable


def test_what_nobody_foresaw_is_a_fault_of_ours_and_shows_nothing() -> None:
    problem = problem_of(ZeroDivisionError(INSIDE))

    assert (problem.status, problem.code, problem.retryable) == (500, "internal-error", False)
    assert INSIDE not in problem.body(REQUEST).decode()
    assert "ZeroDivision" not in problem.body(REQUEST).decode()


class BrokenIds(SystemIds):
    """A source of ids that has run dry."""

    def new(self, _: VenueId) -> NoReturn:
        raise RuntimeError(INSIDE)


async def test_a_fault_in_a_handler_is_a_500_without_its_text_and_the_server_goes_on(
    tmp_path: Path,
) -> None:
    clock, venue = DrivenClock(), a_venue()
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    await store.add_venue(venue, a_head(venue))
    settings = quiet(clinic_venue=venue.slug)

    async with installed(store, clock, settings, BrokenIds()) as dawr, served(dawr) as url:
        with capture_logs() as logs:
            failed, live = await asyncio.to_thread(enter_then_live, url)
    await store.close()

    must_be_problem(failed, 500, "internal-error")
    assert INSIDE.encode() not in failed.body
    assert [line["event"] for line in logs] == ["api.error"]
    assert failed.json["correlation_id"] == failed.headers["x-correlation-id"]
    assert live.status == 200


async def refuse_again(_: Parts, request: Request[NoInput]) -> Reply:
    return msgspec.structs.replace(request.refused(errors.InvalidValue("visitor", "visitor-empty")), replayed=True)


async def test_a_refusal_that_was_kept_is_replayed_as_a_problem_in_the_words_of_its_door(tmp_path: Path) -> None:
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    route = Route(
        method="POST",
        path="/again",
        name="again",
        summary="",
        tag="",
        handler=refuse_again,
        body=NoInput,
        words={"visitor": "user"},
    )

    def only_this(app: Any) -> App:  # noqa: ANN401 - the whole app, for its parts
        return App([route], app._parts, app._access_log, app._instruments, new_id=lambda: REQUEST)

    async with installed(store, clock, quiet()) as dawr, served(dawr, only_this) as url:
        answer = await asyncio.to_thread(post_again, url)
    await store.close()

    must_be_problem(answer, 422, "invalid-value")
    assert answer.json["field"] == "user"
    assert answer.headers["idempotency-replayed"] == "true"


def post_again(url: str) -> Answer:
    with Client(url) as client:
        return client.ask("/again", method="POST")


def enter_then_live(url: str) -> tuple[Answer, Answer]:
    with Client(url) as client:
        return client.enter("lab", "Amna"), client.ask("/health/live")


def leaves(kind: type[Exception]) -> Iterator[type[Exception]]:
    """The errors of ours that are raised: those that nothing derives from, and those with a code of their own."""
    below = [below for below in kind.__subclasses__() if below.__module__.startswith("dawr.")]
    if not below or kind in {Busy, StoreAway}:
        yield kind
    for each in below:
        yield from leaves(each)

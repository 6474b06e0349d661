"""One person's whole stay: its plan, what can be undone, and the PINs that failed."""

import pytest
from msgspec.structs import replace

from dawr.domain.errors import NotInPlan, UnknownVisit, VisitInWrongState
from dawr.domain.pin import MOST_FAILURES, WINDOW_MS
from dawr.domain.queue import QueueId
from dawr.domain.secret import hash_of
from dawr.domain.ticket import TicketId, VisitId
from dawr.domain.visit import DONE_WITH, Link, PlannedStage, StageState, Visit
from tests.domain.builders import VENUE, a_ticket

NOW = 1_000_000_000


def a_stage(queue: str, state: StageState = "locked", *, fixed: bool = False) -> PlannedStage:
    ticket = TicketId(f"{queue}-ticket") if state in {"in_queue", "completed"} else None
    return PlannedStage(QueueId(queue), fixed=fixed, state=state, ticket_id=ticket)


def a_visit(*stages: PlannedStage, secret: str = "secret") -> Visit:
    visit = Visit(VENUE, VisitId("v1-1"), hash_of(secret), "Aisha", "open", NOW)
    return replace(visit.with_plan(stages), open_key="Aisha") if stages else visit


def states(visit: Visit) -> dict[str, StageState]:
    return {stage.queue: stage.state for stage in visit.plan}


def test_a_link_opens_the_visit_whose_secret_it_has() -> None:
    link = Link.read("v1-1.secret")

    assert link.visit_id == "v1-1"
    assert link.opens(a_visit())
    assert not link.opens(a_visit(secret="another"))


@pytest.mark.parametrize("text", ["", "v1-1", "v1-1.", "v1-1.secre", "v1-1.secret.", ".secret"])
def test_a_link_that_is_cut_off_opens_nothing(text: str) -> None:
    link = Link.read(text)

    assert not (link.visit_id == "v1-1" and link.opens(a_visit()))


def test_a_link_that_cannot_be_shown_is_none() -> None:
    with pytest.raises(UnknownVisit):
        Link.read("v1-1.\x00")


def test_a_single_ticket_has_no_plan() -> None:
    visit = a_visit()

    assert not visit.is_planned
    assert visit.plan == ()
    assert visit.current is None


def test_a_stage_that_is_locked_takes_no_room_in_what_is_stored() -> None:
    assert (
        a_visit(a_stage("lab"), a_stage("eye", "ready")).stages == '[{"queue":"lab"},{"queue":"eye","state":"ready"}]'
    )


def test_fixed_stages_are_next_one_after_the_other_and_then_all_free_ones() -> None:
    plan = [a_stage("lab", fixed=True), a_stage("xray", fixed=True), a_stage("eye"), a_stage("ent")]
    visit = a_visit(*plan)

    assert visit.next_stages() == [0]
    visit = visit.with_stage(0, state="completed")
    assert visit.next_stages() == [1]
    visit = visit.with_stage(1, state="skipped")
    assert visit.next_stages() == [2, 3]
    visit = visit.with_stage(2, state="completed").with_stage(3, state="completed")
    assert visit.next_stages() == []


def test_entering_a_stage_locks_those_that_could_have_been_entered_instead() -> None:
    visit = a_visit(a_stage("lab", "completed"), a_stage("eye", "ready"), a_stage("ent", "ready"))

    entered = visit.entered(2, a_ticket(7, queue="ent"))

    assert states(entered) == {"lab": "completed", "eye": "locked", "ent": "in_queue"}
    assert entered.current == 2
    assert (entered.plan[2].ticket_id, entered.plan[2].number) == ("t7", 7)
    assert entered.ticket_id == "t7"


@pytest.mark.parametrize("state", ["finished", "left", "expired"])
def test_a_visit_that_ended_has_no_stage_in_a_queue_and_none_to_come(state: str) -> None:
    visit = a_visit(a_stage("lab", "completed"), a_stage("xray", "skipped"), a_stage("eye", "in_queue"), a_stage("ent"))

    ended = visit.ended(state, NOW + 5)  # type: ignore[arg-type]

    assert (ended.state, ended.open_key, ended.is_open) == (state, None, False)
    assert getattr(ended, f"{state}_at") == NOW + 5
    assert states(ended) == {"lab": "completed", "xray": "skipped", "eye": "locked", "ent": "locked"}
    with pytest.raises(VisitInWrongState, match=f"state={state} verb=leave"):
        ended.must_be_open("leave")


def test_of_two_stages_of_a_queue_the_one_that_is_not_done_is_meant() -> None:
    visit = a_visit(a_stage("lab", "completed"), a_stage("eye"), a_stage("lab", "in_queue"))

    assert visit.stage_of(QueueId("lab")) == 2
    assert visit.with_stage(2, state="completed").stage_of(QueueId("lab")) == 2
    with pytest.raises(NotInPlan):
        visit.stage_of(QueueId("ent"))


def test_done_with_are_completed_and_skipped_stages() -> None:
    assert {"completed", "skipped"} == DONE_WITH


def test_what_a_tickets_change_did_to_the_visit_is_undone_by_its_version_only() -> None:
    before = replace(a_visit(a_stage("lab", "in_queue"), a_stage("eye")), priority=1)
    after = before.ended("left", NOW).remembering(before, 42)

    assert after.restored(42) == before
    assert after.restored(41) is None
    assert before.restored(42) is None


def test_a_change_of_the_plan_since_cannot_be_undone() -> None:
    before = a_visit(a_stage("lab", "in_queue"), a_stage("eye"))
    after = before.with_stage(0, state="ready").remembering(before, 42)

    assert after.with_stage(1, state="skipped").restored(42) is None


def test_pins_that_failed_since_stay_counted_when_a_change_is_undone() -> None:
    before = a_visit(a_stage("lab", "in_queue"))
    after = before.with_stage(0, state="ready").remembering(before, 42).failed(NOW, "one")

    restored = after.restored(42)

    assert restored is not None
    assert restored.tries_left(NOW) == MOST_FAILURES - 1


def test_the_fifth_failure_within_a_quarter_of_an_hour_locks() -> None:
    visit = a_visit(a_stage("lab", "in_queue"))
    left = []
    for number in range(MOST_FAILURES):
        assert visit.locked_at is None
        visit = visit.failed(NOW + number, f"attempt {number}")
        left.append(visit.tries_left(NOW + number))

    assert left == [4, 3, 2, 1, 0]
    assert visit.locked_at == NOW + 4
    assert visit.unlocked().locked_at is None
    assert visit.unlocked().tries_left(NOW + 5) == MOST_FAILURES


def test_failures_of_long_ago_count_no_more_but_a_lock_stays() -> None:
    visit = a_visit(a_stage("lab", "in_queue"))
    for number in range(MOST_FAILURES - 1):
        visit = visit.failed(NOW, f"attempt {number}")

    later = visit.failed(NOW + WINDOW_MS, "another")
    locked = visit.failed(NOW, "the fifth")

    assert later.locked_at is None
    assert later.tries_left(NOW + WINDOW_MS) == MOST_FAILURES - 1
    assert locked.locked_at == NOW
    assert locked.tries_left(NOW + WINDOW_MS) == MOST_FAILURES


def test_a_request_that_failed_before_is_known_by_its_attempt() -> None:
    visit = a_visit(a_stage("lab", "in_queue")).failed(NOW, "one").failed(NOW, "")

    assert visit.has_counted(NOW, "one")
    assert not visit.has_counted(NOW, "two")
    assert not visit.has_counted(NOW, "")
    assert not visit.has_counted(NOW + WINDOW_MS, "one")

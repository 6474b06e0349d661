"""The line of calls on the hall's screen, by a clock of the test's own: each is readable for 8 s, in its order."""

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page

from dawr.web.pages.assets import address_of
from tests.browser.windows import DESK, Windows

READABLE_MS = 8_000
LIVE_MS = 60_000
STEP_MS = 100

PLAY = """async ([module, told, until]) => {
  const { EMPTY, called, changed, known, step } = await import(module);
  const seen = [];
  let line = EMPTY;
  for (let now = 0; now <= until; now += 100) {
    for (const { at, ticket, age, state, snapshot } of told.filter((one) => one.heard === now)) {
      const call = { ticket, label: ticket, place: "", at: at ?? now, began: now - (age || 0) };
      if (snapshot) {
        const calls = snapshot.map((one) => ({ label: one.ticket, place: "", began: now - (now - one.at), ...one }));
        line = known(line, { calls, at: now }, now);
      }
      else if (state) line = changed(line, ticket, state);
      else line = called(line, call, now);
    }
    line = step(line, now);
    const tickets = (calls) => calls.map((one) => one && one.ticket);
    const past = tickets(line.places.filter((one) => one?.isPast));
    seen.push({ now, places: tickets(line.places), past, latest: tickets(line.latest) });
  }
  return seen;
}"""

Seen = list[dict[str, Any]]


@pytest.fixture
def page(windows: Windows) -> Page:
    return windows.open("/docs", DESK)


def play(page: Page, told: list[dict[str, Any]], until: int) -> Seen:
    """What stands on the screen every 0.1 s."""
    seen: Seen = page.evaluate(PLAY, [address_of("calls.js"), told, until])
    return seen


def call(ticket: str, heard: int, **more: object) -> dict[str, Any]:
    return {"ticket": ticket, "heard": heard, **more}


def when_shown(seen: Seen) -> dict[str, list[int]]:
    """Ticket → the moments at which it stands there."""
    shown: dict[str, list[int]] = {}
    for moment in seen:
        for ticket in filter(None, moment["places"]):
            shown.setdefault(ticket, []).append(moment["now"])
    return shown


def must_be_readable(seen: Seen, tickets: list[str]) -> None:
    """Each stands there once, without a gap, for 8 s at least; and they come in this order."""
    shown = when_shown(seen)
    assert list(shown) == tickets
    for ticket, moments in shown.items():
        assert moments[-1] - moments[0] >= READABLE_MS - STEP_MS, ticket
        assert all(after - before == STEP_MS for before, after in pairwise(moments)), ticket
    begun = [moments[0] for moments in shown.values()]
    assert begun == sorted(begun)


def test_five_calls_in_a_second_and_then_thirty_a_minute_are_all_readable_in_order(page: Page) -> None:
    rush = [call(f"A{number:03}", 200 * number) for number in range(5)]
    stream = [call(f"B{number:03}", 2_000 + 2_000 * number) for number in range(60)]

    seen = play(page, [*rush, *stream], 200_000)

    must_be_readable(seen, [one["ticket"] for one in (*rush, *stream)])
    assert max(len(moment["places"]) for moment in seen) == 6
    late = [when_shown(seen)[one["ticket"]][0] - one["heard"] for one in (*rush, *stream)]
    assert max(late) <= READABLE_MS


def test_forty_five_a_minute_are_readable_too(page: Page) -> None:
    told = [call(f"A{number:03}", 1_300 * number // STEP_MS * STEP_MS) for number in range(90)]

    must_be_readable(play(page, told, 200_000), [one["ticket"] for one in told])


def test_while_somebody_reads_no_number_moves_unless_more_need_room(page: Page) -> None:
    told = [call(f"A{number:03}", 2_000 * number + 100 * (number % 3)) for number in range(40)]

    seen = play(page, told, 100_000)

    sizes = [len(moment["places"]) for moment in seen if moment["now"] <= 78_000]
    assert sizes == sorted(sizes)
    for before, after in pairwise(seen):
        for place, ticket in enumerate(after["places"]):
            if ticket and ticket in before["places"] and len(before["places"]) == len(after["places"]):
                assert before["places"][place] == ticket


def test_one_call_after_the_other_has_the_screen_to_itself(page: Page) -> None:
    seen = play(page, [call(f"A{number}", 10_000 * number) for number in range(5)], 60_000)

    assert {len(moment["places"]) for moment in seen} == {1}


def test_beside_a_call_that_is_being_read_no_place_turns_empty(page: Page) -> None:
    told = [call("A001", 0), call("A001", 2_000, state="serving"), call("A002", 4_000), call("A003", 4_100)]

    seen = play(page, told, 30_000)

    at = {moment["now"]: moment for moment in seen}
    assert at[READABLE_MS - STEP_MS]["places"] == ["A001", "A002", "A003", None]
    assert at[READABLE_MS - STEP_MS]["past"] == []
    assert at[READABLE_MS]["places"] == ["A001", "A002", "A003", None]
    assert at[READABLE_MS]["past"] == ["A001"]
    assert at[4_100 + READABLE_MS]["places"] == ["A002", "A003"]
    assert at[4_100 + READABLE_MS]["latest"] == ["A001"]


def test_the_next_call_takes_the_place_of_the_one_that_is_over(page: Page) -> None:
    told = [call("A001", 0), call("A002", 1_000), call("A002", 2_000, state="finished")]
    told += [call("A001", 5_000, at=5_000), call("A003", 10_000)]

    seen = play(page, told, 11_000)

    assert seen[-1]["places"] == ["A001", "A003"]
    assert seen[-1]["latest"] == ["A002"]


def test_a_call_is_live_for_a_minute_at_most(page: Page) -> None:
    seen = play(page, [call("A001", 0)], 70_000)

    assert when_shown(seen)["A001"][-1] == LIVE_MS - STEP_MS
    assert seen[-1]["latest"] == ["A001"]


@pytest.mark.parametrize("state", ["serving", "finished"])
def test_whoever_came_at_once_stays_readable_and_then_goes(page: Page, state: str) -> None:
    seen = play(page, [call("A001", 0), call("A001", 1_000, state=state)], 20_000)

    assert when_shown(seen)["A001"][-1] == READABLE_MS - STEP_MS
    assert seen[-1]["latest"] == ["A001"]


@pytest.mark.parametrize(("state", "latest"), [("waiting", []), ("held", []), ("left", []), ("missed", ["A001"])])
def test_a_call_that_is_over_is_taken_away_at_once(page: Page, state: str, latest: list[str]) -> None:
    seen = play(page, [call("A001", 0), call("A001", 1_000, state=state)], 2_000)

    assert when_shown(seen)["A001"][-1] == 1_000 - STEP_MS
    assert seen[-1]["latest"] == latest


def test_somebody_called_again_is_readable_again(page: Page) -> None:
    told = [call("A001", 0), call("A001", 1_000, state="serving"), call("A001", 5_000, at=5_000)]
    told += [call("A001", 30_000, state="serving"), call("A002", 31_000), call("A001", 45_000, at=45_000)]

    moments = when_shown(play(page, told, 70_000))["A001"]

    assert 5_000 + READABLE_MS in moments
    assert [moment for moment in moments if moment >= 45_000][:1] == [45_000]


def test_the_same_call_heard_twice_is_one(page: Page) -> None:
    told = [call("A001", 0, at=7), call("A001", 500, state="serving"), call("A001", 10_000, at=7)]

    assert when_shown(play(page, told, 20_000))["A001"][-1] == READABLE_MS - STEP_MS


def test_after_a_gap_only_calls_of_the_last_minute_are_played(page: Page) -> None:
    told = [call("OLD", 100, at=1, age=60_000), call("NEW", 100, at=2, age=59_000), call("NEXT", 100, at=3)]

    seen = play(page, told, 9_000)

    assert list(when_shown(seen)) == ["NEW", "NEXT"]
    assert "OLD" in seen[1]["latest"]


def test_more_calls_than_can_ever_be_read_are_not_played_an_hour_late(page: Page) -> None:
    seen = play(page, [call(f"A{number:03}", 100 * number) for number in range(200)], 200_000)

    shown = when_shown(seen)
    assert all(moments[-1] - moments[0] >= READABLE_MS - STEP_MS for moments in shown.values())
    assert max(moments[0] for moments in shown.values()) <= 20_000 + LIVE_MS
    assert seen[-1]["latest"][0] == "A199"


def test_what_the_server_knows_is_put_right(page: Page) -> None:
    told = [
        call("GONE", 0, at=0),
        call("STAYS", 100, at=100),
        call("UNSURE", 5_900, at=5_900),
        {"heard": 6_000, "snapshot": [state("STAYS", 100), state("CAME", 5_800), state("DONE", 50, "finished")]},
        call("LATER", 6_100, at=6_100),
        call("CAME", 6_200, at=5_800),
    ]

    seen = play(page, told, 7_000)

    assert seen[-1]["places"] == ["CAME", "STAYS", "UNSURE", "LATER"]
    assert seen[-1]["latest"] == ["DONE"]


def test_a_new_day_begins_with_an_empty_screen(page: Page) -> None:
    seen = play(page, [call("A001", 0), call("A002", 100), {"heard": 7_000, "snapshot": []}], 8_000)

    assert seen[-1] == {"now": 8_000, "places": [], "past": [], "latest": []}


def state(ticket: str, at: int, state: str = "called") -> dict[str, Any]:
    return {"ticket": ticket, "at": at, "state": state}

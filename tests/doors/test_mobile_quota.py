"""Three joins an hour for one mobile number, as the restaurant's door tells it (MISSION B5, STANDARDS 1.3)."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from dawr.domain.ticket import TicketId
from dawr.operations.visitor import Leave
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_head, a_queue, a_venue
from tests.doors.here import Here
from tests.doors.restaurant import a_party
from tests.running import Answer, must_be_problem
from tests.serving import installed, quiet, served

MOBILE = "+97433000001"
LIMITED: dict[str, str | int] = {"rate_limits": "on", "limit_join": 1000}


@pytest.fixture(params=[LIMITED], ids=["limited"])
async def bistro(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Here]:
    """A restaurant in this process, whose clock the test drives."""
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    venue = msgspec.structs.replace(a_venue(a_queue("waitlist"), a_queue("bar")), kind="restaurant")
    await store.add_venue(venue, a_head(venue))
    settings = quiet(log_level="info", **request.param)
    async with installed(store, clock, settings) as dawr, served(dawr) as url:
        yield Here(url, dawr, venue, clock)
    await store.close()


async def join(bistro: Here, *, key: str | None = None, **given: object) -> Answer:
    path = f"/api/public/{bistro.venue.slug}/queue"
    return await bistro.ask(lambda client: client.post(path, a_party() | given, key=key))


async def join_and_cancel(bistro: Here, *, mobile: str = MOBILE) -> Answer:
    answer = await join(bistro, mobileNumber=mobile)
    assert answer.status == 201, answer
    await bistro.do(Leave(TicketId(answer.json["data"]["id"])))
    return answer


async def test_the_fourth_join_is_refused_in_the_standards_words(
    bistro: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        await join_and_cancel(bistro)
        bistro.clock.advance(minutes=5)

    refused = await join(bistro)

    must_be_problem(refused, 429, "quota-exceeded")
    assert refused.json["violated-policies"] == ["mobile"]
    assert refused.headers["ratelimit-policy"] == '"mobile";q=3;w=3600'
    assert refused.headers["ratelimit"] == '"mobile";r=0;t=2700'
    assert refused.headers["retry-after"] == "2700"
    said = capsys.readouterr().out
    assert "limit.hit" in said
    assert "33000001" not in said + refused.body.decode()


async def test_there_is_room_again_when_it_was_said_to_be(bistro: Here) -> None:
    for _ in range(3):
        await join_and_cancel(bistro)
    refused = await join(bistro)

    bistro.clock.advance(seconds=int(refused.headers["retry-after"]) - 1)
    too_early = await join(bistro)
    bistro.clock.advance(seconds=1)

    assert (too_early.status, (await join(bistro)).status) == (429, 201)


async def test_a_retry_and_whoever_is_on_the_list_are_answered_all_the_same(bistro: Here) -> None:
    first = await join(bistro, key="one-form")
    await bistro.do(Leave(TicketId(first.json["data"]["id"])))
    await join_and_cancel(bistro)
    third = await join(bistro)

    retried, again = await join(bistro, key="one-form"), await join(bistro)

    assert (retried.status, retried.body) == (201, first.body)
    assert (again.status, again.json["data"]["tokenNumber"]) == (201, third.json["data"]["tokenNumber"])


@pytest.mark.parametrize("written", [MOBILE, f"{MOBILE}\n"])
async def test_a_number_has_one_form(bistro: Here, written: str) -> None:
    """Others than this are refused before: see `test_restaurant_join`. A line's end is no part of it."""
    for _ in range(3):
        await join_and_cancel(bistro, mobile=written)

    must_be_problem(await join(bistro, mobileNumber=MOBILE), 429, "quota-exceeded")
    assert (await join(bistro, mobileNumber="+97433000002")).status == 201


async def test_the_api_is_no_way_around_it_for_anybody_but_staff(bistro: Here) -> None:
    take = f"/v1/queues/{bistro.venue.slug}:bar/tickets"
    given, bearer = {"visitor": MOBILE}, await bistro.bearer()
    for _ in range(2):
        await join_and_cancel(bistro)
    third = await bistro.ask(lambda client: client.post(take, given))
    await bistro.do(Leave(TicketId(third.json["ticket"])))

    fourth = await bistro.ask(lambda client: client.post(take, given))
    by_name = await bistro.ask(lambda client: client.post(take, {"visitor": "Amna"}))
    by_staff = await bistro.ask(lambda client: client.post(take, given, bearer=bearer))

    must_be_problem(fourth, 429, "quota-exceeded")
    assert fourth.json["violated-policies"] == ["mobile"]
    assert (by_name.status, by_staff.status) == (201, 201)
    must_be_problem(await join(bistro), 429, "quota-exceeded")


@pytest.mark.parametrize("bistro", [LIMITED | {"limit_mobile": 1}], indirect=True)
async def test_how_often_is_a_setting(bistro: Here) -> None:
    await join_and_cancel(bistro)

    refused = await join(bistro)

    must_be_problem(refused, 429, "quota-exceeded")
    assert refused.headers["ratelimit-policy"] == '"mobile";q=1;w=3600'


@pytest.mark.parametrize("bistro", [{"rate_limits": "off"}], indirect=True)
async def test_without_limits_nobody_is_held_back(bistro: Here) -> None:
    for _ in range(6):
        await join_and_cancel(bistro)

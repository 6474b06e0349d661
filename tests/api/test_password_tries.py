"""How often passwords may be tried, over HTTP: whom wrong ones hold back, for how long, and whom never (MISSION B5)."""

import asyncio

import pytest

from dawr.cli.staff import StaffChange, change
from dawr.reliability.rate_limit import LocalLimiter
from dawr.settings import Settings
from dawr.web import limits
from tests.api.building import (
    BOTH_DOORS,
    ELSEWHERE,
    HERE,
    OF_ACCOUNT,
    OF_ADDRESS,
    PASSWORD,
    WRONG,
    Building,
    addresses,
    must_be_held_back,
)
from tests.builders import a_new
from tests.running import must_be_problem


def test_unless_somebody_says_otherwise_it_is_five_and_a_hundred_and_fifty() -> None:
    settings = Settings()

    assert (settings.limit_login, settings.limit_login_account, settings.limit_login_address) == (5, 100, 50)


# One account from one address


async def test_five_typos_of_one_hold_no_neighbour_back(building: Building) -> None:
    await building.hire("amna", "basma")

    typos = await building.fail("amna", 6)
    neighbour = await building.sign_in("basma")

    assert typos == [401] * 5 + [429]
    assert neighbour.status == 200


async def test_whoever_is_held_back_is_told_so_in_words_and_for_how_long(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 5)
    building.clock.advance(minutes=3)

    even_right = await building.sign_in("AMNA ")

    must_be_held_back(even_right, "login")
    assert even_right.json["detail"] == (
        "Too many wrong passwords for this account from here. Try again in 12 minutes."
    )
    assert (even_right.json["minutes"], even_right.headers["retry-after"]) == (12, "720")
    assert even_right.headers["ratelimit-policy"] == '"login";q=5;w=900'


async def test_after_fifteen_minutes_they_are_let_in_again(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 5)

    building.clock.advance(minutes=14, seconds=59)
    too_early = await building.sign_in("amna")
    building.clock.advance(seconds=1)
    in_time = await building.sign_in("amna")

    assert (too_early.status, in_time.status) == (429, 200)


async def test_from_another_address_they_are_let_in_at_once(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 5)

    assert (await building.sign_in("amna", at=ELSEWHERE)).status == 200


async def test_both_doors_count_together_and_say_the_same(building: Building) -> None:
    await building.hire("amna")
    for path in (*BOTH_DOORS, *BOTH_DOORS, BOTH_DOORS[0]):
        must_be_problem(await building.sign_in("amna", WRONG, path=path), 401, "wrong-credentials")

    for path in BOTH_DOORS:
        must_be_held_back(await building.sign_in("amna", path=path), "login")


async def test_many_at_once_are_no_way_around(building: Building) -> None:
    await building.hire("amna")

    answers = await asyncio.gather(*(building.sign_in("amna", WRONG) for _ in range(12)))

    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 7


async def test_a_name_that_is_nobodys_is_held_back_alike(building: Building) -> None:
    await building.hire("amna")

    nobody = [await building.sign_in("nobody", WRONG) for _ in range(6)]
    somebody = [await building.sign_in("amna", WRONG, at=ELSEWHERE) for _ in range(6)]

    assert [answer.status for answer in nobody] == [401] * 5 + [429]
    for one, other in zip(nobody, somebody, strict=True):
        assert {**one.json, "correlation_id": ""} == {**other.json, "correlation_id": ""}
        assert one.headers.keys() == other.headers.keys()


# What costs nothing


async def test_the_right_password_costs_nothing(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 4)

    assert {(await building.sign_in("amna")).status for _ in range(OF_ACCOUNT + OF_ADDRESS)} == {200}
    assert await building.fail("amna", 2) == [401, 429]


async def test_right_passwords_that_come_together_are_let_in_all(building: Building) -> None:
    await building.hire("amna")
    await building.fail("amna", 4)

    answers = await asyncio.gather(*(building.sign_in("amna") for _ in range(12)))

    assert {answer.status for answer in answers} == {200}


async def test_a_new_password_that_is_too_weak_costs_nothing(building: Building) -> None:
    await building.hire("amna")
    session = (await building.sign_in("amna")).json["session"]

    weak = [(await building.change_password(session, PASSWORD, "short")).status for _ in range(7)]
    good = await building.change_password(session, PASSWORD, "another walk to the sea")

    assert weak == [422] * 7
    assert good.status == 200


# All addresses together, and all accounts together


async def test_strangers_all_over_the_world_hold_an_account_back_for_a_day(building: Building) -> None:
    await building.hire("amna", "basma")

    await building.hold_account_back("amna")

    told = await building.sign_in("amna")
    assert told.json["detail"].startswith("Too many wrong passwords for this account today. Try again in 24 hours")
    assert (await building.sign_in("basma")).status == 200
    building.clock.advance(hours=24)
    assert (await building.sign_in("amna")).status == 200


async def test_an_address_that_tries_many_names_is_held_back_for_a_day_and_nobody_else_is(building: Building) -> None:
    await building.hire("amna")

    tries = [status for _ in range(OF_ADDRESS + 1) for status in await building.fail(a_new("name"), 1)]
    here = await building.sign_in("amna")
    elsewhere = await building.sign_in("amna", at=ELSEWHERE)

    assert tries == [401] * OF_ADDRESS + [429]
    must_be_held_back(here, "login-address")
    assert "from here today. Try again in 24 hours" in here.json["detail"]
    assert elsewhere.status == 200
    building.clock.advance(hours=24)
    assert (await building.sign_in("amna")).status == 200


async def test_what_is_refused_charges_nobody(building: Building) -> None:
    """The address is used up; the account that it goes on trying is not."""
    await building.hire("amna")
    for _ in range(OF_ADDRESS):
        await building.fail(a_new("name"), 1)

    refused = await building.fail("amna", OF_ACCOUNT + 1)

    assert set(refused) == {429}
    assert await building.fail("amna", 5, at=ELSEWHERE) == [401] * 5


async def test_millions_of_names_and_addresses_take_a_bounded_place(
    building: Building, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MARKS", 8)
    for address in addresses(40):
        await building.fail(a_new("name"), 1, at=address)

    limiter = building.dawr.limiter
    assert isinstance(limiter, LocalLimiter)
    kept = [policy for (policy, _), _, _ in limiter.logs()]

    assert 1 <= kept.count("login-account") <= 8
    assert 1 <= kept.count("login-address") <= 8


# Unlocked


async def test_whoever_is_unlocked_is_let_in_at_once_and_from_everywhere(building: Building) -> None:
    await building.hire("amna", "basma")
    await building.fail("basma", 5, at="192.0.2.253")
    for address in (HERE, ELSEWHERE):
        await building.fail("amna", 5, at=address)
    await building.fail("amna", OF_ACCOUNT - 10, at="192.0.2.250")
    must_be_held_back(await building.sign_in("amna", at="192.0.2.251"), "login-account")

    said = await change(building.dawr, StaffChange("unlock", " Amna "))

    assert said == "amna is unlocked: wrong passwords from before no longer count."
    for address in (HERE, ELSEWHERE, "192.0.2.250", "192.0.2.251"):
        assert (await building.sign_in("amna", at=address)).status == 200
    must_be_held_back(await building.sign_in("basma", at="192.0.2.253"), "login")
    assert await building.fail("amna", 6, at="192.0.2.252") == [401] * 5 + [429]


async def test_whoever_is_unlocked_may_sign_in_for_a_while_where_nobody_else_can(building: Building) -> None:
    await building.hire("amna", "basma")
    for _ in range(OF_ADDRESS):
        await building.fail(a_new("name"), 1)

    await change(building.dawr, StaffChange("unlock", "amna"))

    assert (await building.sign_in("amna")).status == 200
    must_be_held_back(await building.sign_in("basma"), "login-address")
    building.clock.advance(minutes=15)
    must_be_held_back(await building.sign_in("amna"), "login-address")


@pytest.mark.parametrize("by", ["command line", "themselves"])
async def test_a_new_password_ends_what_wrong_ones_of_the_old_began(building: Building, by: str) -> None:
    await building.hire("amna")
    session = (await building.sign_in("amna")).json["session"]
    new = "another walk to the sea"
    assert await building.fail("amna", 6) == [401] * 5 + [429]

    if by == "themselves":
        assert (await building.change_password(session, PASSWORD, new)).status == 200
    else:
        await change(building.dawr, StaffChange("password", "amna", password=new))

    assert (await building.sign_in("amna", new)).status == 200
    assert await building.fail("amna", 6) == [401] * 5 + [429]


async def test_a_new_password_that_is_refused_ends_nothing(building: Building) -> None:
    await building.hire("amna")
    session = (await building.sign_in("amna")).json["session"]
    await building.fail("amna", 5)

    assert (await building.change_password(session, PASSWORD, "short")).status == 422
    assert (await building.change_password(session, WRONG, "another walk to the sea")).status == 403

    must_be_held_back(await building.sign_in("amna"), "login")

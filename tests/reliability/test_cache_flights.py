"""The flight search that the cache was first asked for: a changed fare is shown in every search of its route."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from dawr.reliability.cache import Cache, Typed, key_of
from tests.reliability.caching import PLACES, cache_at, until

TTL_MS = 300_000
CITIES = ("RUH", "JED", "DMM", "AHB")


class Search(msgspec.Struct, frozen=True):
    origin: str
    to: str
    seats: int = 1
    cabins: tuple[str, ...] = ()


class Offer(msgspec.Struct):
    flight: str
    fare: int


class Travel:
    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.fares = {(origin, to): 300 for origin in CITIES for to in CITIES if origin != to}
        self.searched = 0
        self._offers = Typed(cache, list[Offer])

    async def search(self, search: Search) -> list[Offer]:
        async def compute() -> list[Offer]:
            self.searched += 1
            fare = self.fares[search.origin, search.to]
            await asyncio.sleep(0.001)
            return [Offer("SV 1020", fare * search.seats)]

        key = key_of("search:flights", search)
        return await self._offers.get(key, compute, tags=[self.tag(search.origin, search.to)], ttl_ms=TTL_MS)

    async def change_fare(self, origin: str, to: str, fare: int) -> None:
        self.fares[origin, to] = fare
        await self.cache.invalidate(self.tag(origin, to))

    def tag(self, origin: str, to: str) -> str:
        return f"search:flights:routes:{origin}:{to}"


@pytest.fixture(params=PLACES)
async def travel(request: pytest.FixtureRequest) -> AsyncIterator[Travel]:
    url = "" if request.param == "memory" else request.getfixturevalue("valkey_server").url
    async with cache_at(request.param, url) as cache:
        yield Travel(cache)


async def test_a_changed_fare_is_shown_in_every_search_of_its_route_and_in_no_other(travel: Travel) -> None:
    changed = [Search("RUH", "JED", seats) for seats in range(1, 6)] + [Search("RUH", "JED", cabins=("business",))]
    others = [Search("JED", "RUH"), Search("RUH", "DMM", 2)]
    before = [await travel.search(search) for search in (*changed, *others)]
    searched = travel.searched

    await travel.change_fare("RUH", "JED", 100)

    after = [await travel.search(search) for search in (*changed, *others)]
    assert [offer.fare for (offer,) in before] == [300, 600, 900, 1200, 1500, 300, 300, 600]
    assert [offer.fare for (offer,) in after] == [100, 200, 300, 400, 500, 100, 300, 600]
    assert (searched, travel.searched) == (8, 14)


async def test_the_same_search_in_another_order_is_one_search(travel: Travel) -> None:
    assert key_of("search:flights", {"from": "RUH", "to": "JED", "class": {"cabin": "Y", "stops": 0}}) == key_of(
        "search:flights", {"class": {"stops": 0, "cabin": "Y"}, "to": "JED", "from": "RUH"}
    )


async def test_fares_that_change_while_everybody_searches_are_never_shown_as_they_were(travel: Travel) -> None:
    shown_late = 0

    async def search() -> None:
        nonlocal shown_late
        known = changed
        (offer,) = await travel.search(Search("RUH", "JED"))
        shown_late += offer.fare < known

    changed = 300
    for fare in range(301, 331):
        searching = [asyncio.create_task(search()) for _ in range(20)]
        await travel.change_fare("RUH", "JED", fare)
        changed = fare
        await asyncio.gather(*searching, *(search() for _ in range(20)))

    assert shown_late == 0
    assert (await travel.search(Search("RUH", "JED")))[0].fare == 330


async def test_all_searches_are_deleted_by_a_pattern(travel: Travel) -> None:
    for origin, to in travel.fares:
        await travel.search(Search(origin, to))
    await travel.cache.put("search:hotels:1", b"[]", ttl_ms=TTL_MS)
    await until(lambda: not travel.cache._flights)

    assert await travel.cache.delete_pattern("search:flights:*") == 12
    assert await travel.cache.delete_pattern("search:*") == 1

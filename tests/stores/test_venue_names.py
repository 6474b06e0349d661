"""Which venue a name means: one is looked up and not all, and what nobody has is not asked for again at once."""

from typing import Any

import msgspec
import pytest

from dawr.domain.errors import UnknownVenue
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.engine.venue_names import VenueNames
from dawr.ports import Store
from tests.builders import a_venue
from tests.stores.doing import create_venue

MANY = 20


@pytest.fixture
def asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements by which the store was asked beside the venues' own."""
    asked: list[str] = []
    select_rows = store.select_rows  # type: ignore[attr-defined]

    async def watched(name: str, *arguments: Any) -> Any:  # noqa: ANN401 - rows, of whatever kind
        asked.append(name)
        return await select_rows(name, *arguments)

    monkeypatch.setattr(store, "select_rows", watched)
    return asked


async def test_a_venue_is_found_by_its_slug_and_by_its_id(engine: Engine, venue: Venue) -> None:
    found = [await engine.find_venue(venue.slug), await engine.find_venue(venue.id)]

    assert found == [venue.id, venue.id]
    assert await engine.slug_of(venue.id) == venue.slug


async def test_a_slug_goes_before_an_id(store: Store, engine: Engine, venue: Venue) -> None:
    other = await create_venue(store, msgspec.structs.replace(a_venue(), slug=venue.id))

    assert await engine.find_venue(venue.id) == other.id
    assert (await engine.slug_of(venue.id), await engine.slug_of(other.id)) == (venue.slug, venue.id)


async def test_a_slug_is_nobodys_id(engine: Engine, venue: Venue) -> None:
    await engine.find_venue(venue.slug)

    with pytest.raises(UnknownVenue):
        await engine.slug_of(VenueId(venue.slug))


async def test_a_name_that_nobody_has_is_looked_up_once_in_a_while_and_by_itself(
    engine: Engine, venue: Venue, asked: list[str]
) -> None:
    for _ in range(MANY):
        with pytest.raises(UnknownVenue):
            await engine.find_venue("nowhere")
        with pytest.raises(UnknownVenue):
            await engine.slug_of(VenueId("nowhere"))

    assert asked == ["venues_called"]


async def test_a_known_name_is_not_looked_up_again(engine: Engine, venue: Venue, asked: list[str]) -> None:
    for _ in range(MANY):
        await engine.find_venue(venue.slug)
        await engine.slug_of(venue.id)

    assert asked == ["venues_called"]


async def test_one_that_was_made_here_is_found_at_once(store: Store, engine: Engine) -> None:
    new = a_venue()
    with pytest.raises(UnknownVenue):
        await engine.find_venue(new.slug)

    engine.meet(await create_venue(store, new))

    assert await engine.find_venue(new.slug) == new.id


async def test_one_that_was_made_elsewhere_is_found_by_whoever_asks_the_store(store: Store, engine: Engine) -> None:
    new = a_venue()
    with pytest.raises(UnknownVenue):
        await engine.find_venue(new.slug)

    await create_venue(store, new)

    assert await engine.find_venue_now(new.slug) == new.id
    assert await engine.find_venue(new.slug) == new.id


@pytest.mark.parametrize("name", ["", "\x00", "a\x00b", "\ud800", "x" * 300])
async def test_a_name_that_no_database_understands_is_nobodys(engine: Engine, venue: Venue, name: str) -> None:
    with pytest.raises(UnknownVenue):
        await engine.find_venue(name)


async def test_only_so_many_names_are_remembered(store: Store) -> None:
    names = VenueNames(store, most=3)
    venues = [await create_venue(store, a_venue()) for _ in range(5)]

    found = [await names.find(venue.slug) for venue in venues]
    missed = [await names.find(f"nowhere-{number}") for number in range(5)]

    assert found == [venue.id for venue in venues]
    assert missed == [None] * 5
    assert [await names.find(venue.slug) for venue in venues] == found
    assert (len(names._ids), len(names._slugs), len(names._missed)) == (3, 3, 3)


async def test_a_closed_clinic_door_reads_the_venues_once_in_a_while(
    store: Store, engine: Engine, venue: Venue, asked: list[str]
) -> None:
    await create_venue(store, a_venue())

    for _ in range(MANY):
        with pytest.raises(UnknownVenue) as refusal:
            await engine.clinic(called="")
        assert refusal.value.facts["why"] == "several-clinics"

    assert asked == ["venue_slugs"]

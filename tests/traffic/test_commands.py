"""What tools ask of the traffic process: an archive that is under way is one, and whoever asks hears of their own."""

import asyncio
from pathlib import Path

import msgspec

from dawr.traffic.commands import ARCHIVE, Commands, Day, Said
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY
from tests.traffic.archives import DAY, FILE, LATER, ON_SQLITE, a_day_of


@ON_SQLITE
async def test_whoever_asks_for_another_day_meanwhile_is_refused_and_hears_of_no_other(
    database: Database, tmp_path: Path
) -> None:
    directory = TrafficDirectory(tmp_path / "traffic")
    directory.prepare()
    await a_day_of(database, 20)
    archive = Commands(database, directory, lambda: LATER).handlers()[ARCHIVE]

    async def ask(day: int) -> Said:
        said = await archive(msgspec.Raw(msgspec.json.encode(Day(day))))
        assert isinstance(said, Said)
        return said

    first = asyncio.create_task(ask(DAY))
    await asyncio.sleep(0)
    meanwhile = await ask(DAY - MS_PER_DAY)
    done = await first
    afterwards = await ask(DAY - MS_PER_DAY)

    assert (meanwhile.is_refused, meanwhile.sentence.startswith("Another archive")) == (True, True)
    assert FILE in done.sentence
    assert FILE not in afterwards.sentence

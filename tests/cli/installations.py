"""One installation: its settings, its database, and the commands that are run on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, Finished, at_once, dawr, dawr_process, set_up, venue_document


class Installation(msgspec.Struct, frozen=True):
    settings: Mapping[str, str | Path]
    database: Path | str
    directory: Path

    def dawr(self, *arguments: str | Path, stdin: str = "", **more: str) -> Finished:
        return dawr(*arguments, stdin=stdin, **{**self.settings, **more})

    def set_up(self, *arguments: str | Path, stdin: str = "") -> str:
        """What a command that has to succeed said."""
        settings: dict[str, Any] = {**self.settings}
        return set_up(*arguments, stdin=stdin, **settings)

    def dawr_process(self, *arguments: str | Path, stdin: str = "", **more: str) -> Finished:
        return dawr_process(*arguments, stdin=stdin, **{**self.settings, **more})

    def serve(self, *arguments: str | Path) -> DawrServer:
        return DawrServer(self.directory, "serve", *arguments, **self.settings)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return rows_of(self.database, sql)

    def create_venue(self, *queues: Mapping[str, Any]) -> None:
        """Set the clinic up, with a laboratory if no queue is given."""
        applied = self.dawr("venue", "apply", "-", stdin=venue_document(*queues or ({"id": "lab"},)))
        assert applied.exit_code == 0, applied

    def take_numbers(self, count: int) -> None:
        with self.serve() as server:
            take_numbers(server, count)

    def epoch(self) -> int:
        ((epoch,),) = self.rows("SELECT epoch FROM heads")
        return int(epoch)


def take_numbers(server: DawrServer, count: int) -> None:
    def enter(number: int) -> int:
        with Client(server.url) as client:
            return client.enter("lab", f"visitor {number}").status

    assert set(at_once(enter, range(count))) == {200}

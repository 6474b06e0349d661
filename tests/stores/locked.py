"""A database file that somebody else writes to, for as long as a test likes."""

import apsw

from dawr.ports import Changes
from dawr.stores.sqlite import SqliteStore


class Elsewhere:
    """Another program on the same file. Our own waits only a moment for it."""

    def __init__(self, store: SqliteStore) -> None:
        store._busy_ms = 1
        self._connection = apsw.Connection(str(store.path))

    def lock(self, _: list[Changes] | None = None) -> None:
        """Also as what a batch is told to: then the batch is stored, and nothing after it is."""
        self._connection.set_busy_timeout(5000)
        self._connection.execute("BEGIN IMMEDIATE")

    def unlock(self) -> None:
        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()

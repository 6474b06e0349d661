"""A database that goes away at a given moment: before any of its statements, or when it has just committed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from dawr.reliability.records import Argument, Records
from dawr.traffic.database import Database, DatabaseAway, Transaction, Value

T = TypeVar("T")


class FaultyDatabase:
    """Goes away at the moment of this number, once. `has_failed`: that moment came."""

    def __init__(self, database: Database, fails_at: int) -> None:
        self._database = database
        self._left = fails_at
        self.has_failed = False

    def moment(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.has_failed = True
            raise DatabaseAway("as the test wants it")

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        async def watched(transaction: Transaction) -> T:
            done = await work(FaultyTransaction(transaction, self.moment))
            self.moment()
            return done

        done = await self._database.transact(watched)
        self.moment()
        return done

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        self.moment()
        return await self._database.read(work)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        self.moment()
        return await self._database.select_rows(name, *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        self.moment()
        changed = await self._database.change_rows(name, *arguments)
        self.moment()
        return changed

    async def sync(self) -> None:
        self.moment()
        await self._database.sync()
        self.moment()

    async def create_tables(self) -> list[str]:
        return await self._database.create_tables()

    async def close(self) -> None:
        await self._database.close()


class FaultyTransaction:
    def __init__(self, transaction: Transaction, moment: Callable[[], None]) -> None:
        self._transaction = transaction
        self._moment = moment

    def must_be_open(self) -> None:
        self._transaction.must_be_open()

    def waiting_at_most(self, ms: int) -> Records:
        return self._transaction.waiting_at_most(ms)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        self._moment()
        return await self._transaction.select_rows(name, *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        self._moment()
        return await self._transaction.change_rows(name, *arguments)

    async def select_each(self, name: str, keys: Sequence[Sequence[Value]]) -> list[Any]:
        self._moment()
        return await self._transaction.select_each(name, keys)

    async def change_each(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        self._moment()
        await self._transaction.change_each(name, rows)

"""What the connections of one server share: its clock, its turns, and where answers are counted."""

from collections.abc import Callable
from typing import Protocol, cast

from uvicorn.server import ServerState

from dawr.observe.access_log import AccessLog
from dawr.traffic.requests import RequestCollector
from dawr.web.server.addresses import AddressConnections

BEHIND_PER_TICK = 25
"""How many of those that waited behind another are begun in a tenth of a second, of all connections together."""

WhenWritten = Callable[[Callable[[], None]], None]


class Connection(Protocol):
    """What is asked of each of them."""

    def answer_next(self) -> None: ...

    def give_up_if_late(self) -> None: ...


class Shared(ServerState):
    """Each request that waits behind another waits for its turn here."""

    def __init__(
        self,
        access_log: AccessLog,
        new_id: Callable[[], str],
        patience_seconds: int,
        collecting: RequestCollector | None = None,
        addresses: AddressConnections | None = None,
    ) -> None:
        super().__init__()
        self.addresses = addresses
        self.collecting = collecting
        self.count_answer: Callable[[], None] = _not_counted if collecting is None else collecting.count_answer
        """Told of each answer when it was sent, beside whoever counts it in the statistics: the two are compared."""
        self.when_written: WhenWritten = _at_once if collecting is None else collecting.when_written
        """Calls back when what was answered is written down in the statistics: only then the answer leaves."""
        self.access_log = access_log
        self.new_id = new_id
        self.patience_seconds = patience_seconds
        self.second = 0
        self._behind: dict[Connection, None] = {}
        """Connections whose next request waits for its turn, in order; each once, and only while it is there."""
        self._turns_left = BEHIND_PER_TICK

    def wait_for_turn(self, connection: Connection) -> None:
        """Whoever asks on without having heard the answer comes after all who do not."""
        if self._turns_left:
            self._turns_left -= 1
            connection.answer_next()
        else:
            self._behind[connection] = None

    def tick(self) -> None:
        """Ten times a second."""
        self._turns_left = BEHIND_PER_TICK
        while self._turns_left and self._behind:
            self._turns_left -= 1
            connection = next(iter(self._behind))
            self.forget(connection)
            connection.answer_next()

    def forget(self, connection: Connection) -> None:
        """It waits for no turn any more."""
        self._behind.pop(connection, None)

    def one_second_passed(self) -> None:
        """One check of each connection a second, instead of a timer for each request."""
        self.second += 1
        for connection in list(self.connections):
            cast("Connection", connection).give_up_if_late()

    def abort_all(self) -> None:
        for connection in list(self.connections):
            connection.transport.abort()


def _not_counted() -> None:
    """There are no statistics."""


def _at_once(send: Callable[[], None]) -> None:
    send()

"""One checksum for the same details, whether they come from SQLite, from PostgreSQL or from a Parquet file."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Self

import msgspec

BYTES = 16


class Digest(msgspec.Struct, frozen=True):
    """How many rows there are, and the sum of their hashes: the order in which they come does not matter."""

    rows: int = 0
    total: int = 0

    def plus(self, rows: Iterable[Sequence[Any]]) -> Self:
        count, total = self.rows, self.total
        for row in rows:
            total += int.from_bytes(blake2b(canonical(row), digest_size=BYTES).digest())
            count += 1
        return type(self)(count, total % 256**BYTES)

    @property
    def checksum(self) -> str:
        return self.total.to_bytes(BYTES).hex()


def canonical(row: Sequence[Any]) -> bytes:
    """The same bytes for the same values of all columns, other bytes for all others."""
    return msgspec.msgpack.encode(tuple(row))

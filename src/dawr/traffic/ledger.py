"""Where every request of an hour went. Whoever moves one says so here, in the transaction that moves it."""

from collections import Counter
from typing import Literal, get_args

from dawr.traffic.database import Transaction

Column = Literal[
    "answered",
    "spooled",
    "queued",
    "stored",
    "detailed",
    "duplicates",
    "dead",
    "damaged",
    "lost",
    "counted_only",
    "over_limit",
    "no_space",
]
COLUMNS: tuple[Column, ...] = get_args(Column)

Entries = Counter[tuple[int, Column]]
"""How many more of an hour went there; a negative number takes back."""


async def add_to_ledger(transaction: Transaction, entries: Entries) -> None:
    hours = sorted({hour for hour, _ in entries})
    await transaction.change_each(
        "add_to_ledger", [(hour, *(entries[hour, column] for column in COLUMNS)) for hour in hours]
    )

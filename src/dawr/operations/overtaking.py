"""Whoever lets somebody be overtaken says why; it is told in the event, and summed for whoever did it."""

from dawr.domain import More, Overtakings, Why
from dawr.domain.events import NOTHING_MORE
from dawr.operations.rows import OVERTAKINGS
from dawr.operations.transaction import Transaction


def overtaking(tx: Transaction, why: Why, overtaken: int) -> More:
    """What is said of a change that lets somebody overtake so many others."""
    if not overtaken:
        return NOTHING_MORE
    sums = tx.find(OVERTAKINGS, tx.day) or Overtakings(tx.venue.id, tx.day)
    tx.put(OVERTAKINGS, sums.with_one_more(tx.origin.actor or "nobody", why, overtaken))
    return More(why=why, overtaken=overtaken)

"""How a venue comes to be: with an id of its own, at the day it is there, and with its owner, if somebody asks for it.

A venue and its owner are stored together or not at all: there is no moment at which a venue
that somebody made belongs to nobody.
"""

import re
from collections.abc import Callable
from unicodedata import normalize

import msgspec

from dawr.domain import Account, Day, Head, Origin, Queue, QueueId, Venue, VenueId
from dawr.domain.errors import InvalidValue
from dawr.domain.queue import LONGEST_CODE
from dawr.domain.venue import DEFAULT_LIMITS, VenueLimits, checked
from dawr.operations.people import AddStaff
from dawr.operations.rows import ANSWERS, STAFF
from dawr.operations.transaction import Transaction
from dawr.ports import Clock, Ids, Rows, Store, Wants
from dawr.reliability.idempotency import Answer

Kept = Callable[[Venue, int], Answer | None]
"""What a retry is to be answered with, from the venue as it was made and how long the installation ran."""


USUAL_CODE, USUAL_PREFIX = "main", "A"
NOT_IN_A_CODE = re.compile(r"[^a-z0-9]+")


def nothing_kept(_: Venue, __: int) -> None:
    """Whoever asks again is answered anew."""


async def create_venue(
    store: Store, clock: Clock, ids: Ids, venue: Venue, *, limits: VenueLimits = DEFAULT_LIMITS
) -> Venue:
    """The venue as it was made, without an owner and before anything has happened; its slug must be free."""
    new, head = await _new(store, venue, clock(), ids, limits)
    await store.add_venue(new, head)
    return new


async def create_owned_venue(
    store: Store,
    clock: Clock,
    ids: Ids,
    venue: Venue,
    *,
    owner: Account,
    origin: Origin,
    ran_ms: int,
    kept: Kept = nothing_kept,
    limits: VenueLimits = DEFAULT_LIMITS,
) -> Venue:
    """The venue as it was made, whose first event is that this account owns it; its slug must be free."""
    now = clock()
    new, head = await _new(store, venue, now, ids, limits)
    tx = Transaction(new, head, now=now, ran_ms=ran_ms)
    tx.absorb(Wants(rows={STAFF: set()}), Rows(), depth=1)  # nobody works there yet
    tx.begin(origin)
    AddStaff(owner.account_id, owner.username, "owner", None).decide(tx, now)
    answer = kept(new, ran_ms)
    if answer is not None:
        tx.put(ANSWERS, answer)
    await store.add_venue(new, head, tx.changes())
    return new


def first_queue(name: str, language: str, *, usual: str) -> Queue:
    """Called so; without a name, as is usual. Code and prefix are made of the name's Latin letters, if it has any."""
    latin = normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    code = NOT_IN_A_CODE.sub("-", latin).strip("-")[:LONGEST_CODE].strip("-")
    prefix = code[0].upper() if code[:1].isalpha() else USUAL_PREFIX
    return Queue(QueueId(code or USUAL_CODE), {language: name or usual}, prefix=prefix)


async def _new(store: Store, venue: Venue, now: int, ids: Ids, limits: VenueLimits) -> tuple[Venue, Head]:
    """A venue is found by its slug or its id, so neither may be another's other."""
    known = await store.venue_ids()
    if venue.slug in known.values():
        raise InvalidValue("slug", "slug-is-id", slug=venue.slug)
    code = ids.venue_code()
    while code in known:
        code = ids.venue_code()
    new = checked(msgspec.structs.replace(venue, id=VenueId(code)), limits=limits)
    return new, Head(new.id, ids.epoch(), new.day_at(now, reached=Day("")), version=0, config_version=0)

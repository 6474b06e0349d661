"""Why the rules say no: the tree in words, and the tree in code."""

from collections.abc import Iterator

from dawr.domain import errors
from dawr.domain.errors import (
    AlreadyStaff,
    CannotRepairDay,
    CannotUndo,
    ChangedSince,
    InvalidValue,
    JoinedTooOften,
    LastOwner,
    LineEnded,
    NotAtThisDesk,
    NotEntered,
    NotForThisAudience,
    NothingToEnter,
    NotInPlan,
    NotInQueue,
    NotItsTurn,
    NumberWrong,
    OutsideHours,
    OwnerCodeInvalid,
    PinForeign,
    PinNeeded,
    PinRotated,
    PinTaken,
    PinTriedTooOften,
    PinWrong,
    PlaceTaken,
    QueueClosed,
    QueueFull,
    QueueInWrongState,
    QueuePaused,
    Refused,
    RoleTooLow,
    StageInWrongState,
    TicketInWrongState,
    TooManyVenues,
    UndoTooLate,
    UnknownDesk,
    UnknownJourney,
    UnknownQueue,
    UnknownStaff,
    UnknownTicket,
    UnknownToken,
    UnknownVenue,
    UnknownVisit,
    UsernameTaken,
    VenueInactive,
    VisitInWrongState,
    VisitLocked,
)

ONE_OF_EACH: tuple[Refused, ...] = (
    UnknownVenue("clinic"),
    UnknownQueue("lab"),
    UnknownDesk("desk-1"),
    UnknownTicket(),
    UnknownVisit(),
    NotInQueue("lab"),
    UnknownStaff("amna"),
    UnknownToken(),
    RoleTooLow("staff", "manager"),
    OwnerCodeInvalid(),
    LastOwner("amna"),
    UsernameTaken("amna"),
    AlreadyStaff("amna"),
    TicketInWrongState("A001", "finished", "call"),
    QueueInWrongState("lab", "open", "resume"),
    LineEnded("A001", "call"),
    QueuePaused("lab"),
    VenueInactive("clinic"),
    QueueClosed("lab"),
    OutsideHours("lab", "2025-03-10 08:00"),
    QueueFull("lab", 20, 10),
    TooManyVenues(50),
    JoinedTooOften("+97433001122", 3, again_seconds=60),
    PinTriedTooOften("29012345678", most=5, window_seconds=900, again_seconds=600),
    CannotRepairDay("clinic", "not-ahead", day="2026-11-15"),
    CannotUndo("A001"),
    ChangedSince("A001", 7),
    NotAtThisDesk("lab"),
    NotEntered("lab"),
    NotForThisAudience("women-visit", "women"),
    NotInPlan("lab"),
    NotItsTurn("lab", "locked"),
    NothingToEnter(),
    NumberWrong(),
    PinForeign(3),
    PinNeeded("lab"),
    PinRotated(),
    PinTaken(),
    PinWrong(4),
    PlaceTaken("A001", "another-number", other="A002"),
    StageInWrongState("lab", "completed", "skip"),
    UndoTooLate("A001", 10),
    UnknownJourney("army"),
    VisitInWrongState("finished", "leave"),
    VisitLocked(),
    InvalidValue("visitor", "visitor-empty"),
)


def drawn_tree() -> dict[str, set[str]]:
    """Kind → its leaves, as the module's first words draw them."""
    tree: dict[str, set[str]] = {}
    kind = ""
    for line in (errors.__doc__ or "").splitlines():
        branch, _, rest = line.strip().partition("── ")
        if branch in {"├", "└"}:
            kind, _, leaves = rest.partition(" ")
            tree[kind] = {leaf.strip() for leaf in leaves.split("·")}
        elif branch.startswith("│"):
            tree[kind] |= {leaf.strip() for leaf in branch[1:].split("·")}
    return tree


def leaves_of(kind: type[Refused]) -> Iterator[type[Refused]]:
    for child in kind.__subclasses__():
        yield from leaves_of(child) if child.__subclasses__() else [child]


def test_the_tree_that_is_drawn_is_the_tree_that_is_there() -> None:
    real = {kind.__name__: {leaf.__name__ for leaf in leaves_of(kind)} for kind in Refused.__subclasses__()}

    assert drawn_tree() == real


def test_every_leaf_is_shown_here() -> None:
    assert {type(refusal) for refusal in ONE_OF_EACH} == set(leaves_of(Refused))


def test_every_leaf_has_a_code_of_its_own() -> None:
    codes = [leaf.code for leaf in leaves_of(Refused)]

    assert len(set(codes)) == len(codes)
    assert Refused.code not in codes
    assert all("code" in vars(leaf) for leaf in leaves_of(Refused))


def test_a_refusal_by_a_limit_keeps_to_itself_whose_it_is() -> None:
    refusal = JoinedTooOften("+97433001122", 1, again_seconds=60)

    assert "+97433001122" not in f"{refusal} {refusal.args} {refusal.facts}"


def test_a_pin_of_another_room_does_not_say_which_room() -> None:
    assert PinForeign(3).facts == {"tries_left": 3}

"""What the clinic's contract takes and gives, in its own words."""

from typing import Annotated

import msgspec
from msgspec import Meta

from dawr.domain.staff import Role


class ClinicInput(msgspec.Struct, forbid_unknown_fields=True):
    clinic: str

    def __post_init__(self) -> None:
        """Codes are the same in any case, and so is a retry that writes one in another."""
        self.clinic = self.clinic.lower()


class EnterInput(ClinicInput):
    user: str


class CallInput(ClinicInput):
    desk: str | None = None


class DoneInput(ClinicInput):
    user: str
    pin: Annotated[str, Meta(max_length=6, description="Not asked for by any clinic yet.")] | None = None


class ClinicQuery(msgspec.Struct, forbid_unknown_fields=True):
    clinic: Annotated[str, Meta(min_length=1)]


class PositionQuery(msgspec.Struct, forbid_unknown_fields=True):
    clinic: Annotated[str, Meta(min_length=1)]
    user: Annotated[str, Meta(min_length=1)]


class Entered(msgspec.Struct, omit_defaults=True):
    success: bool
    number: int
    status: str
    user: str
    clinic: str
    ahead: int
    position: int
    estimated_wait_minutes: int
    display_number: str
    ticket: str | None = None
    message: str | None = None
    reserve_mode: bool = False


class QueueStatus(msgspec.Struct):
    success: bool
    clinic: str
    current: int | None
    length: int
    waiting: int
    next: int | None
    state: str
    avg_wait_minutes: float


class CalledPatient(msgspec.Struct):
    success: bool
    clinic: str
    current: int | None
    """The number that was called now; null when nobody waits."""
    next: int | None
    queue_length: int
    user: str | None
    display_number: str | None
    desk: str | None


class DonePatient(msgspec.Struct):
    success: bool
    clinic: str
    user: str
    number: int
    status: str
    wait_time_minutes: float
    service_time_minutes: float
    next_clinic: str | None
    """Where the visitor goes next, once there are journeys."""


class NewRound(msgspec.Struct):
    success: bool
    clinic: str
    round: int
    message: str


class Position(msgspec.Struct):
    success: bool
    clinic: str
    user: str
    status: str
    number: int
    display_number: str
    ahead: int
    position: int
    total_waiting: int
    estimated_wait_minutes: int


class SignedInUser(msgspec.Struct):
    username: str
    role: Role


class SignedInAnswer(msgspec.Struct):
    success: bool
    token: str
    user: SignedInUser

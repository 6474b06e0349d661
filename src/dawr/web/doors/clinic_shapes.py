"""What the clinic's contract takes and gives, in its own words.

The contract is others': what it is told and does not know, it ignores.
"""

from typing import Annotated

import msgspec

from dawr.domain import Role
from dawr.domain.digits import LONGEST_PIN
from dawr.web.api.sessions import SignInInput


class AnyInput(msgspec.Struct):
    """Nothing needs to be said."""


class StaffLoginInput(SignInInput, forbid_unknown_fields=False):
    """The same as of `/v1/login`."""


class ClinicInput(msgspec.Struct):
    clinic: str

    def __post_init__(self) -> None:
        """Codes are the same in any case, and so is a retry that writes one in another."""
        self.clinic = self.clinic.lower()


class EnterInput(ClinicInput):
    user: str


class CallInput(ClinicInput):
    desk: str | None = None


class DoneInput(EnterInput):
    pin: Annotated[str, msgspec.Meta(max_length=LONGEST_PIN, description="As shown in the clinic.")] | None = None
    ticket: (
        Annotated[str, msgspec.Meta(max_length=200, description="The visitor's link, where no PIN is asked for.")]
        | msgspec.UnsetType
        | None
    ) = msgspec.UNSET
    """Left out, it is no part of the fingerprint: a retry of a request that knew no such field is still one."""


class ClinicQuery(msgspec.Struct):
    clinic: Annotated[str, msgspec.Meta(min_length=1)]


class PositionQuery(ClinicQuery):
    user: Annotated[str, msgspec.Meta(min_length=1)]


class Answer(msgspec.Struct):
    success: bool


class ClinicAnswer(Answer):
    clinic: str


class Entered(Answer, omit_defaults=True):
    number: int
    status: str
    user: str
    clinic: str
    ahead: int
    position: int
    estimated_wait_minutes: int
    display_number: str
    your_number: int = msgspec.field(name="yourNumber")
    """The same as `number`."""
    current: int | None
    """The number called last; null: nobody was called yet."""
    ticket: str | None = None
    message: str | None = None
    reserve_mode: bool = False


class QueuedPatient(msgspec.Struct):
    number: int
    display_number: str
    user: str
    status: str
    entered_at: str


class QueueStatus(ClinicAnswer):
    current: int | None
    """The number called last; null: nobody was called yet."""
    length: int
    waiting: int
    next: int | None
    state: str
    avg_wait_minutes: float
    people: list[QueuedPatient] | msgspec.UnsetType = msgspec.field(name="list", default=msgspec.UNSET)
    """For the clinic's staff: everybody who is not done, in the order of calling."""


class CalledPatient(ClinicAnswer):
    current: int | None
    """The number that was called now; null when nobody waits."""
    next: int | None
    queue_length: int
    user: str | None
    display_number: str | None
    desk: str | None


class DonePatient(ClinicAnswer):
    user: str
    number: int
    status: str
    wait_time_minutes: float
    service_time_minutes: float
    next_clinic: str | None
    """Where the visitor's journey goes on; null: it has ended, nothing takes them now, or they have none."""


class NewRound(ClinicAnswer):
    round: int
    message: str


class Position(ClinicAnswer):
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


class SignedInAnswer(Answer):
    token: str
    user: SignedInUser

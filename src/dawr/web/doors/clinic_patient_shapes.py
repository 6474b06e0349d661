"""What the clinic's contract takes and gives about patients: how one is named, and what they are told."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec

from dawr.domain import Audience, Visit, Why
from dawr.domain.digits import LONGEST_PIN, read_digits
from dawr.domain.errors import InvalidValue
from dawr.domain.journey import LONGEST_WORD, folded
from dawr.web.doors.clinic_shapes import Answer, ClinicAnswer, ClinicInput

SHORTEST_ID: Final = 2
LONGEST_ID: Final = 12
LONGEST_NUMBER: Final = 9
LONGEST_LINK: Final = 200

PatientId = Annotated[str, msgspec.Meta(description="2 to 12 digits, all of one script.")]
QueueNumber = Annotated[int | str, msgspec.Meta(description="The patient's number in the queue they are in.")]
LinkText = Annotated[str, msgspec.Meta(max_length=LONGEST_LINK, description="The link, as the login gave it.")]
ExamType = Annotated[str, msgspec.Meta(max_length=LONGEST_WORD, description="By its code or an alias.")]
GenderText = Annotated[str, msgspec.Meta(max_length=16, description="`male` or `female`, in Arabic or English.")]
PinText = Annotated[str, msgspec.Meta(max_length=LONGEST_PIN, description="As it is shown in the clinic.")]
Action = Literal[
    "reset-path",
    "remove-from-queue",
    "force-complete",
    "skip",
    "add",
    "change-path",
    "transfer",
    "unlock",
    "new-link",
    "end",
]

GENDERS: Final[Mapping[str, str]] = {
    "male": "male",
    "ذكر": "male",
    "female": "female",
    "أنثى": "female",
    "انثى": "female",
}
AUDIENCE_OF: Final[Mapping[str, Audience]] = {"male": "men", "female": "women"}

STAGE_WORDS: Final[Mapping[str, str]] = {
    "locked": "LOCKED",
    "ready": "READY_TO_ENTER",
    "in_queue": "IN_QUEUE",
    "completed": "COMPLETED",
}
"""A stage that staff skipped has no word: the patient need not go there, so it is left out."""


def read_id(text: str) -> str:
    return read_digits(text, field="patientId", least=SHORTEST_ID, most=LONGEST_ID)


def read_number(number: int | str) -> int:
    return int(read_digits(str(number), field="queueNumber", least=1, most=LONGEST_NUMBER))


def read_gender(text: str) -> str:
    gender = GENDERS.get(folded(text))
    if gender is None:
        raise InvalidValue("gender", "gender")
    return gender


class LoginInput(msgspec.Struct, rename="camel"):
    patient_id: PatientId
    gender: GenderText
    exam_type: ExamType

    def __post_init__(self) -> None:
        """A retry in other digits or words is the same request."""
        self.patient_id = read_id(self.patient_id)
        self.gender = read_gender(self.gender)


class VerifyInput(ClinicInput, rename="camel", kw_only=True):
    patient_id: PatientId
    pin: PinText | None = None
    queue_number: QueueNumber
    ticket: LinkText | msgspec.UnsetType | None = msgspec.UNSET
    """Needed where the stage asks for no PIN. Left out, it is no part of the fingerprint."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.patient_id = read_id(self.patient_id)
        self.queue_number = read_number(self.queue_number)


class Named(msgspec.Struct, rename="camel"):
    """Whose visit is meant: by its link, or by id and number. Staff need no number."""

    patient_id: PatientId | None = None
    queue_number: QueueNumber | None = None
    ticket: LinkText | None = None

    def __post_init__(self) -> None:
        if self.patient_id is not None:
            self.patient_id = read_id(self.patient_id)
        if self.queue_number is not None:
            self.queue_number = read_number(self.queue_number)


class ChoiceQuery(Named, rename="camel"):
    """A visit under way, or what somebody would begin."""

    exam_type: ExamType | None = None
    gender: GenderText | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gender is not None:
            self.gender = read_gender(self.gender)


class EditInput(msgspec.Struct, rename="camel", kw_only=True):
    patient_id: PatientId
    action: Action
    clinic: Annotated[str, msgspec.Meta(description="Of force-complete, skip, add and transfer.")] | None = None
    exam_type: Annotated[str, msgspec.Meta(max_length=LONGEST_WORD, description="Of change-path.")] | None = None
    why: Annotated[Why, msgspec.Meta(description="Of force-complete: why others are overtaken.")] = "other"
    reason: Annotated[str, msgspec.Meta(max_length=500)] | None = None

    def __post_init__(self) -> None:
        self.patient_id = read_id(self.patient_id)
        self.clinic = None if self.clinic is None else self.clinic.lower()


class ShownStage(msgspec.Struct):
    clinic: str
    state: str
    number: int | None


class PatientData(msgspec.Struct, rename="camel"):
    patient_id: str
    gender: str
    exam_type: str


class LoggedIn(Answer, rename="camel", omit_defaults=True):
    """`ticket` is the secret link, and told once. Of a visit that was under way before, nothing is told."""

    data: PatientData
    ticket: str | None
    clinic: str | None
    queue_number: int | None
    ahead: int | None
    stages: list[ShownStage]
    message: str | None = None


class PatientStatus(Answer, rename="camel"):
    status: str
    clinic: str | None
    """Null, while no clinic takes the patient and once the journey has ended."""
    queue_number: int | None
    ahead: int | None
    stages: list[ShownStage]


class EditedPatient(PatientStatus, rename="camel", omit_defaults=True):
    ticket: str | None = None
    """The new link, where one was asked for."""


class NextClinic(msgspec.Struct, rename="camel"):
    clinic: str
    queue_number: int
    ahead: int
    floor: str | None
    room: str | None


class Verified(ClinicAnswer):
    status: str
    next: NextClinic | None
    """Null: nothing takes the patient now, or the journey has ended."""
    stages: list[ShownStage]


class PatientPosition(Answer, rename={"patient_id": "patientId", "queue_number": "queueNumber"}):
    patient_id: str
    status: str
    clinic: str | None
    queue_number: int | None
    display_number: str | None
    ahead: int | None
    position: int | None
    total_waiting: int | None
    estimated_wait_minutes: int | None
    floor: str | None
    room: str | None


class ShownCandidate(msgspec.Struct):
    clinic: str
    score: int
    """The longer of walk and wait, in minutes: the number is taken before the walk."""
    walk_minutes: int
    wait_minutes: int
    waiting: int
    left_out: str | None
    opens_at: str | None
    """Local time, if it is outside its hours."""


class Chosen(Answer):
    clinic: str | None
    """Where the patient is, or would be sent; null: nothing takes them now."""
    candidates: list[ShownCandidate]


def stages_of(visit: Visit) -> list[ShownStage]:
    return [
        ShownStage(stage.queue, STAGE_WORDS[stage.state], stage.number)
        for stage in visit.plan
        if stage.state in STAGE_WORDS
    ]

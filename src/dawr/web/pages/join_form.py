"""What somebody types to join, as the rules take it; and beside which field is said what does not fit.

The fields are those of the doors, so that whoever joins by a page and by a door is one person.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from dawr.domain import Audience, Journey, Venue
from dawr.domain.digits import SCRIPTS
from dawr.domain.errors import InvalidValue, NotForThisAudience, UnknownJourney
from dawr.domain.ticket import LARGEST_PARTY, LONGEST_VISITOR
from dawr.web.api.visits import JourneyInput
from dawr.web.doors.clinic_patient_shapes import AUDIENCE_OF, LONGEST_ID, SHORTEST_ID, read_gender, read_id
from dawr.web.doors.restaurant_shapes import JoinInput
from dawr.web.problems import BadRequest

SEPARATORS: Final = re.compile(r"[\s().\-\u2010-\u2015]")
"""What people, keyboards and address books put into a number to make it easier to read."""
COUNT: Final = re.compile("[0-9]{1,2}")
LATIN: Final = str.maketrans("".join(SCRIPTS[1:]), SCRIPTS[0] * (len(SCRIPTS) - 1))
FIELD_OF: Final = {"visitor": "mobileNumber"}
"""What the rules call a field, where they and not a type refuse it."""

LIMITS: Final[Mapping[str, Mapping[str, int]]] = {
    "patientId": {"least": SHORTEST_ID, "most": LONGEST_ID},
    "name": {"most": LONGEST_VISITOR},
    "partySize": {"most": LARGEST_PARTY},
}
"""What the page says beside a field about what fits."""

Fault = Mapping[str, object]
"""`what` is wrong, as the page's words name it, and the facts of that sentence."""


class JoinForm(msgspec.Struct, frozen=True):
    """All forms of the page, as they were typed. What was left empty is empty."""

    queue: str = ""
    patientId: str = ""  # noqa: N815
    examType: str = ""  # noqa: N815
    gender: str = ""
    name: str = ""
    mobileNumber: str = ""  # noqa: N815
    partySize: str = ""  # noqa: N815
    seatingType: str = ""  # noqa: N815


class DoesNotFit(BadRequest):
    """Something has to be typed in another way."""

    def __init__(self, faults: Mapping[str, Fault]) -> None:
        super().__init__(422, "invalid-body", why="form")
        self.faults = faults
        """By field."""


def asks_gender(venue: Venue) -> bool:
    """Where everything is for everybody, nobody is asked."""
    ways = [way.audience for way in venue.journeys]
    rooms = [venue.queue(stage.queue).audience for way in venue.journeys for stage in way.stages]
    return {*ways, *rooms} != {"any"}


def read_journey(venue: Venue, form: JoinForm) -> JourneyInput:
    faults: dict[str, Fault] = {}
    patient, audience = _patient(form, faults), _audience(venue, form, faults)
    journey = _journey(venue, form, audience, faults)
    if faults or journey is None:
        raise DoesNotFit(faults)
    return JourneyInput(journey=journey.id, visitor=patient, audience=audience)


def read_party(form: JoinForm) -> JoinInput:
    typed = {
        "name": " ".join(form.name.split()),
        "mobileNumber": read_mobile(form.mobileNumber),
        "partySize": _count(form.partySize),
        "seatingType": form.seatingType or None,
    }
    kinds = {field.encode_name: field.type for field in msgspec.structs.fields(JoinInput)}
    faults = {name: _fault(name) for name, value in typed.items() if not _fits(value, kinds[name])}
    if faults:
        raise DoesNotFit(faults)
    return msgspec.convert(typed, JoinInput, strict=False)


def refused(refusal: InvalidValue) -> Mapping[str, Fault]:
    """What the rules do not take, beside the field that it was typed in."""
    field, refused_as = FIELD_OF.get(str(refusal.facts["field"]), "name"), refusal.facts["rule"]
    return {field: {"what": "unprintable"} if refused_as == "visitor-unprintable" else _fault(field)}


def _patient(form: JoinForm, faults: dict[str, Fault]) -> str:
    try:
        return read_id(SEPARATORS.sub("", form.patientId))
    except InvalidValue:
        faults["patientId"] = _fault("patientId")
        return ""


def _audience(venue: Venue, form: JoinForm, faults: dict[str, Fault]) -> Audience:
    if asks_gender(venue):
        try:
            return AUDIENCE_OF[read_gender(form.gender)]
        except InvalidValue:
            faults["gender"] = _fault("gender")
    return "any"


def _journey(venue: Venue, form: JoinForm, audience: Audience, faults: dict[str, Fault]) -> Journey | None:
    try:
        return venue.journey(form.examType, audience)
    except UnknownJourney:
        faults["examType"] = _fault("examType")
    except NotForThisAudience as refusal:
        faults["examType"] = {"what": "for-others", "audience": refusal.facts["audience"]}
    return None


def _fault(field: str) -> Fault:
    return {"what": field, **LIMITS.get(field, {})}


def read_mobile(typed: str) -> str:
    """As one number, however it was written."""
    bare = SEPARATORS.sub("", in_latin(typed))
    return f"+{bare[2:]}" if bare.startswith("00") else bare


def in_latin(typed: str) -> str:
    """With the digits of our own numbers."""
    return typed.translate(LATIN)


def _count(typed: str) -> str:
    """Nobody means ten by 1e1."""
    bare = in_latin(typed)
    return bare if COUNT.fullmatch(bare) else ""


def _fits(value: object, kind: object) -> bool:
    try:
        msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return False
    return True

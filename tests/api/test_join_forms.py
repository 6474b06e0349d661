"""What is typed to join: the ID for several rooms, a party's name and mobile; and what is wrong with it."""

import pytest

from tests.api.joining import Door, is_in, new_place
from tests.api.journeys import new_clinic
from tests.api.pages import A_BROWSERS, Page
from tests.api.world import Api

MOBILE = "+97455512345"
PARTY = {"name": "Sara", "mobileNumber": MOBILE, "partySize": "4", "seatingType": "outdoor"}
JOURNEY = {"patientId": "28412345678", "examType": "recruitment", "gender": "male"}


@pytest.fixture
def clinic(api: Api) -> Door:
    return Door(api, new_clinic(api).slug)


@pytest.fixture
def restaurant(api: Api) -> Door:
    return new_place(api, "restaurant", {"id": "tables", "name": {"en": "Tables"}, "mean_service_seconds": 600})


def test_who_has_several_rooms_begins_a_journey_with_their_id(clinic: Door) -> None:
    answer = clinic.press(JOURNEY, "?journey=")

    assert answer.status == 303
    page = Page(clinic.api.get(answer.headers["location"], headers=A_BROWSERS).body)
    assert "L001" in page.text
    assert JOURNEY["patientId"] not in page.text
    assert clinic.tickets("lab")[0]["visitor"] == JOURNEY["patientId"]


@pytest.mark.parametrize("typed", ["٢٨٤١٢٣٤٥٦٧٨", "284 1234 5678", "284-12345678"])
def test_an_id_is_the_same_in_whatever_way_it_is_typed(clinic: Door, typed: str) -> None:
    clinic.press({**JOURNEY, "patientId": typed}, "?journey=")

    assert [ticket["visitor"] for ticket in clinic.tickets("lab")] == [JOURNEY["patientId"]]


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"patientId": ""}, {"patientId": "Type your ID number: 2 to 12 digits."}),
        ({"patientId": "12a"}, {"patientId": "Type your ID number: 2 to 12 digits."}),
        ({"examType": ""}, {"examType": "Choose what you came for."}),
        ({"examType": "astronaut"}, {"examType": "Choose what you came for."}),
        ({"examType": "women"}, {"examType": "This one is for women. Choose another."}),
        ({"gender": ""}, {"gender": "Say whether you are a woman or a man."}),
        (
            {"patientId": "x", "examType": "", "gender": "neither"},
            {
                "patientId": "Type your ID number: 2 to 12 digits.",
                "examType": "Choose what you came for.",
                "gender": "Say whether you are a woman or a man.",
            },
        ),
    ],
)
def test_what_is_wrong_with_a_journey_is_said_beside_its_field(
    clinic: Door, changed: dict[str, str], wrong: dict[str, str]
) -> None:
    answer = clinic.press({**JOURNEY, **changed}, "?journey=")

    page = Page(answer.body)
    assert (answer.status, page.wrong) == (422, wrong)
    assert page.typed["patientId"] == {**JOURNEY, **changed}["patientId"]
    assert clinic.waiting() == 0


def test_a_journey_that_the_address_names_is_chosen(clinic: Door) -> None:
    assert clinic.see("?journey=recruitment").typed["examType"] == "recruitment"


def test_where_everything_is_for_everybody_nobody_is_asked_for_a_gender(api: Api) -> None:
    journeys = [{"id": "all", "name": {"en": "All"}, "fixed": [{"queue": "lab"}]}]
    clinic = Door(api, new_clinic(api, journeys=journeys).slug)

    answer = clinic.press({"patientId": "123", "examType": "all"}, "?journey=")

    assert "gender" not in clinic.see("?journey=").typed
    assert answer.status == 303


def test_a_party_joins_with_name_mobile_size_and_area(restaurant: Door) -> None:
    answer = restaurant.press(PARTY)

    assert answer.status == 303
    (ticket,) = restaurant.tickets("tables")
    assert (ticket["name"], ticket["visitor"], ticket["party_size"], ticket["area"]) == ("Sara", MOBILE, 4, "outdoor")


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("+974 5551 2345", MOBILE),
        ("00974-5551-2345", MOBILE),
        ("\u202a+974 (555) 12345\u202c", MOBILE),
        ("+٩٧٤٥٥٥١٢٣٤٥", MOBILE),
    ],
)
def test_a_mobile_number_is_the_same_in_whatever_way_it_is_typed(restaurant: Door, typed: str, kept: str) -> None:
    restaurant.press({**PARTY, "mobileNumber": typed, "partySize": "٤"})

    assert [(ticket["visitor"], ticket["party_size"]) for ticket in restaurant.tickets("tables")] == [(kept, 4)]


@pytest.mark.parametrize("typed", ["نور\u200f", "\u202bنور\u202c", " \u2068نور\u2069\u061c "])
def test_marks_that_nobody_sees_are_no_part_of_a_name(restaurant: Door, typed: str) -> None:
    restaurant.press({**PARTY, "name": typed})

    assert [ticket["name"] for ticket in restaurant.tickets("tables")] == ["نور"]


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("name", "", "Write your name in at most 128 characters."),
        ("name", "x" * 129, "Write your name in at most 128 characters."),
        ("name", "\u202e\u202e", "Write your name in at most 128 characters."),
        ("name", "Sara\x07", "Write your name in letters that can be shown."),
        ("mobileNumber", "5551 2345", "Write the number with its country code, like +97455512345."),
        ("mobileNumber", "", "Write the number with its country code, like +97455512345."),
        ("partySize", "0", "Say how many you are: 1 to 20."),
        ("partySize", "many", "Say how many you are: 1 to 20."),
        ("partySize", "2.0", "Say how many you are: 1 to 20."),
        ("partySize", "1e1", "Say how many you are: 1 to 20."),
        ("seatingType", "roof", "Choose where you would like to sit."),
    ],
)
def test_what_is_wrong_with_a_party_is_said_beside_its_field_and_the_rest_stays(
    restaurant: Door, field: str, typed: str, sentence: str
) -> None:
    answer = restaurant.press({**PARTY, field: typed})

    page = Page(answer.body)
    assert (answer.status, page.wrong) == (422, {field: sentence})
    kept = {name: text for name, text in PARTY.items() if name not in {field, "seatingType"}}
    assert page.typed.items() >= kept.items()
    assert restaurant.waiting("tables") == 0


def test_what_was_wrong_can_be_changed_and_sent(restaurant: Door) -> None:
    again = Page(restaurant.press({**PARTY, "mobileNumber": "5551"}).body)

    answer = restaurant.send({**PARTY, **again.typed, "mobileNumber": MOBILE})

    assert answer.status == 303
    assert restaurant.waiting("tables") == 1


def test_a_form_that_was_sent_with_something_else_is_shown_again(restaurant: Door) -> None:
    form = {**restaurant.see().typed, **PARTY}
    restaurant.send(form)

    answer = restaurant.send({**form, "partySize": "5"})

    assert answer.status == 409
    assert is_in("This form was sent before.", Page(answer.body))
    assert Page(answer.body).typed["idempotency_key"] != form["idempotency_key"]
    assert restaurant.waiting("tables") == 1


@pytest.mark.parametrize(("kind", "fields"), [("clinic", JOURNEY), ("restaurant", PARTY)])
def test_who_is_in_line_already_learns_nothing_of_their_number(
    request: pytest.FixtureRequest, kind: str, fields: dict[str, str]
) -> None:
    door: Door = request.getfixturevalue(kind)
    query = "?journey=" if kind == "clinic" else ""
    link = door.press(fields, query).headers["location"]

    answer = door.press(fields, query)
    told = door.press(fields, query, Accept="application/json")
    shown = door.api.get(answer.headers["location"], headers=A_BROWSERS)

    assert (answer.status, answer.headers["location"]) == (303, f"/v/{door.slug}/in-line")
    page = Page(shown.body)
    assert is_in("You are in line already", page)
    assert is_in("Ask at the desk.", page)
    for secret in (link, "001", *fields.values()):
        assert secret not in page.text
        assert secret not in told.body.decode()
    assert told.json["link"] is None


def test_a_mobile_number_that_has_joined_often_is_told_when_to_try_again(strict: Api) -> None:
    bistro, mobile = Door(strict, "bistro"), "+97466000001"
    for _ in range(3):
        joined = bistro.press({**PARTY, "mobileNumber": mobile}, "?queue=lab")
        link = joined.headers["location"].removeprefix("/t/")
        assert strict.post(f"/v1/visits/{link}/leave", {}).status == 200

    answer = bistro.press({**PARTY, "mobileNumber": mobile}, "?queue=lab")

    page = Page(answer.body)
    assert answer.status == 429
    assert page.wrong == {"mobileNumber": "This number has joined often enough for now. Try again in 60 minutes."}
    assert int(answer.headers["retry-after"]) > 3500
    assert page.typed["name"] == PARTY["name"]


def test_who_presses_too_often_is_told_when_to_try_again_and_a_retry_costs_nothing(strict: Api) -> None:
    door, address = Door(strict, "clinic"), "198.51.100.77"
    form = door.see("?queue=xray").typed
    taken = door.send(form, X_Forwarded_For=address)
    answers = [door.send({"queue": "xray"}, X_Forwarded_For=address) for _ in range(20)]

    again = door.send(form, X_Forwarded_For=address)

    assert [answer.status for answer in answers] == [303] * 19 + [429]
    page = Page(answers[-1].body)
    assert is_in("Many numbers were taken from here just now. Try again in", page)
    assert (again.status, again.headers["location"]) == (303, taken.headers["location"])


def test_what_was_typed_stays_plain_text(restaurant: Door) -> None:
    page = Page(restaurant.press({**PARTY, "name": '"><script>x</script>', "mobileNumber": "x"}).body)

    assert page.typed["name"] == '"><script>x</script>'
    assert "script" not in page.inline

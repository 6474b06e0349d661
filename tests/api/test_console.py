"""What whoever works at a desk sees and does, over HTTP (MISSION A16)."""

from typing import Any

import pytest

from tests.api.journeys import OWNER, Clinic, new_clinic
from tests.api.world import Api, secret_of
from tests.running import must_be_problem


@pytest.fixture
def clinic(api: Api) -> Clinic:
    names = {
        "101": {"en": "Room 1", "ar": "غرفة ١", "zh": "一号室"},
        "201": {"en": "Room 2", "ar": "غرفة ٢", "zh": "二号室"},
    }
    desks = [{"id": f"room-{room}", "name": name, "queues": ["lab", "eye"]} for room, name in names.items()]
    return new_clinic(api, desks=desks)


def look(clinic: Clinic, room: str = "101", query: str = "") -> dict[str, Any]:
    answer = clinic.api.get(f"/v1/desks/{clinic.slug}:room-{room}/console{query}", by=OWNER)
    assert answer.status == 200, answer
    return answer.json


def call(clinic: Clinic, room: str = "101") -> dict[str, Any]:
    answer: dict[str, Any] = clinic.post(f"/v1/desks/{clinic.slug}:room-{room}/call-next").json
    return answer["ticket"]  # type: ignore[no-any-return] # JSON


def test_one_answer_has_all_that_a_desk_needs(clinic: Clinic) -> None:
    clinic.begin("5521", by=OWNER, note="Hard of hearing")
    clinic.api.take(f"{clinic.slug}:eye", name="Noor", party_size=3)
    clinic.api.take(f"{clinic.slug}:eye")
    called = call(clinic)
    clinic.post(f"/v1/queues/{clinic.slug}:eye/pause")

    seen = look(clinic)

    assert (seen["venue"], seen["name"]["zh"], seen["desk"]["state"]) == (clinic.slug, "一号室", "closed")
    assert [(queue["queue"], queue["state"], queue["waiting"]) for queue in seen["queues"]] == [
        (f"{clinic.slug}:lab", "open", 0),
        (f"{clinic.slug}:eye", "paused", 2),
    ]
    (here,) = seen["here"]
    assert (here["ticket"], here["note"], here["stage"]) == (called, "Hard of hearing", {"number": 1, "of": 3})
    assert seen["people_waiting"] == 2
    noor, other = seen["waiting"]
    assert (noor["ticket"]["name"], noor["ticket"]["party_size"], noor["stage"], noor["note"]) == (
        "Noor",
        3,
        None,
        None,
    )
    assert noor["waits_since"] == noor["ticket"]["issued_at"]
    assert [(one["label"], one["what"], one["can_undo"]) for one in seen["latest"]] == [(called["label"], "call", True)]
    assert seen["now"] >= seen["latest"][0]["at"]
    assert [row["ticket"]["label"] for row in look(clinic, query="?most=1")["waiting"]] == [noor["ticket"]["label"]]
    assert [row["ticket"]["label"] for row in look(clinic, query="?find=E002")["waiting"]] == [other["ticket"]["label"]]


def test_the_console_is_for_staff_and_for_desks_that_are_there(clinic: Clinic) -> None:
    path = f"/v1/desks/{clinic.slug}:room-101/console"

    must_be_problem(clinic.api.get(path), 401, "not-signed-in")
    must_be_problem(clinic.api.get(f"{path}?most=0", by=OWNER), 422, "invalid-query")
    must_be_problem(clinic.api.get(f"/v1/desks/{clinic.slug}:room-9/console", by=OWNER), 404, "unknown-desk")


def test_somebody_who_was_called_is_held_and_comes_back_to_their_place(clinic: Clinic) -> None:
    for _ in range(2):
        clinic.api.take(f"{clinic.slug}:lab")
    first = call(clinic)["ticket"]

    held = clinic.post(f"/v1/tickets/{first}/hold").json
    seen = look(clinic)
    clinic.post(f"/v1/tickets/{first}/resume")

    assert (held["state"], held["desk"]) == ("held", None)
    assert (seen["here"], [row["ticket"]["ticket"] for row in seen["held"]]) == ([], [first])
    assert [(one["what"], one["can_undo"]) for one in seen["latest"]] == [("hold", True)]
    assert call(clinic)["ticket"] == first


@pytest.mark.parametrize(("where", "follows"), [("first", 0), ("last", 1), (None, 1)])
def test_somebody_who_does_not_come_is_put_back_in_one_press_and_undone_in_one(
    clinic: Clinic, where: str | None, follows: int
) -> None:
    tickets = [clinic.api.take(f"{clinic.slug}:lab")["ticket"] for _ in range(2)]
    first = call(clinic)["ticket"]
    given = {"reason": "Went to the car"} if where is None else {"where": where, "why": "mistake"}

    back = clinic.post(f"/v1/tickets/{first}/put-back", given).json
    (latest,) = look(clinic)["latest"]
    undone = clinic.post(f"/v1/tickets/{first}/undo", {"version": latest["version"]}).json
    clinic.post(f"/v1/tickets/{first}/put-back", given)

    assert (back["state"], back["desk"], back["version"]) == ("waiting", None, latest["version"])
    assert (latest["what"], latest["can_undo"]) == ("put-back", True)
    assert (undone["state"], undone["desk"]) == ("called", f"{clinic.slug}:room-101")
    assert call(clinic)["ticket"] == tickets[follows]


def test_a_put_back_is_retried_safely(clinic: Clinic) -> None:
    clinic.api.take(f"{clinic.slug}:lab")
    ticket = call(clinic)["ticket"]

    answers = [
        clinic.api.post(f"/v1/tickets/{ticket}/put-back", {"where": "last"}, by=OWNER, key="put-back") for _ in range(2)
    ]

    assert answers[0].body == answers[1].body
    assert len(clinic.events("ticket.missed")) == 1


def test_nobody_is_put_back_who_was_not_called(clinic: Clinic) -> None:
    ticket = clinic.api.take(f"{clinic.slug}:lab")["ticket"]

    must_be_problem(clinic.api.post(f"/v1/tickets/{ticket}/put-back", {}, by=OWNER), 409, "ticket-in-wrong-state")
    must_be_problem(
        clinic.api.post(f"/v1/tickets/{ticket}/put-back", {"where": "middle"}, by=OWNER), 422, "invalid-body"
    )


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "L001 was called by Room 2 just now."),
        ("ar", "نودي على \u2068L001\u2069 من \u2068غرفة ٢\u2069 قبل لحظات."),
        ("zh", "二号室 刚刚叫了 L001。"),
    ],
)
def test_whoever_comes_second_is_told_by_whom_in_their_own_language(
    clinic: Clinic, language: str, sentence: str
) -> None:
    clinic.api.take(f"{clinic.slug}:lab")
    ticket = call(clinic, "201")["ticket"]

    refused = clinic.api.post(
        f"/v1/tickets/{ticket}/call", {"desk": "room-101"}, by=OWNER, headers={"Accept-Language": language}
    )

    must_be_problem(refused, 409, "ticket-in-wrong-state")
    assert (refused.json["detail"], refused.json["desk"]) == (sentence, "room-201")


def test_whoever_is_being_served_elsewhere_is_said_to_be(clinic: Clinic) -> None:
    clinic.api.take(f"{clinic.slug}:lab")
    ticket = call(clinic, "201")["ticket"]
    clinic.post(f"/v1/tickets/{ticket}/start")

    for verb in ("call", "recall", "start", "hold", "miss"):
        refused = clinic.api.post(f"/v1/tickets/{ticket}/{verb}", {}, by=OWNER)
        assert refused.json["detail"] == "L001 is being served at Room 2."


def test_a_note_is_for_staff_alone(clinic: Clinic) -> None:
    begun = clinic.begin(by=OWNER, note="Wheelchair")

    noted = clinic.edit(begun, "note", note="Uses crutches", reason="Better today").json
    removed = clinic.edit(begun, "note", note="").json

    assert (noted["note"], removed["note"]) == ("Uses crutches", None)
    clinic.edit(begun, "note", note="Wheelchair")
    for path in (f"/v1/visits/{secret_of(begun['link'])}", f"/v1/venues/{clinic.slug}", begun["link"]):
        assert "Wheelchair" not in clinic.api.get(path).body.decode()
    assert not [event for event in clinic.api.audit(clinic.slug, by=OWNER) if "Wheelchair" in str(event)]


def test_visitors_write_no_notes(clinic: Clinic) -> None:
    body = {"visitor": "5521", "note": "Let me in first"}
    begun = clinic.begin()

    for path, given in (
        (f"/v1/queues/{clinic.slug}:lab/tickets", body),
        (f"/v1/venues/{clinic.slug}/visits", {**body, "queue": "lab"}),
        (f"/v1/venues/{clinic.slug}/journeys", {**body, "journey": "recruitment"}),
    ):
        refused = clinic.api.post(path, given)
        must_be_problem(refused, 403, "role-too-low")
        assert refused.json["detail"] == "Only staff and kiosks write notes."
    must_be_problem(clinic.api.post(f"/v1/visits/{begun['visit']}/note", {"note": "x"}), 401, "not-signed-in")
    must_be_problem(clinic.edit(begun, "note", note="x" * 201), 422, "invalid-body")
    must_be_problem(clinic.edit(begun, "note", note="a\nb"), 422, "invalid-value")


def test_staff_take_a_number_with_a_note(clinic: Clinic) -> None:
    clinic.api.take(f"{clinic.slug}:lab", by=OWNER, note="Speaks Chinese")

    assert [row["note"] for row in look(clinic)["waiting"]] == ["Speaks Chinese"]
    assert [row["note"] for row in look(clinic, query="?find=chinese")["waiting"]] == ["Speaks Chinese"]

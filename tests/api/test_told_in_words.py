"""What is wrong is told to people: the field, what was expected, an example, in the language they read."""

import pytest

from tests.api.world import Api
from tests.running import must_be_problem

JOIN = "/api/public/bistro/queue"
TICKETS = "/v1/queues/clinic:lab/tickets"
PARTY = {"name": "Nora", "mobileNumber": "+97455512345", "partySize": 2}


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en-GB,en;q=0.9", "Mobile number: write it with the country code, like +97455512345."),
        ("ar-QA,en;q=0.5", "رقم الجوال: اكتبه مع رمز الدولة، مثل \u2068+97455512345\u2069."),
        ("zh-CN", "手机号码：请带国家代码填写，例如 +97455512345。"),
        ("fr", "Mobile number: write it with the country code, like +97455512345."),
    ],
)
def test_a_mistyped_mobile_number(api: Api, language: str, sentence: str) -> None:
    answer = api.post(JOIN, {**PARTY, "mobileNumber": "555"}, headers={"Accept-Language": language})

    must_be_problem(answer, 422, "invalid-body")
    assert (answer.json["detail"], answer.json["field"]) == (sentence, "mobileNumber")
    assert "accept-language" in answer.headers["vary"].lower()


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (JOIN, {"name": "Nora", "partySize": 2}, "Mobile number: this is needed, like +97455512345."),
        (JOIN, {**PARTY, "partySize": "two"}, "Party size: send a number from 1 to 20."),
        (JOIN, {**PARTY, "partySize": 0}, "Party size: choose 1 to 20."),
        (JOIN, [], "The body: send an object, in curly brackets."),
        (TICKETS, {"priority": None}, "Priority: send a number from 0 to 3."),
        (TICKETS, {"priority": 4}, "Priority: choose 0 to 3."),
        (TICKETS, b'{"party_size": 1e999}', "Party size: choose 1 to 20."),
        (TICKETS, b'{"party_size": ' + b"9" * 5_000 + b"}", "Party size: choose 1 to 20."),
        (TICKETS, {"visiter": "7"}, "Visiter: this is not known here. Leave it out."),
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_does_not_fit(api: Api, path: str, body: object, detail: str) -> None:
    answer = api.post(path, body)

    must_be_problem(answer, 422, "invalid-body")
    assert answer.json["detail"] == detail


@pytest.mark.parametrize("path", ["/api/v1/queue/status?clinic=", "/api/v1/queue/status"])
def test_what_is_empty_is_needed(api: Api, path: str) -> None:
    answer = api.get(path)

    must_be_problem(answer, 422, "invalid-query")
    assert (answer.json["detail"], answer.json["field"]) == ("Clinic: this is needed.", "clinic")


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("", "body"),
        ("  ", "body"),
        (".", "body"),
        ("\x00\u202e\u2069", "body"),
        ("x" * 60_000, "x" * 64),
        ("\u202e" * 10_000 + "x", "body"),
        ("a\u202eb\x1b[31m\n", "ab[31m"),
        ("a - at `$.b`", "a - at $.b"),
        ("a` - at `$.b", "b.a"),
        ("a: b: c[: : : ]", "a: b: c[: : : ]"),
        ("`", "body"),
        ("{field}", "{field}"),
        ("اسم", "اسم"),
    ],
    ids=lambda text: ascii(text)[:20],
)
@pytest.mark.parametrize("language", ["en", "ar", "zh"])
def test_a_field_is_named_by_what_can_be_shown_of_its_name(api: Api, name: str, field: str, language: str) -> None:
    answer = api.post("/v1/login", {name: 1}, headers={"Accept-Language": language})

    must_be_problem(answer, 422, "invalid-body")
    assert (answer.json["field"], answer.json["why"]) == (field, "unknown")
    assert len(answer.json["detail"]) < 150
    assert answer.json["detail"].replace("\u2068", "").replace("\u2069", "").isprintable()


@pytest.mark.parametrize(
    "choice",
    ["matching regex", "x' - at `$.y`", "of length >= 1", "got `int`", "z" * 60_000],
    ids=lambda text: text[:20],
)
def test_what_is_chosen_wrongly_does_not_change_what_is_told(api: Api, choice: str) -> None:
    answer = api.post(TICKETS, {"area": choice})

    must_be_problem(answer, 422, "invalid-body")
    assert (answer.json["detail"], answer.json["field"]) == ("Area: choose one of indoor, outdoor.", "area")


def test_choices_are_named(api: Api) -> None:
    answer = api.post("/v1/venues/clinic/tokens", {"kind": "toaster", "name": "x"}, by="owner@clinic")

    must_be_problem(answer, 422, "invalid-body")
    assert answer.json["field"] == "kind"
    assert {"api", "display", "kiosk"} <= set(answer.json["choices"])
    assert "kiosk" in answer.json["detail"]


def test_a_queue_without_its_venue_is_explained(api: Api) -> None:
    answer = api.get("/v1/queues/lab")

    must_be_problem(answer, 404, "unknown-queue")
    assert "like clinic:lab" in answer.json["detail"]


def test_a_missing_bearer_is_said_to_be_missing(api: Api) -> None:
    answer = api.get("/v1/me", headers={"Authorization": api.bearer("owner@clinic")})

    must_be_problem(answer, 401, "credentials-invalid")
    assert "“Bearer”" in answer.json["detail"]


def test_what_is_finished_is_finished_already(api: Api, queue: str) -> None:
    ticket = api.take(queue)["ticket"]
    for verb in ("call", "start", "finish"):
        assert api.post(f"/v1/tickets/{ticket}/{verb}", {}, by="owner@clinic").status == 200

    answer = api.post(f"/v1/tickets/{ticket}/finish", {}, by="owner@clinic")

    must_be_problem(answer, 409, "ticket-in-wrong-state")
    assert answer.json["detail"].endswith(" is finished already.")
    assert answer.json["title"] == "The ticket's state does not allow this."


def test_the_code_is_the_same_in_every_language(api: Api) -> None:
    told = [api.get("/v1/venues/nowhere", headers={"Accept-Language": each}).json for each in ("en", "ar", "zh")]

    assert {(problem["code"], problem["type"], problem["venue"]) for problem in told} == {
        ("unknown-venue", "urn:dawr:problem:unknown-venue", "nowhere")
    }
    assert len({problem["detail"] for problem in told}) == len({problem["title"] for problem in told}) == 3

"""What is wrong is told to people: the field, what was expected, an example, in the language they read."""

import pytest

from tests.api.world import Api
from tests.running import must_be_problem

JOIN = "/api/public/bistro/queue"
PARTY = {"name": "Nora", "mobileNumber": "+97455512345", "partySize": 2}


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en-GB,en;q=0.9", "Mobile number: write it with the country code, like +97455512345."),
        ("ar-QA,en;q=0.5", "رقم الجوال: اكتبه مع رمز الدولة، مثل +97455512345."),
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
        ("/v1/queues/clinic:lab/tickets", {"visiter": "7"}, "Visiter: this is not known here. Leave it out."),
    ],
)
def test_what_does_not_fit(api: Api, path: str, body: object, detail: str) -> None:
    answer = api.post(path, body)

    must_be_problem(answer, 422, "invalid-body")
    assert answer.json["detail"] == detail


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

"""Every change can be made by a form of our own pages: once, and with an answer that a person can read."""

from collections.abc import Mapping
from urllib.parse import urlencode

import pytest

from tests.api.pages import A_BROWSERS, Page
from tests.api.world import PASSWORD, Api
from tests.builders import a_new
from tests.running import Answer, must_be_problem

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OUR_PAGE = {"Sec-Fetch-Site": "same-origin"}
STAFF = "staff@clinic"


def send(api: Api, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
    """As a browser sends a form of a page of ours."""
    said = {**FORM, **OUR_PAGE, **A_BROWSERS, **{name.replace("_", "-"): text for name, text in headers.items()}}
    return api.ask("POST", path, urlencode(fields).encode(), headers=said)


def as_staff(api: Api) -> str:
    return f"dawr={api.bearer(STAFF)}"


def test_a_form_does_what_the_api_does_and_leads_on_to_a_page(api: Api, queue: str) -> None:
    taken = api.take(queue)

    answer = send(api, f"/v1/tickets/{taken['ticket']}/call", {"then": "/staff/clinic/room"}, Cookie=as_staff(api))

    assert (answer.status, answer.headers["location"]) == (303, "/staff/clinic/room")
    assert api.look(taken["ticket"])["state"] == "called"


def test_a_form_that_is_sent_twice_is_done_once(api: Api, queue: str) -> None:
    for _ in range(2):
        api.take(queue)
    call = {"then": "/", "idempotency_key": "pressed-once"}

    first, again = (
        send(api, f"/v1/queues/{queue}/call-next", call, Cookie=as_staff(api), Accept="application/json")
        for _ in range(2)
    )

    assert first.json == again.json
    assert again.headers["idempotency-replayed"] == "true"
    assert api.get(f"/v1/queues/{queue}").json["waiting"] == 1


@pytest.mark.parametrize("key", ["", "   ", "\u200e"])
@pytest.mark.parametrize("path", ["/v1/queues/{}/call-next", "/v1/queues/{}/tickets", "/v/clinic"])
def test_a_form_with_an_empty_key_is_refused(api: Api, queue: str, path: str, key: str) -> None:
    api.take(queue)
    given = {"idempotency_key": key, **({"queue": queue.partition(":")[2]} if path == "/v/clinic" else {})}

    refused = send(api, path.format(queue), given, Cookie=as_staff(api), Accept="application/json")

    must_be_problem(refused, 400, "invalid-idempotency-key")
    standing = api.get(f"/v1/queues/{queue}").json
    assert (standing["waiting"], standing["called"]) == (1, 0)


def test_fields_are_read_as_the_types_that_they_are(api: Api, queue: str) -> None:
    answer = send(api, f"/v1/queues/{queue}/tickets", {"party_size": "4", "area": "", "name": " Zed "}, Accept="*/*")

    assert answer.status == 201
    ticket = api.look(answer.json["ticket"])
    assert (ticket["party_size"], ticket["area"], ticket["name"]) == (4, None, "Zed")


def test_a_password_is_taken_as_it_was_typed(api: Api) -> None:
    username, typed = a_new("person"), " another walk to the sea "
    given = {"username": username, "role": "staff", "password": PASSWORD}
    assert api.post("/v1/venues/clinic/staff", given, by="owner@clinic").status == 201
    session = api.sign_in(username)

    changed = send(api, "/v1/me/password", {"old": PASSWORD, "new": typed}, Cookie=f"dawr={session}", Accept="*/*")

    assert changed.status == 200
    must_be_problem(api.post("/v1/login", {"username": username, "password": typed.strip()}), 401, "wrong-credentials")
    assert api.sign_in(username, typed)


def test_a_refusal_is_a_page_to_a_browser_and_a_problem_to_a_program(api: Api, queue: str) -> None:
    taken = api.take(queue)
    recall = f"/v1/tickets/{taken['ticket']}/recall"
    page_before = {"Referer": f"{api.url}/staff/clinic/room?x=1", "Host": api.url.partition("//")[2]}

    told = send(api, recall, {}, Cookie=as_staff(api), **page_before)
    answered = send(api, recall, {}, Cookie=as_staff(api), Accept="application/json")

    page = Page(told.body)
    assert (told.status, told.headers["content-type"]) == (409, "text/html; charset=utf-8")
    assert "cannot be called again" in page.text
    assert "/staff/clinic/room?x=1" in page.links
    must_be_problem(answered, 409, "ticket-in-wrong-state")


def test_on_a_page_a_queue_that_refuses_is_called_by_its_name_in_the_language_of_the_place(api: Api) -> None:
    slug = a_new("place")
    names = {"en": "Laboratory", "ar": "المختبر"}
    queues = [{"id": "lab", "name": names, "prefix": "A"}]
    document = {"name": {"en": "A place"}, "zone": "Asia/Qatar", "language": "ar", "queues": queues}
    assert api.ask("PUT", f"/v1/venues/{slug}/set-up", document, by="owner@clinic").status == 201
    assert api.post(f"/v1/queues/{slug}:lab/close", {}, by="owner@clinic").status == 200
    path = f"/v1/queues/{slug}:lab/tickets"

    seen = Page(send(api, path, {}, Accept_Language="fr").body).text
    by_script = send(api, path, {}, Accept="application/json", Accept_Language="en")
    by_program = api.post(path, {})

    assert "المختبر" in seen
    assert "lab" not in seen
    assert by_script.json["detail"] == "Queue Laboratory is closed."
    assert by_program.json["detail"] == "Queue lab is closed."
    for told in (by_script, by_program):
        must_be_problem(told, 409, "queue-closed")
        assert told.json["queue"] == "lab"


def test_a_refusal_on_a_page_speaks_the_language_and_has_the_digits_of_the_place(api: Api) -> None:
    slug = a_new("place")
    queues = [{"id": "lab", "name": {"ar": "المختبر"}, "prefix": "A", "capacity": 0}]
    look = {"language": "ar", "digits": "arabic"}
    document = {"name": {"ar": "مكان"}, "zone": "Asia/Qatar", "queues": queues, **look}
    assert api.ask("PUT", f"/v1/venues/{slug}/set-up", document, by="owner@clinic").status == 201
    given = {"username": "viewer@clinic", "role": "viewer"}
    assert api.post(f"/v1/venues/{slug}/staff", given, by="owner@clinic").status == 201

    full = Page(send(api, f"/v1/queues/{slug}:lab/tickets", {}, Accept_Language="fr").body)
    lowly = Page(send(api, f"/v1/queues/{slug}:lab/pause", {}, Cookie=f"dawr={api.bearer('viewer@clinic')}").body)

    assert (full.language, lowly.language) == ("ar", "ar")
    assert "٠" in full.text


@pytest.mark.parametrize(
    "referrer", ["http://[", "http://\xe2\x84\x80/", "//", "javascript:alert(1)", "http:///x", "\xff"]
)
@pytest.mark.parametrize("path", ["/nothing", "/staff/clinic/room"])
def test_wherever_a_browser_says_it_comes_from_it_is_answered(api: Api, path: str, referrer: str) -> None:
    told = api.get(path, headers={**A_BROWSERS, "Referer": referrer})

    assert told.status in {404, 303}
    assert b"alert" not in told.body


def test_a_field_that_does_not_fit_is_named(api: Api, queue: str) -> None:
    told = send(api, f"/v1/queues/{queue}/tickets", {"party_size": "many"}, Accept="application/json")

    must_be_problem(told, 422, "invalid-body")
    assert told.json["field"] == "party_size"


@pytest.mark.parametrize(
    "then",
    ["//evil.example", "/\\evil.example", "https://evil.example/", "evil", "/x\r\nSet-Cookie: a=b", "/" + "x" * 600],
)
def test_a_form_leads_to_no_other_site(api: Api, queue: str, then: str) -> None:
    answer = send(api, f"/v1/queues/{queue}/tickets", {"then": then})

    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("said", "status", "refusal"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403, "cross-site"),
        ({"Sec-Fetch-Site": "same-site"}, 403, "cross-site"),
        ({"Origin": "https://evil.example"}, 403, "cross-site"),
        ({"Origin": "null"}, 403, "cross-site"),
        ({"Origin": "null", "Referer": "OURS"}, 403, "cross-site"),
        ({"Referer": "https://evil.example/OURS"}, 415, "not-json"),
        ({}, 415, "not-json"),
    ],
)
def test_a_form_of_another_site_does_nothing(
    api: Api, queue: str, said: Mapping[str, str], status: int, refusal: str
) -> None:
    said = {name: text.replace("OURS", api.url) for name, text in said.items()}

    answer = api.ask("POST", f"/v1/queues/{queue}/tickets", b"name=x", headers={**FORM, **said})

    must_be_problem(answer, status, refusal)
    assert api.get(f"/v1/queues/{queue}").json["waiting"] == 0


def test_an_old_browser_is_known_by_the_page_that_it_names(api: Api, queue: str) -> None:
    said = {**FORM, "Referer": f"{api.url}/v/clinic", "Host": api.url.partition("//")[2]}

    assert api.ask("POST", f"/v1/queues/{queue}/tickets", b"name=x", headers=said).status == 201


@pytest.mark.parametrize("body", [b"x=%ff", "x=é".encode(), b"&".join(b"a%d=1" % n for n in range(100))])
def test_what_is_no_form_is_said_to_be_none(api: Api, queue: str, body: bytes) -> None:
    answer = api.ask("POST", f"/v1/queues/{queue}/tickets", body, headers={**FORM, **OUR_PAGE})

    must_be_problem(answer, 422, "invalid-body")


def test_whoever_is_not_signed_in_is_led_to_the_form_and_back(api: Api, queue: str) -> None:
    host = api.url.partition("//")[2]
    taken = api.take(queue)

    answer = send(
        api, f"/v1/tickets/{taken['ticket']}/call", {}, Referer=f"{api.url}/staff/clinic/room?find=a b", Host=host
    )

    assert answer.status == 303
    assert answer.headers["location"].startswith("/sign-in")
    assert api.look(taken["ticket"])["state"] == "waiting"


def test_the_language_of_the_switch_stays(api: Api) -> None:
    switched = api.get("/?lang=ar", headers={**A_BROWSERS, "Accept-Language": "en"})
    kept = switched.headers["set-cookie"].partition(";")[0]

    later = api.get("/", headers={**A_BROWSERS, "Accept-Language": "en", "Cookie": kept})
    never = api.get("/?lang=xx", headers=A_BROWSERS)

    assert Page(switched.body).language == Page(later.body).language == "ar"
    assert Page(never.body).language == "en"
    assert "set-cookie" not in never.headers

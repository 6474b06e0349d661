"""Names, numbers, secrets and addresses that are sent through every route are in no log line and in no metric."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.api.operations import OPERATIONS, STREAMS, Things, asked_for
from tests.api.world import PASSWORD, Api, create_world, secret_of
from tests.running import Answer, Client, DawrServer
from tests.web.scraping import TOKEN

NAME: Final = "Zubaydah Qamarzade"
PHONE: Final = "+97455198237"
USERNAME: Final = "zq.manager"
SECRET_PASSWORD: Final = "violet anchor under glass"
WRONG_PASSWORD: Final = "marble kettle beside rivers"
PIN: Final = "739164"
WRONG_PIN: Final = "862045"
PATIENT: Final = "550918274463"
ADDRESS: Final = "203.0.113.177"
KEY: Final = "key-5f0c2ab9e1"
REASON: Final = "because of aunt Rukhsana"
WORD: Final = "plantedmarker"

PLANTED: Final = (
    *(NAME, NAME.lower(), NAME.replace(" ", "_"), quote(NAME), NAME.partition(" ")[0]),
    *(PHONE, PHONE.lstrip("+"), PHONE[-8:], quote(PHONE)),
    *(USERNAME, SECRET_PASSWORD, WRONG_PASSWORD, PASSWORD, PIN, WRONG_PIN, PATIENT, ADDRESS, KEY, REASON, WORD, TOKEN),
)
RANDOM_ID: Final = re.compile("[0-9a-f]{32}")
"""A correlation id that was made here. Among its digits may be any PIN."""

HEADERS: Final = {
    "X-Forwarded-For": ADDRESS,
    "User-Agent": f"{WORD}/1.0",
    "Referer": f"http://here/t/{WORD}",
    "X-Correlation-Id": f"{WORD} is no id",
    "X-Request-Id": f"{NAME}",
}
SETTINGS: Final = {
    "DAWR_LOG_LEVEL": "debug",
    "DAWR_RATE_LIMITS": "on",
    "DAWR_LIMIT_LOGIN": "8",
    "DAWR_METRICS_TOKEN": TOKEN,
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Api, DawrServer]]:
    world = create_world(tmp_path / "data")
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data", **SETTINGS) as server:
        yield Api(server.url, world), server


def test_nothing_that_was_planted_is_in_the_log_or_the_metrics(served: tuple[Api, DawrServer]) -> None:
    api, server = served
    secrets = {*api.world.sessions.values(), *api.world.tokens.values(), api.world.expired, api.world.revoked}

    answers = [*accepted(api, secrets), *patients(api, secrets), *everything(api, secrets), *nonsense(api)]
    with Client(server.url) as client:
        metrics = client.get("/metrics", bearer=TOKEN).body.decode()
    server.stop()

    said = RANDOM_ID.sub("", server.log.read_text())
    server.start()
    logged = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    statuses = {answer.status for answer in answers}
    assert statuses >= {200, 201, 400, 401, 404, 409, 422, 429}, statuses
    assert len([line for line in logged if line["event"] == "request"]) == len(answers) + 1
    assert {line["event"] for line in logged} >= {
        *("request", "queue.joined", "queue.called", "queue.status_changed", "venue.changed"),
        *("idempotency.replayed", "limit.hit"),
    }
    assert "dawr_joins_total" in metrics
    for marker in (*PLANTED, *secrets, *(secret.partition(".")[2] or secret for secret in secrets)):
        assert marker not in said, marker
        assert marker not in metrics, marker


def accepted(api: Api, secrets: set[str]) -> Iterator[Answer]:
    """People and staff who are let in, with data of their own."""
    owner = "owner@clinic"
    for _ in range(2):
        yield post(api, "/api/v1/queue/enter", {"clinic": "lab", "user": NAME}, key=KEY)
    party = {"name": NAME, "mobileNumber": PHONE, "partySize": 2}
    joined = post(api, "/api/v1/restaurants/bistro/queue/join", party)
    yield joined
    taken = post(api, "/v1/queues/clinic:xray/tickets", {"visitor": NAME})
    yield taken
    secrets.add(secret_of(taken.json["link"]))
    ticket = taken.json["ticket"]
    yield post(api, f"/v1/tickets/{ticket}/call", {"reason": REASON}, by=owner)
    yield post(api, f"/v1/tickets/{ticket}/miss", {"reason": REASON}, by=owner)
    yield post(api, "/v1/queues/clinic:lab/pause", {"reason": REASON}, by=owner)
    yield post(
        api,
        "/v1/venues/clinic/staff",
        {"username": USERNAME, "role": "manager", "password": SECRET_PASSWORD},
        by=owner,
    )
    signed_in = post(api, "/v1/login", {"username": USERNAME, "password": SECRET_PASSWORD})
    yield signed_in
    secrets.add(signed_in.json["session"])
    yield post(api, "/v1/queues/clinic:lab/resume", {}, by=signed_in.json["session"])
    made = post(api, "/v1/venues/clinic/tokens", {"kind": "kiosk", "name": NAME}, by=owner)
    yield made
    secrets.add(made.json["bearer"])
    for _ in range(9):
        yield post(api, "/v1/login", {"username": USERNAME, "password": WRONG_PASSWORD})
    yield post(api, "/api/v1/admin/login", {"username": USERNAME, "password": WRONG_PASSWORD})


def patients(api: Api, secrets: set[str]) -> Iterator[Answer]:
    """Somebody on a journey, right and wrong PINs, and staff who change them."""
    owner, door = "owner@clinic", "/api/v1"
    set_up = api.get("/v1/venues/clinic/set-up", by=owner, headers=HEADERS)
    yield set_up
    document = {name: value for name, value in set_up.json.items() if name not in {"id", "slug"}}
    longer = {**document, "pin_digits": len(PIN)}
    yield api.ask("PUT", "/v1/venues/clinic/set-up", longer, by=owner, headers=HEADERS)
    yield post(api, f"{door}/pin/assign", {"clinic": "lab", "pin": PIN}, by=owner)
    yield api.get(f"{door}/pin/lab/status", by=owner, headers=HEADERS)
    entered = post(api, f"{door}/patient/login", {"patientId": PATIENT, "gender": "male", "examType": "recruitment"})
    yield entered
    secrets.add(secret_of(entered.json["ticket"]))
    leaving = {"patientId": PATIENT, "clinic": "lab", "queueNumber": entered.json["queueNumber"]}
    for pin, key in ((WRONG_PIN, KEY), (f"{PIN}1", KEY), (PIN, KEY), (PIN, KEY), (PIN, None)):
        yield post(api, f"{door}/patient/verify-pin", {**leaving, "pin": pin}, key=key)
        yield post(api, f"{door}/queue/done", {"clinic": "lab", "user": PATIENT, "pin": pin})
    linked = post(api, f"{door}/admin/edit-patient", {"patientId": PATIENT, "action": "new-link"}, by=owner)
    yield linked
    secrets.add(secret_of(linked.json["ticket"]))
    yield post(api, "/v1/queues/clinic:xray/pin/rotate", {"pin": WRONG_PIN, "reason": REASON}, by=owner)
    yield api.get(f"{door}/patient/status?ticket={secret_of(linked.json['ticket'])}", headers=HEADERS)
    yield api.get(f"{door}/my-position?patientId={PATIENT}", by=owner, headers=HEADERS)
    yield post(api, f"{door}/pin/rotate", {"clinic": "lab"}, by=owner)


def test_no_pin_is_in_an_event_or_in_what_a_refusal_says(served: tuple[Api, DawrServer]) -> None:
    api, _ = served

    refused = [answer for answer in patients(api, set()) if answer.status >= 400]

    assert {answer.json["code"] for answer in refused} == {"pin-wrong", "not-its-turn", "invalid-body"}
    told = [{**event, "correlation_id": "", "at": 0} for event in api.audit()]
    kinds = {event["kind"] for event in told}
    assert kinds >= {"pin.rotated", "pin.failed", "visit.started", "visit.link_renewed", "ticket.finished"}
    for pin in (PIN, WRONG_PIN):
        assert pin not in json.dumps(told)
        for answer in refused:
            assert pin not in json.dumps({**answer.json, "correlation_id": ""})


def everything(api: Api, secrets: set[str]) -> Iterator[Answer]:
    """Every operation, as nobody and as the owner, with what it takes."""
    taken = post(api, "/v1/queues/clinic:fresh1/tickets", {"visitor": NAME})
    yield taken
    secret = secret_of(taken.json["link"])
    secrets.add(secret)
    begun = post(api, "/v1/venues/clinic/journeys", {"journey": "recruitment", "visitor": NAME})
    yield begun
    planned = secret_of(begun.json["link"])
    secrets.add(planned)
    set_up = api.get("/v1/venues/clinic/set-up", by="owner@clinic", headers=HEADERS)
    yield set_up
    document = {name: value for name, value in set_up.json.items() if name not in {"id", "slug"}}
    things = Things("clinic:fresh1", "fresh1", taken.json["ticket"], NAME, secret, planned, WORD, document, 1)
    asked = asked_for(things)
    for name, (method, path, _) in OPERATIONS.items():
        params, body, query = asked[name]
        for by in (None, "owner@clinic"):
            answer = api.ask(
                method,
                path.format_map(params) + query.replace(NAME, quote(NAME)),
                body,
                by=None if name == "logout" else by,
                headers={**HEADERS, "Idempotency-Key": KEY + name} if method != "GET" else HEADERS,
            )
            secrets.update(found_secrets(answer))
            yield answer


def nonsense(api: Api) -> Iterator[Answer]:
    """Every operation with markers where they do not belong."""
    full = {"name": NAME, "mobileNumber": PHONE, "user": NAME, "visitor": NAME, "pin": PIN, "password": WRONG_PASSWORD}
    for method, path, _ in OPERATIONS.values():
        marked = path
        for part in path.split("/"):
            if part.startswith("{"):
                marked = marked.replace(part, f"clinic:{WORD}" if part in {"{queue}", "{desk}"} else f"{WORD}-{PIN}")
        query = f"?user={quote(NAME)}&clinic={WORD}&secret={WORD}&entryId={PIN}&phone={quote(PHONE)}"
        yield api.ask(method, marked + query, None if method == "GET" else full, headers=HEADERS)
        yield api.ask(method, marked, None if method == "GET" else f"{{{NAME}".encode(), headers=HEADERS)
    for path in STREAMS:
        yield api.get(f"{path}?venue={WORD}&clinic={WORD}&user={quote(NAME)}", headers=HEADERS)
    for bearer in (WORD, f"dws_{WORD}", f"dwt_{WORD}.{PIN}"):
        yield api.get("/v1/me", headers={**HEADERS, "Authorization": f"Bearer {bearer}"})
    yield api.get("/v1/me", headers={**HEADERS, "Cookie": f"dawr={WORD}; __Host-dawr={WORD}"})
    yield api.get(f"/{WORD}/{quote(NAME)}", headers=HEADERS)
    for page in ("/", "/docs", "/first-run", f"/static/{WORD}"):
        yield api.get(f"{page}?code={WORD}&user={quote(NAME)}", headers=HEADERS)
    form = f"code={WORD}&username={USERNAME}&password={quote(SECRET_PASSWORD)}&venue={WORD}".encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    yield api.ask("POST", "/first-run", form, headers={**HEADERS, **kind})
    yield post(api, "/v1/queues/clinic:lab/tickets", {"visitor": NAME}, key=f"{KEY} {WORD}\u00e9")


def post(api: Api, path: str, body: object, *, by: str | None = None, key: str | None = None) -> Answer:
    return api.post(path, body, by=by, key=key, headers=HEADERS)


def found_secrets(answer: Answer) -> Iterator[str]:
    """What an answer gives that only its receiver may know."""
    if not answer.headers.get("content-type", "").startswith("application/json"):
        return
    given: Any = json.loads(answer.body)
    fields: Mapping[str, Any] = given if isinstance(given, dict) else {}
    yield from (str(fields[name]) for name in ("session", "bearer", "secret") if fields.get(name))
    links = (str(fields[name]) for name in ("link", "ticket") if fields.get(name))
    yield from (secret_of(link) for link in links if link.startswith("/t/"))

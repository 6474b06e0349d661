"""Venues over HTTP: what anybody may know, and the set-up document of those who run them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.world import Api
from tests.builders import a_new
from tests.running import Answer, must_be_problem

OWNER = "owner@clinic"


def a_set_up(**changed: object) -> dict[str, Any]:
    return {
        "name": {"en": "A new place", "ar": "مكان جديد"},
        "zone": "Asia/Qatar",
        "kind": "office",
        "queues": [{"id": "main", "name": {"en": "Main"}, "prefix": "M"}],
        "desks": [{"id": "desk-1", "name": {"en": "Desk 1"}, "queues": ["main"]}],
        **changed,
    }


def put(api: Api, slug: str, body: object, by: str = OWNER) -> Answer:
    return api.ask("PUT", f"/v1/venues/{slug}/set-up", body, by=by)


@pytest.fixture
def slug(api: Api) -> str:
    """A venue that the clinic's owner made."""
    slug = a_new("place")
    assert put(api, slug, a_set_up()).status == 201
    return slug


def test_anybody_sees_a_venue_with_its_queues_and_desks(api: Api) -> None:
    seen = api.get("/v1/venues/clinic").json

    assert (seen["venue"], seen["kind"]) == ("clinic", "clinic")
    assert "clinic:lab" in [queue["queue"] for queue in seen["queues"]]
    (desk,) = seen["desks"]
    assert (desk["desk"], desk["name"], desk["queues"]) == (
        "clinic:room",
        {"en": "Room"},
        ["clinic:lab", "clinic:xray"],
    )
    assert "occupant" not in desk
    assert [journey["journey"] for journey in seen["journeys"]] == ["recruitment", "women"]
    assert "capacity" not in seen["queues"][0]


def test_one_look_at_a_venue_shows_what_a_kiosk_and_a_display_need_and_nobodys_name(api: Api, slug: str) -> None:
    queues = [
        {"id": "main", "name": {"en": "Main"}, "prefix": "M"},
        {"id": "few", "name": {"en": "Few"}, "prefix": "F", "capacity": 1, "reserve": 1},
        {"id": "shut", "name": {"en": "Shut"}, "state": "closed"},
    ]
    desks = [{"id": "desk-1", "name": {"en": "Desk 1"}, "queues": ["main", "few"]}]
    assert put(api, slug, a_set_up(queues=queues, desks=desks)).status == 200
    for queue in ("main", "main", "few"):
        api.take(f"{slug}:{queue}", visitor=a_new("secret"), name="Noor")
    for _ in range(2):
        assert api.post(f"/v1/desks/{slug}:desk-1/call-next", {}, by=OWNER).status == 200

    answer = api.get(f"/v1/venues/{slug}")

    main, few, shut = answer.json["queues"]
    assert (main["waiting"], main["called"], main["current_label"], main["wait_minutes"]) == (0, 2, "M002", 0)
    assert (few["waiting"], few["wait_minutes"], few["places_left"], few["joinable"]) == (1, 5, 1, True)
    assert (shut["joinable"], shut["why_not"], shut["opens_at"]) == (False, "queue-closed", None)
    assert [(call["label"], call["desk"], call["queue"]) for call in answer.json["calls"]] == [
        ("M002", f"{slug}:desk-1", f"{slug}:main"),
        ("M001", f"{slug}:desk-1", f"{slug}:main"),
    ]
    assert all(not set(call) & {"ticket", "visitor", "name", "visit"} for call in answer.json["calls"])
    assert b"Noor" not in answer.body
    assert b"secret" not in answer.body
    for seen in answer.json["queues"]:
        alone = api.get(f"/v1/queues/{seen['queue']}").json
        assert {name: alone[name] for name in seen} == seen


def test_a_venue_that_takes_nobody_says_so_at_each_of_its_queues(api: Api, slug: str) -> None:
    assert put(api, slug, a_set_up(active=False)).status == 200

    (seen,) = api.get(f"/v1/venues/{slug}").json["queues"]

    assert (seen["joinable"], seen["why_not"]) == (False, "venue-inactive")
    must_be_problem(api.post(f"/v1/queues/{slug}:main/tickets", {}), 409, "venue-inactive")


def test_a_venue_that_is_not_there_is_not_found(api: Api) -> None:
    must_be_problem(api.get("/v1/venues/nowhere"), 404, "unknown-venue")


def test_an_owner_makes_another_venue_and_owns_it(api: Api) -> None:
    slug = a_new("place")

    made = put(api, slug, a_set_up())

    assert (made.status, made.json["slug"], made.json["kind"]) == (201, slug, "office")
    assert {"venue": slug, "role": "owner"} in api.get("/v1/me", by=OWNER).json["venues"]
    (added,) = api.audit(slug, by=OWNER)
    assert (added["kind"], added["actor"]) == ("staff.added", "staff:owner@clinic")
    assert api.take(f"{slug}:main")["place"]["label"] == "M001"


@pytest.mark.parametrize("by", ["manager@clinic", "viewer@bistro", "token:owner@clinic", "token:kiosk@clinic"])
def test_nobody_else_makes_a_venue(api: Api, by: str) -> None:
    """A token is nobody who could own it."""
    slug = a_new("place")

    must_be_problem(put(api, slug, a_set_up(), by), 404, "unknown-venue")

    must_be_problem(api.get(f"/v1/venues/{slug}"), 404, "unknown-venue")


def test_what_is_looked_at_can_be_sent_back_and_changes_nothing(api: Api, slug: str) -> None:
    before = api.audit(slug, by=OWNER)
    looked_at = api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json

    again = put(api, slug, looked_at)

    assert (again.status, again.json) == (200, looked_at)
    assert api.audit(slug, by=OWNER) == before


def test_a_venue_is_changed_by_its_id_too_and_keeps_its_slug(api: Api, slug: str) -> None:
    venue_id = api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json["id"]

    changed = put(api, venue_id, a_set_up(name={"en": "By its id"}))
    by_another = put(api, venue_id, a_set_up(), "owner@bistro")

    assert (changed.status, changed.json["slug"], changed.json["id"]) == (200, slug, venue_id)
    assert api.get(f"/v1/venues/{slug}").json["name"] == {"en": "By its id"}
    must_be_problem(by_another, 404, "unknown-venue")


def test_a_change_is_one_event_and_is_seen_at_once(api: Api, slug: str) -> None:
    before = api.audit(slug, by=OWNER)

    changed = put(api, slug, a_set_up(name={"en": "Renamed"}))

    assert changed.status == 200
    assert api.get(f"/v1/venues/{slug}").json["name"] == {"en": "Renamed"}
    (event,) = api.audit(slug, after=before[-1]["version"], by=OWNER)
    assert (event["kind"], event["actor"]) == ("venue.set_up", "staff:owner@clinic")


def test_a_change_leaves_open_what_is_open_and_keeps_who_waits(api: Api, slug: str) -> None:
    ticket = api.take(f"{slug}:main")["ticket"]
    api.post(f"/v1/queues/{slug}:main/pause", {}, by=OWNER)

    put(api, slug, a_set_up(name={"en": "Renamed"}))

    assert api.get(f"/v1/queues/{slug}:main").json["state"] == "paused"
    assert api.look(ticket, by=OWNER)["state"] == "waiting"


def test_an_inactive_venue_takes_nobody_and_serves_who_waits(api: Api, slug: str) -> None:
    api.take(f"{slug}:main")

    put(api, slug, a_set_up(active=False))

    must_be_problem(api.post(f"/v1/queues/{slug}:main/tickets", {}), 409, "venue-inactive")
    called = api.post(f"/v1/queues/{slug}:main/call-next", {}, by=OWNER)
    assert called.json["ticket"]["number"] == 1


@pytest.mark.parametrize("by", ["owner@bistro", "token:owner@bistro"])
def test_the_slug_of_others_is_not_found_and_stays_theirs(api: Api, by: str) -> None:
    before = api.get("/v1/venues/clinic/set-up", by=OWNER).json

    must_be_problem(put(api, "clinic", a_set_up(), by), 404, "unknown-venue")

    assert api.get("/v1/venues/clinic/set-up", by=OWNER).json == before


def test_a_manager_looks_at_the_set_up_and_does_not_change_it(api: Api) -> None:
    looked_at = api.get("/v1/venues/clinic/set-up", by="manager@clinic")

    assert looked_at.json["slug"] == "clinic"
    must_be_problem(put(api, "clinic", looked_at.json, "manager@clinic"), 403, "role-too-low")


FAULTS: dict[str, dict[str, Any]] = {
    "no name": {"name": {}},
    "a name that cannot be shown": {"name": {"en": "\x07"}},
    "no such zone": {"zone": "Asia/Nowhere"},
    "this machine's zone": {"zone": "localtime"},
    "a zone that climbs": {"zone": "../../etc/passwd"},
    "no such kind": {"kind": "bank"},
    "an unknown field": {"colour": "red"},
    "a day that begins at night": {"day_start": 24 * 60},
    "a code in capitals": {"queues": [{"id": "Main", "name": {"en": "Main"}}]},
    "two queues of one code": {"queues": [{"id": "main", "name": {"en": "Main"}}] * 2},
    "a desk at no queue": {"desks": [{"id": "desk-1", "name": {"en": "Desk"}, "queues": ["none"]}]},
    "capacity below nothing": {"queues": [{"id": "main", "name": {"en": "Main"}, "capacity": -1}]},
    "capacity beyond reason": {"queues": [{"id": "main", "name": {"en": "Main"}, "capacity": 2**63}]},
    "six days": {"queues": [{"id": "main", "name": {"en": "Main"}, "hours": {"week": [[]] * 6}}]},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_set_up_that_does_not_fit_changes_nothing(api: Api, slug: str, fault: str) -> None:
    before = api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json
    unmade = a_new("place")

    changing, making = put(api, slug, a_set_up(**FAULTS[fault])), put(api, unmade, a_set_up(**FAULTS[fault]))

    assert (changing.status, making.status) == (422, 422)
    assert changing.json["code"] in {"invalid-body", "invalid-value"}
    assert api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json == before
    must_be_problem(api.get(f"/v1/venues/{unmade}"), 404, "unknown-venue")


HOURS = {"week": [["08:00-16:00"], [], [], [], [], [], []], "exceptions": {"2026-12-31": []}}
QUEUE = {"id": "main", "name": {"en": "Main"}, "prefix": "M", "aliases": ["first"], "floor": "2", "room": "201"}
FULL: dict[str, Any] = {
    "name": {"en": "A new place"},
    "zone": "Asia/Qatar",
    "kind": "office",
    "queues": [{**QUEUE, "state": "open", "audience": "any", "hours": HOURS}],
    "desks": [{"id": "desk-1", "name": {"en": "Desk 1"}, "queues": ["main"]}],
    "journeys": [
        {"id": "all", "name": {"en": "All"}, "aliases": ["whole"], "audience": "any", "fixed": [{"queue": "main"}]}
    ],
    "walking_minutes": {"2": {"3": 1}},
    "code_prefix": "NEW",
    "language": "en",
    "digits": "latin",
    "display": "open",
}
CANNOT_BE_SHOWN = {
    "a control character": "a\x07b",
    "a line break": "a\nb",
    "a mark that turns the direction": "\u202egnp.exe",
    "an isolate": "a\u2066b",
    "nothing that is seen": "\u200b",
    "20 kB": "x" * 20_000,
}


def everywhere(document: Any, text: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON
    """The document with one of its texts, or of the names that it gives itself, replaced; and what was there."""
    if isinstance(document, str):
        yield document, text
    elif isinstance(document, list):
        for place, inner in enumerate(document):
            for what, changed in everywhere(inner, text):
                yield what, [*document[:place], changed, *document[place + 1 :]]
    elif isinstance(document, dict):
        for name, inner in document.items():
            yield from ((what, {**document, name: changed}) for what, changed in everywhere(inner, text))
            yield name, {text if other == name else other: value for other, value in document.items()}


def test_the_whole_of_a_set_up_is_taken(api: Api, slug: str) -> None:
    assert put(api, slug, FULL).status == 200


@pytest.mark.parametrize("kind", CANNOT_BE_SHOWN)
def test_no_text_of_a_set_up_has_what_cannot_be_shown_or_has_no_end(api: Api, slug: str, kind: str) -> None:
    before = api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json

    for what, changed in everywhere(FULL, CANNOT_BE_SHOWN[kind]):
        answer = put(api, slug, changed)

        assert (answer.status, answer.json["code"]) in {(422, "invalid-value"), (422, "invalid-body")}, what
        must_be_problem(answer, 422, answer.json["code"])
        assert answer.json["field"], what
        assert len(answer.body) < 2000, what
    assert api.get(f"/v1/venues/{slug}/set-up", by=OWNER).json == before


@pytest.mark.parametrize("name", ["می\u200cخواهم", "👩\u200d⚕️ Doctor", "عيادة", "x" * 128])
def test_names_are_written_as_people_write_them(api: Api, slug: str, name: str) -> None:
    queue = {**QUEUE, "name": {"en": name}, "floor": "الطابق ٢", "room": ""}

    assert put(api, slug, a_set_up(name={"en": name, "zh-Hant-TW": name}, queues=[queue])).status == 200


def test_a_queue_that_gave_a_number_is_closed_and_never_removed(api: Api, slug: str) -> None:
    api.take(f"{slug}:main")

    answer = put(api, slug, a_set_up(queues=[], desks=[]))

    must_be_problem(answer, 422, "invalid-value")
    assert answer.json["rule"] == "queue-stays"


def test_a_queue_that_never_gave_a_number_may_be_removed(api: Api, slug: str) -> None:
    assert put(api, slug, a_set_up(queues=[], desks=[])).status == 200

    assert api.get(f"/v1/venues/{slug}").json["queues"] == []


@pytest.mark.parametrize("slug", ["UPPER", "a%20b", "a:b", "%D8%AF%D9%88%D8%B1", "x" * 33, "a.b"])
def test_a_venue_is_made_under_a_short_plain_name_only(api: Api, slug: str) -> None:
    must_be_problem(put(api, slug, a_set_up()), 422, "invalid-value")


def test_there_is_no_address_with_signs_that_nobody_can_see(api: Api) -> None:
    must_be_problem(put(api, "a%00b", a_set_up()), 404, "no-such-path")

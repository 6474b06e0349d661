"""The restaurant's list and the status of a party, for those who work there (MISSION B3, B6)."""

import itertools

import pytest

from dawr.domain.staff import ROLES, Role
from tests.doors.restaurant import Restaurant
from tests.doors.trail import trail
from tests.running import Client, DawrServer, at_once, must_be_problem

STATUSES = ("CALLED", "SEATED", "NO_SHOW", "CANCELLED")

ALLOWED = {
    "WAITING": {"CALLED", "CANCELLED"},
    "CALLED": {"SEATED", "NO_SHOW", "CANCELLED"},
    "SEATED": set[str](),
    "NO_SHOW": {"CANCELLED"},
    "CANCELLED": set[str](),
}
WAY_TO = {
    "WAITING": (),
    "CALLED": ("CALLED",),
    "SEATED": ("CALLED", "SEATED"),
    "NO_SHOW": ("CALLED", "NO_SHOW"),
    "CANCELLED": ("CANCELLED",),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(ALLOWED, STATUSES)))
def test_a_party_goes_from_one_status_to_another_as_the_contract_has_it(
    restaurant: Restaurant, before: str, after: str
) -> None:
    entry = restaurant.join(1).json["data"]
    for step in WAY_TO[before]:
        assert restaurant.change(entry["id"], step).json["data"]["status"] == step

    answer = restaurant.change(entry["id"], after)

    if after in ALLOWED[before]:
        assert (answer.status, answer.json["data"]["status"]) == (200, after)
    else:
        must_be_problem(answer, 409, "ticket-in-wrong-state")
        assert restaurant.status(entry).json["data"]["status"] == before


def test_staff_call_somebody_before_their_turn(restaurant: Restaurant) -> None:
    restaurant.join(1)
    later = restaurant.join(2).json["data"]

    called = restaurant.change(later["id"], "CALLED").json["data"]

    assert (called["id"], called["status"]) == (later["id"], "CALLED")
    assert called["calledAt"] is not None
    assert restaurant.call_next().json["data"]["tokenNumber"] == 1


def test_the_list_shows_who_is_there_in_the_order_of_calling(restaurant: Restaurant) -> None:
    entries = [restaurant.join(number).json["data"] for number in range(1, 5)]
    restaurant.call_next()
    restaurant.change(entries[2]["id"], "CANCELLED")

    answer = restaurant.list()

    assert (answer.status, answer.json["success"], answer.json["next"]) == (200, True, None)
    seen = [(entry["tokenNumber"], entry["status"]) for entry in answer.json["data"]]
    assert seen == [(1, "CALLED"), (2, "WAITING"), (4, "WAITING")]
    assert answer.json["data"][1] == {
        "id": entries[1]["id"],
        "tokenNumber": 2,
        "displayNumber": "R002",
        "status": "WAITING",
        "name": "Party 2",
        "mobileNumber": "+97433000002",
        "partySize": 2,
        "seatingType": None,
        "createdAt": entries[1]["createdAt"],
        "calledAt": None,
    }


def test_who_did_not_come_is_off_the_list_and_found_by_their_status(restaurant: Restaurant) -> None:
    entries = one_of_each(restaurant)

    shown = {entry["tokenNumber"]: entry["status"] for entry in restaurant.list().json["data"]}
    assert shown == {entries["WAITING"]: "WAITING", entries["CALLED"]: "CALLED"}
    for status, number in entries.items():
        (entry,) = restaurant.list(status=status).json["data"]
        assert (entry["tokenNumber"], entry["status"]) == (number, status)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("all", {"WAITING", "CALLED", "SEATED", "NO_SHOW", "CANCELLED"}),
        ("SEATED,CANCELLED", {"SEATED", "CANCELLED"}),
        ("NO_SHOW, WAITING", {"NO_SHOW", "WAITING"}),
        ("CALLED,CALLED", {"CALLED"}),
        ("WAITING,CALLED,SEATED,NO_SHOW,CANCELLED", {"WAITING", "CALLED", "SEATED", "NO_SHOW", "CANCELLED"}),
    ],
)
def test_several_statuses_are_asked_for_at_once(restaurant: Restaurant, query: str, expected: set[str]) -> None:
    one_of_each(restaurant)

    assert {entry["status"] for entry in restaurant.list(status=query).json["data"]} == expected


@pytest.mark.parametrize(
    "status", ["", ",", "called", "WAITING,", "WAITING,DONE", "all,WAITING", "ALL", "x" * 101, "WAITING\0"]
)
def test_a_status_that_cannot_be_listed_is_refused(restaurant: Restaurant, status: str) -> None:
    refused = restaurant.list(status=status)

    must_be_problem(refused, 422, "invalid-query")
    assert refused.json["field"] == "status"
    if len(status) <= 100:
        assert refused.json["choices"] == ["WAITING", "CALLED", "SEATED", "NO_SHOW", "CANCELLED", "all"]


def test_a_no_show_that_is_cancelled_is_cancelled_for_good(restaurant: Restaurant) -> None:
    missed = restaurant.join(1).json["data"]
    for status in ("CALLED", "NO_SHOW", "CANCELLED"):
        assert restaurant.change(missed["id"], status).json["data"]["status"] == status

    assert restaurant.status(missed).json["data"]["status"] == "CANCELLED"
    assert restaurant.list(status="NO_SHOW").json["data"] == []
    assert restaurant.join(1).json["data"]["tokenNumber"] == 2


def test_a_no_show_that_joins_anew_stays_one_in_the_history(restaurant: Restaurant) -> None:
    missed = restaurant.join(1).json["data"]
    for status in ("CALLED", "NO_SHOW"):
        restaurant.change(missed["id"], status)
    restaurant.join(1)

    assert [entry["tokenNumber"] for entry in restaurant.list().json["data"]] == [2]
    assert [entry["tokenNumber"] for entry in restaurant.list(status="NO_SHOW").json["data"]] == [1]
    assert restaurant.list(status="CANCELLED").json["data"] == []


def test_many_no_shows_push_nobody_off_the_first_page(restaurant: Restaurant) -> None:
    for number in range(1, 6):
        entry = restaurant.join(number).json["data"]
        for status in ("CALLED", "NO_SHOW"):
            restaurant.change(entry["id"], status)
    restaurant.join(6)

    page = restaurant.list(limit=1).json
    history = restaurant.list(limit=3, status="all").json
    rest = restaurant.list(limit=3, status="all", cursor=history["next"]).json

    assert ([entry["tokenNumber"] for entry in page["data"]], page["next"]) == ([6], None)
    assert [entry["tokenNumber"] for entry in history["data"] + rest["data"]] == [6, 5, 4, 3, 2, 1]
    assert rest["next"] is None


def test_who_is_held_still_waits(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]
    restaurant.client.post(f"/v1/tickets/{entry['id']}/hold", {}, bearer=restaurant.bearers["staff"])

    assert [entry["status"] for entry in restaurant.list().json["data"]] == ["WAITING"]


def test_an_empty_list_is_empty(restaurant: Restaurant) -> None:
    assert restaurant.list().json == {"success": True, "data": [], "next": None}


def test_a_long_list_comes_in_pages_that_miss_nobody_and_repeat_nobody(restaurant: Restaurant) -> None:
    for number in range(1, 8):
        restaurant.join(number)

    pages, cursor = [], None
    while True:
        page = restaurant.list(limit=3, **({} if cursor is None else {"cursor": cursor})).json
        pages.append([entry["tokenNumber"] for entry in page["data"]])
        cursor = page["next"]
        if cursor is None:
            break

    assert pages == [[1, 2, 3], [4, 5, 6], [7]]


def test_history_is_never_deleted(restaurant: Restaurant) -> None:
    one, other = (restaurant.join(number).json["data"] for number in (1, 2))
    restaurant.call_next()
    restaurant.change(one["id"], "SEATED")
    restaurant.change(other["id"], "CANCELLED")

    assert restaurant.list().json["data"] == []
    assert [restaurant.status(entry).json["data"]["status"] for entry in (one, other)] == ["SEATED", "CANCELLED"]
    events = trail(restaurant.client, restaurant.slug, "waitlist", restaurant.owner)
    assert [event["kind"] for event in events] == [
        "ticket.issued",
        "ticket.issued",
        "ticket.called",
        "ticket.finished",
        "ticket.left",
    ]


def test_why_is_kept_where_it_is_said(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]
    given = {"status": "CANCELLED", "reason": "They telephoned."}

    restaurant.client.post(f"{restaurant.admin}/{entry['id']}", given, bearer=restaurant.bearers["staff"])

    left = trail(restaurant.client, restaurant.slug, "waitlist", restaurant.owner)[-1]
    assert (left["kind"], left["reason"]) == ("ticket.left", "They telephoned.")
    assert left["actor"].startswith("token:")


def test_many_who_seat_a_party_at_once_seat_it_once(clinic: DawrServer, restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]
    restaurant.call_next()

    def seat(_: int) -> int:
        with Client(clinic.url) as client:
            path = f"{restaurant.admin}/{entry['id']}"
            return client.post(path, {"status": "SEATED"}, bearer=restaurant.bearers["staff"]).status

    assert sorted(at_once(seat, range(10))) == [200] + [409] * 9


def test_a_retried_change_has_the_same_answer(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]
    first = restaurant.change(entry["id"], "CANCELLED", key="the-change")

    again = restaurant.change(entry["id"], "CANCELLED", key="the-change")

    assert (again.status, again.body, again.headers["idempotency-replayed"]) == (200, first.body, "true")


@pytest.mark.parametrize("role", ROLES)
def test_whoever_works_there_sees_the_list(restaurant: Restaurant, role: Role) -> None:
    restaurant.join(1)

    assert len(restaurant.list(by=role).json["data"]) == 1


@pytest.mark.parametrize("role", ROLES)
def test_a_viewer_only_looks(restaurant: Restaurant, role: Role) -> None:
    entry = restaurant.join(1).json["data"]

    answer = restaurant.change(entry["id"], "CALLED", by=role)

    if role == "viewer":
        must_be_problem(answer, 403, "role-too-low")
        assert restaurant.status(entry).json["data"]["status"] == "WAITING"
    else:
        assert answer.json["data"]["status"] == "CALLED"


def test_nobody_in_particular_sees_and_changes_nothing(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]

    must_be_problem(restaurant.client.ask(restaurant.admin), 401, "not-signed-in")
    change = restaurant.client.post(f"{restaurant.admin}/{entry['id']}", {"status": "CALLED"})
    must_be_problem(change, 401, "not-signed-in")
    assert restaurant.status(entry).json["data"]["status"] == "WAITING"


def test_the_partys_own_secret_is_no_credential_of_staff(restaurant: Restaurant) -> None:
    entry = restaurant.join(1).json["data"]

    answer = restaurant.client.get(restaurant.admin, bearer=entry["secret"])

    must_be_problem(answer, 401, "credentials-invalid")


def test_staff_of_another_venue_do_not_find_it(restaurant: Restaurant, bearers: dict[Role, str]) -> None:
    entry = restaurant.join(1).json["data"]

    for answer in (
        restaurant.client.get(restaurant.admin, bearer=bearers["owner"]),
        restaurant.client.post(f"{restaurant.admin}/{entry['id']}", {"status": "CALLED"}, bearer=bearers["owner"]),
    ):
        must_be_problem(answer, 404, "unknown-venue")


def test_an_entry_of_another_venue_is_not_found_here(
    restaurant: Restaurant, bearers: dict[Role, str], queue: str
) -> None:
    entry = restaurant.join(1).json["data"]

    elsewhere = f"/api/admin/clinic/queue/{entry['id']}"
    answer = restaurant.client.post(elsewhere, {"status": "CALLED"}, bearer=bearers["staff"])

    must_be_problem(answer, 404, "unknown-ticket")
    assert restaurant.status(entry).json["data"]["status"] == "WAITING"


@pytest.mark.parametrize("entry", ["nowhere", "x-y", "%ff", "%D8%A2", "'--", "x" * 200])
def test_an_unknown_entry_is_not_found(restaurant: Restaurant, entry: str) -> None:
    must_be_problem(restaurant.change(entry, "CALLED"), 404, "unknown-ticket")


@pytest.mark.parametrize("entry", ["%00", "%0a", "..%2f..", "x" * 201])
def test_what_could_be_no_entry_is_no_path(restaurant: Restaurant, entry: str) -> None:
    must_be_problem(restaurant.change(entry, "CALLED"), 404, "no-such-path")


@pytest.mark.parametrize(
    "given",
    [{}, {"status": "WAITING"}, {"status": "called"}, {"status": None}, {"status": "DONE"}, {"state": "CALLED"}],
    ids=str,
)
def test_a_status_that_is_none_is_refused(restaurant: Restaurant, given: object) -> None:
    entry = restaurant.join(1).json["data"]

    answer = restaurant.client.post(f"{restaurant.admin}/{entry['id']}", given, bearer=restaurant.bearers["staff"])

    must_be_problem(answer, 422, "invalid-body")


@pytest.mark.parametrize(("reason", "code"), [("x" * 501, "invalid-body"), ("a\0b", "invalid-value")])
def test_a_reason_that_cannot_be_shown_is_refused(restaurant: Restaurant, reason: str, code: str) -> None:
    entry = restaurant.join(1).json["data"]
    given = {"status": "CALLED", "reason": reason}

    answer = restaurant.client.post(f"{restaurant.admin}/{entry['id']}", given, bearer=restaurant.bearers["staff"])

    must_be_problem(answer, 422, code)
    assert restaurant.status(entry).json["data"]["status"] == "WAITING"


@pytest.mark.parametrize(
    "query",
    [
        "?limit=0",
        "?limit=101",
        "?limit=x",
        "?cursor=x",
        "?cursor=1",
        "?limit=1&limit=2",
        "?status=all&cursor=0.1",
        "?status=all&cursor=9999999999",
        "?status=all&cursor=-1",
    ],
)
def test_a_page_that_is_none_is_refused(restaurant: Restaurant, query: str) -> None:
    answer = restaurant.client.get(f"{restaurant.admin}{query}", bearer=restaurant.bearers["viewer"])

    must_be_problem(answer, 422, "invalid-query")


def test_nobody_gives_a_role_above_their_own(restaurant: Restaurant) -> None:
    client, path = restaurant.client, f"/v1/venues/{restaurant.slug}/staff"
    givers: dict[Role, str] = {}
    for role in ROLES:
        named = {"username": f"{role}-of-{restaurant.slug}", "password": "a long walk"}
        client.post(path, {**named, "role": role}, bearer=restaurant.owner)
        givers[role] = client.post("/v1/login", named).json["session"]

    for giver, given in itertools.product(ROLES, ROLES):
        name = f"{giver}-makes-{given}-{restaurant.slug}"
        answer = client.post(path, {"username": name, "role": given, "password": "a long walk"}, bearer=givers[giver])

        may = giver in {"manager", "owner"} and ROLES.index(given) <= ROLES.index(giver)
        if may:
            assert answer.json["role"] == given
        else:
            must_be_problem(answer, 403, "role-too-low")


def one_of_each(restaurant: Restaurant) -> dict[str, int]:
    """The number of a party in each status."""
    numbers = {}
    for number, status in enumerate(WAY_TO, start=1):
        entry = restaurant.join(number).json["data"]
        for step in WAY_TO[status]:
            assert restaurant.change(entry["id"], step).status == 200
        numbers[status] = number
    return numbers

"""The same thing asked for at the same moment by several: it happens once, and everybody is told what came of it."""

import json
from collections import Counter
from threading import Semaphore

from tests.api.world import PASSWORD, Api
from tests.builders import a_new
from tests.running import Answer, at_once

OWNER = "owner@clinic"
FLOOD = 12
A_SET_UP = {"name": {"en": "A place"}, "zone": "Asia/Qatar", "queues": [{"id": "main", "name": {"en": "Main"}}]}


def alone(api: Api) -> Api:
    """A connection of one's own."""
    return Api(api.url, api.world)


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def test_a_venue_is_made_once_and_is_its_makers(api: Api) -> None:
    slug = a_new("place")

    def put(by: str) -> Answer:
        return alone(api).ask("PUT", f"/v1/venues/{slug}/set-up", A_SET_UP, by=by)

    answers = at_once(put, [OWNER, "owner@bistro"] * 3)

    told = statuses(answers)
    assert told[201] == 1
    assert told.keys() <= {200, 201, 404, 409}
    owners = [by for by in (OWNER, "owner@bistro") if slug in json.dumps(api.get("/v1/me", by=by).json)]
    assert len(owners) == 1
    assert len(api.get(f"/v1/venues/{slug}/staff", by=owners[0]).json["items"]) == 1


def test_somebody_is_added_once(api: Api) -> None:
    given = {"username": a_new("person"), "role": "viewer", "password": PASSWORD}

    answers = at_once(lambda _: alone(api).post("/v1/venues/clinic/staff", given, by=OWNER), range(5))

    assert statuses(answers) == {201: 1, 409: 4}
    assert api.sign_in(given["username"])


def test_two_owners_who_demote_each_other_leave_one(api: Api) -> None:
    slug, other = a_new("place"), a_new("person")
    api.ask("PUT", f"/v1/venues/{slug}/set-up", A_SET_UP, by=OWNER)
    api.post(f"/v1/venues/{slug}/staff", {"username": other, "role": "owner", "password": PASSWORD}, by=OWNER)
    sessions = {OWNER: api.bearer(OWNER), other: api.sign_in(other)}

    def demote(name: str) -> Answer:
        by = next(session for username, session in sessions.items() if username != name)
        return alone(api).post(f"/v1/venues/{slug}/staff/{name}/role", {"role": "viewer"}, by=by)

    told = statuses(at_once(demote, list(sessions)))

    assert told[200] == 1
    assert told.keys() <= {200, 403, 409}
    roles = [api.get("/v1/me", by=session).json["venues"] for session in sessions.values()]
    assert sum({"venue": slug, "role": "owner"} in places for places in roles) == 1


def test_whoever_is_shut_out_meanwhile_does_nothing_more(api: Api, queue: str) -> None:
    """Requests that are under way are judged before or after: what is refused has no effect."""
    username = a_new("person")
    api.post("/v1/venues/clinic/staff", {"username": username, "role": "staff", "password": PASSWORD}, by=OWNER)
    session = api.sign_in(username)

    def ask(number: int) -> Answer:
        if number == 5:
            return alone(api).post(f"/v1/venues/clinic/staff/{username}/disable", {}, by=OWNER)
        return alone(api).post(f"/v1/queues/{queue}/tickets", {}, by=session)

    answers = at_once(ask, range(12))

    taken = [answer for number, answer in enumerate(answers) if number != 5 and answer.status == 201]
    assert statuses(answers).keys() <= {200, 201, 401}
    assert api.get(f"/v1/queues/{queue}").json["waiting"] == len(taken)
    assert api.post(f"/v1/queues/{queue}/tickets", {}, by=session).status == 401


def test_nobody_brings_themselves_back_by_what_was_under_way_when_they_were_disabled(api: Api) -> None:
    """They ask to be enabled again and again, by many connections, until they are turned away."""
    username = a_new("person")
    api.post("/v1/venues/clinic/staff", {"username": username, "role": "manager", "password": PASSWORD}, by=OWNER)
    path, session = f"/v1/venues/clinic/staff/{username}", api.sign_in(username)
    under_way = Semaphore(0)

    def ask(number: int) -> list[int]:
        client = alone(api)
        if number == 0:
            for _ in range(FLOOD):
                under_way.acquire()
            return [client.post(f"{path}/disable", {}, by=OWNER).status]
        told = [client.post(f"{path}/enable", {}, by=session).status]
        under_way.release()
        while told[-1] == 200 and len(told) < 100:
            told.append(client.post(f"{path}/enable", {}, by=session).status)
        return told

    [disabled], *floods = at_once(ask, range(FLOOD + 1))

    assert disabled == 200
    assert {told[-1] for told in floods} <= {401, 404}
    assert api.post("/v1/login", {"username": username, "password": PASSWORD}).status == 401

"""The bare address: which places are here, staff's pages, whether there is an owner, and what an owner does next."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from tests.api.first_start import JSON, VENUE, Installation, cookie_of
from tests.api.pages import Page
from tests.api.world import Api
from tests.running import PROGRAM, Answer, DawrServer, dawr, must_be_problem


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Installation]:
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data") as server:
        yield Installation(server, tmp_path / "data")


def test_without_an_owner_it_says_how_one_is_made(empty: Installation) -> None:
    before = Page(empty.open("/").body)
    empty.fill_in(empty.codes()[0], VENUE)
    after = Page(empty.open("/").body)

    assert "look for /first-run in what it printed" in before.text
    assert "There is no place here yet." in before.text
    assert empty.codes()[0] not in before.text
    assert "/first-run" not in after.text
    assert "Our clinic" in after.text


def test_places_are_named_in_the_visitors_language_and_inactive_ones_are_not_shown(empty: Installation) -> None:
    for slug, name, more in (
        ("port", {"en": "Harbour", "ar": "الميناء"}, {"kind": "restaurant"}),
        ("hill", {"zh": "山上"}, {}),
        ("gone", {"en": "Gone"}, {"active": False}),
        ("odd", {"en": "<b>&</b>"}, {}),
    ):
        venue = {"slug": slug, "name": name, "zone": "UTC", **more}
        assert dawr("venue", "apply", "-", stdin=json.dumps(venue), DAWR_DATA=empty.data).exit_code == 0

    english, arabic = Page(empty.open("/").body), Page(empty.open("/", Accept_Language="ar-QA,en;q=0.5").body)

    assert (english.language, english.direction, arabic.language, arabic.direction) == ("en", "ltr", "ar", "rtl")
    assert all(words in english.text for words in ("Harbour", "Restaurant", "山上", "Clinic", "<b>&</b>"))
    assert all(words in arabic.text for words in ("الميناء", "مطعم", "山上", "عيادة"))
    assert "Gone" not in english.text


def test_the_next_steps_that_an_owner_sees_work_as_they_stand_there(empty: Installation, tmp_path: Path) -> None:
    cookie = cookie_of(empty.fill_in(empty.codes()[0], VENUE))
    page = Page(empty.open("/", Cookie=cookie).body)

    given = {**os.environ, "DAWR_DATA": str(empty.data), "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    script = "\n".join(["set -e", *page.commands])
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=given, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done
    assert {"/docs", "/v/ours", "/d/ours", "/staff/ours/desk-1"} <= set(page.links)
    for path in ("/v/ours", "/d/ours", "/staff/ours/desk-1"):
        assert f"{empty.server.url}{path}" in page.text
    for link in page.links:
        assert empty.open(urljoin("/", link), Cookie=cookie).status == 200, link


def test_the_owners_addresses_begin_with_the_public_one_where_it_is_known(tmp_path: Path) -> None:
    public = "https://queue.example.org"
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data", DAWR_PUBLIC_URL=public) as server:
        new = Installation(server, tmp_path / "data")
        page = Page(new.open("/", Cookie=cookie_of(new.fill_in(new.codes()[0], VENUE))).body)

    assert "https://queue.example.org/v/ours" in page.text
    assert "/v/ours" in page.links


@pytest.mark.parametrize("host", ["$(reboot)", "a b", "x;y", "", "[::1]$(reboot)"])
def test_a_host_that_is_none_is_in_no_address(empty: Installation, host: str) -> None:
    cookie = cookie_of(empty.fill_in(empty.codes()[0], VENUE))

    answer = empty.open("/", Cookie=cookie, Host=host)

    if answer.status == 200:
        page = Page(answer.body)
        assert not any(odd in page.text for odd in ("reboot", "x;y", "a b"))
        assert f"http://127.0.0.1:{empty.server.port}/v/ours" in page.text


@pytest.mark.parametrize("by", [None, "viewer@clinic", "staff@clinic", "manager@clinic", "token:owner@clinic"])
def test_whoever_owns_nothing_sees_no_next_steps(api: Api, by: str | None) -> None:
    page = Page(api.get("/", by=by).body)

    assert page.commands == []
    assert "signed in as" in page.text or by is None or by.startswith("token:")


def test_an_owner_sees_the_steps_of_their_own_place(api: Api) -> None:
    page = Page(api.get("/", by="owner@bistro").body)

    assert any("--venue bistro" in command for command in page.commands)
    assert not any("clinic" in command for command in page.commands)


def test_paths_of_the_machine_are_shown_to_an_owner_of_all_that_runs_on_it_alone(
    api: Api, everybodys_data: Path, empty: Installation
) -> None:
    cookie = cookie_of(empty.fill_in(empty.codes()[0], VENUE))

    of_all = Page(empty.open("/", Cookie=cookie).body)
    of_one = Page(api.get("/", by="owner@bistro").body)

    assert f"--data {empty.data}" in of_all.commands[0]
    assert of_one.commands[0] == "dawr staff add NAME --role staff --venue bistro"
    assert str(everybodys_data) not in of_one.text
    assert str(Path(PROGRAM).parent) not in of_one.text


@pytest.mark.parametrize("is_in_path", [True, False])
def test_commands_name_the_program_so_that_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_in_path: bool
) -> None:
    monkeypatch.setenv("PATH", str(Path(PROGRAM).parent if is_in_path else tmp_path))
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data") as server:
        new = Installation(server, tmp_path / "data")
        page = Page(new.open("/", Cookie=cookie_of(new.fill_in(new.codes()[0], VENUE))).body)

    assert page.commands[0].startswith("dawr staff add" if is_in_path else f"{PROGRAM} staff add")
    assert ".venv" not in page.text.replace(PROGRAM, "")


@pytest.mark.parametrize(
    ("by", "there"), [(None, False), ("viewer@clinic", False), ("staff@clinic", True), ("manager@clinic", True)]
)
def test_staff_find_their_desks_and_the_display_and_others_where_to_take_a_number(
    api: Api, by: str | None, *, there: bool
) -> None:
    links = Page(api.get("/", by=by).body).links

    assert {"/v/clinic", "/v/bistro"} <= set(links)
    assert ({"/staff/clinic", "/d/clinic"} <= set(links)) == there
    assert not {"/staff/bistro", "/d/bistro"} & set(links)


def test_whoever_is_signed_in_can_sign_out_or_give_way_and_others_can_sign_in(api: Api) -> None:
    anybody, staff = Page(api.get("/").body), Page(api.get("/", by="staff@clinic").body)

    assert "/sign-in" in anybody.links
    assert "/sign-out" not in anybody.addresses
    assert "/sign-in?switch=1&then=/" in staff.links
    assert "/sign-out" in staff.addresses
    assert "You are signed in as staff@clinic." in staff.text


def test_an_icon_is_where_browsers_look_for_one(api: Api) -> None:
    answer = api.get("/favicon.ico")

    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.body.startswith(b"<svg ")


def test_the_start_page_takes_any_query(api: Api) -> None:
    assert api.get("/?utm_source=x&lang=%00").status == 200


SET_UP: dict[str, Any] = {
    "name": {"en": "Our clinic"},
    "zone": "Asia/Qatar",
    "queues": [{"id": "lab", "name": {"en": "Lab"}}],
    "desks": [{"id": "desk-1", "name": {"en": "Desk 1"}, "queues": ["lab"]}],
}


def test_the_queue_that_the_form_made_can_be_removed_until_it_has_given_a_number(empty: Installation) -> None:
    session = re.search(r"dws_[^;]+", cookie_of(empty.fill_in(empty.codes()[0], VENUE)))
    assert session is not None

    def put(set_up: object) -> Answer:
        headers = {**JSON, "Authorization": f"Bearer {session[0]}"}
        return empty.ask("/v1/venues/ours/set-up", method="PUT", body=json.dumps(set_up).encode(), headers=headers)

    replaced = put(SET_UP)
    gone = empty.ask("/v1/queues/ours:main")
    empty.ask("/v1/queues/ours:lab/tickets", method="POST")
    stays = put({**SET_UP, "queues": [{"id": "main", "name": {"en": "Main"}}], "desks": []})
    by_command = dawr(
        "venue",
        "apply",
        "-",
        stdin=json.dumps({**SET_UP, "slug": "ours", "queues": [], "desks": []}),
        DAWR_DATA=empty.data,
    )

    assert [queue["id"] for queue in replaced.json["queues"]] == ["lab"]
    must_be_problem(gone, 404, "unknown-queue")
    must_be_problem(stays, 422, "invalid-value")
    assert stays.json["rule"] == "queue-stays"
    assert by_command.exit_code == 1
    assert "Queue lab has a history, so it stays: close it instead of removing it." in by_command.complained

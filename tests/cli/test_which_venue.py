"""Who says no venue means the only one: at the clinic door, and with `--venue`."""

import json
from typing import Any

import pytest

from tests.cli.installations import Installation
from tests.running import Answer, Client, DawrServer, eventually, must_be_problem, venue_document


def set_up(installation: Installation, slug: str, kind: str = "clinic", *, active: bool = True) -> None:
    document = {**json.loads(venue_document({"id": "lab"}, slug=slug)), "kind": kind, "active": active}
    applied = installation.dawr("venue", "apply", "-", stdin=json.dumps(document))
    assert applied.exit_code == 0, applied


def must_be_closed(answer: Answer) -> None:
    """Neither a slug nor a setting is told to whoever comes to the door."""
    must_be_problem(answer, 404, "unknown-venue")
    said = {name: value for name, value in answer.json.items() if name not in {"type", "correlation_id"}}
    assert said == {
        "status": 404,
        "code": "unknown-venue",
        "retryable": False,
        "why": "not-set-up",
        "title": "The clinic door is not set up.",
        "detail": "The clinic door of this server is not set up: please tell the staff.",
    }


def closed(server: DawrServer) -> list[dict[str, Any]]:
    """What the log says of a door that is closed."""
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if '"clinic-door.closed"' in line]
    assert {line["level"] for line in lines} <= {"warning"}
    return [{name: line[name] for name in ("why", "venue", "venues") if name in line} for line in lines]


def test_the_clinic_door_opens_to_the_only_clinic_whatever_its_slug(installation: Installation) -> None:
    set_up(installation, "harbour")
    set_up(installation, "bistro", "restaurant")

    with installation.serve() as server, Client(server.url) as client:
        entered = client.enter("lab", "Amna")

    assert (entered.status, entered.json["number"]) == (200, 1)


def test_a_clinic_is_noticed_when_it_comes_and_another_one_too(installation: Installation) -> None:
    """Also by a server that did not make them: on PostgreSQL the command writes itself."""
    set_up(installation, "bistro", "restaurant")
    with installation.serve() as server, Client(server.url) as client:
        before = client.enter("lab", "Amna")
        set_up(installation, "north")
        eventually(lambda: client.status("lab").status == 200)
        first = client.enter("lab", "Amna")
        set_up(installation, "south")
        eventually(lambda: client.status("lab").status == 404)
        both = client.enter("lab", "Basma")
        set_up(installation, "south", "office")
        eventually(lambda: client.status("lab").status == 200)
        again = client.enter("lab", "Basma")

    must_be_closed(before)
    assert first.json["number"] == 1
    must_be_closed(both)
    assert again.json["number"] == 2


def test_a_clinic_that_is_not_active_closes_no_door(installation: Installation) -> None:
    set_up(installation, "north")
    set_up(installation, "south", active=False)

    with installation.serve() as server, Client(server.url) as client:
        entered = client.enter("lab", "Amna")
        set_up(installation, "north", active=False)
        set_up(installation, "south")
        eventually(lambda: client.enter("lab", "Basma").status == 200)
        set_up(installation, "south", active=False)
        eventually(lambda: client.status("lab").status == 404)
        none_active = client.status("lab")

    assert entered.json["number"] == 1
    assert installation.rows("SELECT slug, number FROM tickets JOIN venues USING (venue_id) ORDER BY slug") == [
        ("north", 1),
        ("south", 1),
    ]
    must_be_closed(none_active)


def test_that_the_door_is_closed_is_logged_once_for_each_reason(embedded: Installation) -> None:
    for slug in ("north", "south"):
        set_up(embedded, slug)

    with embedded.serve() as server, Client(server.url) as client:
        for _ in range(3):
            must_be_closed(client.status("lab"))
        set_up(embedded, "east")
        must_be_closed(client.enter("lab", "Amna"))
        for slug in ("east", "north"):
            set_up(embedded, slug, "office")
        assert client.enter("lab", "Amna").status == 200
        set_up(embedded, "south", "office")
        eventually(lambda: client.status("lab").status == 404)

    assert closed(server) == [
        {"why": "several-clinics", "venues": "north, south"},
        {"why": "several-clinics", "venues": "east, north, south"},
        {"why": "no-clinic"},
    ]


def test_whoever_runs_it_is_told_what_to_set(embedded: Installation) -> None:
    for slug in ("north", "south"):
        set_up(embedded, slug)

    said = embedded.dawr("check").said

    assert "There are 2 clinics: north, south. Set DAWR_CLINIC_VENUE to the one that the clinic door serves.\n" in said


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("ar", "لم يُعدّ باب العيادات في هذا الخادم بعد: يُرجى إبلاغ الموظفين."),
        ("zh", "本服务器的诊所接口尚未设置：请告知工作人员。"),
    ],
)
def test_that_the_door_is_closed_is_said_in_the_callers_language(
    embedded: Installation, language: str, words: str
) -> None:
    for slug in ("north", "south"):
        set_up(embedded, slug)

    with embedded.serve() as server, Client(server.url) as client:
        refused = client.ask("/api/v1/queue/status?clinic=lab", headers={"Accept-Language": language})

    assert refused.json["detail"] == words


def test_the_setting_chooses_among_several_and_is_named_when_it_is_wrong(embedded: Installation) -> None:
    for slug in ("north", "south"):
        set_up(embedded, slug)

    settings = {**embedded.settings, "DAWR_CLINIC_VENUE": "south"}
    with Installation(settings, embedded.database, embedded.directory).serve() as server, Client(server.url) as client:
        entered = client.enter("lab", "Amna")
    settings = {**embedded.settings, "DAWR_CLINIC_VENUE": "clinic"}
    with Installation(settings, embedded.database, embedded.directory).serve() as server, Client(server.url) as client:
        refused = client.enter("lab", "Amna")

    assert entered.json["number"] == 1
    assert embedded.rows("SELECT slug FROM tickets JOIN venues USING (venue_id)") == [("south",)]
    must_be_closed(refused)
    assert closed(server) == [{"why": "setting", "venue": "clinic"}]
    checked = embedded.dawr("check", DAWR_CLINIC_VENUE="clinic")
    assert "There is no venue “clinic” here, which the setting DAWR_CLINIC_VENUE names" in checked.said


COMMANDS = [
    ("queue", "pause", "lab"),
    ("staff", "list"),
    ("staff", "add", "noor", "--role", "owner"),
    ("staff", "role", "noor", "owner"),
    ("token", "new", "--kind", "kiosk", "--name", "Door"),
    ("token", "list"),
]


def test_commands_mean_the_only_venue(installation: Installation) -> None:
    set_up(installation, "harbour", "office")

    done = [installation.dawr(*command) for command in COMMANDS]

    assert [one.exit_code for one in done] == [0] * len(COMMANDS), done
    assert done[2].said.startswith("noor is owner at harbour.")


def test_commands_go_through_the_running_server_too(embedded: Installation) -> None:
    set_up(embedded, "harbour", "office")

    with embedded.serve():
        done = [embedded.dawr(*command) for command in COMMANDS]

    assert [one.exit_code for one in done] == [0] * len(COMMANDS), done


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_with_several_venues_a_command_names_the_option_and_the_setting(
    embedded: Installation, command: tuple[str, ...]
) -> None:
    set_up(embedded, "harbour")
    set_up(embedded, "bistro", "restaurant")

    asked = embedded.dawr(*command)

    assert asked.exit_code == 1
    assert asked.complained == (
        "Error: There are 2 venues: bistro, harbour. Say which you mean with --venue, "
        "or with DAWR_CLINIC_VENUE for all commands.\n"
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_setting_that_names_no_venue_is_named(embedded: Installation, command: tuple[str, ...]) -> None:
    set_up(embedded, "north")

    done = embedded.dawr(*command, DAWR_CLINIC_VENUE="typo")

    assert done.exit_code == 1
    assert "DAWR_CLINIC_VENUE" in done.complained


def test_either_of_them_is_the_answer(embedded: Installation) -> None:
    for slug in ("north", "south"):
        set_up(embedded, slug)

    by_option = embedded.dawr("queue", "pause", "lab", "--venue", "north", DAWR_CLINIC_VENUE="south")
    by_setting = embedded.dawr("queue", "pause", "lab", DAWR_CLINIC_VENUE="south")
    again = embedded.dawr("queue", "pause", "lab", "--venue", "north")

    assert (by_option.said, by_setting.said) == ("Queue lab is paused.\n",) * 2
    assert again.complained == "Error: Queue lab is paused already.\n"


def test_without_any_venue_a_command_says_how_one_is_made(installation: Installation) -> None:
    installation.dawr("migrate")

    done = installation.dawr("staff", "list")

    assert done.exit_code == 1
    assert done.complained == (
        "Error: There is no venue here yet: make one with `dawr venue new` and `dawr venue apply`.\n"
    )


def test_a_directory_without_a_database_is_named_in_full(
    embedded: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(embedded.directory)

    done = embedded.dawr("staff", "list", "--data", "elsewhere")

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: There is no database in {embedded.directory}/elsewhere yet:")

"""`dawr venue repair-day`: a venue whose day is ahead is named, and brought back, with and without a server."""

import json

import pytest

from dawr.bootstrap import system
from tests.cli.installations import Installation
from tests.running import Client, Finished, eventually

AHEAD = "UPDATE heads SET day = '2999-01-01'"


def check(installation: Installation) -> tuple[int, list[str]]:
    """Its exit code, and what it says of time."""
    done = installation.dawr("check", "--json")
    findings = json.loads(done.said)["findings"]
    return done.exit_code, [found["sentence"] for found in findings if found["about"] == "time"]


def repair(installation: Installation, *more: str) -> Finished:
    return installation.dawr("venue", "repair-day", "clinic", *more)


@pytest.mark.parametrize("installation", ["embedded", pytest.param("scaled", marks=pytest.mark.slow)], indirect=True)
def test_a_day_that_is_ahead_is_named_by_health_and_check_until_it_is_repaired(installation: Installation) -> None:
    installation.create_venue()
    installation.rows(AHEAD)
    epoch = installation.epoch()

    with installation.serve() as server, Client(server.url) as client:
        eventually(lambda: client.ask("/health").json["time"] != [])
        health, ready = client.ask("/health"), client.ask("/health/ready")
        wrong = check(installation)
        repaired = repair(installation)
        entered = client.enter("lab", "Amna")
    code, said = check(installation)

    (sentence,) = health.json["time"]
    assert sentence.startswith("Venue clinic is at 2999-01-01, and today is 20")
    assert "`dawr venue repair-day clinic` brings it back" in sentence
    assert (health.status, health.json["status"], ready.json) == (200, "degraded", {"status": "degraded"})
    assert wrong == (1, [sentence])
    assert repaired.said.startswith("Venue clinic was at 2999-01-01, and is at 20")
    assert (code, said) == (0, ["No venue's day is ahead of today."])
    assert entered.json["number"] == 1
    assert installation.epoch() != epoch
    assert installation.rows("SELECT kind, actor FROM events WHERE version = 1") == [
        ("venue.day_repaired", "command line")
    ]


def test_a_day_that_is_not_ahead_is_left_alone(embedded: Installation) -> None:
    embedded.create_venue()
    day = embedded.rows("SELECT day FROM heads")[0][0]

    refused = repair(embedded)

    assert (refused.exit_code, refused.complained) == (
        1,
        f"Error: Venue clinic is at {day}, which is not ahead of today: there is nothing to repair.\n",
    )


def test_while_the_clock_is_doubted_somebody_says_which_day_it_is(
    embedded: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "is_synchronised", lambda: False)
    embedded.create_venue()
    embedded.rows(AHEAD)
    embedded.rows("UPDATE installation SET believed_at = 1")

    doubt, _ = check(embedded)[1]
    refused = repair(embedded)
    day = refused.complained.rpartition("--today ")[2].partition(";")[0]
    other = repair(embedded, "--today", "2020-02-02")
    no_date = repair(embedded, "--today", "tomorrow")
    done = repair(embedded, "--today", day)

    assert doubt.startswith("The clock of this machine is ")
    assert f"\nError: The clock of this machine jumped and is not synchronised. If today is {day}" in refused.complained
    assert f"Error: The clock of this machine says that today is {day} at clinic" in other.complained
    assert "Error: tomorrow is not a date: write it like 2026-11-15." in no_date.complained
    assert done.said == f"Venue clinic was at 2999-01-01, and is at {day} again.\n"

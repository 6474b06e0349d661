"""`dawr venue`: listed, shown and applied, offline and while a server runs."""

import json
from typing import Any

import pytest

from tests.cli.installations import Installation, take_numbers
from tests.running import Client, venue_document


def test_a_venue_is_set_up_listed_and_shown(installation: Installation) -> None:
    applied = installation.dawr(
        "venue", "apply", "-", stdin=venue_document({"id": "lab", "prefix": "A"}, zone="Asia/Qatar")
    )

    shown = installation.dawr("venue", "show", "clinic")

    assert applied.exit_code == 0
    assert applied.said.startswith("Venue clinic is set up (")
    assert installation.dawr("venue", "list").said == "clinic\n"
    venue = json.loads(shown.said)
    assert (venue["slug"], venue["zone"], venue["queues"][0]["prefix"]) == ("clinic", "Asia/Qatar", "A")
    assert f"({venue['id']})" in applied.said


def test_what_is_shown_can_be_changed_and_applied_again(installation: Installation) -> None:
    installation.create_venue({"id": "lab", "name": {"ar": "المختبر"}}, {"id": "eye"})
    venue = json.loads(installation.dawr("venue", "show", "clinic").said)

    venue["queues"][0]["capacity"] = 20
    venue["desks"] = [{"id": "room-1", "name": {"en": "Room 1"}, "queues": ["lab", "eye"]}]
    done = installation.dawr("venue", "apply", "-", stdin=json.dumps(venue))

    assert done.exit_code == 0
    assert json.loads(installation.dawr("venue", "show", "clinic").said) == venue
    assert installation.rows("SELECT kind FROM events") == [("venue.set_up",)]


def test_a_running_server_hears_of_a_change_at_once(installation: Installation) -> None:
    installation.create_venue()
    with installation.serve() as server, Client(server.url) as client:
        take_numbers(server, 1)

        changed = installation.dawr("venue", "apply", "-", stdin=venue_document({"id": "lab", "capacity": 1}))

        assert (changed.exit_code, changed.complained) == (0, "")
        assert client.enter("lab", "too late").json["code"] == "queue-full"


def test_a_running_server_takes_a_new_venue(embedded: Installation) -> None:
    with embedded.serve() as server, Client(server.url) as client:
        embedded.create_venue({"id": "lab"})

        assert client.enter("lab", "Amna").json["number"] == 1
        assert embedded.dawr("venue", "list").said == "clinic\n"


def test_a_file_is_applied(embedded: Installation) -> None:
    file = embedded.directory / "clinic.json"
    file.write_text(venue_document({"id": "lab"}))

    assert embedded.dawr("venue", "apply", file).exit_code == 0


def test_one_installation_has_several_venues(installation: Installation) -> None:
    for slug in ("north", "south"):
        installation.dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug=slug))

    assert sorted(installation.dawr("venue", "list").said.split()) == ["north", "south"]


CANNOT_BE = {
    "nothing": ("", "does not describe a venue: "),
    "an array": ("[]", "does not describe a venue: "),
    "an empty object": ("{}", "does not describe a venue: Slug: this is needed."),
    "an unknown field": (venue_document({"id": "lab", "colour": "red"}), "Queues[0]: colour: this is not known here."),
    "a word for a number": (venue_document({"id": "lab", "capacity": "many"}), "Queues[0]: capacity: send a number."),
    "a code in capitals": (venue_document({"id": "Lab"}), "“Lab” is no queue code"),
    "a queue twice": (venue_document({"id": "lab"}, {"id": "lab"}), "Two queues answer to “lab”."),
    "a taken alias": (venue_document({"id": "lab"}, {"id": "eye", "aliases": ["lab"]}), "Two queues answer to “lab”."),
    "less than nobody": (venue_document({"id": "lab", "capacity": -1}), "Capacity of queue lab: choose 0 to 100000."),
    "no name": (venue_document({"id": "lab", "name": {}}), "The queue lab needs a name in at least one language"),
    "a short week": (venue_document({"id": "lab", "hours": {"week": [[]]}}), "Hours need seven days, Monday first."),
    "another planet": (venue_document({"id": "lab"}, zone="Mars/Olympus"), "“Mars/Olympus” is not an IANA time zone"),
    "a slug with a space": (venue_document({"id": "lab"}, slug="The Clinic"), "“The Clinic” is no venue code"),
}


@pytest.mark.parametrize(("document", "sentence"), CANNOT_BE.values(), ids=CANNOT_BE.keys())
def test_a_document_that_describes_no_venue_is_refused(embedded: Installation, document: str, sentence: str) -> None:
    done = embedded.dawr("venue", "apply", "-", stdin=document)

    assert done.exit_code == 1
    assert sentence in done.complained


@pytest.mark.parametrize("text", ["\\u0007", "\\u202e2", "x" * 20_000])
def test_a_text_that_cannot_be_shown_or_has_no_end_is_refused_by_its_field(embedded: Installation, text: str) -> None:
    document = venue_document({"id": "lab", "floor": "FLOOR", "name": {"en": "NAME"}})

    floor = embedded.dawr("venue", "apply", "-", stdin=document.replace("FLOOR", text))
    name = embedded.dawr("venue", "apply", "-", stdin=document.replace("NAME", text))

    assert (floor.exit_code, name.exit_code) == (1, 1)
    assert "Floor of queue lab: write 1 to 64 characters that can be shown." in floor.complained
    assert "The queue lab needs a name in at least one language, in 1 to 128 characters" in name.complained


def test_a_venue_that_was_set_up_with_such_a_text_before_goes_on_and_is_asked_for_another(
    installation: Installation,
) -> None:
    installation.create_venue({"id": "lab", "floor": "FLOOR"})
    installation.rows("UPDATE venues SET document = replace(document, 'FLOOR', '\\u202e2')")

    paused = installation.dawr("queue", "pause", "lab")
    shown = installation.dawr("venue", "show", "clinic")
    applied = installation.dawr("venue", "apply", "-", stdin=shown.said)
    mended = installation.dawr("venue", "apply", "-", stdin=shown.said.replace("\u202e", ""))

    assert json.loads(shown.said)["queues"][0]["floor"] == "\u202e2"
    assert (paused.exit_code, applied.exit_code, mended.exit_code) == (0, 1, 0)
    assert "Floor of queue lab" in applied.complained


def test_the_id_of_a_venue_is_no_slug_for_another(installation: Installation) -> None:
    installation.create_venue({"id": "lab"})
    [(venue_id,)] = installation.rows("SELECT venue_id FROM venues")

    applied = installation.dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug=venue_id))

    assert applied.exit_code == 1
    assert f"“{venue_id}” is the id of another venue: choose another slug." in applied.complained
    assert installation.dawr("venue", "list").said == "clinic\n"


def test_a_running_server_refuses_a_document_with_the_same_sentence(embedded: Installation) -> None:
    embedded.create_venue({"id": "lab"}, {"id": "eye"})
    embedded.take_numbers(1)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"id": "eye"}, "Queue lab has a history, so it stays: close it"),
        ({"id": "Lab"}, "“Lab” is no queue code"),
    ]
    documents = [venue_document(queue) for queue, _ in refused]

    with embedded.serve():
        running = [embedded.dawr("venue", "apply", "-", stdin=document) for document in documents]
    stopped = [embedded.dawr("venue", "apply", "-", stdin=document) for document in documents]

    assert running == stopped
    for done, (_, sentence) in zip(running, refused, strict=True):
        assert (done.exit_code, sentence in done.complained) == (1, True)


def test_a_queue_with_a_history_is_not_removed(installation: Installation) -> None:
    installation.create_venue({"id": "lab"}, {"id": "eye"})
    installation.take_numbers(1)

    done = installation.dawr("venue", "apply", "-", stdin=venue_document({"id": "eye"}))

    assert done.exit_code == 1
    assert "Queue lab has a history, so it stays: close it" in done.complained


def test_a_queue_that_never_gave_a_number_is_removed(installation: Installation) -> None:
    installation.create_venue({"id": "lab"}, {"id": "eye"})
    installation.take_numbers(1)

    done = installation.dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}))

    assert done.exit_code == 0, done
    assert '"eye"' not in installation.dawr("venue", "show", "clinic").said


def test_a_venue_that_there_is_not_is_named(installation: Installation) -> None:
    installation.create_venue()

    done = installation.dawr("venue", "show", "elsewhere")

    assert (done.exit_code, done.complained) == (1, "Error: There is no venue “elsewhere” here.\n")


@pytest.mark.parametrize("command", [("list",), ("show", "clinic")])
def test_without_a_database_there_is_nothing_to_show(installation: Installation, command: tuple[str, ...]) -> None:
    done = installation.dawr("venue", *command)

    assert done.exit_code == 1
    assert done.complained.startswith("Error: ")

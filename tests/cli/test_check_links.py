"""`dawr check` on links: whether they lead here from paper and from another phone."""

import pytest

from dawr.bootstrap import refuse_what_cannot_be
from dawr.cli.check.findings import Report
from dawr.cli.check.links import look_at_links
from dawr.settings import Settings, SettingUnfit
from tests.cli.installations import Installation
from tests.running import DawrServer, venue_document


@pytest.mark.parametrize("is_of_server", [True, False])
def test_what_links_cost_without_a_public_address_is_said(*, is_of_server: bool) -> None:
    report = Report()

    look_at_links(Settings(), report, is_of_server=is_of_server)

    (found,) = report.findings
    assert (found.level, found.about) == ("warning", "settings")
    assert "pages show no QR code" in found.sentence
    assert found.sentence.endswith("like https://queue.example.org.")


def test_an_installation_without_a_public_address_works_and_is_told_so(embedded: Installation) -> None:
    embedded.create_venue()

    without = embedded.dawr("check", DAWR_PORT="0")
    public = embedded.dawr("check", DAWR_PORT="0", DAWR_PUBLIC_URL="https://queue.example.org")

    assert (without.exit_code, public.exit_code) == (0, 0)
    assert (
        "!  DAWR_PUBLIC_URL is not set for this command. If the server has none either, links do not say"
        in without.said
    )
    assert "✓  QR codes and links begin with https://queue.example.org.\n" in public.said


def test_a_running_server_is_asked_for_its_own_public_address_and_clinic(embedded: Installation) -> None:
    for slug in ("north", "south"):
        assert embedded.dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug=slug)).exit_code == 0
    own = {"DAWR_PUBLIC_URL": "https://queue.example.org", "DAWR_CLINIC_VENUE": "south"}

    with DawrServer(embedded.directory, "serve", **embedded.settings, **own):
        known = embedded.dawr("check")
    with embedded.serve():
        empty = embedded.dawr("check", **own)

    assert "✓  QR codes and links begin with https://queue.example.org.\n" in known.said
    assert "There are 2 clinics" not in known.said
    assert "!  DAWR_PUBLIC_URL is empty, so links do not say where this server is" in empty.said
    assert "!  There are 2 clinics: north, south." in empty.said


@pytest.mark.parametrize(
    "url",
    [
        "https://queue.example.org",
        "http://192.168.1.20:8787",
        "https://[2001:db8::1]:8443",
        "HTTPS://Queue.Example.org",
        "http://clinic",
        "",
    ],
)
def test_an_origin_is_taken(url: str) -> None:
    refuse_what_cannot_be(Settings(public_url=url))


@pytest.mark.parametrize(
    "url",
    [
        "queue.example.org",
        "https://queue.example.org/",
        "https://queue.example.org/clinic",
        "https://queue.example.org?x=1",
        "https://queue.example.org#x",
        "https://amna:secret@queue.example.org",
        "ftp://queue.example.org",
        "javascript://queue.example.org",
        "https://",
        "https://.",
        "https://queue example.org",
        "https://queue.example.org\n",
        "https://queue.example.org:0",
        "https://queue.example.org:65536",
        "https://queue.example.org:",
        "https://عيادة.example",
        '"https://queue.example.org"',
    ],
)
def test_what_is_no_origin_is_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(SettingUnfit, match=r"DAWR_PUBLIC_URL must be the address that phones open"):
        refuse_what_cannot_be(Settings(public_url=url))


def test_a_public_address_that_cannot_be_used_is_found_before_anything_begins(embedded: Installation) -> None:
    for command in (["serve", "--port", "0"], ["check"]):
        done = embedded.dawr(*command, DAWR_PUBLIC_URL="https://queue.example.org/clinic")

        assert done.exit_code == 1
        assert "DAWR_PUBLIC_URL must be the address that phones open" in done.said + done.complained
    assert not embedded.directory.joinpath("data", "dawr.sqlite").exists()

"""An address for paper and phones begins with what the installation says of itself, and with nothing else."""

from dawr.settings import Settings
from dawr.web.links import absolute


def test_an_address_begins_with_where_phones_find_the_server() -> None:
    settings = Settings(public_url="https://queue.example.org")

    assert absolute(settings, "/v/clinic") == "https://queue.example.org/v/clinic"


def test_without_one_there_is_no_whole_address() -> None:
    assert absolute(Settings(host="0.0.0.0", port=80), "/v/clinic") is None

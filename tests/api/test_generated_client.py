"""A client that `openapi-python-client` makes from the document that is served, and what it can do."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.api.world import Api

pytestmark = pytest.mark.slow


class Generated(NamedTuple):
    """The package, and a client of ours that is made with it."""

    directory: Path
    client: Any
    staff: Any

    def operation(self, name: str) -> Any:  # noqa: ANN401 - generated
        return importlib.import_module(f"made_by_generator.api.{name}")

    def model(self, name: str) -> Any:  # noqa: ANN401 - generated
        return getattr(importlib.import_module("made_by_generator.models"), name)


@pytest.fixture(scope="module")
def generated(everybody: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generated]:
    directory = tmp_path_factory.mktemp("generated")
    package, document = directory / "made_by_generator", directory / "openapi.json"
    document.write_bytes(everybody.get("/openapi.json").body)
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none"]
    config = directory / "config.yml"
    config.write_text("post_hooks: []\n")

    done = subprocess.run(
        [*command, "--path", document, "--output-path", package, "--config", config],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        made = importlib.import_module("made_by_generator")
        token = everybody.bearer("token:staff@clinic")
        with (
            made.Client(base_url=everybody.url) as client,
            made.AuthenticatedClient(base_url=everybody.url, token=token) as staff,
        ):
            yield Generated(package, client, staff)


def test_it_has_every_operation_of_the_document(api: Api, generated: Generated) -> None:
    paths = api.get("/openapi.json").json["paths"]
    described = {operation["operationId"] for methods in paths.values() for operation in methods.values()}

    made = {path.stem.replace("_", "-") for path in generated.directory.glob("api/*/*.py") if path.stem != "__init__"}

    assert made == described


def test_it_joins_looks_and_calls(generated: Generated, queue: str) -> None:
    join, look = generated.operation("tickets.take_ticket"), generated.operation("queues.look_at_queue")
    body = generated.model("TakeInput")(visitor="5521", name="Noor")

    taken = join.sync(queue, client=generated.client, body=body, idempotency_key="a-key-of-its-own")
    again = join.sync(queue, client=generated.client, body=body, idempotency_key="a-key-of-its-own")
    before = look.sync(queue, client=generated.client)
    called = generated.operation("queues.call_next_from_queue").sync(queue, client=generated.staff)
    after = look.sync(queue, client=generated.client)

    assert (taken.place.number, taken.already, again.ticket) == (1, False, taken.ticket)
    assert (before.waiting, before.current, before.joinable, before.why_not) == (1, None, True, None)
    assert (called.ticket.ticket, called.ticket.name, called.ticket.state) == (taken.ticket, "Noor", "called")
    assert (after.waiting, after.current, after.state) == (0, 1, "open")


def test_it_sees_the_whole_venue(generated: Generated) -> None:
    seen = generated.operation("venues.look_at_venue").sync("clinic", client=generated.client)

    lab = next(one for one in seen.queues if one.queue == "clinic:lab")
    assert lab.name["en"] == "Lab"
    assert all(call.desk is None or call.desk.startswith("clinic:") for call in seen.calls)


def test_it_reads_a_set_up_and_sends_it_back(api: Api, generated: Generated) -> None:
    look, put = generated.operation("venues.look_at_set_up"), generated.operation("venues.set_up_venue")
    owner = type(generated.staff)(base_url=api.url, token=api.bearer("owner@clinic"))

    with owner:
        found = look.sync("clinic", client=owner)
        changed = put.sync("clinic", client=owner, body=generated.model("SetUpInput").from_dict(found.to_dict()))

    assert changed == found


def test_a_refusal_is_a_problem_with_its_code_and_facts(generated: Generated) -> None:
    refused = generated.operation("tickets.take_ticket").sync("clinic:closed", client=generated.client)

    assert isinstance(refused, generated.model("Problem"))
    assert (refused.code, refused.status, refused.retryable) == ("queue-closed", 409, False)
    assert refused["queue"] == "closed"

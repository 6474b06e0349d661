"""deploy/compose.yaml: what it names is there, what it starts starts, without a container engine."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from dawr.bootstrap.fitness import refuse_what_cannot_be
from dawr.observe.metrics.families import FAMILIES
from dawr.settings import Settings, from_environment
from tests.deploy.files import DEPLOY, instructions_of, text_of, variables_of, yaml_of
from tests.deploy.nginx import read
from tests.running import Client, DawrServer, dawr, eventually
from tests.servers.place import free_port
from tests.servers.process import Child
from tests.servers.programs import find_valkey

COMPOSE = yaml_of("compose.yaml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SERVING = [name for name, service in SERVICES.items() if service.get("command", [""])[0] == "serve"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
SECRETS = {"POSTGRES_PASSWORD": "one", "VALKEY_PASSWORD": "two"}
METRICS_PATH = "/metrics"
"""Where Prometheus asks unless it is told otherwise."""
THEIRS = {"dawr.env": "env.example", ".env": ".env.example"}
"""What the owner makes, and what they make it from."""


def filled_in(text: str) -> str:
    """As Compose does it: `${NAME:?why}` is needed, `${NAME:-else}` is not, `$$` is a `$`."""
    values = {**variables_of(text_of(".env.example")), **SECRETS}
    filled = re.sub(r"\$\{(\w+)(?::[?-]([^}]*))?\}", lambda found: values[found[1]] or found[2], text)
    return filled.replace("$$", "$")


def settings_of(service: str) -> dict[str, str]:
    given: Mapping[str, str] = SERVICES[service]["environment"]
    return {name: filled_in(value) for name, value in given.items()}


def test_dawr_is_there_twice_behind_nginx() -> None:
    (upstream,) = read("upstream-compose.conf").all("upstream")

    assert len(SERVING) == 2
    assert {server.words[0] for server in upstream.all("server")} == {f"{name}:{Settings().port}" for name in SERVING}
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["nginx"]


def test_every_image_has_a_version_and_every_service_a_health_check() -> None:
    bought = {name: service["image"] for name, service in SERVICES.items() if name not in OURS}

    assert all(re.fullmatch(r"[a-z]+(/[a-z]+)?:\d[\w.-]*", image) for image in bought.values()), bought
    assert {name for name, service in SERVICES.items() if "healthcheck" not in service} == {"migrate"}


def test_every_file_that_it_names_is_there_or_is_made_from_one_that_is() -> None:
    named = {service["env_file"] for service in SERVICES.values() if "env_file" in service}
    mounted = {source for service in SERVICES.values() for source, *_ in map(_parts, service.get("volumes", []))}
    files = {source for source in mounted if source.startswith(".")} - {"./tls"}

    assert named == {"dawr.env"}
    assert not [source for source in {*files, *THEIRS.values()} if not (DEPLOY / source).is_file()]
    assert mounted - files - {"./tls"} == set(COMPOSE["volumes"])
    for name in OURS:
        build = SERVICES[name]["build"]
        assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


def test_every_secret_is_asked_for_and_none_is_in_the_file() -> None:
    text = text_of("compose.yaml")
    asked = re.findall(r"\$\{(\w+)(?::\?|:-)", text)

    assert set(asked) == set(variables_of(text_of(".env.example")))
    assert {name for name, value in variables_of(text_of(".env.example")).items() if not value} == set(SECRETS)
    assert not re.search(r"\$\{\w+\}", text), "A password that is not set must stop Compose, not be empty."


def test_what_the_owner_adds_is_never_kept_with_the_source() -> None:
    asked = subprocess.run(
        ["git", "check-ignore", "deploy/.env", "deploy/dawr.env", "deploy/tls/queue.key"],
        cwd=DEPLOY.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode == 128:
        pytest.skip("This is no clone: nobody could be asked what is ignored")

    assert asked.stdout.split() == ["deploy/.env", "deploy/dawr.env", "deploy/tls/queue.key"]


def test_nginx_finds_its_certificate_where_it_looks_for_it() -> None:
    (secure,) = [each for each in read("dawr.conf").all("server") if each.all("ssl_certificate")]
    mounted = {source: target for source, target, *_ in map(_parts, SERVICES["nginx"]["volumes"])}

    assert Path(secure.words_of("ssl_certificate")[0]).parent == Path(mounted["./tls"])
    assert {Path(target).parent for source, target in mounted.items() if source != "./tls"} == {
        Path("/etc/nginx/conf.d")
    }


def test_published_ports_are_those_that_nginx_listens_on() -> None:
    published = {filled_in(port).partition(":")[2] for port in SERVICES["nginx"]["ports"]}
    listened = {way.words[0] for server in read("dawr.conf").all("server") for way in server.all("listen")}

    assert published == {words for words in listened if words.isdigit()}


def test_addresses_agree() -> None:
    front = ip_network(COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"])
    addresses = {
        name: service["networks"]["front"]["ipv4_address"]
        for name, service in SERVICES.items()
        if "front" in service["networks"]
    }

    assert set(addresses) == {*SERVING, "nginx"}
    assert len(set(addresses.values())) == len(addresses)
    assert all(ip_address(address) in front for address in addresses.values())
    assert SERVICES["nginx"]["extra_hosts"] == [f"{name}:{addresses[name]}" for name in SERVING]
    assert settings_of(SERVING[0])["DAWR_TRUSTED_PROXIES"] == f"{addresses['nginx']}/32"


def test_databases_are_reached_from_inside_only() -> None:
    for name in ("postgres", "valkey"):
        assert SERVICES[name]["networks"] == ["back"]
        assert "ports" not in SERVICES[name]
    assert COMPOSE["networks"]["back"]["internal"]


def test_whoever_waits_for_a_service_waits_for_one_that_can_say_it_is_ready() -> None:
    awaited = [
        (name, how["condition"])
        for service in SERVICES.values()
        if isinstance(service.get("depends_on"), dict)
        for name, how in service["depends_on"].items()
    ]

    assert {name for name, _ in awaited} == {"postgres", "valkey", "migrate"}
    assert all("healthcheck" in SERVICES[name] for name, how in awaited if how == "service_healthy")
    for name, how in awaited:
        assert (how == "service_completed_successfully") == (SERVICES[name]["restart"] == "no")


@pytest.mark.parametrize("name", OURS)
def test_our_containers_may_little_and_run_commands_and_settings_of_ours(name: str) -> None:
    service = SERVICES[name]
    settings = from_environment(settings_of(name))
    refuse_what_cannot_be(settings)

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert dawr(*service["command"], "--help").exit_code == 0
    assert settings.hosts == len(SERVING)
    assert settings.port == Settings().port


def test_prometheus_asks_where_the_metrics_are() -> None:
    (job,) = yaml_of("prometheus/scrape.yml")["scrape_configs"]
    port = settings_of(SERVING[0])["DAWR_METRICS_PORT"]

    assert job["static_configs"] == [{"targets": [f"{name}:{port}" for name in SERVING]}]


def test_the_image_and_compose_look_after_its_health_in_the_same_way() -> None:
    of_image = dict(instructions_of(text_of("Dockerfile")))["HEALTHCHECK"]

    for name in SERVING:
        assert ["CMD", *json.loads(of_image.partition("CMD ")[2])] == SERVICES[name]["healthcheck"]["test"]


@pytest.mark.slow
def test_what_compose_starts_becomes_healthy_and_is_noticed_when_it_is_not(tmp_path: Path, postgres_url: str) -> None:
    """Its commands, settings and health checks on this machine's addresses."""
    with _valkey(tmp_path / "valkey") as redis_url:
        here = settings_of(SERVING[0]) | {"DAWR_DATABASE_URL": postgres_url, "DAWR_REDIS_URL": redis_url}
        here |= {"DAWR_METRICS_PORT": str(metrics_port := free_port())}
        del here["DAWR_PORT"]
        assert dawr(*SERVICES["migrate"]["command"], **here).exit_code == 0

        with DawrServer(tmp_path, *SERVICES[SERVING[0]]["command"], **here) as server:
            while_it_runs = _health(server.port)
            with Client(f"http://127.0.0.1:{metrics_port}") as prometheus:
                metrics = prometheus.ask(METRICS_PATH)

    assert (while_it_runs, _health(server.port)) == (0, 1)
    assert metrics.status == 200
    assert not [family.name for family in FAMILIES if f"# TYPE {family.name} ".encode() not in metrics.body]


@contextmanager
def _valkey(directory: Path) -> Iterator[str]:
    """By Compose's own command, with a port of ours, once its health check holds."""
    directory.mkdir()
    port = free_port()
    *shell, line = SERVICES["valkey"]["command"]
    line = filled_in(line).replace("valkey-server", f"{find_valkey()} --bind 127.0.0.1 --port {port}")
    environment = [f"{name}={filled_in(value)}" for name, value in SERVICES["valkey"]["environment"].items()]
    child = Child(["/usr/bin/env", *environment, *shell, line], directory, uid=None, abort=signal.SIGKILL)
    try:
        eventually(lambda: "Ready to accept connections" in (directory / "server.log").read_text())
        yield f"redis://:{SECRETS['VALKEY_PASSWORD']}@127.0.0.1:{port}/0"
    finally:
        child.send(signal.SIGTERM)
        child.wait()
        child.release()


def _health(port: int) -> int:
    _, _, *given = SERVICES[SERVING[0]]["healthcheck"]["test"]
    command = [sys.executable, *(part.replace(":8787/", f":{port}/") for part in given)]
    return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode


def _parts(volume: str) -> list[str]:
    return volume.split(":")

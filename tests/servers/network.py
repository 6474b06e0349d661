"""Machines that are none: network namespaces, plugged into switches whose ports can be cut.

Only root can make them, and only where the system has `ip` and `nsenter`. What was made is
removed at the end, however that comes.
"""

import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

RANGE = "198.18"
"""Kept for measurements between networks, so it is nobody's."""
US = ""
"""Where the tests run."""


class Port(NamedTuple):
    """Where a host is plugged in. Cut at the switch, so that whoever is behind it hears nothing at all."""

    address: str
    switch: str
    device: str


class Switch(NamedTuple):
    namespace: str
    number: int


class Network:
    """Hosts and switches. Names are what they are called on this machine."""

    def __init__(self) -> None:
        self._namespaces: list[str] = []
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        """After a run that was killed: what it left behind is removed first."""
        listed = subprocess.run(["ip", "netns", "list"], check=False, capture_output=True, text=True).stdout
        for namespace, maker in re.findall(r"^(dawr-(\d+)-\w+)", listed, re.MULTILINE):
            if not Path(f"/proc/{maker}").exists():
                _remove(namespace)
        return self

    def __exit__(self, *_: object) -> None:
        """The cables go with the switches' namespaces."""
        for namespace in self._namespaces:
            _remove(namespace)

    def host(self, name: str) -> str:
        namespace = f"dawr-{os.getpid()}-{name}"
        _ip("netns", "add", namespace)
        self._namespaces.append(namespace)
        _ip("link", "set", "lo", "up", host=namespace)
        return namespace

    def switch(self, name: str) -> Switch:
        switch = Switch(self.host(name), next(self._numbers))
        _ip("link", "add", "bridge", "type", "bridge", host=switch.namespace)
        _ip("link", "set", "bridge", "up", host=switch.namespace)
        return switch

    def plug(self, switch: Switch, host: str = US) -> Port:
        """A cable from a host to a switch, with an address in the switch's network."""
        last = next(self._numbers)
        there, here = f"dw{os.getpid()}-{last}", f"port{last}"
        _ip("link", "add", here, "type", "veth", "peer", "name", there, host=switch.namespace)
        _ip("link", "set", there, "netns", host or str(os.getpid()), host=switch.namespace)
        _ip("link", "set", here, "master", "bridge", "up", host=switch.namespace)
        address = f"{RANGE}.{switch.number}.{last}"
        _ip("address", "add", f"{address}/24", "dev", there, host=host)
        _ip("link", "set", there, "up", host=host)
        return Port(address, switch.namespace, here)

    @contextmanager
    def cut(self, *ports: Port) -> Iterator[None]:
        for port in ports:
            _ip("link", "set", port.device, "down", host=port.switch)
        try:
            yield
        finally:
            for port in ports:
                _ip("link", "set", port.device, "up", host=port.switch)


def why_not() -> str | None:
    """What keeps this machine from having such hosts."""
    missing = [program for program in ("ip", "nsenter") if shutil.which(program) is None]
    if missing:
        return f"{' and '.join(missing)} must be installed to make network namespaces"
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    try:
        with Network() as network:
            network.plug(network.switch("trial"))
    except subprocess.CalledProcessError as error:
        return f"this system makes no network namespaces: {error.stderr.strip()}"
    return None


def _ip(*arguments: str, host: str = US) -> None:
    namespace = ["-netns", host] if host else []
    subprocess.run(["ip", *namespace, *arguments], check=True, capture_output=True, text=True)


def _remove(namespace: str) -> None:
    for device in _devices(namespace):
        subprocess.run(["ip", "-netns", namespace, "link", "del", device], check=False, capture_output=True)
    subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)


def _devices(namespace: str) -> list[str]:
    listed = subprocess.run(
        ["ip", "-netns", namespace, "-brief", "link"], check=False, capture_output=True, text=True
    ).stdout
    return [line.split("@")[0].split()[0] for line in listed.splitlines()]

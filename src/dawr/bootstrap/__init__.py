"""The composition root: settings in, running parts out. The only place that knows all others.

What is named here is imported when it is asked for: the traffic process needs little of it, and is to stay small.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dawr.bootstrap import system
    from dawr.bootstrap.fitness import environment, refuse_to_serve_without, refuse_what_cannot_be
    from dawr.bootstrap.installation import COMMAND_LINE, Dawr, Prepared, at_hand, running
    from dawr.bootstrap.store import opened, reading
    from dawr.bootstrap.web import Listeners, instruments_of, listened, shuts_browsers_out, web_app, web_server

WHERE = {
    "environment": "fitness",
    "refuse_to_serve_without": "fitness",
    "refuse_what_cannot_be": "fitness",
    "COMMAND_LINE": "installation",
    "Dawr": "installation",
    "Prepared": "installation",
    "at_hand": "installation",
    "running": "installation",
    "opened": "store",
    "reading": "store",
    "Listeners": "web",
    "instruments_of": "web",
    "listened": "web",
    "shuts_browsers_out": "web",
    "web_app": "web",
    "web_server": "web",
}


def __getattr__(name: str) -> object:
    if name == "system":
        return import_module("dawr.bootstrap.system")
    if name not in WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dawr.bootstrap.{WHERE[name]}"), name)


__all__ = [
    "COMMAND_LINE",
    "Dawr",
    "Listeners",
    "Prepared",
    "at_hand",
    "environment",
    "instruments_of",
    "listened",
    "opened",
    "reading",
    "refuse_to_serve_without",
    "refuse_what_cannot_be",
    "running",
    "shuts_browsers_out",
    "system",
    "web_app",
    "web_server",
]

"""The composition root: settings in, running parts out. The only place that knows all others."""

from dawr.bootstrap import system
from dawr.bootstrap.fitness import environment, refuse_to_serve_without, refuse_what_cannot_be
from dawr.bootstrap.installation import COMMAND_LINE, Dawr, at_hand, running
from dawr.bootstrap.store import opened, reading
from dawr.bootstrap.web import Listeners, instruments_of, listened, web_app, web_server

__all__ = [
    "COMMAND_LINE",
    "Dawr",
    "Listeners",
    "at_hand",
    "environment",
    "instruments_of",
    "listened",
    "opened",
    "reading",
    "refuse_to_serve_without",
    "refuse_what_cannot_be",
    "running",
    "system",
    "web_app",
    "web_server",
]

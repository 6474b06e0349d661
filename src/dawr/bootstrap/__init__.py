"""The composition root: settings in, running parts out. The only place that knows all others."""

from dawr.bootstrap.fitness import environment, refuse_to_serve_without, refuse_what_cannot_be
from dawr.bootstrap.installation import COMMAND_LINE, Dawr, at_hand, running
from dawr.bootstrap.store import opened, reading
from dawr.bootstrap.web import instruments_of, listen_for_metrics, web_app, web_server

__all__ = [
    "COMMAND_LINE",
    "Dawr",
    "at_hand",
    "environment",
    "instruments_of",
    "listen_for_metrics",
    "opened",
    "reading",
    "refuse_to_serve_without",
    "refuse_what_cannot_be",
    "running",
    "web_app",
    "web_server",
]

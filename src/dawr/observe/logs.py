"""What is logged, and how it looks: JSON lines, or something readable when a person is watching.

Every JSON line begins in the same way, whoever says it (us, a library, a warning of Python's, a fault that
nobody caught): what happened, when, and how bad that is.
"""

import logging
import os
import re
import select
import sys
import threading
import time
import traceback
from datetime import UTC, datetime
from functools import partial
from typing import Literal

import msgspec
import structlog
from structlog.typing import EventDict, ExcInfo

from dawr.observe.access_log import AccessLog, NoAccessLog, NoLog
from dawr.observe.log_buffer import for_eyes
from dawr.observe.log_writer import LogWriter
from dawr.reliability import correlation
from dawr.settings import Settings

VALUES = re.compile(r"""((?<!\w)'|["`‘“«(\[{<]).*|\+?\d{4,}""", re.DOTALL)
"""What an error quotes may be somebody's name or number, and may itself have quotes in it: all from the first on."""
STANDARD_ERROR = 2
PATIENCE_SECONDS = 0.5


class Lost(msgspec.Struct, frozen=True, tag_field="event", tag="log.lost", gc=False):
    at: str
    level: Literal["warning"]
    lines: int


def configure(settings: Settings) -> None:
    """JSON lines on standard error, or something readable when a person is watching."""
    level = _level(settings)
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), repr_native_str=True, timestamp_key="at")
        if _is_readable(settings)
        else structlog.processors.JSONRenderer(separators=(",", ":"))
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            correlation.add_to_log_line,
            structlog.processors.add_log_level,
            structlog.processors.ExceptionRenderer(without_values),
            _begun,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_Line,
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[_IntoOurLog()], force=True)


def configure_server(settings: Settings) -> None:
    """The same for a process that serves: what nobody caught, and what Python warns of, are lines like all others."""
    configure(settings)
    logging.captureWarnings(capture=True)
    log = structlog.get_logger("dawr")

    def fault(error: BaseException | None, where: str) -> None:
        log.error("fault", where=where, exc_info=error or True)

    sys.excepthook = lambda _kind, error, _where: fault(error, "process")
    threading.excepthook = lambda raised: fault(raised.exc_value, f"thread {raised.thread and raised.thread.name}")
    sys.unraisablehook = lambda raised: fault(raised.exc_value, "clean-up")


def access_log(settings: Settings) -> AccessLog:
    """A line per request on standard error, unless only warnings or errors are wanted."""
    level = _level(settings)
    kind = AccessLog if level <= logging.INFO else NoAccessLog if level <= logging.WARNING else NoLog
    return kind(standard_error, time.time_ns, readable=_is_readable(settings), stop=standard_error.stop)


def access_log_of_server(settings: Settings) -> AccessLog:
    """From now on nobody in this process waits for whoever reads its log."""
    standard_error.start(partial(_say_lost, readable=_is_readable(settings)))
    return access_log(settings)


def without_values(exc_info: ExcInfo) -> str:
    """Where it went wrong and what kind of error it was. What the error quotes is left out."""
    error: BaseException | None = exc_info[1]
    lines: list[str] = []
    while error is not None:
        said = VALUES.sub("…", str(error))
        lines = [*traceback.format_tb(error.__traceback__), f"{type(error).__qualname__}: {said}\n", *lines]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "".join(lines)


def _begun(_: object, __: str, line: EventDict) -> EventDict:
    """What every line begins with, in one order."""
    return {"event": line.pop("event"), "at": _moment(), "level": line.pop("level"), **line}


def _moment() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _level(settings: Settings) -> int:
    return logging.getLevelNamesMapping()[settings.log_level.upper()]


def _is_readable(settings: Settings) -> bool:
    return sys.stderr.isatty() if settings.log_format == "auto" else settings.log_format == "console"


class _Line:
    """What structlog writes with."""

    def __init__(self, *_: object) -> None:
        pass

    @staticmethod
    def msg(message: str) -> None:
        standard_error(message.encode(errors="backslashreplace") + b"\n")

    debug = info = warning = error = critical = log = msg


class _IntoOurLog(logging.Handler):
    """What libraries say becomes one line like every other, without what they quote."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        said = VALUES.sub("…", record.getMessage())
        log.log(record.levelno, "library", library=record.name, said=said, exc_info=record.exc_info or None)


def _write(lines: bytes) -> None:
    """To the file itself: Python's own buffer has a lock, and whoever waits with it keeps the process from ending."""
    while lines and sys.__stderr__ is not None:  # if it is, this number may be another file's
        try:
            lines = lines[os.write(STANDARD_ERROR, lines) :]
        except BlockingIOError:  # somebody who has the same file made it so
            select.select([], [STANDARD_ERROR], [], PATIENCE_SECONDS)


def _write_soon(lines: bytes) -> None:
    """Of tools, and of the parent of workers, which has others to look after: not if nobody reads."""
    if sys.stderr is not sys.__stderr__:
        sys.stderr.write(lines.decode())
        sys.stderr.flush()
    elif select.select([], [STANDARD_ERROR], [], PATIENCE_SECONDS)[1]:
        _write(lines)


def _say_lost(lines: int, *, readable: bool) -> bytes:
    line = msgspec.json.encode(Lost(_moment(), "warning", lines))
    return for_eyes(line) if readable else line + b"\n"


standard_error = LogWriter(_write, _write_soon)
os.register_at_fork(after_in_child=standard_error.forget)

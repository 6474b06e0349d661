"""What is logged, and how it looks: JSON lines, or something readable when a person is watching."""

import logging
import re
import sys
import time
import traceback

import structlog
from structlog.typing import ExcInfo

from dawr.reliability import correlation
from dawr.settings import Settings
from dawr.web.access_log import AccessLog, NoAccessLog, NoLog

VALUES = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\+?\d{4,}")
"""What an error quotes may be somebody's name or number."""


def configure(settings: Settings) -> None:
    """JSON lines on standard error, or something readable when a person is watching."""
    level = _level(settings)
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), repr_native_str=True, timestamp_key="at")
        if _is_readable(settings)
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            correlation.add_to_log_line,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.ExceptionRenderer(without_values),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[_IntoOurLog()], force=True)


def access_log(settings: Settings) -> AccessLog:
    """A line per request on standard error, unless only warnings or errors are wanted."""
    level = _level(settings)
    kind = AccessLog if level <= logging.INFO else NoAccessLog if level <= logging.WARNING else NoLog
    return kind(_to_standard_error, time.time_ns, readable=_is_readable(settings))


def without_values(exc_info: ExcInfo) -> str:
    """Where it went wrong and what kind of error it was. What the error quotes is left out."""
    error: BaseException | None = exc_info[1]
    lines: list[str] = []
    while error is not None:
        said = VALUES.sub("…", str(error))
        lines = [*traceback.format_tb(error.__traceback__), f"{type(error).__qualname__}: {said}\n", *lines]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "".join(lines)


def _level(settings: Settings) -> int:
    return logging.getLevelNamesMapping()[settings.log_level.upper()]


def _is_readable(settings: Settings) -> bool:
    return sys.stderr.isatty() if settings.log_format == "auto" else settings.log_format == "console"


def _to_standard_error(lines: bytes) -> None:
    sys.stderr.buffer.write(lines)
    sys.stderr.buffer.flush()


class _IntoOurLog(logging.Handler):
    """What libraries say becomes one line like every other, without what they quote."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        said = VALUES.sub("…", record.getMessage())
        log.log(record.levelno, "library", said=said, exc_info=record.exc_info or None)

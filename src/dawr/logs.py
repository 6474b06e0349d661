"""What is logged, and how it looks: JSON lines, or something readable when a person is watching."""

import logging
import sys
import time

import structlog

from dawr.reliability import correlation
from dawr.settings import Settings
from dawr.web.access_log import AccessLog, NoAccessLog


def configure(settings: Settings) -> None:
    """JSON lines on standard error, or something readable when a person is watching."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            correlation.add_to_log_line,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[_IntoOurLog()], force=True)


def access_log(settings: Settings) -> AccessLog:
    """A line per request on standard error, unless only warnings are wanted."""
    shown = logging.getLevelNamesMapping()[settings.log_level.upper()] <= logging.INFO
    return (AccessLog if shown else NoAccessLog)(_to_standard_error, time.time_ns, readable=sys.stderr.isatty())


def _to_standard_error(lines: bytes) -> None:
    sys.stderr.buffer.write(lines)
    sys.stderr.buffer.flush()


class _IntoOurLog(logging.Handler):
    """What libraries say becomes one line like every other."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        log.log(record.levelno, "library", said=record.getMessage(), exc_info=record.exc_info or None)

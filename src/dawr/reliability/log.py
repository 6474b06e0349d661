"""The kit's one logger."""

import structlog

log = structlog.get_logger("dawr.reliability")

"""Dawr: a queue for places where people wait. Every number once."""

from typing import TYPE_CHECKING

__version__: str

if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> str:
        """Find out the version when it is asked for, because that may start git."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from dawr.version import version  # noqa: PLC0415 - as above

        return version()

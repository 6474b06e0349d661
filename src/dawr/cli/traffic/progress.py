"""How far something is, in one line of a terminal; elsewhere nothing is said before the end."""

import sys
from types import TracebackType
from typing import Self

import click


class Line:
    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._longest = 0

    def show(self, text: str) -> None:
        if self._is_shown:
            self._longest = max(self._longest, len(text))
            click.echo(f"\r{text.ljust(self._longest)}", nl=False, err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._longest:
            click.echo(f"\r{' ' * self._longest}\r", nl=False, err=True)

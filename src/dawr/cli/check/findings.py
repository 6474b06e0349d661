"""What a look has found, each in one sentence that says what to do."""

from typing import Literal

import msgspec

Level = Literal["fine", "warning", "wrong"]
About = Literal[
    "settings", "directory", "server", "database", "numbers", "time", "locks", "leases", "limits", "traffic"
]

MARKS: dict[Level, str] = {"fine": "✓", "warning": "!", "wrong": "✗"}


class Finding(msgspec.Struct, frozen=True):
    level: Level
    about: About
    sentence: str


class Report:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.server_answers = False
        """Whether one was met, well or not."""

    def fine(self, sentence: str, *, about: About) -> None:
        self.findings.append(Finding("fine", about, sentence))

    def warn(self, sentence: str, *, about: About) -> None:
        """It works, and somebody should know."""
        self.findings.append(Finding("warning", about, sentence))

    def wrong(self, sentence: str, *, about: About) -> None:
        self.findings.append(Finding("wrong", about, sentence))

    def is_fine_about(self, about: About) -> bool:
        return all(found.level == "fine" for found in self.findings if found.about == about)

    @property
    def something_is_wrong(self) -> bool:
        return any(found.level == "wrong" for found in self.findings)

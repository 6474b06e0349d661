"""deploy/env.example is every setting, and nothing else."""

import re
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from dawr.settings import PREFIX, Settings, from_environment
from tests.deploy.files import DEPLOY, files, settings_named_in, text_of, variables_of

KNOWN = {PREFIX + field.name.upper(): str(field.default) for field in msgspec.structs.fields(Settings)}


def test_every_setting_stands_there_once_with_its_default() -> None:
    text = text_of("env.example")
    named = re.findall(r"^# (DAWR_\w+)=", text, re.MULTILINE)

    assert sorted(named) == sorted(KNOWN)
    assert variables_of(text, with_comments=True) == KNOWN


def test_a_copy_of_it_changes_nothing_and_neither_does_one_with_every_line_taken_in() -> None:
    text = text_of("env.example")

    assert variables_of(text) == {}
    assert from_environment(variables_of(text, with_comments=True)) == Settings()


def test_every_setting_is_explained_above_its_line() -> None:
    lines = text_of("env.example").splitlines()
    unexplained = [
        line
        for above, line in pairwise(lines)
        if line.startswith("# DAWR_") and not re.match(r"# (?!DAWR_|-).*\.$", above)
    ]

    assert not unexplained


@pytest.mark.parametrize("file", files(), ids=lambda path: str(path.relative_to(DEPLOY)))
def test_no_file_names_a_setting_that_is_none(file: Path) -> None:
    assert settings_named_in(file.read_text(encoding="utf-8")) <= KNOWN.keys()

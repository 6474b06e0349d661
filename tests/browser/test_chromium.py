"""The browser tests never skip: they find a Chromium, get one, or say in a sentence that there is none."""

from pathlib import Path

import pytest

from tests.browser import chromium, getting
from tests.browser.chromium import ChromiumMissing, find_chromium
from tests.browser.getting import get_chromium, get_fonts


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Chromium, npm or fonts; the directory is its whole PATH."""
    monkeypatch.delenv("DAWR_TEST_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_DOWNLOAD_HOST", "http://127.0.0.1:9")
    for module in (chromium, getting):
        monkeypatch.setattr(module, "OF_PLAYWRIGHT", tmp_path / "playwright")
        monkeypatch.setattr(module, "OF_NPM", tmp_path / "npm")
    return tmp_path


def program(path: Path, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_chromium_that_is_named_comes_before_the_one_on_path(
    nothing_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(nothing_installed / "chromium")
    named = program(nothing_installed / "named")
    monkeypatch.setenv("DAWR_TEST_CHROMIUM", str(named))

    assert find_chromium() == named


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome", "chrome"])
def test_a_chromium_on_path_is_found_under_each_of_its_names(nothing_installed: Path, name: str) -> None:
    installed = program(nothing_installed / name)

    assert find_chromium() == installed


def test_a_program_that_only_says_how_to_install_chromium_is_none(nothing_installed: Path) -> None:
    program(nothing_installed / "chromium", "#!/bin/sh\nexit 10\n")
    kept = program(nothing_installed / "npm" / "chromium")

    assert find_chromium() == kept


def test_a_wrong_name_is_said_and_nothing_is_downloaded_instead(
    nothing_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAWR_TEST_CHROMIUM", "/nowhere/chromium")

    with pytest.raises(ChromiumMissing, match="DAWR_TEST_CHROMIUM is /nowhere/chromium, but that is no Chromium"):
        get_chromium(lambda *_: pytest.fail("It was named."))


def test_what_the_package_manager_brings_is_taken_first(nothing_installed: Path) -> None:
    asked_for: list[str] = []

    def install(*packages: str) -> bool:
        asked_for.extend(packages)
        return packages == ("chromium",) and program(nothing_installed / "chromium").exists()

    assert get_chromium(install) == nothing_installed / "chromium"
    assert asked_for == ["chromium-headless-shell", "chromium"]


def test_a_machine_where_none_can_be_had_is_told_so_in_a_sentence(nothing_installed: Path) -> None:
    with pytest.raises(ChromiumMissing, match=r"none could be had.*set DAWR_TEST_CHROMIUM to its program"):
        get_chromium(lambda *_: False)


def test_missing_fonts_are_installed_with_what_finds_them(nothing_installed: Path) -> None:
    asked: list[str] = []

    def install(*packages: str) -> bool:
        asked.extend(packages)
        return True

    get_fonts(install)

    assert asked == ["fontconfig", "fonts-noto-core", "fonts-wqy-microhei"]


def test_fonts_that_are_there_are_left_alone(nothing_installed: Path) -> None:
    program(nothing_installed / "fc-list", "#!/bin/sh\necho A font\n")

    get_fonts(lambda *_: pytest.fail("They are there."))

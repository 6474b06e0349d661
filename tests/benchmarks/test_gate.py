"""The comparison of this tree with a fixed commit."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import gate, gate_install
from benchmarks.gate import CONNECTIONS, Comparison, Measured, Slice, _serving, below_bar, compare, main, report
from benchmarks.gate_install import CannotCompare, resolve_commit
from benchmarks.load import Run
from tests.running import PROGRAM


def slices(*rates: int) -> list[Slice]:
    return [Slice(Run(1.0, [0.001] * rate), processor_seconds=rate * 100e-6) for rate in rates]


def measured(*, ours: list[Slice], theirs: list[Slice]) -> Measured:
    return Measured([Comparison(64, ours, theirs)], ours_us=150.0, theirs_us=100.0)


def test_a_ratio_is_taken_rotation_by_rotation_and_the_median_counts() -> None:
    disturbed = measured(ours=slices(1000, 500, 98), theirs=slices(1000, 1000, 100))

    assert disturbed.comparisons[0].ratio == 0.98


@pytest.mark.parametrize(("ours", "is_below"), [(96, True), (97, False), (130, False)])
def test_the_bar_is_missed_below_it_and_held_at_it(ours: int, *, is_below: bool) -> None:
    said = below_bar(measured(ours=slices(ours, ours), theirs=slices(100, 100)), "c036407", 0.97)

    assert bool(said) is is_below
    if is_below:
        assert said == ("Missed: at 64 connections this tree serves 0.960 of what c036407 serves, and the bar is 0.97.")


def test_the_report_has_the_ratio_with_its_quartiles_and_the_processor_time() -> None:
    said = report(measured(ours=slices(80, 90, 100, 110, 120), theirs=slices(*[100] * 5)), "c036407")

    assert "1.000 [0.900–1.100]" in said
    assert "processor time ratio 1.000" in said
    assert "150.0 and 100.0 µs, ratio 1.500" in said


def test_fewer_than_twenty_rotations_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--rev", "HEAD", "--rotations", "19"])

    assert ended.value.code == 2
    assert "at least 20" in capsys.readouterr().err


def test_a_directory_without_history_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CannotCompare, match=r"^git cannot read the history of "):
        resolve_commit(tmp_path, "c036407")


def test_a_commit_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], check=True, capture_output=True)

    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    git("init", str(whole))
    author = ("-c", "user.name=Dawr", "-c", "user.email=dawr@example.org")
    for subject in ("First", "Second"):
        git("-C", str(whole), *author, "commit", "--allow-empty", "-m", subject)
    git("clone", "--depth", "1", whole.as_uri(), str(shallow))

    assert len(resolve_commit(shallow, "HEAD")) == 40
    with pytest.raises(CannotCompare, match=r"^This repository has no commit c036407\.$"):
        resolve_commit(whole, "c036407")
    with pytest.raises(CannotCompare, match=r"^This clone is shallow and has no commit .*git fetch --unshallow"):
        resolve_commit(shallow, resolve_commit(whole, "HEAD~1"))


def test_a_server_does_not_import_what_the_environment_of_the_gate_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "dawr"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise RuntimeError('the code of another tree')")
    monkeypatch.setenv("PYTHONPATH", str(other.parent))

    with _serving(Path(PROGRAM), tmp_path) as server:
        assert server.is_running()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree to install, whose environment is not really made."""
    tree = tmp_path / "tree"
    (tree / "src" / "dawr").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt"):
        (tree / name).write_text("the same")
    return tree


def install_without_pip(tree: Path, monkeypatch: pytest.MonkeyPatch, *, imported: Path) -> bool:
    """Return whether it was installed anew. The environment imports what is given."""
    ran: list[tuple[str, ...]] = []

    def run(*command: str | Path) -> str:
        ran.append(tuple(map(str, command)))
        return f"{imported}\n"

    monkeypatch.setattr(gate_install, "_run", run)
    (tree / "build").mkdir(exist_ok=True)
    gate_install.install(tree, tree / "build")
    return any("install" in command for command in ran)


def test_a_tree_that_was_copied_with_its_environment_is_installed_anew(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    own = Path("src", "dawr", "__init__.py")

    first = install_without_pip(tree, monkeypatch, imported=tree / own)
    again = install_without_pip(tree, monkeypatch, imported=tree / own)
    shutil.copytree(tree, copy)
    copied = install_without_pip(copy, monkeypatch, imported=copy / own)

    assert (first, again, copied) == (True, False, True)


def test_an_environment_that_runs_other_code_is_not_measured(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CannotCompare, match=r"runs the code in .*/other/dawr, and .*/tree/src/dawr was to be measured"):
        install_without_pip(tree, monkeypatch, imported=tmp_path / "other" / "dawr" / "__init__.py")


def test_the_gate_ends_with_2_when_a_side_runs_other_code(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The environment of these tests imports this tree, and another one was to be measured."""
    build = tmp_path / "build"
    environment = build / "this-tree" / ".venv"
    environment.parent.mkdir(parents=True)
    environment.symlink_to(Path(sys.prefix))
    (build / "this-tree" / "installed").write_text(gate_install.stamp_of(tree, environment))
    monkeypatch.setattr(gate, "ROOT", tree)
    monkeypatch.setattr(gate, "must_be_disk", lambda _: None)
    monkeypatch.setattr(gate, "install_commit", lambda *_: Path(PROGRAM))

    code = main(["--rev", "HEAD", "--build", str(build), "--directory", str(tmp_path)])

    assert code == 2
    assert f"and {tree / 'src' / 'dawr'} was to be measured.\n" in capsys.readouterr().err


@pytest.mark.slow
def test_both_servers_are_measured_in_turns(tmp_path: Path) -> None:
    program = Path(PROGRAM)

    found = compare(program, program, tmp_path, rotations=2, seconds=0.05)

    assert [comparison.connections for comparison in found.comparisons] == [*CONNECTIONS]
    assert all(len(comparison.ratios) == 2 for comparison in found.comparisons)
    assert min(found.ours_us, found.theirs_us) > 0

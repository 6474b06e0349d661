"""deploy/Dockerfile, tried without a container engine."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from dawr.settings import Settings, from_environment
from dawr.version import RELEASE
from tests.deploy.files import ROOT, instructions_of, text_of, variables_of
from tests.running import dawr

pytestmark = pytest.mark.slow

STEPS = list(instructions_of(text_of("Dockerfile")))
LAST_STAGE = STEPS[max(number for number, (name, _) in enumerate(STEPS) if name == "FROM") :]
COPIED = [source for name, given in STEPS if name == "COPY" and "--from" not in given for source in given.split()[:-1]]
DISTRIBUTION = re.compile(r"[\w.-]+")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the Dockerfile's own step, from nothing but what it copies."""
    build = tmp_path_factory.mktemp("build")
    for source in COPIED:
        origin = ROOT / source
        if origin.is_dir():
            shutil.copytree(origin, build / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(origin, build / source)
    (step,) = [given for name, given in STEPS if name == "RUN" and given.startswith("pip wheel ")]
    command = [sys.executable, "-m", "pip", "--quiet", "--no-input", *step.split()[1:], "--no-index"]
    subprocess.run(command, cwd=build, check=True, capture_output=True, timeout=100)
    (made,) = (build / "wheel").glob("dawr-*.whl")
    return made


def test_everything_of_dawr_is_in_the_image(wheel: Path) -> None:
    source = ROOT / "src"
    here = {
        str(path.relative_to(source))
        for path in (source / "dawr").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if name.startswith("dawr/")}

    assert there == here


def test_what_is_installed_runs_by_itself(wheel: Path, tmp_path: Path) -> None:
    """In an environment made as the image makes it; only the other packages are borrowed from ours."""
    venv = tmp_path / "opt"
    (step,) = [given for name, given in STEPS if name == "RUN" and " -m venv " in given]
    subprocess.run([sys.executable, *step.split()[1:-1], venv], check=True, timeout=60)
    pip = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--python", str(venv / "bin" / "python")]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True, timeout=60)
    borrowed = {"PYTHONPATH": str(Path(pytest.__file__).parents[1])}

    done = subprocess.run(
        [venv / "bin" / "dawr", "migrate", "--data", tmp_path / "data"],
        env=borrowed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "data" / "dawr.sqlite").exists()
    assert not (venv / "bin" / "pip").exists()


def test_it_says_which_release_it_leads_to() -> None:
    (label,) = [given for name, given in LAST_STAGE if name == "LABEL"]

    assert f'org.opencontainers.image.version="{RELEASE}"' in label


def test_the_builder_is_sent_what_is_copied_and_nothing_else() -> None:
    lines = [line for line in text_of("Dockerfile.dockerignore").splitlines() if not line.startswith("#")]

    assert lines[0] == "*"
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(COPIED)


def test_every_package_in_it_has_the_version_that_was_tested() -> None:
    pinned = {_plain(line.partition("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    needed, todo = set[str](), [("dawr", "otel"), ("dawr", "archive")]
    while todo:
        name, extra = todo.pop()
        for requirement in metadata.requires(name) or []:
            wanted, _, marker = requirement.partition(";")
            package = _plain(DISTRIBUTION.findall(wanted)[0])
            if _is_meant(marker, extra) and package not in needed:
                needed.add(package)
                todo.append((package, ""))

    assert {"uvloop", "redis", "opentelemetry-sdk", "duckdb"} <= needed
    assert needed | {"hatchling"} <= pinned


def test_it_does_not_run_as_root_and_installs_nothing_in_its_last_stage() -> None:
    (user,) = [given for name, given in LAST_STAGE if name == "USER"]
    ran = " ".join(given for name, given in LAST_STAGE if name == "RUN")

    assert int(user) > 0
    assert f"--uid {user} " in ran
    assert not re.search(r"\b(apt|apt-get|pip|gcc|curl)\b", ran)
    assert [name for name, _ in LAST_STAGE].index("USER") > [name for name, _ in LAST_STAGE].index("RUN")


def test_every_image_it_is_made_from_has_a_version() -> None:
    for name, given in STEPS:
        if name == "FROM":
            assert re.match(r"[a-z/]+:\d", given), given


def test_it_starts_a_command_of_ours_with_settings_of_ours() -> None:
    given = dict(LAST_STAGE)
    settings = from_environment(variables_of(given["ENV"].replace(" ", "\n")))

    started = dawr(*json.loads(given["ENTRYPOINT"])[1:], *json.loads(given["CMD"]), "--help")

    assert json.loads(given["ENTRYPOINT"]) == ["dawr"]
    assert started.exit_code == 0
    assert (settings.data, settings.host) == (given["VOLUME"], "0.0.0.0")
    assert int(given["EXPOSE"]) == Settings().port


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _is_meant(marker: str, extra: str) -> bool:
    """Of Linux, of this Python, and of the extra that is asked for."""
    asked = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
    elsewhere = re.search(r"python_(full_)?version < |== ['\"](win32|PyPy)|platform_system == ['\"]Windows", marker)
    return (asked is None or asked[1] == extra) and elsewhere is None

"""The wheel in an empty environment of each Python at hand, used by pip alone."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from xtdrone_core import registry, resources

pytestmark = pytest.mark.long
ROOT = resources.root()
WALK = Path(__file__).parents[1] / "support" / "command_walk.py"
PYTHONS = ("python3.10", "python3.11", "python3.12", "python3.13")
# What a wheel is made of.
SOURCES = ("src", "models", "worlds", "launch", "docs/missions")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
TIME_OUT_S = 3600


def call(*words, folder, **variables):
    """Runs a program in a folder, without what a workspace sets; asserts that it succeeds."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XTDRONE_", "ROS", "PYTHONPATH"))
    }
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**kept, "MPLBACKEND": "Agg", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_OUT_S,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}"
    return done.stdout


def interpreter(name):
    """The Python of this name, from the path or from pyenv; the test is skipped without one."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for found in [shutil.which(name), *sorted(versions.glob(f"*/bin/{name}"))]:
        # pyenv puts names on the path that only end with a line on the versions that there are.
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    pytest.skip(f"{name} is not on this machine")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The project's wheel, built from a copy of what the source archive has."""
    copy = tmp_path_factory.mktemp("project")
    for name in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    words = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", copy / "dist", copy)
    call(sys.executable, "-m", "pip", *words, folder=copy)
    (found,) = (copy / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module", params=PYTHONS)
def environment(request, wheel, tmp_path_factory):
    """The folder of programs of an environment into which pip installed the wheel and no extra."""
    python = interpreter(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    call(python, "-m", "venv", folder, folder=folder)
    try:
        call(folder / "bin" / "pip", "install", wheel, folder=folder)
    except AssertionError as error:
        if "connection" not in str(error) and "No matching distribution" not in str(error):
            raise
        pytest.skip(f"pip gets no packages here: {str(error).splitlines()[-1]}")
    return folder / "bin"


def test_files_of_the_wheel(wheel):
    """Data of every kind is in, the messages that only the workspace builds are not."""
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("models/iris/model.sdf", "worlds/empty.world", "docs/missions/square.plan"):
        assert any(name.endswith(f"share/xtdrone/{part}") for name in names), part
    assert "xtdrone_web/static/index.html" in names
    assert not [name for name in names if name.startswith(("vision_msgs/", "tests/"))]


def test_commands_of_pip_alone(environment, tmp_path):
    """Help of every subcommand, lists, version and doctor end with status 0 and write nothing."""
    lists = [["list", kind] for kind in registry.entries("xtdrone.lists")]
    lines = [["--version"], ["--help"], ["list"], ["list", "--json"], ["doctor"], *lists]
    printed = call(environment / "python", WALK, "[]", json.dumps(lines), folder=tmp_path)
    found = {" ".join(words): rest for words, *rest in json.loads(printed.splitlines()[-1])}
    failed = {name: rest for name, rest in found.items() if rest[0]}
    assert failed == {}
    assert {f"{name} --help" for name in registry.entries("xtdrone.commands")} <= set(found)
    assert list(tmp_path.iterdir()) == []


def test_first_hour_of_pip_alone(environment, tmp_path):
    """Flights, plots, reports and the first program of the manual, from an empty folder."""
    xtdrone = environment / "xtdrone"
    assert "usage: xtdrone" in call(xtdrone, "--help", folder=tmp_path)
    for line in (
        "fly square",
        "plot latest",
        "fly formation --n 9",
        "formation report latest",
        "formation simulate --name simple",
        "vehicle show iris",
        "mission check square",
        "fly mission --mission square --vehicle typhoon_h480",
    ):
        call(xtdrone, *line.split(), folder=tmp_path)
    runs = tmp_path / "runs"
    assert (runs / "latest" / "plots").is_dir() and (runs / "latest" / "summary.json").is_file()
    program = first_program()
    assert "xd.Simulation" in program
    call(environment / "python", "-c", program, folder=tmp_path)


def first_program():
    """The Python block of the tutorial on the first flight."""
    page = (ROOT / "docs" / "tutorials" / "first_flight.md").read_text()
    return page.partition("```python\n")[2].partition("```")[0]

"""Names of engines, autopilots, agents and parts: ours, and those of other packages."""

import json
import os
import subprocess
import sys

import pytest

from xtdrone_autopilot.options import PARTS
from xtdrone_core import Scenario, ScenarioError, command, registry
from xtdrone_core.errors import unknown_name
from xtdrone_core.scenario.vehicles import fleet

METADATA = "Metadata-Version: 2.1\nName: somebodys\nVersion: 1\n"
ENTRY_POINTS = """[xtdrone.engines]
ideal = somebodys:IdealEngine
[xtdrone.lists]
pets = somebodys:pets
[xtdrone.slam_systems]
theirs = somebodys
"""
MODULE = '''
from xtdrone_core.contracts import Engine


class IdealEngine(Engine):
    """Moves nothing."""


def pets():
    return {"cat": "sleeps"}
'''
USE = """
import json
from xtdrone_autopilot.options import PARTS
from xtdrone_core import Scenario, registry
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_slam.benchmark import adapters
Scenario(fleet("iris", 1), engine="ideal")
print(json.dumps([registry.ENGINES.names(), registry.ENGINES.load("ideal").__name__,
                  registry.ENGINES.descriptions()["ideal"], adapters.names()]))
"""


@pytest.fixture
def package(tmp_path):
    """Another package, installed beside ours; gives the folder for PYTHONPATH."""
    info = tmp_path / "somebodys-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "somebodys").mkdir()
    (tmp_path / "somebodys" / "__init__.py").write_text(MODULE)
    (tmp_path / "somebodys" / "adapter.yaml").write_text("command: [x]\ndescription: theirs\n")
    return tmp_path


def test_another_package_adds_an_engine_a_system_and_a_list(package, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(package), prepend=":")
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names, kind, text, systems = json.loads(done.stdout)
    assert names == ["embedded", "gazebo", "ideal"] and kind == "IdealEngine"
    assert text == "Moves nothing." and "theirs" in systems and "klt" in systems
    done = subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", "list", "pets"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "cat  sleeps\n"


@pytest.mark.parametrize(
    "group", [registry.ENGINES, registry.AUTOPILOTS, registry.AGENTS, *PARTS.values()]
)
def test_every_name_loads_and_has_a_line(group):
    for name, text in group.descriptions().items():
        assert isinstance(group.load(name), type) and text.endswith("."), name


@pytest.mark.parametrize(
    "name, said",
    [
        ("bullet", "unknown engine 'bullet': choose one of embedded, gazebo, or name a class"),
        ("embeded", "did you mean 'embedded'"),
    ],
)
def test_an_unknown_name_is_refused(name, said):
    with pytest.raises(ScenarioError, match=said):
        Scenario(fleet("iris", 1), engine=name)


@pytest.mark.parametrize(
    "given, meant", [("flight", "fly"), ("formations", "formation"), ("lsit", "list"), ("zzz", "")]
)
def test_a_name_that_begins_alike_is_meant_first(given, meant):
    said = unknown_name("command", given, ["doctor", "fly", "formation", "list", "log"])
    assert said.endswith(f"; did you mean '{meant}'?" if meant else "log")


@pytest.mark.parametrize(
    "group",
    [registry.ENGINES, registry.AUTOPILOTS, registry.AGENTS, registry.ACTUATORS, *PARTS.values()],
)
@pytest.mark.parametrize(
    "name, said",
    [
        ("os:system", "is not a class"),
        ("json:JSONDecoder", "JSONDecoder' (has no|does not inherit)"),
        ("xtdrone_core.contracts:Engine", "is not a class that can be made"),
        ("os:", "unknown"),
        (":", "unknown"),
        ("a b:c", "unknown"),
        ("..x:y", "unknown"),
        ("json:no.such", "cannot load"),
        ("x" * 300 + ":y", "cannot load"),
    ],
)
def test_what_is_no_such_part_is_refused_and_never_called(group, name, said):
    with pytest.raises(ScenarioError, match=said):
        group.load(name)


@pytest.mark.parametrize("code", ["1 / 0", "raise SystemExit(3)", "def"])
def test_a_module_that_cannot_be_imported_is_one_line(tmp_path, monkeypatch, code):
    (tmp_path / "broken_part.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ScenarioError, match="cannot load agent 'broken_part:Agent': "):
        registry.AGENTS.load("broken_part:Agent")


def test_a_class_that_is_not_there_is_named():
    with pytest.raises(ScenarioError, match="cannot load engine 'nowhere:Engine': No module"):
        registry.ENGINES.load("nowhere:Engine")


@pytest.mark.parametrize(
    "kind, name",
    [
        ("engines", "embedded"),
        ("autopilots", "px4"),
        ("agents", "square"),
        ("parts", "mixer embedded"),
        ("schemes", "consensus"),
        ("systems", "klt"),
        ("presets", "m8n"),
        ("worlds", "outdoor"),
        ("vehicles", "typhoon_h480"),
        ("options", "disturbances"),
    ],
)
def test_list_has_a_line_for_each_name(kind, name, capsys):
    assert command.main(["list", kind, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert name in found and all(found.values())


def test_an_unknown_list_is_refused(capsys):
    assert command.main(["list", "agnets"]) == 1
    assert "did you mean 'agents'" in capsys.readouterr().err


OWN = "from xtdrone_core.agent import BaseAgent\n\n\nclass Mine(BaseAgent):\n    number = {}\n"


def test_a_class_is_named_by_its_file(tmp_path, monkeypatch):
    file = tmp_path / "folder with spaces" / "mine.py"
    file.parent.mkdir()
    file.write_text(OWN.format(1))
    first = registry.AGENTS.load(f"{file}:Mine")
    assert first.number == 1 and registry.AGENTS.load(f"{file}:Mine") is first
    monkeypatch.chdir(file.parent)
    assert registry.AGENTS.load("mine.py:Mine") is first
    assert registry.load_own("class", "mine.py:Mine") is first
    file.write_text(OWN.format(2))
    os.utime(file, ns=(1, 1))
    assert registry.AGENTS.load("mine.py:Mine").number == 2


@pytest.mark.parametrize(
    "code, name, said",
    [
        (None, "nowhere.py:Mine", "cannot load agent 'nowhere.py:Mine': there is no Python file"),
        ("1 / 0", "bad.py:Mine", "cannot load agent 'bad.py:Mine': ZeroDivisionError"),
        ("raise SystemExit(3)", "bad.py:Mine", "cannot load agent 'bad.py:Mine': SystemExit 3"),
        ("x = 1", "bad.py:Mine", "cannot load agent 'bad.py:Mine': the file defines no 'Mine'"),
        ("x = 1", "bad.py:x", "agent 'bad.py:x' is not a class"),
        ("x = 1", "bad.py:no.such", "cannot load agent 'bad.py:no.such'"),
    ],
)
def test_a_file_without_such_a_class_is_one_line(tmp_path, monkeypatch, code, name, said):
    monkeypatch.chdir(tmp_path)
    if code is not None:
        (tmp_path / "bad.py").write_text(code)
    with pytest.raises(ScenarioError, match=said) as raised:
        registry.AGENTS.load(name)
    assert "\n" not in str(raised.value)

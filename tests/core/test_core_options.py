"""An option is declared once; command line, launch files, schema and docs follow from it."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from xtdrone_core import Scenario, ScenarioError, launch_arguments, listing, scenario_options
from xtdrone_core.command import build_parser
from xtdrone_core.options import number, options_of
from xtdrone_core.scenario import FLEET, fleet

ROOT = Path(__file__).parents[2]
LAUNCH = ROOT / "launch"
NAMES = {"scenario", *FLEET, *options_of(Scenario)}


def test_what_is_written_from_the_options_is_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "make_tables.py", "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_field_of_a_scenario_is_an_option():
    names = {f.name for f in dataclasses.fields(Scenario)}
    assert names - {"vehicles"} == set(options_of(Scenario))
    for name, (_, option, default) in scenario_options.declared().items():
        assert option.help and default, f"{name} has no help, or nothing says what holds without it"


@pytest.mark.parametrize("command", [["sim"], ["fly"], ["mission", "fly"]])
def test_every_command_line_has_every_option(command, capsys):
    with pytest.raises(SystemExit):
        build_parser(command).parse_args([*command, "--help"])
    text = capsys.readouterr().out
    assert not [name for name in NAMES if f"--{name} " not in text]


def test_simulation_launch_hands_every_option_to_the_simulation():
    tree = ElementTree.parse(LAUNCH / "simulation.launch").getroot()
    given = next(arg.get("value") for arg in tree.iter("arg")
                 if arg.get("name") == "scenario_options")
    assert {word.removeprefix("--") for word in given.split() if word.startswith("--")} == NAMES
    assert NAMES <= launch_arguments.settable(LAUNCH / "simulation.launch")


@pytest.mark.parametrize("file", ["single_vehicle", "multi_vehicle", "formation", "square",
                                  "mission", "keyboard", "slam_flight"])
def test_every_launch_file_that_simulates_takes_every_option(file):
    assert NAMES <= launch_arguments.settable(LAUNCH / f"{file}.launch")


def test_the_schema_has_every_key_of_a_scenario_and_no_other():
    properties = listing.schema()["properties"]
    assert set(properties) == NAMES - {"scenario"}
    data = Scenario(fleet("iris", 2)).to_dict()
    assert set(data) <= set(properties)
    kinds = {"string": str, "integer": int, "number": float, "boolean": bool}
    for name, value in data.items():
        kind = properties[name].get("type")
        assert not isinstance(kind, str) or isinstance(value, kinds[kind]), name


@pytest.mark.parametrize("name", sorted(options_of(Scenario)))
def test_an_option_means_the_same_as_text_and_as_value(name):
    """What a command line gives as a text is what Python gives."""
    value = getattr(Scenario(fleet("iris", 1)), name)
    text = Scenario(fleet("iris", 1), **{name: str(value).lower() if name != "params" else value})
    assert getattr(text, name) == value and type(getattr(text, name)) is type(value)


@pytest.mark.parametrize("value, whole, said", [
    ("x", False, "a number from 1 to 5 m"), ("inf", False, "a number"), (0.9, False, "a number"),
    ("1.5", True, "a whole number from 1 to 5 m"), (True, True, "a whole number"),
    ([], False, "a number"), (None, False, "a number"), (5.1, False, "a number"),
])
def test_a_wrong_number_is_one_line(value, whole, said):
    with pytest.raises(ScenarioError) as caught:
        number("size", value, 1, 5, whole, "m")
    assert str(caught.value).startswith(f"size {value} is not allowed: give {said}")


@pytest.mark.parametrize("words, said", [
    (["roslaunch", "square.launch", "spede:=2"], "did you mean 'speed'"),
    (["roslaunch", "formation.launch", "n:=3", "log:=none", "formatoins:=cube"],
     "unknown argument of formation.launch 'formatoins'"),
    (["roslaunch", "simple_formation.launch", "origin:=own"], "unknown argument"),
    (["roslaunch", "-p", "1", "square.launch", "scenario_options:=x"], "unknown argument"),
])
def test_an_unknown_launch_argument_is_refused(words, said):
    with pytest.raises(ScenarioError, match=said):
        launch_arguments.check_arguments(words, LAUNCH)


@pytest.mark.parametrize("words", [
    ["roslaunch", "formation.launch", "log:=none", "origin:=own", "px4_loss:=continue", "n:=3",
     "formations:=cube", "instance:=1", "__log:=x"],
    ["roslaunch", "somebodys.launch", "own:=1"], ["roslaunch", "package", "name", "own:=1"],
])
def test_known_launch_arguments_and_other_files_are_left_alone(words):
    launch_arguments.check_arguments(words, LAUNCH)

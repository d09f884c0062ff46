"""An option is declared once; command line, launch files, schema and docs follow from it."""

import argparse
import dataclasses
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from xtdrone_core import (
    Scenario,
    ScenarioError,
    command as command_line,
    listing,
    registry,
    resources,
)
from xtdrone_core.command import build_parser
from xtdrone_core.scenario import launch_arguments, scenario_options
from xtdrone_core.scenario.options import number, options_of, pair
from xtdrone_core.scenario.vehicles import FLEET, fleet

ROOT = Path(__file__).parents[2]
LAUNCH = ROOT / "launch"
WITHOUT_SCENARIO = {
    "simple_formation.launch",
    "slam_benchmark.launch",
    "px4_gazebo_classic.launch",
    "px4_gazebo_classic_vehicle.launch",
    "orbslam2.launch",
    "vins_fusion.launch",
}
NAMES = {"scenario", *FLEET, *Scenario.options()}


def test_what_is_written_from_the_options_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_tables.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_field_of_a_scenario_is_an_option():
    names = {f.name for f in dataclasses.fields(Scenario)}
    assert names - {"vehicles", "declared"} == set(options_of(Scenario))
    assert names - {"vehicles", "declared"} < set(Scenario.options())
    for name, (_, option, default) in scenario_options.declared().items():
        assert option.help and default, f"{name} has no help, or nothing says what holds without it"


@pytest.mark.parametrize("name", registry.entries(command_line.GROUP))
def test_words_of_an_option_are_joined_by_underscores(name):
    def names(parser):
        for action in parser._actions:
            yield from action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for inner in action.choices.values():
                    yield from names(inner)

    assert not [name for name in names(build_parser([name])) if "-" in name.lstrip("-")]


@pytest.mark.parametrize("command", [["sim"], ["fly"], ["mission", "check"]])
def test_every_command_line_has_every_option(command, capsys):
    with pytest.raises(SystemExit):
        build_parser(command).parse_args([*command, "--help"])
    text = capsys.readouterr().out
    assert not [name for name in NAMES if f"--{name} " not in text]


def test_simulation_launch_hands_every_option_to_the_simulation():
    tree = ElementTree.parse(LAUNCH / "simulation.launch").getroot()
    given = next(
        arg.get("value") for arg in tree.iter("arg") if arg.get("name") == "scenario_options"
    )
    assert {word.removeprefix("--") for word in given.split() if word.startswith("--")} == NAMES
    assert NAMES <= launch_arguments.settable(LAUNCH / "simulation.launch")


@pytest.mark.parametrize(
    "file",
    [
        "single_vehicle",
        "multi_vehicle",
        "formation",
        "square",
        "mission",
        "mixed",
        "keyboard",
        "slam_flight",
    ],
)
def test_every_launch_file_that_simulates_takes_every_option(file):
    assert NAMES <= launch_arguments.settable(LAUNCH / f"{file}.launch")


@pytest.mark.parametrize(
    "text, words, expected",
    [
        ("{}", [], dict(speed=0.0, name="square", n=9)),
        ("speed: 2", [], dict(speed=2.0, name="square", n=9)),
        ("{speed: 0, name: hop, n: 2}", [], dict(speed=0.0, name="hop", n=2)),
        ("{vehicle: typhoon_h480}", [], dict(n=1, type="typhoon_h480")),
        (
            "{vehicles: 'iris*3', seed: 5}",
            ["--seed", "6", "--name", "own"],
            dict(n=3, seed=6, name="own"),
        ),
        ("{speed: 3, n: 4}", ["--speed", "1", "--n", "2"], dict(speed=1.0, n=2)),
        (
            "{name: hop}",
            ["--name", "", "--n", ""],
            dict(name="hop", n=9),
        ),  # as launch files pass them
        (None, ["--vehicle", "typhoon_h480"], dict(n=9, type="typhoon_h480", speed=0.0)),
    ],
)
def test_a_scenario_flies_as_it_is_written(tmp_path, text, words, expected):
    """The command line comes before the file, and that before the defaults of an Agent."""
    if text is not None:
        (tmp_path / "s.yaml").write_text(text)
        words = [*words, "--scenario", str(tmp_path / "s.yaml")]
    args = build_parser(["sim"]).parse_args(["sim", *words])
    scenario = scenario_options.scenario_of(args, speed=0.0, name="square", n=9)
    found = {**scenario.to_dict(), "n": scenario.n, "type": scenario.vehicles[0].type}
    assert {name: found[name] for name in expected} == expected


def test_defaults_of_launch_files_leave_a_scenario_as_it_is_written(tmp_path):
    (tmp_path / "s.yaml").write_text("{vehicles: 'iris*2', world: outdoor, name: mine, gps: m8n}")
    flown = Scenario.load(tmp_path / "s.yaml")
    for file in sorted(LAUNCH.glob("*.launch")):
        tree = ElementTree.parse(file).getroot()
        if file.name in WITHOUT_SCENARIO:
            continue
        own = {
            arg.get("name"): arg.get("default")
            for arg in tree.findall("arg")
            if arg.get("name") in NAMES - {"instance"}
        }
        assert not any(own.values()), f"{file.name} sets {own} even where a scenario says otherwise"
        for arg in tree.findall("arg"):
            if arg.get("name") == "defaults":
                words = shlex.split(arg.get("default").replace("$(dirname)", str(LAUNCH)))
                args = build_parser(["sim"]).parse_args(["sim", *words])
                given = dict(pair("default", word) for word in args.default)
                assert given and set(given) <= NAMES
                loaded = given.pop("mission", "")
                assert Scenario.load(tmp_path / "s.yaml", given) == flown
                for entry in filter(None, loaded.split(",")):
                    assert resources.mission_plan(entry.partition("*")[0].strip()).is_file()


def test_the_schema_has_every_key_of_a_scenario_and_no_other():
    properties = listing.schema()["properties"]
    assert set(properties) == NAMES - {"scenario"}
    data = Scenario(fleet("iris", 2)).to_dict()
    assert set(data) <= set(properties)
    kinds = {"string": str, "integer": int, "number": float, "boolean": bool}
    for name, value in data.items():
        kind = properties[name].get("type")
        assert not isinstance(kind, str) or isinstance(value, kinds[kind]), name


@pytest.mark.parametrize("name", sorted(Scenario.options()))
def test_an_option_means_the_same_as_text_and_as_value(name):
    """What a command line gives as a text is what Python gives."""
    value = getattr(Scenario(fleet("iris", 1)), name)
    text = Scenario(fleet("iris", 1), **{name: str(value).lower() if name != "params" else value})
    assert getattr(text, name) == value and type(getattr(text, name)) is type(value)


@pytest.mark.parametrize(
    "value, whole, said",
    [
        ("x", False, "a number from 1 to 5 m"),
        ("inf", False, "a number"),
        (0.9, False, "a number"),
        ("1.5", True, "a whole number from 1 to 5 m"),
        (True, True, "a whole number"),
        ([], False, "a number"),
        (None, False, "a number"),
        (5.1, False, "a number"),
    ],
)
def test_a_wrong_number_is_one_line(value, whole, said):
    with pytest.raises(ScenarioError) as caught:
        number("size", value, 1, 5, whole, "m")
    assert str(caught.value).startswith(f"size {value} is not allowed: give {said}")


@pytest.mark.parametrize(
    "words, said",
    [
        (["roslaunch", "square.launch", "spede:=2"], "did you mean 'speed'"),
        (
            ["roslaunch", "formation.launch", "n:=3", "log:=none", "formatoins:=cube"],
            "unknown argument of formation.launch 'formatoins'",
        ),
        (["roslaunch", "simple_formation.launch", "origin:=own"], "unknown argument"),
        (["roslaunch", "-p", "1", "square.launch", "scenario_options:=x"], "unknown argument"),
    ],
)
def test_an_unknown_launch_argument_is_refused(words, said):
    with pytest.raises(ScenarioError, match=said):
        launch_arguments.check_arguments(words, LAUNCH)


@pytest.mark.parametrize(
    "words",
    [
        [
            "roslaunch",
            "formation.launch",
            "log:=none",
            "origin:=own",
            "px4_loss:=continue",
            "n:=3",
            "formations:=cube",
            "instance:=1",
            "__log:=x",
        ],
        ["roslaunch", "somebodys.launch", "own:=1"],
        ["roslaunch", "package", "name", "own:=1"],
    ],
)
def test_known_launch_arguments_and_other_files_are_left_alone(words):
    launch_arguments.check_arguments(words, LAUNCH)

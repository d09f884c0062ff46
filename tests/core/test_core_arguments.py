"""Options of Agents and schemes: declared on the class; listed, checked, completed from there."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from xtdrone_core import ScenarioError, registry
from xtdrone_core.agent import BaseAgent
from xtdrone_core.command import build_parser, main
from xtdrone_core.scenario import arguments, scenario_options
from xtdrone_core.scenario.arguments import Configured
from xtdrone_core.scenario.options import Option, option


@dataclass(frozen=True)
class Radio:
    delay: float = option(0.0, "of packets", unit="s", minimum=0.0, maximum=60.0)
    reach: float = option(math.inf, "of the radio", unit="m", minimum=0.0)
    secret: int = 7  # no option


class Base(BaseAgent):
    def __init__(
        self,
        n,
        colour: Annotated[str, Option("of the light", choices=("red", "green"))] = "red",
        height: float = 2.0,
        on_event=None,
    ):
        pass


class Orbit(Base, Configured):
    FIXED = ("height",)

    def __init__(
        self,
        n: int = 1,
        radius: Annotated[float, Option("of the orbit", unit="m", minimum=0.5, maximum=50.0)] = 3.0,
        laps: Annotated[int, Option("to fly", minimum=1)] = 1,
        names: Annotated[Sequence[str], Option("in order")] = ("a", "b"),
        times: tuple[float, ...] = (),
        lit: bool = False,
        wait: float | None = None,
        path: Any = None,
        plain=4,
        on_event=None,
        **more: Annotated[Any, Radio],
    ):
        pass


class Needs(BaseAgent):
    def __init__(self, n, place: Annotated[Any, Option("to go to", unit="m")]):
        pass


def read(*words, cls=Orbit):
    return arguments.read("agent 'orbit'", cls, words)


def test_options_are_those_of_the_class_its_bases_and_parts():
    found = arguments.arguments_of(Orbit)
    assert list(found) == [
        "radius",
        "laps",
        "names",
        "times",
        "lit",
        "wait",
        "path",
        "plain",
        "delay",
        "reach",
        "colour",
    ]
    assert found["radius"].row() == {
        "type": "number",
        "default": "3",
        "unit": "m",
        "meaning": "of the orbit, 0.5 to 50 [m]",
    }
    assert found["laps"].meaning() == "to fly, from 1" and found["laps"].type() == "whole number"
    assert found["names"].type() == "list of texts" and found["names"].usual() == "a,b"
    assert found["wait"].type() == "number, or none" and found["wait"].usual() == "none"
    assert found["colour"].type() == "red, green" and found["reach"].usual() == "inf"
    assert found["plain"].type() == "whole number" and found["plain"].meaning() == ""


@pytest.mark.parametrize(
    "word, value",
    [
        ("radius=4", 4.0),
        ("laps=2", 2),
        ("names=c,d", ("c", "d")),
        ("names=[c]", ("c",)),
        ("names=c", ("c",)),
        ("times=1,2.5", (1.0, 2.5)),
        ("times=[1, 2]", (1.0, 2.0)),
        ("times=", ()),
        ("lit=true", True),
        ("wait=none", None),
        ("wait=3", 3.0),
        ("path=[[1, 2, 3]]", [[1, 2, 3]]),
        ("colour=green", "green"),
        ("reach=inf", math.inf),
        ("delay=0.2", 0.2),
        ("plain=5", 5),
    ],
)
def test_a_value_is_read_in_its_type(word, value):
    found = read(word)
    assert found == {word.split("=")[0]: value}
    assert type(found[word.split("=")[0]]) is type(value)


@pytest.mark.parametrize(
    "words, said",
    [
        (["radus=3"], "agent 'orbit': unknown option 'radus': choose one of colour, delay, "),
        (["radus=3"], "did you mean 'radius'?"),
        (["height=3"], "unknown option 'height'"),
        (["n=3"], "unknown option 'n'"),
        (["secret=1"], "unknown option 'secret'"),
        (
            ["radius=wide"],
            "--set of agent 'orbit': radius wide is not allowed: give a number from 0.5 to 50 m",
        ),
        (["radius=0.1"], "radius 0.1 is not allowed"),
        (["radius=inf"], "radius inf is not allowed"),
        (["laps=1.5"], "laps 1.5 is not allowed: give a whole number"),
        (["colour=blue"], "unknown colour 'blue': choose one of green, red"),
        (["lit=2"], "lit '2' is not allowed: give true or false"),
        (["times=[a]"], "times: an entry a is not allowed"),
        (["path=[["], "the value of path"),
        (["radius"], "cannot read --set 'radius': write NAME=VALUE"),
    ],
)
def test_a_slip_is_one_line(words, said):
    with pytest.raises(ScenarioError) as error:
        read(*words)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_what_must_be_given_is_named():
    with pytest.raises(ScenarioError, match=r"needs --set place=VALUE: to go to \[m\]"):
        read(cls=Needs)
    assert read("place=[1, 2]", cls=Needs) == {"place": [1, 2]}


def test_what_must_be_given_is_named_by_its_type_where_nothing_else_is_said():
    class Plain:
        def __init__(self, height: float):
            self.height = height

    with pytest.raises(ScenarioError, match=r"needs --set height=VALUE: a number$"):
        read(cls=Plain)


@pytest.mark.parametrize(
    "prefix, words, offered",
    [
        ("ra", [], ["radius="]),
        ("col", ["radius=3"], ["colour="]),
        ("colour=", [], ["colour=red", "colour=green"]),
        ("lit=", [], ["lit=true", "lit=false"]),
        ("radius=", [], []),
        ("nothing=", [], []),
        ("ra", ["radius=2"], []),
    ],
)
def test_completion(prefix, words, offered):
    found = arguments.completions(Orbit, prefix, words)
    assert [word for word in found if word.startswith(prefix)] == offered


def test_every_registered_agent_and_scheme_declares_its_options(capsys):
    for kind, group in (("agents", registry.AGENTS.names()), ("schemes", None)):
        assert main(["list", kind, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert group is None or set(rows) == set(group)
        for name, row in rows.items():
            assert row["description"] and row["options"], name
            for option_name, option_row in row["options"].items():
                assert option_row["type"] and option_row["default"], (name, option_name)
                assert option_row["meaning"], f"{name}: {option_name} has no meaning"


def test_they_are_listed_where_they_are_asked_for(capsys):
    assert main(["list", "agents"]) == 0
    listed = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["fly", "square", "--help"])
    for text in (listed, capsys.readouterr().out):
        assert "length of a side, 0.1 to 1000 [m]" in " ".join(text.split())
    with pytest.raises(SystemExit):
        main(["fly", "formation", "--set", "scheme=consensus", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "fraction of the packets that is lost, 0 to 1" in text and "of the slot error" in text


def test_what_an_option_takes_by_name_is_listed(capsys, tmp_path, monkeypatch):
    """Names of options of a scenario, of Agents and of schemes are in one of the lists."""
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    assert main(["list", "--json"]) == 0
    lists = json.loads(capsys.readouterr().out)
    listed = {name for names in lists.values() for name in names}
    listed |= {name.split()[-1] for name in lists["parts"]}
    declared = [option for _, option, _ in scenario_options.declared().values()]
    declared += [
        argument.option
        for name in registry.AGENTS.names()
        for argument in arguments.arguments_of(registry.AGENTS.load(name)).values()
    ]
    taken = {name for option in declared if option.names for name in option.names()}
    assert {"iris", "indoor", "consensus", "cube", "square", "rtk", "embedded"} <= taken
    assert taken <= listed


@pytest.mark.parametrize(
    "line",
    [
        ["fly", "formation", "--scheme", "consensus"],
        ["fly", "formation", "--scheme=consensus"],
        ["fly", "formation", "--set", "scheme=consensus"],
        ["formation", "simulate", "--set", "scheme=consensus"],
        ["formation", "simulate", "--set=scheme=consensus"],
        ["formation", "simulate", "--scheme", "consensus"],
    ],
)
def test_an_option_of_an_agent_is_taken_in_both_forms(line):
    args = build_parser(line).parse_args(line)
    assert "scheme=consensus" in args.set if line[0] == "fly" else args.scheme == "consensus"


@pytest.mark.parametrize(
    "line",
    [
        ["fly", "formation", "--shceme", "consensus"],
        ["fly", "formation", "--scheme"],
        ["formation", "simulate", "--set", "shceme=consensus"],
        ["formation", "simulate", "--set"],
    ],
)
def test_what_is_no_option_in_any_form_is_refused(capsys, line):
    with pytest.raises(SystemExit) as end:
        main(line)
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert "does not take" in err and err.count("\n") == 1

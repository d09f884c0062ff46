"""A plan as a launch file, and back."""

import math
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from xtdrone_core import Scenario, XtdroneError, files
from xtdrone_core.scenario.vehicles import VehicleSpec, parse_vehicles

from ..errors import WebError
from .form import Plan, read, written

_SIMULATION = "$(find xtdrone_sim)/../../launch/simulation.launch"


def text(plan: Plan, name: str) -> str:
    """Returns the launch file of a name: the form's values are defaults, which roslaunch's change.

    Raises:
        WebError: A launch file cannot have it.
    """
    if plan.settings:
        raise WebError(
            "a launch file cannot set options of an agent: leave "
            f"{', '.join(plan.settings)} at the default, or use the YAML"
        )
    options = {"vehicles": vehicle_list(plan.scenario), **written(plan)["options"]}
    words = []
    for option, value in options.items():
        word = f"{option}={str(value).lower() if isinstance(value, bool) else value}"
        if "$(" in word or "\n" in word:
            raise WebError(
                f"{option} cannot be written in a launch file: it has '$(' or a line break"
            )
        words.append(f"--default {shlex.quote(word)}")
    defaults = "\n                ".join(words)
    lines = [
        "<launch>",
        f"  <!-- Saved by xtdrone web:  roslaunch {escape(name)}.launch",
        "       All arguments of simulation.launch may be given. -->",
        f'  <arg name="defaults"\n       default={_quoted(defaults)}/>',
    ]
    if plan.agent:
        lines += [
            f'  <arg name="agent" default={quoteattr(plan.agent)}/>',
            '  <arg name="instance" default="$(optenv XTDRONE_INSTANCE 0)"/>',
        ]
    lines += [f'  <include file="{_SIMULATION}" pass_all_args="true"/>']
    if plan.agent:
        lines += [
            '  <node name="agent" pkg="xtdrone_formation" type="agent" output="screen" '
            'required="true"',
            "        args=\"'$(arg agent)' --instance $(arg instance)\"/>",
        ]
    return "\n".join([*lines, "</launch>", ""])


def _quoted(words: str) -> str:
    """Returns an attribute that keeps its line breaks for the reader; XML makes blanks of them."""
    return '"' + escape(words, {'"': "&quot;"}) + '"'


def vehicle_list(scenario: Scenario) -> str:
    """Returns the vehicles as the option `vehicles` has them, poses included.

    Raises:
        WebError: A vehicle has a path that such a list does not give.
    """
    entries = []
    for i, vehicle in enumerate(scenario.vehicles):
        if re.search(r"[;@*,]", vehicle.type):
            raise WebError(
                f"the path of '{vehicle.name}' has one of ; @ * , in it: rename it, or use the YAML"
            )
        pose = ",".join(
            f"{value:.6g}" for value in (*vehicle.pos, *([vehicle.yaw] if vehicle.yaw else []))
        )
        counted = vehicle.name == f"{vehicle.type}_{i}"
        kind = vehicle.type if counted else f"{vehicle.name}={vehicle.type}"
        entries.append(f"{kind}@{pose}")
    text = "; ".join(entries)
    if not _same(parse_vehicles(text), scenario.vehicles):
        raise WebError("these vehicles cannot be written in a launch file: use the YAML")
    return text


def _same(a: Sequence[VehicleSpec], b: Sequence[VehicleSpec]) -> bool:
    return all(
        (x.name, x.type, x.autopilot) == (y.name, y.type, y.autopilot)
        and all(
            math.isclose(p, q, rel_tol=1e-4, abs_tol=1e-4)
            for p, q in zip((*x.pos, x.yaw), (*y.pos, y.yaw))
        )
        for x, y in zip(a, b, strict=True)
    )


def load(path: Path) -> Plan:
    """Returns the plan of a launch file that text() wrote.

    Raises:
        XtdroneError: It is another file.
    """
    tree = files.read_xml(path)
    arguments = {arg.get("name", ""): arg.get("default", "") for arg in tree.iterfind("arg")}
    try:
        words = shlex.split(arguments["defaults"])
        options = dict(word.split("=", 1) for word in words[1::2])
        if any(word != "--default" for word in words[::2]):
            raise ValueError
        vehicles = options.pop("vehicles")
    except (KeyError, ValueError) as error:
        raise WebError(
            f"'{path.name}' is no launch file that this page has saved: give the YAML"
        ) from error
    try:
        specs = parse_vehicles(vehicles)
    except XtdroneError as error:
        raise WebError(f"'{path.name}': {error}") from error
    return read(
        {
            "vehicles": [
                {"type": spec.type, "name": spec.name, "pos": list(spec.pos), "yaw": spec.yaw}
                for spec in specs
            ],
            "options": options,
            "agent": arguments.get("agent", ""),
        }
    )

"""Generates documentation and launch arguments from tables in the sources.

python scripts/make_tables.py             docs/options.md, docs/scenario.schema.json and the
                                          arguments of launch/simulation.launch from the
                                          options of a scenario and of its autopilots and
                                          stations;
                                          docs/ros_topics.md from topics, inputs and services
                                          of xtdrone_mavros; docs/parameters.md and the
                                          tables of docs/mavlink.md from the flight stack;
                                          the layers in docs/architecture.md from the
                                          contracts of import-linter in pyproject.toml
python scripts/make_tables.py --check     lists the files that are out of date; then exits
                                          with status 1
"""

import argparse
import json
import re
import shlex
import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
from pathlib import Path
from textwrap import fill
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from xtdrone_autopilot.mavlink import tables
from xtdrone_autopilot.parameters.store import listed, table
from xtdrone_core import listing
from xtdrone_core.scenario import scenario_options
from xtdrone_mavros.inputs import SUBSCRIPTIONS
from xtdrone_mavros.services import SERVICES
from xtdrone_mavros.topics import TOPICS

ROOT = Path(__file__).resolve().parents[1]
LAUNCH = ROOT / "launch" / "simulation.launch"
MAVLINK = ROOT / "docs" / "mavlink.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PROJECT = ROOT / "pyproject.toml"
BEGIN = "  <!-- Options of a scenario: written by scripts/make_tables.py. -->\n"
END = "  <!-- End of the options. -->\n"
TABLE_BEGIN = "<!-- Table of {name}: written by scripts/make_tables.py. -->\n"
TABLE_END = "<!-- End of the table of {name}. -->\n"
FROM = ("scenario", "", "YAML file to begin with; the other arguments change it")
INTRODUCTION = """# Options

<!-- Written by scripts/make_tables.py; declared in src/xtdrone_core/scenario/scenario.py and
in the options.py of autopilots and stations. -->

An option of a scenario has one name everywhere: `--NAME VALUE` for `xtdrone sim`, `fly` and
`mission check`, `NAME:=VALUE` for launch files, `NAME: VALUE` in a scenario's YAML
(`--scenario FILE`, `scenario:=FILE`) and a field of `Scenario` in Python. What is left out or
empty has the default. A launch file refuses an argument that it does not have. `xtdrone list` lists
the names that exist, and `xtdrone schema` prints the schema of the YAML, which is also
[scenario.schema.json](scenario.schema.json).

## Of a scenario

| option | meaning | allowed | default |
|---|---|---|---|
"""
OWN = """
## Of launch/{name}

{words}

| argument | meaning | default |
|---|---|---|
"""
TOPICS_INTRODUCTION = """# Topics and services of a vehicle

<!-- Written by scripts/make_tables.py from the tables in src/xtdrone_mavros/. -->

Names are below `/V/mavros/`, where V is the vehicle's name, for example `iris_0`; names, types and
meanings are MAVROS 1's, for ROS 1 and ROS 2 alike. A topic is built only where there is a
subscriber. The tables of these ROS topics and services are `topics/`, `inputs/` and `services/` in
src/xtdrone_mavros/.

## Topics that the bridge publishes

Rates are of simulated time, with the embedded flight stack.

| topic | type | MAVLink message | rate |
|---|---|---|---|
"""
INPUTS_INTRODUCTION = """
## Topics that the bridge subscribes to

| topic | type |
|---|---|
"""
SERVICES_INTRODUCTION = """
## Services

| service | type |
|---|---|
"""
PARAMETERS_INTRODUCTION = """# Parameters

<!-- Written by scripts/make_tables.py from effects.csv and px4.csv. -->

The embedded flight stack has the parameters of PX4 v1.15.4: it lists the {listed} that PX4 uses
in a multirotor, with PX4's names, types, indices and hash (`_HASH_CHECK`), and knows {others} more
that PX4 has but does not list. Their values are those of an iris in PX4's simulation.

{used} of them do something here. The others are kept: they can be set, saved, loaded and read
back, and the first that is set is said to be without effect. As in PX4, a value beyond its range
is accepted; the limits below hold for what is used of it. A value that is no finite number is
refused, and one of another type is not answered. Where one limits another, as MPC_XY_VEL_MAX does
MPC_XY_CRUISE, the other is corrected and PX4's text says so.

`xtdrone params list` marks those with an effect with a star; `--effect` lists no others.

## With an effect

| parameter | default | unit | used within | what it does |
|---|---|---|---|---|
"""
HELD_INTRODUCTION = """
## Kept without effect

| group of PX4 | parameters |
|---|---|
"""
SHARED = "Beside the options of a scenario:"


def launch_arguments() -> str:
    """The <arg> lines of simulation.launch, and the command line built from them."""
    rows = [FROM] + [
        (name, option.launch, f"{scenario_options.meaning(option)} ({default})")
        for name, (_, option, default) in scenario_options.declared().items()
    ]
    lines = [
        f"  <arg name={quoteattr(name)} default={quoteattr(default)}\n"
        f"       doc={quoteattr(text)}/>\n"
        for name, default, text in rows
    ]
    words, line = [], ""
    for name, *_ in rows:
        word = f"--{name} '$(arg {name})'"
        if len(line) + len(word) > 80:
            words.append(line)
            line = ""
        line = f"{line} {word}".strip()
    joined = "\n              ".join([*words, line])
    return f'{"".join(lines)}  <arg name="scenario_options"\n       value="{joined}"/>\n'


def launch_file() -> str:
    """simulation.launch with the arguments of the current options."""
    return between(LAUNCH.read_text(), BEGIN, END, launch_arguments())


def mavlink_page() -> str:
    """docs/mavlink.md with the tables of what the flight stack declares."""
    text = MAVLINK.read_text()
    for name, table_of in tables.TABLES.items():
        text = between(
            text, TABLE_BEGIN.format(name=name), TABLE_END.format(name=name), f"\n{table_of()}\n\n"
        )
    return text


def architecture_page() -> str:
    """docs/architecture.md with a drawing of the layers that import-linter holds."""
    begin, end = TABLE_BEGIN.format(name="layers"), TABLE_END.format(name="layers")
    return between(ARCHITECTURE.read_text(), begin, end, f"\n```\n{layers()}```\n\n")


def layers() -> str:
    """The packages from the top down, each with its own layers in the same order."""
    with PROJECT.open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    inner = {
        container: contract["layers"]
        for contract in contracts
        for container in contract.get("containers", [])
    }
    packages = next(each["layers"] for each in contracts if "containers" not in each)
    text = ""
    for layer in packages:
        text += layer.replace(" | ", "   ") + "\n"
        for package in layer.split(" | "):
            if package in inner:
                inside = " > ".join(each.strip("()") for each in inner[package])
                text += fill(inside, 96, initial_indent="    ", subsequent_indent="    ") + "\n"
    return text


def between(text: str, begin: str, end: str, inside: str) -> str:
    """The text with what stands between two of its lines replaced.

    Raises:
        SystemExit: The lines are not in it, in this order.
    """
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{(begin if not found else end).strip()!r} is missing: put it back")
    return head + begin + inside + end + tail


def page() -> str:
    """Text of docs/options.md."""
    text = INTRODUCTION
    declared = scenario_options.declared()
    for name, (kind, option, default) in declared.items():
        meaning = option.help + (f" [{option.unit}]" if option.unit else "")
        text += row(name, meaning, allowed(kind, option), default)
    for path in sorted((ROOT / "launch").glob("*.launch")):
        source = launch_file() if path == LAUNCH else path.read_text()
        own = [
            arg
            for arg in ElementTree.fromstring(source).iter("arg")
            if arg.get("doc") and (path != LAUNCH or arg.get("name") not in ("scenario", *declared))
        ]
        includes = "pass_all_args" in source and path != LAUNCH
        defaults = usual(source) if includes else {}
        if own or defaults:
            words = (
                SHARED
                if path == LAUNCH
                else (
                    "Beside all arguments of the file that it includes, with its own defaults:"
                    if includes
                    else "It takes:"
                )
            )
            text += OWN.format(name=path.name, words=words)
            text += "".join(
                row(name, declared[name][1].help, value) for name, value in defaults.items()
            )
            text += "".join(
                row(arg.get("name"), arg.get("doc"), arg.get("default", "must be given"))
                for arg in own
            )
    return text


def usual(source: str) -> dict[str, str]:
    """The defaults of a launch file in place of those of the options that it hands on."""
    given = [
        arg.get("default", "")
        for arg in ElementTree.fromstring(source).iter("arg")
        if arg.get("name") == "defaults"
    ]
    return dict(
        word.replace("$(dirname)/../", "").split("=", 1)
        for word in shlex.split(" ".join(given))
        if word != "--default"
    )


def topics_page() -> str:
    """Text of docs/ros_topics.md."""
    text = TOPICS_INTRODUCTION
    text += "".join(
        row(
            topic.name,
            topic.type,
            topic.message,
            f"{topic.rate:g} Hz"
            if topic.rate
            else "when it comes, latched"
            if topic.latched
            else "when it comes",
        )
        for topic in TOPICS
    )
    text += INPUTS_INTRODUCTION
    text += "".join(row(entry.name, entry.type) for entry in SUBSCRIPTIONS)
    text += SERVICES_INTRODUCTION
    return text + "".join(row(entry.name, entry.type) for entry in SERVICES)


def parameters_page() -> str:
    """Text of docs/parameters.md."""
    used = {name: p for name, p in listed().items() if p.effect}
    text = PARAMETERS_INTRODUCTION.format(
        listed=len(listed()), used=len(used), others=len(table()) - len(listed())
    )
    text += "".join(
        row(name, f"{p.default:.10g}", p.unit, limits(p), p.effect) for name, p in used.items()
    )
    held = {}
    for name, p in listed().items():
        if not p.effect:
            held.setdefault(p.group, []).append(name)
    return (
        text
        + HELD_INTRODUCTION
        + "".join(row(group, ", ".join(names)) for group, names in sorted(held.items()))
    )


def limits(p) -> str:
    """Returns the limits of an active value."""
    low, high = (f"{x:g}" if abs(x) < float("inf") else "" for x in (p.active_min, p.active_max))
    return f"{low} to {high}" if low and high else f"from {low}" if low else ""


def allowed(kind, option) -> str:
    """Description of the values that an option accepts."""
    if option.choices:
        return ", ".join(option.choices)
    if kind in (int, float):
        what = "whole number" if kind is int else "number"
        low = f" from {option.minimum:g}" if option.minimum > float("-inf") else ""
        return what + low + (f" to {option.maximum:g}" if option.maximum < float("inf") else "")
    return "true, false" if kind is bool else "text"


def row(name, *cells) -> str:
    """One row of a Markdown table."""
    plain = (re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in cells)
    return (
        f"| {name} | "
        + " | ".join(f"`{cell}`" if cell.startswith("$(") else cell for cell in plain)
        + " |\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    files = {
        LAUNCH: launch_file(),
        ROOT / "docs" / "options.md": page(),
        ROOT / "docs" / "ros_topics.md": topics_page(),
        ROOT / "docs" / "parameters.md": parameters_page(),
        MAVLINK: mavlink_page(),
        ARCHITECTURE: architecture_page(),
        ROOT / "docs" / "scenario.schema.json": json.dumps(listing.schema(), indent=2) + "\n",
    }
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        if args.check:
            print(f"{path.relative_to(ROOT)} is out of date: run python scripts/make_tables.py")
        else:
            path.write_text(files[path])
            print(f"{path.relative_to(ROOT)} written")
    return 1 if stale and args.check else 0


if __name__ == "__main__":
    sys.exit(main())

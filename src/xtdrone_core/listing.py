"""Subcommands `xtdrone list` and `xtdrone schema`: all registered names and their descriptions."""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import files, registry, resources
from .command import Subparsers
from .errors import ScenarioError, XtdroneError, unknown_name
from .runs import run_folder
from .scenario import scenario_options
from .scenario.arguments import Argument, arguments_of, rows, table

GROUP = "xtdrone.lists"
_MANY = 60  # names of a kind that are listed beside the others
LIST_EXAMPLES = """examples:
  xtdrone list                                 all registered names
  xtdrone list agents                          with the options that --set gives them
  xtdrone list options --json                  for programs
"""
SCHEMA_EXAMPLES = """examples:
  xtdrone schema > scenario.schema.json        for editors, to check and complete a scenario's YAML
"""


def register_list(subparsers: Subparsers) -> None:
    """`xtdrone list`."""
    parser = subparsers.add_parser(
        "list", help="list registered names: engines, agents, worlds", epilog=LIST_EXAMPLES
    )
    kind = parser.add_argument("kind", nargs="?", help=f"{', '.join(registry.entries(GROUP))}")
    kind.completer = lambda **_: list(registry.entries(GROUP))
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=_list)


def register_schema(subparsers: Subparsers) -> None:
    """`xtdrone schema`."""
    parser = subparsers.add_parser(
        "schema", help="print the JSON schema of a scenario's YAML", epilog=SCHEMA_EXAMPLES
    )
    parser.set_defaults(run=lambda args: print(json.dumps(schema(), indent=2)))


def _list(args: argparse.Namespace) -> None:
    known = registry.entries(GROUP)
    if args.kind is not None and args.kind not in known:
        raise XtdroneError(unknown_name("list", args.kind, known))
    wanted = [args.kind] if args.kind else list(known)
    lists = {kind: _described(kind) for kind in wanted}
    if args.json:
        print(json.dumps(lists[args.kind] if args.kind else lists, indent=2))
        return
    for kind, names in lists.items():
        if not args.kind:
            print(f"{kind}:")
        if not args.kind and len(names) > _MANY:
            print(f"  {len(names)} names: xtdrone list {kind}")
            continue
        width = max(map(len, names), default=0)
        for name, row in names.items():
            words = row if isinstance(row, str) else row["description"]
            print(f"{'' if args.kind else '  '}{name:{width}}  {words}".rstrip())
            if args.kind and not isinstance(row, str):
                print(table(row["options"], indent="    "))


def _described(kind: str) -> dict[str, Any]:
    try:
        names: dict[str, Any] = registry.entries(GROUP)[kind].load()()
    except ImportError as error:
        return {"": f"not listed: {error}"}
    return names


# Lists -------------------------------------------------------------------------------


def engines() -> dict[str, str]:
    """A line on each engine."""
    return registry.ENGINES.descriptions()


def autopilots() -> dict[str, str]:
    """A line on each autopilot."""
    return registry.AUTOPILOTS.descriptions()


def agents() -> dict[str, Any]:
    """A line on each Agent, and its options."""
    return described(registry.AGENTS)


def described(
    group: registry.Group, options: Callable[[type], Mapping[str, Argument]] = arguments_of
) -> dict[str, Any]:
    """A line on each class of a group, and its options as of Argument.row().

    Args:
        group: The group.
        options: The options of a class.
    """
    descriptions: dict[str, Any] = {}
    for name, text in group.descriptions().items():
        try:
            known = rows(options(group.load(name)))
        except ScenarioError:  # the text says why it cannot be loaded
            known = {}
        descriptions[name] = {"description": text, "options": known}
    return descriptions


def runs() -> dict[str, str]:
    """The runs in runs/, the newest first, with their vehicles and length."""
    lines = {}
    for name in run_folder.names():
        try:
            summary = files.read_json(run_folder.find(name) / run_folder.SUMMARY)
            lines[name] = f"{summary['n']} vehicles, {summary['sim_time_s']:.1f} s"
        except (XtdroneError, KeyError, TypeError, ValueError):  # another file, or damaged
            lines[name] = ""
    return lines


def worlds() -> dict[str, str]:
    """A line on each world: the first comment of its file."""
    lines = {}
    for name in resources.world_names():
        comment = re.search(r"<!--\s*(.*?)\s*-->", files.read_text(resources.world_sdf(name)), re.S)
        lines[name] = " ".join(comment[1].split()) if comment else ""
    return lines


def vehicles() -> dict[str, str]:
    """A line on each vehicle: the description in its model.config."""
    return {
        name: description(resources.vehicle_sdf(name).parent) for name in resources.vehicle_names()
    }


def description(folder: Path) -> str:
    """The description in the model.config of a model's folder; empty without one."""
    config = folder / "model.config"
    text = files.read_xml(config).findtext("description") if files.is_file(config) else ""
    return " ".join((text or "").split())


def options() -> dict[str, str]:
    """A line on each option of a scenario."""
    return {
        name: f"{scenario_options.meaning(option)} ({default})"
        for name, (_, option, default) in scenario_options.declared().items()
    }


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a scenario's YAML."""
    types = {str: "string", int: "integer", float: "number", bool: "boolean"}
    properties: dict[str, Any] = {}
    for name, (kind, option, default) in scenario_options.declared().items():
        rule: dict[str, Any] = {
            "type": types[kind],
            "description": f"{scenario_options.meaning(option)} ({default})",
        }
        if option.choices:
            rule["enum"] = list(option.choices)
        for key, limit in (("minimum", option.minimum), ("maximum", option.maximum)):
            if abs(limit) < float("inf"):
                rule[key] = int(limit) if limit == int(limit) else limit
        properties[name] = rule
    disturbances = properties["disturbances"] | {
        "type": ["string", "array"],
        "items": {"type": "string"},
    }
    position = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
    vehicle = {
        "type": "object",
        "required": ["type"],
        "additionalProperties": False,
        "properties": {
            "type": {"type": "string"},
            "name": {"type": "string"},
            "pos": position,
            "yaw": {"type": "number"},
            "autopilot": {"type": "string"},
            "number": {"type": "integer"},
        },
    }
    listed = {
        "description": properties["vehicles"]["description"],
        "oneOf": [{"type": "string"}, {"type": "array", "items": vehicle, "minItems": 1}],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "XTDrone scenario",
        "type": "object",
        "additionalProperties": False,
        "properties": {**properties, "vehicles": listed, "disturbances": disturbances},
    }

"""`xtdrone vehicle new`: a model folder from frame, motors, propeller, battery and mass."""

import argparse
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from xtdrone_core import ScenarioError, resources
from xtdrone_core.command import Subparsers

EXAMPLES = """examples:
  xtdrone vehicle new                           asks for each part
  xtdrone vehicle new mine --frame 450 --kv 920 --propeller 10x4.7 --cells 4 --capacity 5 --mass 1.6
  xtdrone vehicle new --parts mine.yaml --out models/mine
"""


def register_new(actions: Subparsers) -> None:
    """Adds `xtdrone vehicle new`."""
    from .parts_list import PartsList

    new = actions.add_parser(
        "new", help="make a model from frame, motors, propeller, battery and mass", epilog=EXAMPLES
    )
    new.add_argument("name", nargs="?", help="of the vehicle")
    new.add_argument("--parts", metavar="FILE", help="YAML with the parts by their option's names")
    for entry in fields(PartsList):
        if entry.name == "name":
            continue
        unit = entry.metadata.get("unit", "")
        default = "" if entry.default is MISSING else f" ({entry.default:g})"
        new.add_argument(
            f"--{entry.name}",
            metavar=(unit or entry.name).upper().replace("/", "_PER_"),
            help=f"{entry.metadata['text']}{unit and f' [{unit}]'}{default}",
        )
    new.add_argument("--out", metavar="FOLDER", help="the model's folder (models/NAME)")
    new.set_defaults(run=_new)


def _new(args: argparse.Namespace) -> None:
    from .multirotor import design, write
    from .parts_list import PartsList, from_data, read

    data: dict[str, Any] = read(args.parts) if args.parts else {}
    names = [entry.name for entry in fields(PartsList)]
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    data |= given
    if not data and not sys.stdin.isatty():
        raise ScenarioError("a new vehicle has no parts: give them as options or in --parts FILE")
    if not data:
        data = _asked()
    parts = from_data(data)
    made = design(parts)
    folder = Path(args.out).expanduser() if args.out else resources.root() / "models" / parts.name
    path = write(made, folder)
    for name, value in made.figures.items():
        print(f"{name:20} {value:10.3f}")
    for remark in made.remarks:
        print(f"remark: {remark}")
    print(f"model: {path}")
    print(f"next: xtdrone vehicle check {path.parent} --hover 20")


def _asked() -> dict[str, Any]:
    """Asks for each part; nothing takes the default."""
    from .parts_list import PartsList

    data = {}
    for entry in fields(PartsList):
        unit = entry.metadata.get("unit", "")
        default = "" if entry.default is MISSING else f" ({entry.default:g})"
        try:
            said = input(f"{entry.metadata['text']}{unit and f' [{unit}]'}{default}: ").strip()
        except EOFError:
            said = ""
        if said:
            data[entry.name] = said
    return data

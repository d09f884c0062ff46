"""`xtdrone vehicle`: checks and figures of vehicles."""

import argparse
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xtdrone_core import ScenarioError, registry, resources
from xtdrone_core.command import Subparsers
from xtdrone_core.scenario.options import number_type

ACTIONS = "xtdrone.vehicle_actions"  # entry points: functions that add an action
EXAMPLES = """examples:
  xtdrone vehicle new mine --frame 450 --kv 920 --propeller 10x4.7 --cells 4 --capacity 5 --mass 1.6
  xtdrone vehicle show typhoon_h480 --out typhoon_h480.png
  xtdrone vehicle check ~/PX4-Autopilot/Tools/simulation/gazebo-classic/sitl_gazebo-classic/models
  xtdrone vehicle check my_iris/model.sdf --hover 20
  xtdrone vehicle presets                      presets of sensors, by kind
  xtdrone vehicle presets bmi088               its values, units and data sheet
"""


def register_vehicle(subparsers: Subparsers) -> None:
    """Adds `xtdrone vehicle`."""
    parser = subparsers.add_parser(
        "vehicle", help="check vehicles, show their derived figures", epilog=EXAMPLES
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = actions.add_parser(
        "show", help="hover throttle, thrust to weight, what it can command, force envelope"
    )
    name = show.add_argument("vehicle", help="a name from models/, or an SDF file")
    name.completer = lambda **_: resources.vehicle_names()
    show.add_argument(
        "--out", metavar="FILE", help="draw rotors, wings and force envelope (not drawn)"
    )
    show.add_argument("--json", action="store_true", help="print figures as JSON")
    show.set_defaults(run=_show_vehicle)
    checked = actions.add_parser("check", help="a line on each model: whether it loads and flies")
    checked.add_argument(
        "path", nargs="+", help="an SDF file, a model's folder, or a folder of models"
    )
    checked.add_argument(
        "--hover",
        type=number_type("hover", 0.0, 3600.0, unit="s"),
        default=0.0,
        metavar="SECONDS",
        help="fly each that has rotors so long (0: only load)",
    )
    checked.set_defaults(run=_check_vehicles)
    for entry in registry.entries(ACTIONS).values():  # of higher packages
        entry.load()(actions)
    known = actions.add_parser("presets", help="sensor presets, for <preset> in a vehicle's file")
    known.add_argument("preset", nargs="?", help="show its values with unit and source")
    known.set_defaults(run=_presets)


def _show_vehicle(args: argparse.Namespace) -> None:
    from ..vehicles.report import draw_layout, vehicle_figures, vehicle_sensors
    from ..vehicles.sdf import load_vehicle

    model = load_vehicle(args.vehicle)
    figures = {
        **vehicle_figures(model),
        "sensors": vehicle_sensors(model),
        "remarks": list(model.remarks),
    }
    if args.out and not model.rotors:
        raise ScenarioError(f"vehicle '{args.vehicle}' has no rotors to draw: leave out --out")
    if args.out:
        draw_layout(model, args.out)
    if args.json:
        print(json.dumps(figures, indent=2).replace("Infinity", "null"))  # JSON has no such word
        return
    sensors, effects, remarks = (figures.pop(name) for name in ("sensors", "effects", "remarks"))
    for key, value in figures.items():
        if not value and isinstance(value, list):
            continue
        print(f"{key}:")
        matrix = isinstance(value, list) and isinstance(value[0], (list, str))
        for row in value if matrix else [value]:
            numbers = row if isinstance(row, list) else [row]
            print(
                "   "
                + "".join(f" {x:>11}" if isinstance(x, str) else f" {x:11.5g}" for x in numbers)
            )
    print(
        "effects:" + "".join(f"\n    {name} {_listed(tags)}" for name, tags in effects.items())
        if effects
        else "effects: none"
    )
    print("sensors:")
    for sensor in sensors:
        position = " ".join(f"{x:.4g}" for x in sensor["pos_m"])
        print(f"    {sensor['kind']} '{sensor['name']}' at {position} m")
        for line in _lines(sensor["parameters"]):
            print(f"        {line}")
    print("".join(f"left out or changed: {remark}\n" for remark in remarks), end="")
    if args.out:
        print(f"drawing: {args.out}")


def _check_vehicles(args: argparse.Namespace) -> int:
    """A line on each model; status 1 if one is refused or fails."""
    from ..model_check import check, models_in

    remarks_log, bad = logging.getLogger("xtdrone_sim.parts"), False
    remarks_log.disabled = True  # the lines have the remarks
    try:
        for path in (model for given in args.path for model in models_in(Path(given).expanduser())):
            result = check(path, args.hover)
            bad = bad or result.verdict in ("refused", "fails")
            print(
                f"{result.verdict:8} {path.name:28} "
                + "; ".join(text for text in (result.reason, *result.remarks) if text),
                flush=True,
            )
    finally:
        remarks_log.disabled = False
    return int(bad)


def _lines(parameters: Mapping[str, Any]) -> list[str]:
    """A line for each quantity or camera of a sensor, and one for the rest."""
    parts = {name: value for name, value in parameters.items() if isinstance(value, dict)}
    rest = {name: value for name, value in parameters.items() if name not in parts}
    lines = [f"{name}: {_listed(value)}" for name, value in parts.items()]
    return [*lines, _listed(rest)] if rest else lines


def _listed(values: Mapping[str, Any]) -> str:
    """Names and values on one line."""

    def word(x: float | str | None) -> str:
        return "unset" if x is None else x if isinstance(x, str) else f"{x:.4g}"

    return ", ".join(
        " ".join((name, *map(word, value if isinstance(value, (list, tuple)) else (value,))))
        for name, value in values.items()
    )


def _presets(args: argparse.Namespace) -> None:
    from sensor_models.parameters import preset_text, presets

    if args.preset:
        print(preset_text(args.preset))
    else:
        for kind, names in presets().items():
            print(f"{kind}: {', '.join(names)}")

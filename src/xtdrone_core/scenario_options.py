"""The options that describe a scenario, the same on every command line and launch file."""

import argparse
import dataclasses

from . import registry, resources
from .errors import XtdroneError
from .ports import INSTANCES, VARIABLE
from .scenario import LOGS, ORIGINS, POSE_SOURCES, PX4_LOSSES, Scenario, fleet, parse_vehicles


def add(parser) -> None:
    """Adds the options to an argparse parser."""
    group = parser.add_argument_group("scenario")

    def option(name, text, complete=None, **kwargs):
        action = group.add_argument(f"--{name}", help=text, **kwargs)
        if complete is not None:
            action.completer = lambda **_: _names(complete)

    option("scenario", "YAML file to begin with; the other options change it", metavar="FILE")
    option("vehicle", "type of every vehicle: a name from models/, or an SDF file (iris)",
           resources.vehicle_names)
    option("n", "number of vehicles, 1 to 250 (1)", type=int)
    option("vehicles", "mixed fleet instead of --vehicle and --n: 'iris*4, typhoon_h480*2' or "
                       "'iris@0,0,0; iris@3,0,0,1.57'", metavar="LIST")
    option("world", "a name from worlds/, or an SDF file (empty)", resources.world_names)
    option("engine", "what moves the bodies (embedded)", lambda: registry.ENGINES)
    option("autopilot", "what flies them (embedded)", lambda: registry.AUTOPILOTS)
    for part, table in registry.PARTS.items():
        option(part, f"{part.replace('_', ' ')} of the embedded autopilot: your own module:Class",
               lambda names=table: names, metavar="NAME")
    option("px4", "build folder or binary of PX4, for autopilot px4", metavar="PATH")
    option("px4_loss", "when a PX4 is lost: stop, or continue with the rest", lambda: PX4_LOSSES)
    option("speed", "simulated seconds per second; 0 = as fast as possible", type=float)
    option("seed", "of every random number (1)", type=int)
    option("gps", "preset for every receiver, for example rtk or m8n (as the SDF says)", _receivers)
    option("wind", "instead of the world's: 'E,N,U' [m/s], or words mean=, gust=, dryden=, field=",
           metavar="TEXT")
    option("changes", "in flight: '12: payload iris_0 0.3; 20: rotor iris_0 2 0.0', also drain and "
                      "charge", metavar="LIST")
    option("pose_source", "sensors, or truth as external vision", lambda: POSE_SOURCES)
    option("origin", "one origin for all local positions, or each its own", lambda: ORIGINS)
    option("mission", "QGroundControl plan that every vehicle holds, shifted to its start; or one "
                      "for each, parted by commas", metavar="FILE")
    option("params", "QGroundControl parameters for every vehicle, or a folder with NAME.params",
           metavar="FILE")
    option("log", "flight logs (ULog) in the run folder: auto is full for one vehicle, fleet for "
                  "more (auto)", lambda: LOGS)
    option("gui", "open the engine's viewer", nargs="?", const=True, type=_truth,
           metavar="true|false")
    option("name", "name of the run folder", metavar="NAME")
    option("instance", f"0 to {INSTANCES - 1}: shifts every port, so that fleets fly side by side "
                       f"({VARIABLE}, or else 0)", type=int, metavar="I")


def scenario_of(args, **defaults) -> Scenario:
    """The scenario of parsed options.

    Args:
        args: The namespace of a parser that add() has extended. An option that
            is empty counts as not given, as launch files pass them.
        **defaults: Values instead of the scenario's own defaults.

    Raises:
        ScenarioError: Options that make no sense.
    """
    given = {key: value for key, value in vars(args).items()
             if key in {f.name for f in dataclasses.fields(Scenario)} | {"vehicle", "n"}
             and value not in (None, "")}
    if args.scenario:
        base = Scenario.load(args.scenario)
        values = {f.name: getattr(base, f.name) for f in dataclasses.fields(Scenario)}
    else:
        values = {"vehicles": fleet("iris", 1), **defaults}
    vehicle, n = given.pop("vehicle", None), given.pop("n", None)
    if "vehicles" in given:
        given["vehicles"] = parse_vehicles(given["vehicles"])
    elif vehicle is not None or n is not None:
        first = values["vehicles"][0].type
        given["vehicles"] = fleet(vehicle or first, len(values["vehicles"]) if n is None else n)
    return Scenario(**{**values, **given})


def _truth(text):
    if text.lower() not in ("true", "false", "1", "0", ""):
        raise argparse.ArgumentTypeError(f"'{text}' is not true or false")
    return text.lower() in ("true", "1")


def _receivers():
    from sensor_models.parameters import presets  # for completion only

    return presets()["gps"]


def _names(names):
    try:
        return list(names())
    except XtdroneError:  # completion must stay silent
        return []

"""A process that describes vehicles and worlds to the start page, a line of JSON each.

    python -m xtdrone_web.start.describe vehicle:iris world:empty vehicle:/path/of/a/model.sdf

The reader is that of `xtdrone vehicle show`. It is a process of its own, so that a file of somebody
else can neither hold up nor end the server.
"""

import contextlib
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from xtdrone_core import XtdroneError

if TYPE_CHECKING:
    from xtdrone_sim.world import World

_FIGURES = (
    "mass_kg",
    "rotors",
    "span_m",
    "thrust_to_weight",
    "hover_time_min",
    "flies",
    "commands",
)
_LISTED = 40  # sensors of a vehicle


def main(wanted: list[str]) -> int:
    """Prints the report on each KIND:NAME; returns the exit status."""
    for word in wanted:
        kind, _, name = word.partition(":")
        try:
            report: dict[str, Any] = _vehicle(name) if kind == "vehicle" else _world(name)
        except XtdroneError as error:
            report = {"error": str(error)}
        print(
            json.dumps({"kind": kind, "name": name, **report})
            .replace("Infinity", "null")
            .replace("NaN", "null"),
            flush=True,
        )
    return 0


def _vehicle(name: str) -> dict[str, Any]:
    from xtdrone_sim.vehicles.report import vehicle_figures, vehicle_sensors
    from xtdrone_sim.vehicles.sdf import load_vehicle
    from xtdrone_sim.world import load_world

    from . import pictures

    model = load_vehicle(name)
    figures = vehicle_figures(model)
    report: dict[str, Any] = {key: figures[key] for key in _FIGURES if key in figures}
    report["sensors"] = [sensor["kind"] for sensor in vehicle_sensors(model)][:_LISTED]
    report["remarks"] = list(model.remarks)[:_LISTED]
    with contextlib.suppress(Exception):  # whatever is wrong with graphics here: no picture
        report["picture"] = pictures.kept(
            "vehicle", model.shapes, lambda: pictures.vehicle_picture(model, load_world("empty"))
        )
    return report


def _world(name: str) -> dict[str, Any]:
    from xtdrone_sim.vehicles.sdf import load_vehicle
    from xtdrone_sim.world import load_world

    from . import pictures

    world = load_world(name)
    boat = world.water > -1e6
    report: dict[str, Any] = {"water": world.water if boat else None, "outlines": _outlines(world)}
    with contextlib.suppress(Exception):
        report["picture"] = pictures.kept(
            "world",
            world.shapes,
            lambda: pictures.world_picture(load_vehicle("boat" if boat else "iris"), world),
        )
    return report


def _outlines(world: "World") -> list[list[float]]:
    """Returns boxes and cylinders on the ground, for the map: x, y, yaw, length, width [m]."""
    outlines = []
    for shape in world.shapes:
        x, y, z = shape.pose.pos
        if not shape.collides or shape.kind not in ("box", "cylinder", "sphere"):
            continue
        size = tuple(shape.size)
        length, width, height = (
            size if shape.kind == "box" else (2 * size[0], 2 * size[0], size[-1])
        )
        if z - 0.5 * height > 2.5 or z + 0.5 * height < 0.15:  # above a vehicle, or a floor
            continue
        qx, qy, qz, qw = shape.pose.quat
        yaw = math.atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz))
        outlines.append([round(v, 2) for v in (x, y, yaw, length, width)])
    return outlines[:2000]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

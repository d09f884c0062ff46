"""Plans of QGroundControl as plain data, for tests."""

import json
import math

from xtdrone_dynamics.earth.geodesy import to_geodetic

ORIGIN = 47.397742, 8.545594  # of the worlds [deg]


def place(east, north, origin=ORIGIN):
    """Latitude and longitude [deg] of a place east and north of another [m]."""
    return [math.degrees(v) for v in to_geodetic(east, north, *map(math.radians, origin))]


def item(command, east=0.0, north=0.0, up=0.0, params=(0, 0, 0, None), origin=ORIGIN, frame=3):
    """A simple item at a place."""
    return {
        "type": "SimpleItem",
        "command": command,
        "frame": frame,
        "autoContinue": True,
        "params": [*params, *place(east, north, origin), up],
    }


def plain(command, *params):
    """A simple item without a place."""
    return {
        "type": "SimpleItem",
        "command": command,
        "frame": 2,
        "autoContinue": True,
        "params": [*params, *[0.0] * (7 - len(params))],
    }


def plan(items, home=(*ORIGIN, 488.0), fence=None, **more):
    """A plan of items, which are numbered from 1."""
    for k, each in enumerate(items):
        each.setdefault("doJumpId", k + 1)
    mission = {"items": items}
    if home is not None:
        mission["plannedHomePosition"] = list(home)
    data = {"fileType": "Plan", "version": 1, "groundStation": "x", "mission": mission}
    return {**data, "geoFence": fence or {}, **more}


def write(path, *items, **more):
    """Writes a plan; returns its path."""
    path.write_text(json.dumps(plan(list(items), **more)))
    return path

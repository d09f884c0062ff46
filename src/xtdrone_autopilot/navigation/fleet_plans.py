"""The plan of each vehicle of a fleet, moved to where the vehicle starts.

A plan is moved as a rotation of the globe, which takes one place to another and north to north:
it keeps distances and azimuths wherever it is planned, and is exact to the 1e-7 degrees (11 mm)
in which MAVLink carries places.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from xtdrone_core.errors import shown
from xtdrone_core.scenario.options import number
from xtdrone_core.scenario.vehicles import MAX_FLEET
from xtdrone_dynamics.earth.geodesy import to_geodetic, to_local

from ..errors import AutopilotError
from .mission_items import (
    CONDITION_GATE,
    DO_SET_HOME,
    DO_SET_ROI,
    DO_SET_ROI_LOCATION,
    FENCE_ITEMS,
    GEOGRAPHIC,
    PLACED,
    RALLY_POINT,
    Item,
    from_degrees,
)
from .plan_file import Plan, load

_LOCATED = (
    PLACED
    | FENCE_ITEMS
    | {RALLY_POINT, DO_SET_HOME, DO_SET_ROI, DO_SET_ROI_LOCATION, CONDITION_GATE}
)
_NEAR_ZERO = math.radians(0.1)  # for a home as near to them, latitude and longitude 0 are a place

Place = tuple[float, float]  # latitude and longitude [rad]


def of_fleet(text: str, starts: Sequence[Sequence[float]], origin: Sequence[float]) -> list[Plan]:
    """The plan of each vehicle of a fleet.

    A single plan is for all vehicles, each one's moved by its start relative to the first one.
    Plans separated by commas are one for each vehicle, as they are written; PLAN*COUNT is that plan
    for COUNT vehicles, each one's moved from the planned home to its start.

    Args:
        text: As in the option `mission`.
        starts: (N, 2 or more) where the vehicles start, world [m].
        origin: Latitude, longitude [rad] and height [m] of the world's origin.

    Raises:
        XtdroneError: A plan that cannot be read or moved, or not one for each vehicle.
    """
    entries = [_counted(entry) for entry in text.split(",")]
    places = [to_geodetic(start[0], start[1], origin[0], origin[1]) for start in starts]
    if not is_for_each(text):
        plan = load(entries[0][0])
        return [moved(plan, places[0], place) for place in places]
    total = sum(count or 1 for _, count in entries)
    if total != len(starts):
        raise AutopilotError(
            f"{total} plans for {len(starts)} vehicles: give one for all, or one "
            "for each, as in 'square*3, plane'"
        )
    plans: list[Plan] = []
    for name, count in entries:
        plan = load(name)
        if count is None:
            plans.append(plan)
            continue
        home, height = _home_of(plan, name)
        for k in range(len(plans), len(plans) + count):
            up = origin[2] + (starts[k][2] if len(starts[k]) > 2 else 0.0) - height
            plans.append(moved(plan, home, places[k], up))
    return plans


def is_for_each(text: str) -> bool:
    """Returns whether it gives each vehicle a plan, and not one to all of them."""
    return "," in text or "*" in text


def moved(plan: Plan, here: Place, there: Place, up: float = 0.0) -> Plan:
    """A plan that is flown from another place.

    Args:
        plan: The plan.
        here: A place, which moves to `there`; the others keep distance and azimuth from it.
        there: Where it moves to.
        up: How much higher heights above the sea become [m].
    """
    if here == there and up == 0.0:
        return plan
    at_zero = max(map(abs, here)) < _NEAR_ZERO

    def at(latitude: float, longitude: float) -> Place:
        """Returns where a place [deg] moves to [deg]."""
        east, north = to_local(math.radians(latitude), math.radians(longitude), *here)
        lat, lon = to_geodetic(east, north, *there)
        return math.degrees(lat), math.degrees(lon)

    def carried(item: Item) -> Item:
        if item.command not in _LOCATED or item.frame not in GEOGRAPHIC:
            return item
        if not item.relative:
            item = replace(item, z=item.z + up)
        if not item.is_somewhere(at_zero):
            return item
        return from_degrees(item, *at(item.x * 1e-7, item.y * 1e-7))

    items = {kind: [carried(item) for item in group] for kind, group in plan.items.items()}
    home = plan.home and (*at(*plan.home[:2]), plan.home[2] + up)
    return replace(plan, items=items, home=home)


def _counted(entry: str) -> tuple[str, int | None]:
    """A plan and how often it is repeated, None where that is not said."""
    match = re.fullmatch(r"\s*([^*]*[^*\s])\s*(?:\*\s*(\d+)\s*)?", entry)
    if not match:
        raise AutopilotError(
            f"cannot read plan '{shown(entry.strip())}': write PLAN or PLAN*COUNT, separated by ','"
        )
    if match[2] is None:
        return match[1], None
    return match[1], number(
        f"count in '{shown(entry.strip())}'", match[2], 1, MAX_FLEET, whole=True
    )


def _home_of(plan: Plan, name: str) -> tuple[Place, float]:
    """Planned home of a plan, and its height [m]."""
    if plan.home is None:
        raise AutopilotError(
            f"plan '{shown(name)}' has no plannedHomePosition to be moved from: "
            "save it with one in QGroundControl, or give a plan for each vehicle"
        )
    latitude, longitude, height = plan.home
    return (math.radians(latitude), math.radians(longitude)), height

"""Whether a vehicle can move on what a world has for it: water for boats, ground for rovers."""

import math

from xtdrone_core import Vehicle
from xtdrone_core.vehicle import Propeller, Wheel

from .sdf_world import World


def wrong_ground(world: World, vehicle: Vehicle) -> str:
    """Returns why a boat or rover cannot move in a world, with the remedy; "" if it can."""
    kinds = {type(actuator) for actuator in vehicle.actuators}
    if Propeller in kinds and not kinds & {Wheel} and world.water == -math.inf:
        return (
            f"'{vehicle.type}' moves by propellers in the water, and world '{world.name}' has "
            "none: choose another, such as --world lake"
        )
    if Wheel in kinds and not vehicle.hulls and world.water > -math.inf:
        return (
            f"'{vehicle.type}' drives on wheels, and world '{world.name}' has water up to "
            f"z = {world.water:g} m: choose another, such as --world empty"
        )
    return ""

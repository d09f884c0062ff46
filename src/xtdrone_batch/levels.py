"""Levels of control: what an action of a batch commands."""

from dataclasses import dataclass

from xtdrone_core import FleetModel
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, cannot_fly, vehicle_types

from .errors import BatchError

AT_ACTUATOR, AT_RATES, AT_ATTITUDE, AT_VELOCITY, AT_POSITION = range(5)


@dataclass(frozen=True)
class Level:
    """What an action commands."""

    number: int
    fields: tuple[str, ...]  # fields of a vehicle's action; empty = one for each actuator
    text: str


LEVELS = {
    "actuator": Level(AT_ACTUATOR, (), "command of each actuator, 0..1 or -1..1"),
    "rates": Level(
        AT_RATES,
        ("p", "q", "r", "thrust"),
        "body rates [rad/s] and the common command of all rotors 0..1",
    ),
    "attitude": Level(
        AT_ATTITUDE,
        ("qx", "qy", "qz", "qw", "thrust"),
        "attitude (body to world) and the common command of all rotors 0..1",
    ),
    "velocity": Level(
        AT_VELOCITY, ("vx", "vy", "vz", "yaw_rate"), "velocity, world [m/s], and yaw rate [rad/s]"
    ),
    "position": Level(AT_POSITION, ("x", "y", "z", "yaw"), "position, world [m], and yaw [rad]"),
}


def level_of(name: str, model: FleetModel) -> Level:
    """The level of that name, which all vehicles of an environment can fly.

    Raises:
        BatchError: No such level, or a vehicle has no control loops for it.
    """
    if name not in LEVELS:
        raise BatchError(unknown_name("action level", name, LEVELS))
    if name != "actuator":
        for vehicle, kind, why in zip(model.vehicles, vehicle_types(model), cannot_fly(model)):
            if kind != MULTICOPTER or why:
                raise BatchError(
                    f"'{vehicle.type}' takes no action '{name}', "
                    f"{why or 'it does not hover'}: use action='actuator'"
                )
    return LEVELS[name]

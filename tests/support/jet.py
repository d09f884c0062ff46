"""A kind of actuator of one's own, in one module: a jet whose thrust follows its command."""

from dataclasses import dataclass

from xtdrone_core.vehicle import Actuator, Vector
from xtdrone_dynamics.compiled import njit


@njit
def push(a, e, command, value, speed_limit, ratio, height, vx, vy, vz, dt):
    """As the table of kinds in xtdrone_sim.plant.actuators; value is the thrust [N]."""
    thrust = a.zero_position_armed + a.input_scaling * command
    return (
        thrust,
        thrust * a.axis[0],
        thrust * a.axis[1],
        thrust * a.axis[2],
        0.0,
        0.0,
        0.0,
        a.specific_power * thrust,
    )


@dataclass(frozen=True, kw_only=True)
class Jet(Actuator):
    """A jet; input_scaling is its thrust at full command [N]."""

    kind = "jet"
    act = push
    pos: Vector  # frame of its body [m]
    axis: Vector  # unit vector of the thrust, frame of its body
    specific_power: float = 50.0  # [W/N]

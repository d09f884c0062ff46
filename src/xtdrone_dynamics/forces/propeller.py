"""A propeller in the water, by the equations of sitl_gazebo's motor model."""

from typing import Any

from ..compiled import njit
from ..shapes import Acted
from .servo import speed_after


@njit
def act(a: Any, command: float, speed: float, height: float, dt: float) -> Acted:
    """One step of a propeller, which pushes both ways and only while its hub is in the water.

    Args:
        a: The actuator's record.
        command: In its range.
        speed: [rad/s].
        height: Of the hub above the water [m].
        dt: Length of the step [s].

    Returns:
        As the plant's table of kinds.
    """
    speed = speed_after(a, command, speed, a.time_constant_up, a.time_constant_down, dt)
    thrust = a.motor_constant * speed * abs(speed) if height < 0.0 else 0.0
    torque = -a.direction * a.moment_constant * thrust
    ax, ay, az = a.axis[0], a.axis[1], a.axis[2]
    return (
        speed,
        thrust * ax,
        thrust * ay,
        thrust * az,
        torque * ax,
        torque * ay,
        torque * az,
        abs(torque * speed),
    )

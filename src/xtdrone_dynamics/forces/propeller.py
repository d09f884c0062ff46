"""A propeller in the water, by the equations of sitl_gazebo's motor model."""

from ..compiled import Record, njit
from ..shapes import Acted
from .servo import speed_after


@njit
def act(actuator: Record, command: float, speed: float, height: float, dt: float) -> Acted:
    """One step of a propeller, which pushes both ways and only while its hub is in the water.

    Args:
        actuator: The actuator's record.
        command: In its range.
        speed: [rad/s].
        height: Height of the hub above the water [m].
        dt: Length of the step [s].

    Returns:
        As the plant's table of kinds.
    """
    speed = speed_after(
        actuator, command, speed, actuator.time_constant_up, actuator.time_constant_down, dt
    )
    thrust = actuator.motor_constant * speed * abs(speed) if height < 0.0 else 0.0
    torque = -actuator.direction * actuator.moment_constant * thrust
    ax, ay, az = actuator.axis[0], actuator.axis[1], actuator.axis[2]
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

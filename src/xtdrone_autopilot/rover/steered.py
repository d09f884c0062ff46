"""Steered rovers and boats: throttle and steering, as PX4's rover_pos_control."""

import math

from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from .differential import STOPPED
from .line import lateral_acceleration

_AUTO_DT = 0.008  # cycle of rover_pos_control in AUTO modes, with sensors at 250 Hz [s]
MIN_DT = 0.01  # cycle in other modes, and smallest time step of the derivative [s]


@njit
def speed_control(params: Record, speed_sp: float, speed: float, dt: float) -> float:
    """Returns the throttle of rover_pos_control's speed loop, before its limits.

    PX4 v1.15 resets integral and last error in each cycle. So all three terms are proportional to
    the error, and the speed stays below its set-point.

    Args:
        params: Record of the parameters.
        speed_sp, speed: Speed set-point and speed [m/s].
        dt: Cycle of the loop [s].
    """
    error = speed_sp - speed
    output = (params.GND_SPEED_P + params.GND_SPEED_D / max(dt, MIN_DT)) * error
    integral = error * dt
    if (
        abs(integral) <= params.GND_SPEED_IMAX
        and abs(output + params.GND_SPEED_I * integral) <= params.GND_SPEED_MAX
    ):
        output += params.GND_SPEED_I * integral
    return params.GND_SPEED_THR_SC * clamp(output, -params.GND_SPEED_MAX, params.GND_SPEED_MAX)


@njit
def cruise_throttle(vehicle: Record, params: Record, speed: float) -> float:
    """Returns the throttle of AUTO modes, at the speed of the leg."""
    if params.GND_SP_CTRL_MODE != 1:
        return params.GND_THR_CRUISE
    speed_sp = vehicle.target_speed if vehicle.target_speed > 0.1 else params.GND_SPEED_TRIM
    return clamp(
        speed_control(params, speed_sp, speed, _AUTO_DT), params.GND_THR_MIN, params.GND_THR_MAX
    )


@njit
def follow_line(
    vehicle: Record, params: Record, estimate: Record, distance: float, speed: float
) -> None:
    """Follows the line to the target; stops within NAV_LOITER_RAD until there is another target."""
    if vehicle.drive_stage == STOPPED or distance < params.NAV_LOITER_RAD:
        vehicle.drive_stage, vehicle.throttle, vehicle.steering = STOPPED, 0.0, 0.0
        return
    target = (vehicle.target[0], vehicle.target[1])
    start = (
        (vehicle.previous[0], vehicle.previous[1]) if math.isfinite(vehicle.previous[0]) else target
    )
    vel = (estimate.vel[0], estimate.vel[1])
    lateral = lateral_acceleration(params, start, target, (estimate.pos[0], estimate.pos[1]), vel)
    speed_squared = vel[0] * vel[0] + vel[1] * vel[1]
    angle = math.atan2(params.GND_WHEEL_BASE * abs(lateral), speed_squared)
    vehicle.throttle = cruise_throttle(vehicle, params, speed)
    vehicle.steering = -math.copysign(min(1.0, angle / params.GND_MAX_ANG), lateral)

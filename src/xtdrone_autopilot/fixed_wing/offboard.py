"""OFFBOARD of a fixed wing: positions, paths, velocities, attitudes and rates, as in PX4."""

import math

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import to_euler

from ..control.vector import thrust_normalised
from ..state.vehicle_status import ATTITUDE, RATES, TRAJECTORY
from . import npfg
from .guidance import (
    Motion,
    control_energy,
    cruise_demand,
    fly_to,
    follow,
    set_airspeed,
    turn_min_airspeed,
)


@njit
def follow_set_point(
    vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int, dt: float
) -> None:
    """Writes roll, pitch and throttle, or rates, of an offboard set-point.

    A position with a velocity is a path through that position; an acceleration curves it. A
    velocity alone is a course with a height rate. See auto.fly_auto() for the arguments.
    """
    if vehicle.offboard_kind == TRAJECTORY:
        _follow_trajectory(vehicle, wing, params, motion, t_us, dt)
    elif vehicle.offboard_kind == ATTITUDE:
        quat = vehicle.offboard_quat
        wing.roll, pitch, _ = to_euler(quat[0], quat[1], quat[2], quat[3])
        wing.pitch = -pitch
        wing.throttle = thrust_normalised(vehicle, vehicle.offboard_thrust)
    elif vehicle.offboard_kind == RATES:
        wing.rate[0], wing.rate[1], wing.rate[2] = (
            vehicle.offboard_rates[0],
            -vehicle.offboard_rates[1],
            -vehicle.offboard_rates[2],
        )
        wing.throttle = thrust_normalised(vehicle, vehicle.offboard_thrust)


@njit
def _follow_trajectory(
    vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int, dt: float
) -> None:
    """Writes roll, pitch and throttle of a set-point of position or velocity."""
    vel = vehicle.offboard_vel[1], vehicle.offboard_vel[0]
    speed = math.hypot(vel[0], vel[1])
    moves = math.isfinite(speed) and speed > 1e-6
    has_position = math.isfinite(vehicle.offboard_pos[0]) and math.isfinite(vehicle.offboard_pos[1])
    set_airspeed(
        wing,
        params,
        motion,
        speed if moves and not has_position else 0.0,
        turn_min_airspeed(wing, params),
        False,
        dt,
    )
    wing.airspeed_ref = wing.airspeed_sp * wing.eas2tas
    wing.roll = 0.0
    if has_position:
        target = vehicle.offboard_pos[1], vehicle.offboard_pos[0]
        if moves:
            turn = npfg.cross(vel, (vehicle.offboard_acc[1], vehicle.offboard_acc[0]))
            curvature = turn / speed**3 if math.isfinite(turn) else 0.0
            follow(wing, params, motion, npfg.unit(vel), target, curvature, params.NPFG_PERIOD)
        else:
            fly_to(wing, params, motion, target)
    elif moves:
        follow(wing, params, motion, npfg.unit(vel), motion.pos, 0.0, params.NPFG_PERIOD)
    height = vehicle.offboard_pos[2]
    rate = math.nan if math.isfinite(height) else vehicle.offboard_vel[2]
    if not math.isfinite(height) and not math.isfinite(rate):
        rate = 0.0
    demand = cruise_demand(wing, params, height, rate, wing.airspeed_ref / wing.eas2tas)
    control_energy(wing, params, motion, demand, t_us, dt)

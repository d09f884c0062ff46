"""OFFBOARD for a fixed wing: positions, paths and velocities, attitudes and rates, as in PX4."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import to_euler

from ..control.vector import thrust_normalised
from ..state.vehicle_status import ATTITUDE, RATES, TRAJECTORY
from . import npfg
from .guidance import Motion, control_energy, cruise, fly_to, follow, least_airspeed, set_airspeed


@njit
def follow_set_point(v: np.void, w: np.void, q: np.void, m: Motion, t_us: int, dt: float) -> None:
    """Sets roll, pitch, throttle or rates by an offboard set-point.

    A position with a velocity is a path through it, one with an acceleration too a curved one; a
    velocity alone is a course with a height rate.

    Arguments as of auto.fly_auto().
    """
    if v.offboard_kind == TRAJECTORY:
        _follow_trajectory(v, w, q, m, t_us, dt)
    elif v.offboard_kind == ATTITUDE:
        quat = v.offboard_quat
        w.roll, pitch, _ = to_euler(quat[0], quat[1], quat[2], quat[3])
        w.pitch = -pitch
        w.throttle = thrust_normalised(v, v.offboard_thrust)
    elif v.offboard_kind == RATES:
        w.rate[0], w.rate[1], w.rate[2] = (
            v.offboard_rates[0],
            -v.offboard_rates[1],
            -v.offboard_rates[2],
        )
        w.throttle = thrust_normalised(v, v.offboard_thrust)


@njit
def _follow_trajectory(v, w, q, m, t_us, dt):
    vel = v.offboard_vel[1], v.offboard_vel[0]
    speed = math.hypot(vel[0], vel[1])
    moves = math.isfinite(speed) and speed > 1e-6
    placed = math.isfinite(v.offboard_pos[0]) and math.isfinite(v.offboard_pos[1])
    set_airspeed(w, q, m, speed if moves and not placed else 0.0, least_airspeed(w, q), False, dt)
    w.airspeed_ref = w.airspeed_sp * w.eas2tas
    w.roll = 0.0
    if placed:
        target = v.offboard_pos[1], v.offboard_pos[0]
        if moves:
            turn = npfg.cross(vel, (v.offboard_acc[1], v.offboard_acc[0]))
            curvature = turn / speed**3 if math.isfinite(turn) else 0.0
            follow(w, q, m, npfg.unit(vel), target, curvature, q.NPFG_PERIOD)
        else:
            fly_to(w, q, m, target)
    elif moves:
        follow(w, q, m, npfg.unit(vel), m.pos, 0.0, q.NPFG_PERIOD)
    height = v.offboard_pos[2]
    rate = math.nan if math.isfinite(height) else v.offboard_vel[2]
    if not math.isfinite(height) and not math.isfinite(rate):
        rate = 0.0
    d = cruise(w, q, height, rate, w.airspeed_ref / w.eas2tas)
    control_energy(w, q, m, d, t_us, dt)

"""Attitude and rate control of a fixed wing: PX4's fw_att_control and fw_rate_control."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp

MAX_ROLL = math.radians(80.0)  # whose coordinated turn is still finite [rad]
FULL_INTEGRAL = math.radians(400.0)  # rate error at which nothing is integrated [rad/s]


@njit
def scaling_airspeed(w: np.void, q: np.void) -> float:
    """Calibrated airspeed that controls are scaled by; the trim one if none is known [m/s]."""
    if q.FW_USE_AIRSPD and math.isfinite(w.airspeed):
        return max(w.airspeed, 0.5)
    return q.FW_AIRSPD_TRIM


@njit
def control_attitude(w: np.void, q: np.void, roll: float, pitch: float) -> None:
    """Writes the rates that turn the vehicle to its roll and pitch set-points.

    The yaw rate is that of a coordinated turn.

    Args:
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        roll, pitch: Of the vehicle [rad].
    """
    airspeed = clamp(scaling_airspeed(w, q), q.FW_AIRSPD_STALL, q.FW_AIRSPD_MAX)
    roll_rate, pitch_rate = (w.roll - roll) / q.FW_R_TC, (w.pitch - pitch) / q.FW_P_TC
    yaw_rate = 0.0
    if abs(roll) < 0.5 * math.pi:
        banked = clamp(clamp(roll, -MAX_ROLL, MAX_ROLL), -abs(w.roll), abs(w.roll))
        yaw_rate = math.tan(banked) * math.cos(pitch) * GRAVITY / airspeed
    limit_r, limit_y = math.radians(q.FW_R_RMAX), math.radians(q.FW_Y_RMAX)
    w.rate[0] = clamp(roll_rate - math.sin(pitch) * yaw_rate, -limit_r, limit_r)
    w.rate[1] = clamp(
        math.cos(roll) * pitch_rate + math.cos(pitch) * math.sin(roll) * yaw_rate,
        -math.radians(q.FW_P_RMAX_NEG),
        math.radians(q.FW_P_RMAX_POS),
    )
    w.rate[2] = clamp(
        math.cos(roll) * math.cos(pitch) * yaw_rate - math.sin(roll) * pitch_rate, -limit_y, limit_y
    )


@njit
def _trim(airspeed, q, at_trim, at_min, at_max):
    """Trim of one axis over the airspeed."""
    if airspeed < q.FW_AIRSPD_TRIM:
        share = (q.FW_AIRSPD_TRIM - airspeed) / (q.FW_AIRSPD_TRIM - q.FW_AIRSPD_MIN)
        return at_trim + clamp(share, 0.0, 1.0) * at_min
    share = (airspeed - q.FW_AIRSPD_TRIM) / (q.FW_AIRSPD_MAX - q.FW_AIRSPD_TRIM)
    return at_trim + clamp(share, 0.0, 1.0) * at_max


@njit
def _one_axis(w, k, rate, gain, integral, limit, forward, scale, trim, rests, dt):
    error = w.rate[k] - rate
    wanted = (gain * error + w.rate_integral[k]) * scale * scale + forward * scale * w.rate[k]
    if rests:
        w.rate_integral[k] = 0.0
    else:
        # Not beyond what the surfaces can do.
        if w.torque[k] >= 1.0:
            error = min(error, 0.0)
        elif w.torque[k] <= -1.0:
            error = max(error, 0.0)
        share = max(0.0, 1.0 - (error / FULL_INTEGRAL) ** 2)
        w.rate_integral[k] = clamp(
            w.rate_integral[k] + share * integral * error * dt, -limit, limit
        )
    w.torque[k] = clamp(wanted + trim, -1.0, 1.0)


@njit
def control_rates(w: np.void, q: np.void, rates: np.ndarray, rests: bool, dt: float) -> None:
    """Writes the torque for the rate set-points, scaled by the airspeed.

    Args:
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        rates: (3,) of the vehicle, forward, left, up [rad/s].
        rests: Whether nothing is integrated, as on the ground.
        dt: [s].
    """
    airspeed = scaling_airspeed(w, q)
    scale = 1.0
    if q.FW_ARSP_SCALE_EN:
        scale = q.FW_AIRSPD_TRIM / clamp(airspeed, q.FW_AIRSPD_STALL, q.FW_AIRSPD_MAX)
    _one_axis(
        w,
        0,
        rates[0],
        q.FW_RR_P,
        q.FW_RR_I,
        q.FW_RR_IMAX,
        q.FW_RR_FF,
        scale,
        _trim(airspeed, q, q.TRIM_ROLL, q.FW_DTRIM_R_VMIN, q.FW_DTRIM_R_VMAX),
        rests,
        dt,
    )
    _one_axis(
        w,
        1,
        -rates[1],
        q.FW_PR_P,
        q.FW_PR_I,
        q.FW_PR_IMAX,
        q.FW_PR_FF,
        scale,
        _trim(airspeed, q, q.TRIM_PITCH, q.FW_DTRIM_P_VMIN, q.FW_DTRIM_P_VMAX),
        rests,
        dt,
    )
    _one_axis(
        w,
        2,
        -rates[2],
        q.FW_YR_P,
        q.FW_YR_I,
        q.FW_YR_IMAX,
        q.FW_YR_FF,
        scale,
        _trim(airspeed, q, q.TRIM_YAW, q.FW_DTRIM_Y_VMIN, q.FW_DTRIM_Y_VMAX),
        rests,
        dt,
    )
    w.torque[2] = clamp(w.torque[2] + q.FW_RLL_TO_YAW_FF * w.torque[0], -1.0, 1.0)

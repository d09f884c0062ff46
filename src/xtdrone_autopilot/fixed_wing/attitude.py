"""Attitude and rate control of a fixed wing, as PX4's fw_att_control and fw_rate_control."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp

MAX_ROLL = math.radians(80.0)  # limits the yaw rate of a coordinated turn [rad]
INTEGRAL_CUTOFF_RATE = math.radians(400.0)  # rate error at which the integrator stops [rad/s]


@njit
def scaling_airspeed(wing: Record, params: Record) -> float:
    """Returns the calibrated airspeed for control scaling; FW_AIRSPD_TRIM if unknown [m/s]."""
    if params.FW_USE_AIRSPD and math.isfinite(wing.airspeed):
        return max(wing.airspeed, 0.5)
    return params.FW_AIRSPD_TRIM


@njit
def control_attitude(wing: Record, params: Record, roll: float, pitch: float) -> None:
    """Writes the rate set-points that turn the vehicle to its roll and pitch set-points.

    The yaw rate is that of a coordinated turn.

    Args:
        wing: Record of FIXED_WING_STATE; `rate` is written.
        params: Record of the parameters.
        roll, pitch: Attitude of the vehicle [rad].
    """
    airspeed = clamp(scaling_airspeed(wing, params), params.FW_AIRSPD_STALL, params.FW_AIRSPD_MAX)
    roll_rate, pitch_rate = (
        (wing.roll - roll) / params.FW_R_TC,
        (wing.pitch - pitch) / params.FW_P_TC,
    )
    yaw_rate = 0.0
    if abs(roll) < 0.5 * math.pi:
        limited_roll = clamp(clamp(roll, -MAX_ROLL, MAX_ROLL), -abs(wing.roll), abs(wing.roll))
        yaw_rate = math.tan(limited_roll) * math.cos(pitch) * GRAVITY / airspeed
    limit_r, limit_y = math.radians(params.FW_R_RMAX), math.radians(params.FW_Y_RMAX)
    wing.rate[0] = clamp(roll_rate - math.sin(pitch) * yaw_rate, -limit_r, limit_r)
    wing.rate[1] = clamp(
        math.cos(roll) * pitch_rate + math.cos(pitch) * math.sin(roll) * yaw_rate,
        -math.radians(params.FW_P_RMAX_NEG),
        math.radians(params.FW_P_RMAX_POS),
    )
    wing.rate[2] = clamp(
        math.cos(roll) * math.cos(pitch) * yaw_rate - math.sin(roll) * pitch_rate, -limit_y, limit_y
    )


@njit
def _trim(airspeed: float, params: Record, at_trim: float, at_min: float, at_max: float) -> float:
    """Interpolates the trim of one axis over the airspeed [m/s]."""
    if airspeed < params.FW_AIRSPD_TRIM:
        fraction = (params.FW_AIRSPD_TRIM - airspeed) / (
            params.FW_AIRSPD_TRIM - params.FW_AIRSPD_MIN
        )
        return at_trim + clamp(fraction, 0.0, 1.0) * at_min
    fraction = (airspeed - params.FW_AIRSPD_TRIM) / (params.FW_AIRSPD_MAX - params.FW_AIRSPD_TRIM)
    return at_trim + clamp(fraction, 0.0, 1.0) * at_max


@njit
def _control_axis(
    wing: Record,
    axis: int,
    rate: float,
    gain: float,
    integral_gain: float,
    limit: float,
    feed_forward: float,
    scale: float,
    trim: float,
    hold_integral: bool,
    dt: float,
) -> None:
    """Steps the rate loop of one axis (0, 1, 2: roll, pitch, yaw; FRD) and writes its torque."""
    error = wing.rate[axis] - rate
    torque = (
        gain * error + wing.rate_integral[axis]
    ) * scale * scale + feed_forward * scale * wing.rate[axis]
    if hold_integral:
        wing.rate_integral[axis] = 0.0
    else:
        # No integration into saturation.
        if wing.torque[axis] >= 1.0:
            error = min(error, 0.0)
        elif wing.torque[axis] <= -1.0:
            error = max(error, 0.0)
        integral_factor = max(0.0, 1.0 - (error / INTEGRAL_CUTOFF_RATE) ** 2)
        wing.rate_integral[axis] = clamp(
            wing.rate_integral[axis] + integral_factor * integral_gain * error * dt, -limit, limit
        )
    wing.torque[axis] = clamp(torque + trim, -1.0, 1.0)


@njit
def control_rates(
    wing: Record, params: Record, rates: np.ndarray, hold_integral: bool, dt: float
) -> None:
    """Writes the torque for the rate set-points, scaled by the airspeed.

    Args:
        wing: Record of FIXED_WING_STATE; `torque` is written.
        params: Record of the parameters.
        rates: (3,) body rates, FLU [rad/s].
        hold_integral: Whether the integrators are held at zero, as on the ground.
        dt: Length of the step [s].
    """
    airspeed = scaling_airspeed(wing, params)
    scale = 1.0
    if params.FW_ARSP_SCALE_EN:
        scale = params.FW_AIRSPD_TRIM / clamp(
            airspeed, params.FW_AIRSPD_STALL, params.FW_AIRSPD_MAX
        )
    _control_axis(
        wing,
        0,
        rates[0],
        params.FW_RR_P,
        params.FW_RR_I,
        params.FW_RR_IMAX,
        params.FW_RR_FF,
        scale,
        _trim(airspeed, params, params.TRIM_ROLL, params.FW_DTRIM_R_VMIN, params.FW_DTRIM_R_VMAX),
        hold_integral,
        dt,
    )
    _control_axis(
        wing,
        1,
        -rates[1],
        params.FW_PR_P,
        params.FW_PR_I,
        params.FW_PR_IMAX,
        params.FW_PR_FF,
        scale,
        _trim(airspeed, params, params.TRIM_PITCH, params.FW_DTRIM_P_VMIN, params.FW_DTRIM_P_VMAX),
        hold_integral,
        dt,
    )
    _control_axis(
        wing,
        2,
        -rates[2],
        params.FW_YR_P,
        params.FW_YR_I,
        params.FW_YR_IMAX,
        params.FW_YR_FF,
        scale,
        _trim(airspeed, params, params.TRIM_YAW, params.FW_DTRIM_Y_VMIN, params.FW_DTRIM_Y_VMAX),
        hold_integral,
        dt,
    )
    wing.torque[2] = clamp(wing.torque[2] + params.FW_RLL_TO_YAW_FF * wing.torque[0], -1.0, 1.0)

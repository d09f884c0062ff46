"""Body-rate control: rate error to torque.

Torque is the inertia times a PI law on the rate error, plus the gyroscopic term
of XTDrone (2).
"""

from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.rigid_body import symmetric_product
from xtdrone_dynamics.shapes import Symmetric, Vector

from ..state.vehicle_status import ACTUATORS, NO_SET_POINT
from .vector import clamp

# PX4's gains give normalised torques, which mean another angular acceleration for each vehicle;
# this loop's give the acceleration itself. A parameter acts relative to its value in PX4's iris:
# where this loop has these gains [1/s], [1/s^2] and this limit [rad/s^2]. A vehicle that turns
# faster than the iris, MAX [rad/s^2], has PX4's share of what it turns faster on top.
TILT_P, YAW_P, TILT_I, YAW_I, LIMIT, MAX = 20.0, 8.0, 20.0, 4.0, 6.0, 101.0
PX4_TILT_P, PX4_YAW_P, PX4_TILT_I, PX4_YAW_I, PX4_LIMIT = np.array(
    [0.15, 0.2, 0.2, 0.1, 0.3], dtype=np.float32
).tolist()


@njit
def one_rate(
    wanted: float,
    rate: float,
    integral: float,
    gain: float,
    growth: float,
    limit: float,
    grows: bool,
    dt: float,
) -> tuple[float, float]:
    """Angular acceleration about one axis for a body rate, and the loop's new integral.

    Args:
        wanted, rate: Set-point and present rate [rad/s].
        integral: [rad/s^2].
        gain: [1/s].
        growth: Gain of the integral [1/s^2].
        limit: Of the integral [rad/s^2].
        grows: Whether it changes.
        dt: Length of the step [s].

    Returns:
        (acceleration, integral) [rad/s^2].
    """
    error = wanted - rate
    after = clamp(integral + growth * error * dt, -limit, limit)
    return gain * error + integral, after if grows else integral


@njit
def torque_of(
    ax: float, ay: float, az: float, wx: float, wy: float, wz: float, j: Symmetric
) -> Vector:
    """Torque for an angular acceleration, with the gyroscopic term of XTDrone (2) [N m].

    Args:
        ax, ay, az: Angular acceleration, body [rad/s^2].
        wx, wy, wz: Body rates [rad/s].
        j: Inertia, packed, body [kg m^2].
    """
    lx, ly, lz = symmetric_product(j, wx, wy, wz)
    tx, ty, tz = symmetric_product(j, ax, ay, az)
    return tx + wy * lz - wz * ly, ty + wz * lx - wx * lz, tz + wx * ly - wy * lx


@njit
def _limit(share, most):
    """Limit of an integral [rad/s^2] for PX4's parameter and a vehicle's turn_max."""
    return LIMIT * (share / PX4_LIMIT) + share * max(0.0, most - MAX)


@njit
def gains_of(v: np.void, q: np.void) -> tuple[Vector, Vector, Vector]:
    """Gains, gains of the integrals and their limits about the axes, by the parameters."""
    return (
        (
            TILT_P * q.MC_ROLLRATE_K * (q.MC_ROLLRATE_P / PX4_TILT_P),
            TILT_P * q.MC_PITCHRATE_K * (q.MC_PITCHRATE_P / PX4_TILT_P),
            YAW_P * q.MC_YAWRATE_K * (q.MC_YAWRATE_P / PX4_YAW_P),
        ),
        (
            TILT_I * q.MC_ROLLRATE_K * (q.MC_ROLLRATE_I / PX4_TILT_I),
            TILT_I * q.MC_PITCHRATE_K * (q.MC_PITCHRATE_I / PX4_TILT_I),
            YAW_I * q.MC_YAWRATE_K * (q.MC_YAWRATE_I / PX4_YAW_I),
        ),
        (
            _limit(q.MC_RR_INT_LIM, v.turn_max[0]),
            _limit(q.MC_PR_INT_LIM, v.turn_max[1]),
            _limit(q.MC_YR_INT_LIM, v.turn_max[2]),
        ),
    )


@njit
def _control_one(v, q, rate, dt):
    """Writes the torque set-point (body) [N m] to v.sp_torque."""
    gains, growths, limits = gains_of(v, q)
    grows = not (v.landed or v.maybe_landed)
    s, i, j = v.sp_rates, v.rate_integral, v.inertia
    ax, i[0] = one_rate(s[0], rate[0], i[0], gains[0], growths[0], limits[0], grows, dt)
    ay, i[1] = one_rate(s[1], rate[1], i[1], gains[1], growths[1], limits[1], grows, dt)
    az, i[2] = one_rate(s[2], rate[2], i[2], gains[2], growths[2], limits[2], grows, dt)
    v.sp_torque[0], v.sp_torque[1], v.sp_torque[2] = torque_of(
        ax,
        ay,
        az,
        rate[0],
        rate[1],
        rate[2],
        (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]),
    )


@fleet_kernel
def control_fleet(
    status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray, dt: float
) -> None:
    """The loop for a fleet: records of VEHICLE_STATUS, of parameters and of the estimates (N,)."""
    for i in range(status.shape[0]):
        v = status[i]
        if v.vehicle_type != MULTICOPTER:
            continue
        if v.armed and v.sp_kind != NO_SET_POINT and v.sp_kind != ACTUATORS:
            _control_one(v, parameters[i], estimates[i].ang_vel, dt)
            continue
        for k in range(3):
            v.rate_integral[k] = 0.0
            v.sp_torque[k] = 0.0
        if v.sp_kind != ACTUATORS or not v.armed:
            v.sp_thrust = 0.0


class RateControl(Memory):
    """Rate loop of a fleet; implements parts.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel):
        """fleet: Not used by this loop; the inertia is in the status records."""

    def step(self, status: np.ndarray, parameters: np.ndarray, estimator: Any, dt: float) -> None:
        """One step of dt [s]; without a set-point, torque and thrust are zero."""
        control_fleet(status, parameters, estimator.records, dt)

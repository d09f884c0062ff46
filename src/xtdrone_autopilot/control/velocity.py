"""Velocity control: velocity error and feed-forward to an attitude and a collective thrust.

A PID loop as in PX4. The acceleration set-point becomes a thrust of 0..1 by way of the hover
thrust; its direction and the yaw give the attitude set-point. A fully actuated vehicle stays level
and exerts the horizontal force across its z axis, up to what it can; only the rest tilts it.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate_inverse
from xtdrone_dynamics.shapes import Vector

from ..state.vehicle_status import STAGE_FLIGHT, TRAJECTORY
from .vector import clamp, limit_norm2, quat_from_axes, thrust_newtons, wrap_pi, yaw_of

OFFBOARD = int(Mode.OFFBOARD)
MIN_THRUST = 1e-3  # of 0..1, so that the thrust has a direction
SIDE_SHARE = 0.7  # of the largest side force that a level vehicle exerts, the rest is for torque


@njit
def _acceleration(v, k, gain, damping, vel):
    """Acceleration set-point of axis k, and the velocity error [m/s^2, m/s]."""
    wanted = v.sp_acc[k] if math.isfinite(v.sp_acc[k]) else 0.0
    if not math.isfinite(v.sp_vel[k]):
        return wanted, 0.0
    error = v.sp_vel[k] - vel[k]
    if k < 2 and v.mode == OFFBOARD and math.isfinite(v.sp_acc[k]):
        # A trajectory of an offboard controller also gets rotor drag and the damping below fed
        # forward, which PX4 leaves to the integrator.
        wanted += v.drag * v.sp_vel[k] + damping * v.sp_acc[k]
    return loop_acceleration(
        wanted, error, gain, v.vel_integral[k], damping, v.acc_filtered[k]
    ), error


@njit
def loop_acceleration(
    wanted: float, error: float, gain: float, integral: float, damping: float, filtered: float
) -> float:
    """Acceleration set-point of one axis [m/s^2] for a velocity error [m/s]."""
    return wanted + gain * error + integral - damping * filtered


@njit
def thrust_vector(
    ax: float, ay: float, az: float, hover: float, tan_tilt: float, decouple: bool, least: float
) -> Vector:
    """Thrust vector of 0..1 for an acceleration [m/s^2], within the tilt limit.

    Args:
        hover: Collective thrust in hover, 0..1.
        tan_tilt: Tangent of the largest tilt.
        decouple: MPC_ACC_DECOUPLE: the tilt does not depend on az.
        least: Least collective thrust, 0..1.
    """
    up = GRAVITY if decouple else max(GRAVITY + az, 1e-3)
    ax, ay = limit_norm2(ax, ay, up * tan_tilt)
    norm = math.sqrt(ax * ax + ay * ay + up * up)
    collective = max(hover * (1.0 + az / GRAVITY) * norm / up, least)
    return collective * ax / norm, collective * ay / norm, collective * up / norm


@njit
def saturate(
    ax: float,
    ay: float,
    ex: float,
    ey: float,
    ez: float,
    tx: float,
    ty: float,
    tz: float,
    hover: float,
    least: float,
    top: float,
    margin: float,
    gain: float,
) -> tuple[float, float, float, float, float, float]:
    """The thrust within its limits, and the velocity errors that the integrators see then.

    Args:
        ax, ay: Acceleration set-point [m/s^2].
        ex, ey, ez: Velocity errors [m/s].
        tx, ty, tz: Thrust of 0..1 for it.
        hover: Collective thrust in hover, 0..1.
        least, top, margin: MPC_THR_MIN in force, MPC_THR_MAX, MPC_THR_XY_MARG.
        gain: MPC_XY_VEL_P_ACC.

    Returns:
        (tx, ty, tz, ex, ey, ez).
    """
    # The vertical integrator stops while the thrust saturates in the direction of the error.
    if (tz <= least and ez <= 0.0) or (tz >= top and ez >= 0.0):
        ez = 0.0
    # Height has priority, except for a margin of thrust that the horizontal motion keeps.
    side = math.sqrt(tx * tx + ty * ty)
    margin = min(side, margin, top)
    tz = min(tz, math.sqrt(top * top - margin * margin))
    tx, ty = limit_norm2(tx, ty, math.sqrt(max(top * top - tz * tz, 0.0)))
    # Anti-windup: the integrator takes back the acceleration that the limits removed.
    px, py = tx * GRAVITY / hover, ty * GRAVITY / hover
    if ax * ax + ay * ay > px * px + py * py:
        ex -= 2.0 / gain * (ax - px)
        ey -= 2.0 / gain * (ay - py)
    return tx, ty, tz, ex, ey, ez


@njit
def _leaning(fx, fy, fz, side):
    """Unit vector of the body's z axis for a force [N] of which `side` is exerted across it."""
    across = math.sqrt(fx * fx + fy * fy)
    share = max(across - side, 0.0) / max(across, 1e-9)
    size = math.sqrt(share * share * across * across + fz * fz)
    return share * fx / size, share * fy / size, fz / size


@njit
def _control_one(v, q, vel, quat, dt):
    v.vel_integral[2] = clamp(v.vel_integral[2], -GRAVITY, GRAVITY)
    ax, ex = _acceleration(v, 0, q.MPC_XY_VEL_P_ACC, q.MPC_XY_VEL_D_ACC, vel)
    ay, ey = _acceleration(v, 1, q.MPC_XY_VEL_P_ACC, q.MPC_XY_VEL_D_ACC, vel)
    az, ez = _acceleration(v, 2, q.MPC_Z_VEL_P_ACC, q.MPC_Z_VEL_D_ACC, vel)
    least = max(q.MPC_THR_MIN if v.stage == STAGE_FLIGHT else 0.0, MIN_THRUST)
    tx, ty, tz = thrust_vector(
        ax, ay, az, v.hover, math.tan(v.tilt_limit), q.MPC_ACC_DECOUPLE != 0, least
    )
    tx, ty, tz, ex, ey, ez = saturate(
        ax,
        ay,
        ex,
        ey,
        ez,
        tx,
        ty,
        tz,
        v.hover,
        least,
        q.MPC_THR_MAX,
        q.MPC_THR_XY_MARG,
        q.MPC_XY_VEL_P_ACC,
    )
    v.vel_integral[0] += q.MPC_XY_VEL_I_ACC * ex * dt
    v.vel_integral[1] += q.MPC_XY_VEL_I_ACC * ey * dt
    v.vel_integral[2] += q.MPC_Z_VEL_I_ACC * ez * dt
    v.sp_acc[0], v.sp_acc[1], v.sp_acc[2] = ax, ay, az

    # Attitude set-point: body z axis along the thrust, x axis towards the yaw set-point.
    thrust = math.sqrt(tx * tx + ty * ty + tz * tz)
    if not math.isfinite(v.sp_yaw):
        # No yaw set-point: integrate the yaw rate from the current heading.
        rate = v.sp_yaw_rate if math.isfinite(v.sp_yaw_rate) else 0.0
        if not math.isfinite(v.free_yaw):
            v.free_yaw = yaw_of(quat)
        v.free_yaw = wrap_pi(v.free_yaw + rate * dt)
        yaw = v.free_yaw
    else:
        yaw = v.sp_yaw
        v.free_yaw = math.nan
    newtons = thrust_newtons(v, thrust)
    fx, fy, fz = tx / thrust, ty / thrust, tz / thrust
    zx, zy, zz = fx, fy, fz
    if v.fully_actuated:
        zx, zy, zz = _leaning(
            fx * newtons, fy * newtons, fz * newtons, SIDE_SHARE * v.side_force_max
        )
    qx, qy, qz, qw = quat_from_axes(zx, zy, zz, yaw)
    v.sp_quat[0] = qx
    v.sp_quat[1] = qy
    v.sp_quat[2] = qz
    v.sp_quat[3] = qw
    v.sp_thrust = newtons
    if v.fully_actuated:
        sx, sy, sz = rotate_inverse(
            quat[0], quat[1], quat[2], quat[3], fx * newtons, fy * newtons, fz * newtons
        )
        v.sp_side_force[0], v.sp_side_force[1], v.sp_thrust = sx, sy, max(sz, 0.0)


@fleet_kernel
def control_fleet(
    status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray, dt: float
) -> None:
    """The loop for a fleet: records of VEHICLE_STATUS, of parameters and of the estimates (N,)."""
    for i in range(status.shape[0]):
        if status[i].vehicle_type == MULTICOPTER and status[i].sp_kind == TRAJECTORY:
            _control_one(status[i], parameters[i], estimates[i].vel, estimates[i].quat, dt)


class VelocityControl(Memory):
    """Velocity loop of a fleet; implements parts.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel):
        """fleet: Not used by this loop; mass and thrust are in the status records."""

    def step(self, status: np.ndarray, parameters: np.ndarray, estimator: Any, dt: float) -> None:
        """One step of dt [s] for the vehicles whose sp_kind is TRAJECTORY."""
        control_fleet(status, parameters, estimator.records, dt)

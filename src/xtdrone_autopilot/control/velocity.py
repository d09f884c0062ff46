"""Velocity control: velocity error and feed-forward to an attitude and a collective thrust.

A PID loop as in PX4. The acceleration set-point becomes a thrust vector; its
direction and the yaw give the attitude set-point.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.snapshot import Memory
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..vehicle_status import TRAJECTORY
from .vector import clamp, limit_norm2, quat_from_axes, wrap_pi, yaw_of


@njit
def _control_one(v, q, vel, quat, dt):
    ax = ay = az = 0.0
    for k in range(3):
        ff = v.sp_acc[k] if math.isfinite(v.sp_acc[k]) else 0.0
        if math.isfinite(v.sp_vel[k]):
            # With an acceleration set-point, also feed forward rotor drag and the damping of the
            # D term below. PX4 leaves both to the integrator.
            if k < 2 and math.isfinite(v.sp_acc[k]):
                ff += v.drag * v.sp_vel[k] + q.MPC_XY_VEL_D_ACC * v.sp_acc[k]
            error = v.sp_vel[k] - vel[k]
            if k < 2:
                ff += (q.MPC_XY_VEL_P_ACC * error + v.vel_integral[k]
                       - q.MPC_XY_VEL_D_ACC * v.acc_filtered[k])
            else:
                ff += (q.MPC_Z_VEL_P_ACC * error + v.vel_integral[k]
                       - q.MPC_Z_VEL_D_ACC * v.acc_filtered[k])
        else:
            v.vel_integral[k] = 0.0
        if k == 0:
            ax = ff
        elif k == 1:
            ay = ff
        else:
            az = ff

    # Height has priority: the vertical force is limited by the rotors only, the
    # horizontal force by the remaining thrust and the tilt limit.
    fz_wanted = v.mass * (az + GRAVITY)
    f_max = q.MPC_THR_MAX * v.thrust_max
    fz = clamp(fz_wanted, q.MPC_THR_MIN * v.thrust_max, f_max) * v.ramp
    side = min(math.sqrt(max(f_max * f_max - fz * fz, 0.0)), fz * math.tan(v.tilt_limit))
    fx_wanted, fy_wanted = v.mass * ax * v.ramp, v.mass * ay * v.ramp
    fx, fy = limit_norm2(fx_wanted, fy_wanted, side)

    # Integrators stop while the force saturates in the direction of the error.
    if v.landed:
        for k in range(3):
            v.vel_integral[k] = 0.0
    else:
        for k in range(2):
            if math.isfinite(v.sp_vel[k]):
                error = v.sp_vel[k] - vel[k]
                held = (fx - fx_wanted if k == 0 else fy - fy_wanted) / v.mass
                # Anti-windup: feed back the acceleration that the limits removed.
                error += 2.0 / q.MPC_XY_VEL_P_ACC * held
                v.vel_integral[k] += q.MPC_XY_VEL_I_ACC * error * dt
        vx, vy = limit_norm2(v.vel_integral[0], v.vel_integral[1], GRAVITY)
        v.vel_integral[0] = vx
        v.vel_integral[1] = vy
        if math.isfinite(v.sp_vel[2]) and v.ramp >= 1.0:
            error = v.sp_vel[2] - vel[2]
            if (fz_wanted == fz) or (fz_wanted - fz) * error < 0.0:
                v.vel_integral[2] = clamp(v.vel_integral[2] + q.MPC_Z_VEL_I_ACC * error * dt,
                                          -GRAVITY, GRAVITY)

    v.sp_acc[0] = ax
    v.sp_acc[1] = ay
    v.sp_acc[2] = az

    # Attitude set-point: body z axis along the force, x axis towards the yaw set-point.
    norm = math.sqrt(fx * fx + fy * fy + fz * fz)
    if norm < 1e-6:
        zx, zy, zz = 0.0, 0.0, 1.0
    else:
        zx, zy, zz = fx / norm, fy / norm, fz / norm
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
    qx, qy, qz, qw = quat_from_axes(zx, zy, zz, yaw)
    v.sp_quat[0] = qx
    v.sp_quat[1] = qy
    v.sp_quat[2] = qz
    v.sp_quat[3] = qw

    # Project the force on the current body z axis, as in Aerial Gym (7).
    x, y, z, w = quat[0], quat[1], quat[2], quat[3]
    bx, by, bz = 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)
    v.sp_thrust = clamp(fx * bx + fy * by + fz * bz, 0.0, f_max)


@njit
def _control(status, parameters, estimates, dt):
    for i in range(status.shape[0]):
        if status[i].sp_kind == TRAJECTORY:
            _control_one(status[i], parameters[i], estimates[i].vel, estimates[i].quat, dt)


class VelocityControl(Memory):
    """Velocity loop of a fleet; implements parts.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel):
        """fleet: Not used by this loop; mass and thrust are in the status records."""

    def step(self, status: np.ndarray, parameters: np.ndarray, estimator: Any, dt: float) -> None:
        """One step of dt [s] for the vehicles whose sp_kind is TRAJECTORY."""
        _control(status, parameters, estimator.records, dt)

"""Position and velocity control: trajectory set-point to attitude and collective thrust.

The cascade is PX4's: proportional position loop, PID velocity loop, both with
feed-forward; the acceleration wanted becomes a thrust vector, whose direction
and the yaw give the attitude. NaN in a set-point means 'not controlled'.
"""

import math

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from .pilot import TRAJECTORY
from .vector import clamp, limit_norm2, quat_from_axes, wrap_pi, yaw_of



@njit
def _velocity_wanted(v, q, pos):
    """Position loop: velocity set-point (3) from position error and feed-forward, limited."""
    vx, vy = 0.0, 0.0
    for k in range(2):
        ff = v.sp_vel[k] if math.isfinite(v.sp_vel[k]) else 0.0
        if math.isfinite(v.sp_pos[k]):
            ff += q.MPC_XY_P * (v.sp_pos[k] - pos[k])
        if k == 0:
            vx = ff
        else:
            vy = ff
    vx, vy = limit_norm2(vx, vy, q.MPC_XY_VEL_MAX)
    vz = v.sp_vel[2] if math.isfinite(v.sp_vel[2]) else 0.0
    if math.isfinite(v.sp_pos[2]):
        vz += q.MPC_Z_P * (v.sp_pos[2] - pos[2])
    return vx, vy, clamp(vz, -q.MPC_Z_VEL_MAX_DN, q.MPC_Z_VEL_MAX_UP)


@njit
def _controls(v, k):
    """Whether position or velocity of axis k is controlled at all."""
    return math.isfinite(v.sp_pos[k]) or math.isfinite(v.sp_vel[k])


@njit
def _control_one(v, q, pos, vel, quat, dt):
    wanted = _velocity_wanted(v, q, pos)
    ax = ay = az = 0.0
    for k in range(3):
        ff = v.sp_acc[k] if math.isfinite(v.sp_acc[k]) else 0.0
        if _controls(v, k):
            error = wanted[k] - vel[k]
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

    # Height comes first: the vertical force is limited by the rotors alone, the
    # horizontal one by what is left and by the largest tilt.
    tilt_max = math.radians(q.MPC_TILTMAX_AIR)
    fz_wanted = v.mass * (az + GRAVITY)
    f_max = q.MPC_THR_MAX * v.thrust_max
    fz = clamp(fz_wanted, q.MPC_THR_MIN * v.thrust_max, f_max) * v.ramp
    side = min(math.sqrt(max(f_max * f_max - fz * fz, 0.0)), fz * math.tan(tilt_max))
    fx_wanted, fy_wanted = v.mass * ax, v.mass * ay
    fx, fy = limit_norm2(fx_wanted, fy_wanted, side)

    # Integrators stop where the force saturates in the direction of the error.
    if not v.landed:
        for k in range(2):
            if _controls(v, k):
                error = wanted[k] - vel[k]
                held = (fx - fx_wanted if k == 0 else fy - fy_wanted) / v.mass
                # Anti-reset windup: what the limits took away is fed back.
                error += 2.0 / q.MPC_XY_VEL_P_ACC * held
                v.vel_integral[k] += q.MPC_XY_VEL_I_ACC * error * dt
        vx, vy = limit_norm2(v.vel_integral[0], v.vel_integral[1], GRAVITY)
        v.vel_integral[0] = vx
        v.vel_integral[1] = vy
        if _controls(v, 2) and v.ramp >= 1.0:
            error = wanted[2] - vel[2]
            if (fz_wanted == fz) or (fz_wanted - fz) * error < 0.0:
                v.vel_integral[2] = clamp(v.vel_integral[2] + q.MPC_Z_VEL_I_ACC * error * dt,
                                          -GRAVITY, GRAVITY)

    for k in range(3):
        v.sp_vel[k] = wanted[k]
    v.sp_acc[0] = ax
    v.sp_acc[1] = ay
    v.sp_acc[2] = az

    # Attitude: the body's z along the force, its x towards the yaw wanted.
    norm = math.sqrt(fx * fx + fy * fy + fz * fz)
    if norm < 1e-6:
        zx, zy, zz = 0.0, 0.0, 1.0
    else:
        zx, zy, zz = fx / norm, fy / norm, fz / norm
    if not math.isfinite(v.sp_yaw):
        # Yaw is free or has a rate only: turn on from where the nose is.
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

    # The force along the body's present z axis, as in Aerial Gym (7).
    x, y, z, w = quat[0], quat[1], quat[2], quat[3]
    bx, by, bz = 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)
    v.sp_thrust = clamp(fx * bx + fy * by + fz * bz, 0.0, f_max)


@njit
def _control(pilots, parameters, pos, vel, quat, dt):
    for i in range(pilots.shape[0]):
        if pilots[i].sp_kind == TRAJECTORY:
            _control_one(pilots[i], parameters[i], pos[i], vel[i], quat[i], dt)


class PositionControl:
    """Position and velocity loops of a fleet.

    Reads sp_pos, sp_vel, sp_acc, sp_yaw and sp_yaw_rate of the pilots whose
    sp_kind is TRAJECTORY; writes sp_quat (xyzw) and sp_thrust [N].
    """

    def step(self, pilots, parameters, estimator, dt: float) -> None:
        """One step of dt [s] for the whole fleet."""
        _control(pilots, parameters, estimator.pos, estimator.vel, estimator.quat, dt)

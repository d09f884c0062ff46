"""Velocity control: velocity error and acceleration feed-forward to attitude and collective thrust.

A PID loop as in PX4. The hover thrust converts the acceleration set-point into a thrust of 0..1;
its direction and the yaw give the attitude set-point. A fully actuated vehicle stays level and
exerts the horizontal force across its z axis as far as it can; only the rest tilts it.
"""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate_inverse
from xtdrone_dynamics.shapes import Vector

from ..interfaces import Estimator
from ..state.vehicle_status import STAGE_FLIGHT, TRAJECTORY
from .vector import clamp, limit_norm2, quat_from_axes, thrust_newtons, wrap_pi, yaw_of

OFFBOARD = int(Mode.OFFBOARD)
MIN_THRUST = 1e-3  # smallest thrust 0..1, so that it has a direction
SIDE_FORCE_FRACTION = 0.7  # used fraction of the largest side force; the rest is for torque


@njit
def _acceleration(
    vehicle: Record, axis: int, gain: float, damping: float, vel: np.ndarray
) -> tuple[float, float]:
    """Returns acceleration set-point [m/s^2] and velocity error [m/s] of an axis."""
    feed_forward = vehicle.sp_acc[axis] if math.isfinite(vehicle.sp_acc[axis]) else 0.0
    if not math.isfinite(vehicle.sp_vel[axis]):
        return feed_forward, 0.0
    error = vehicle.sp_vel[axis] - vel[axis]
    if axis < 2 and vehicle.mode == OFFBOARD and math.isfinite(vehicle.sp_acc[axis]):
        # For trajectories of an offboard controller, rotor drag and the damping term below are fed
        # forward; PX4 leaves them to the integrator.
        feed_forward += vehicle.drag * vehicle.sp_vel[axis] + damping * vehicle.sp_acc[axis]
    return loop_acceleration(
        feed_forward, error, gain, vehicle.vel_integral[axis], damping, vehicle.acc_filtered[axis]
    ), error


@njit
def loop_acceleration(
    feed_forward: float, error: float, gain: float, integral: float, damping: float, filtered: float
) -> float:
    """Returns the acceleration set-point of one axis [m/s^2].

    Args:
        feed_forward: Feed-forward acceleration [m/s^2].
        error: Velocity error [m/s].
        gain: Proportional gain [1/s].
        integral: Integral part [m/s^2].
        damping: Gain of the acceleration.
        filtered: Low-pass filtered acceleration [m/s^2].
    """
    return feed_forward + gain * error + integral - damping * filtered


@njit
def thrust_vector(
    ax: float,
    ay: float,
    az: float,
    hover: float,
    tan_tilt: float,
    decouple: bool,
    min_thrust: float,
) -> Vector:
    """Returns the thrust vector of 0..1 for an acceleration, within the tilt limit.

    Args:
        ax, ay, az: Acceleration set-point, world [m/s^2].
        hover: Collective thrust in hover, 0..1.
        tan_tilt: Tangent of the largest tilt.
        decouple: MPC_ACC_DECOUPLE: the tilt does not depend on az.
        min_thrust: Smallest collective thrust, 0..1.
    """
    up = GRAVITY if decouple else max(GRAVITY + az, 1e-3)
    ax, ay = limit_norm2(ax, ay, up * tan_tilt)
    norm = math.sqrt(ax * ax + ay * ay + up * up)
    collective = max(hover * (1.0 + az / GRAVITY) * norm / up, min_thrust)
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
    min_thrust: float,
    max_thrust: float,
    margin: float,
    gain: float,
) -> tuple[float, float, float, float, float, float]:
    """Limits the thrust, and the velocity errors that the integrators receive (anti-windup).

    Args:
        ax, ay: Acceleration set-point, world [m/s^2].
        ex, ey, ez: Velocity errors, world [m/s].
        tx, ty, tz: Thrust vector of 0..1, world.
        hover: Collective thrust in hover, 0..1.
        min_thrust, max_thrust, margin: MPC_THR_MIN (0 on the ground), MPC_THR_MAX, MPC_THR_XY_MARG.
        gain: MPC_XY_VEL_P_ACC.

    Returns:
        (tx, ty, tz, ex, ey, ez).
    """
    # The vertical integrator stops while the thrust saturates in the direction of the error.
    if (tz <= min_thrust and ez <= 0.0) or (tz >= max_thrust and ez >= 0.0):
        ez = 0.0
    # Height has priority, except for a margin of thrust that the horizontal motion keeps.
    thrust_xy = math.sqrt(tx * tx + ty * ty)
    margin = min(thrust_xy, margin, max_thrust)
    tz = min(tz, math.sqrt(max_thrust * max_thrust - margin * margin))
    tx, ty = limit_norm2(tx, ty, math.sqrt(max(max_thrust * max_thrust - tz * tz, 0.0)))
    # Anti-windup: the integrator loses the acceleration that the limits removed.
    px, py = tx * GRAVITY / hover, ty * GRAVITY / hover
    if ax * ax + ay * ay > px * px + py * py:
        ex -= 2.0 / gain * (ax - px)
        ey -= 2.0 / gain * (ay - py)
    return tx, ty, tz, ex, ey, ez


@njit
def _thrust_axis(fx: float, fy: float, fz: float, side: float) -> Vector:
    """Returns the unit vector of the body z axis for a force [N], `side` of it across that axis."""
    horizontal = math.sqrt(fx * fx + fy * fy)
    fraction = max(horizontal - side, 0.0) / max(horizontal, 1e-9)
    size = math.sqrt(fraction * fraction * horizontal * horizontal + fz * fz)
    return fraction * fx / size, fraction * fy / size, fz / size


@njit
def _control_one(
    vehicle: Record, params: Record, vel: np.ndarray, quat: np.ndarray, dt: float
) -> None:
    """Writes attitude and thrust set-points of one vehicle.

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        vel: (3,) estimated velocity, world [m/s].
        quat: (4,) attitude xyzw, body to world.
        dt: Length of the step [s].
    """
    vehicle.vel_integral[2] = clamp(vehicle.vel_integral[2], -GRAVITY, GRAVITY)
    ax, ex = _acceleration(vehicle, 0, params.MPC_XY_VEL_P_ACC, params.MPC_XY_VEL_D_ACC, vel)
    ay, ey = _acceleration(vehicle, 1, params.MPC_XY_VEL_P_ACC, params.MPC_XY_VEL_D_ACC, vel)
    az, ez = _acceleration(vehicle, 2, params.MPC_Z_VEL_P_ACC, params.MPC_Z_VEL_D_ACC, vel)
    min_thrust = max(params.MPC_THR_MIN if vehicle.stage == STAGE_FLIGHT else 0.0, MIN_THRUST)
    tx, ty, tz = thrust_vector(
        ax,
        ay,
        az,
        vehicle.hover,
        math.tan(vehicle.tilt_limit),
        params.MPC_ACC_DECOUPLE != 0,
        min_thrust,
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
        vehicle.hover,
        min_thrust,
        params.MPC_THR_MAX,
        params.MPC_THR_XY_MARG,
        params.MPC_XY_VEL_P_ACC,
    )
    vehicle.vel_integral[0] += params.MPC_XY_VEL_I_ACC * ex * dt
    vehicle.vel_integral[1] += params.MPC_XY_VEL_I_ACC * ey * dt
    vehicle.vel_integral[2] += params.MPC_Z_VEL_I_ACC * ez * dt
    vehicle.sp_acc[0], vehicle.sp_acc[1], vehicle.sp_acc[2] = ax, ay, az

    thrust = math.sqrt(tx * tx + ty * ty + tz * tz)
    point_thrust(
        vehicle,
        tx / thrust,
        ty / thrust,
        tz / thrust,
        thrust_newtons(vehicle, thrust),
        yaw_set_point(vehicle, quat, dt),
        quat,
    )


@njit
def yaw_set_point(vehicle: Record, quat: np.ndarray, dt: float) -> float:
    """Returns the yaw set-point [rad]; without one, integrates the yaw rate from the heading."""
    if math.isfinite(vehicle.sp_yaw):
        vehicle.free_yaw = math.nan
        return vehicle.sp_yaw
    rate = vehicle.sp_yaw_rate if math.isfinite(vehicle.sp_yaw_rate) else 0.0
    if not math.isfinite(vehicle.free_yaw):
        vehicle.free_yaw = yaw_of(quat)
    vehicle.free_yaw = wrap_pi(vehicle.free_yaw + rate * dt)
    return vehicle.free_yaw


@njit
def point_thrust(
    vehicle: Record, fx: float, fy: float, fz: float, newtons: float, yaw: float, quat: np.ndarray
) -> None:
    """Writes attitude and thrust set-points: body z axis along the thrust, x axis towards the yaw.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        fx, fy, fz: Unit vector of the thrust, world.
        newtons: The thrust [N].
        yaw: [rad].
        quat: (4,) attitude xyzw, body to world.
    """
    zx, zy, zz = fx, fy, fz
    if vehicle.fully_actuated:
        zx, zy, zz = _thrust_axis(
            fx * newtons, fy * newtons, fz * newtons, SIDE_FORCE_FRACTION * vehicle.side_force_max
        )
    qx, qy, qz, qw = quat_from_axes(zx, zy, zz, yaw)
    vehicle.sp_quat[0] = qx
    vehicle.sp_quat[1] = qy
    vehicle.sp_quat[2] = qz
    vehicle.sp_quat[3] = qw
    vehicle.sp_thrust = newtons
    if vehicle.fully_actuated:
        sx, sy, sz = rotate_inverse(
            quat[0], quat[1], quat[2], quat[3], fx * newtons, fy * newtons, fz * newtons
        )
        vehicle.sp_side_force[0], vehicle.sp_side_force[1], vehicle.sp_thrust = sx, sy, max(sz, 0.0)


@fleet_kernel
def control_fleet(
    status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray, dt: float
) -> None:
    """Steps the loop of a fleet: (N,) records of VEHICLE_STATUS, of parameters and of ESTIMATE."""
    for i in range(status.shape[0]):
        if status[i].vehicle_type == MULTICOPTER and status[i].sp_kind == TRAJECTORY:
            _control_one(status[i], parameters[i], estimates[i].vel, estimates[i].quat, dt)


class VelocityControl(Memory):
    """Velocity loop of a fleet; implements interfaces.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel) -> None:
        """Needs nothing of the fleet; mass and thrust are in the status records."""

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY by dt [s]."""
        control_fleet(status, parameters, estimator.records, dt)

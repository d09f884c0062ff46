"""Forces and motion in lanes."""

import numpy as np

from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.forces import aerodynamics, rotor
from xtdrone_dynamics.lanes import LaneLoop

from .layout import (
    ACC,
    AIRSPEED,
    FORCE,
    INERTIA,
    INVERSE,
    MASS,
    OLD_VEL,
    POS,
    QUAT,
    R_AXIS,
    R_DIRECTION,
    R_DOWN,
    R_DRAG,
    R_MAX_SPEED,
    R_MOMENT,
    R_POS,
    R_ROLL,
    R_SCALING,
    R_THRUST,
    R_UP,
    R_ZERO,
    RATE,
    RATIO,
    SCALE,
    SPEED,
    THRUST,
    TORQUE,
    VEL,
    WIND,
    G,
    L,
)


@LaneLoop
def begin_forces(
    block: np.ndarray,
    kx: float,
    ky: float,
    kz: float,
    ax: float,
    ay: float,
    az: float,
    density: float,
) -> None:
    """Writes the velocity relative to the air, and the drag of the body."""
    for k in range(L):
        ux, uy, uz = quaternion.rotate_inverse(
            block[QUAT + k],
            block[QUAT + L + k],
            block[QUAT + 2 * L + k],
            block[QUAT + 3 * L + k],
            block[VEL + k] - block[WIND + k],
            block[VEL + L + k] - block[WIND + L + k],
            block[VEL + 2 * L + k] - block[WIND + 2 * L + k],
        )
        fx, fy, fz = aerodynamics.linear_drag(kx, ky, kz, ux, uy, uz)
        dx, dy, dz = aerodynamics.quadratic_drag(ax, ay, az, density, ux, uy, uz)
        block[AIRSPEED + k], block[AIRSPEED + L + k], block[AIRSPEED + 2 * L + k] = ux, uy, uz
        block[FORCE + k], block[FORCE + L + k], block[FORCE + 2 * L + k] = fx + dx, fy + dy, fz + dz
        block[TORQUE + k] = block[TORQUE + L + k] = block[TORQUE + 2 * L + k] = 0.0


@LaneLoop
def add_rotor(block: np.ndarray, rotor_block: np.ndarray, rotor_params: np.ndarray) -> None:
    """Advances the lag of one rotor, and adds its force and torque on the vehicle."""
    rx, ry, rz, ax, ay, az = (
        rotor_params[R_POS],
        rotor_params[R_POS + 1],
        rotor_params[R_POS + 2],
        rotor_params[R_AXIS],
        rotor_params[R_AXIS + 1],
        rotor_params[R_AXIS + 2],
    )
    direction, thrust, moment, drag, roll = (
        rotor_params[R_DIRECTION],
        rotor_params[R_THRUST],
        rotor_params[R_MOMENT],
        rotor_params[R_DRAG],
        rotor_params[R_ROLL],
    )
    up, down = (
        (rotor_params[R_UP], rotor_params[R_UP + 1], rotor_params[R_UP + 2]),
        (rotor_params[R_DOWN], rotor_params[R_DOWN + 1], rotor_params[R_DOWN + 2]),
    )
    scaling, zero, max_speed = (
        rotor_params[R_SCALING],
        rotor_params[R_ZERO],
        rotor_params[R_MAX_SPEED],
    )
    for k in range(L):
        target = rotor.target_speed(rotor_block[THRUST + k], scaling, zero, max_speed)
        after, mean, square = rotor.lagged(rotor_block[SPEED + k], target, up, down)
        ratio = rotor_block[RATIO + k]
        ux, uy, uz = block[AIRSPEED + k], block[AIRSPEED + L + k], block[AIRSPEED + 2 * L + k]
        wx, wy, wz = block[RATE + k], block[RATE + L + k], block[RATE + 2 * L + k]
        fx, fy, fz, mx, my, mz = rotor.wrench(
            mean,
            square,
            direction,
            ax,
            ay,
            az,
            thrust * ratio,
            moment,
            drag * ratio,
            roll * ratio,
            ux + wy * rz - wz * ry,
            uy + wz * rx - wx * rz,
            uz + wx * ry - wy * rx,
        )
        rotor_block[SPEED + k] = after
        block[FORCE + k] += fx
        block[FORCE + L + k] += fy
        block[FORCE + 2 * L + k] += fz
        block[TORQUE + k] += mx + ry * fz - rz * fy
        block[TORQUE + L + k] += my + rz * fx - rx * fz
        block[TORQUE + 2 * L + k] += mz + rx * fy - ry * fx


@LaneLoop
def advance_velocities(block: np.ndarray, vehicle: np.ndarray, dt: float) -> None:
    """Advances the velocities to the end of the step."""
    mass, gravity = vehicle[MASS], vehicle[G]
    j = (
        vehicle[INERTIA],
        vehicle[INERTIA + 1],
        vehicle[INERTIA + 2],
        vehicle[INERTIA + 3],
        vehicle[INERTIA + 4],
        vehicle[INERTIA + 5],
    )
    i = (
        vehicle[INVERSE],
        vehicle[INVERSE + 1],
        vehicle[INVERSE + 2],
        vehicle[INVERSE + 3],
        vehicle[INVERSE + 4],
        vehicle[INVERSE + 5],
    )
    for k in range(L):
        inv_scale = 1.0 / block[SCALE + k]
        fx, fy, fz = quaternion.rotate(
            block[QUAT + k],
            block[QUAT + L + k],
            block[QUAT + 2 * L + k],
            block[QUAT + 3 * L + k],
            inv_scale * block[FORCE + k],
            inv_scale * block[FORCE + L + k],
            inv_scale * block[FORCE + 2 * L + k],
        )
        vx, vy, vz, wx, wy, wz = rigid_body.accelerate(
            block[VEL + k],
            block[VEL + L + k],
            block[VEL + 2 * L + k],
            block[RATE + k],
            block[RATE + L + k],
            block[RATE + 2 * L + k],
            (fx, fy, fz),
            (
                inv_scale * block[TORQUE + k],
                inv_scale * block[TORQUE + L + k],
                inv_scale * block[TORQUE + 2 * L + k],
            ),
            mass,
            j,
            i,
            gravity,
            dt,
        )
        block[OLD_VEL + k], block[OLD_VEL + L + k] = block[VEL + k], block[VEL + L + k]
        block[OLD_VEL + 2 * L + k] = block[VEL + 2 * L + k]
        block[VEL + k], block[VEL + L + k], block[VEL + 2 * L + k] = vx, vy, vz
        block[RATE + k], block[RATE + L + k], block[RATE + 2 * L + k] = wx, wy, wz


@LaneLoop
def advance_poses(block: np.ndarray, dt: float) -> None:
    """Advances the poses to the end of the step, with velocities within the engine's limits."""
    for k in range(L):
        vx, vy = min(max(block[VEL + k], -1e3), 1e3), min(max(block[VEL + L + k], -1e3), 1e3)
        vz = min(max(block[VEL + 2 * L + k], -1e3), 1e3)
        wx, wy = min(max(block[RATE + k], -5e2), 5e2), min(max(block[RATE + L + k], -5e2), 5e2)
        wz = min(max(block[RATE + 2 * L + k], -5e2), 5e2)
        px, py, pz, qx, qy, qz, qw = rigid_body.displace(
            block[POS + k],
            block[POS + L + k],
            block[POS + 2 * L + k],
            block[QUAT + k],
            block[QUAT + L + k],
            block[QUAT + 2 * L + k],
            block[QUAT + 3 * L + k],
            vx,
            vy,
            vz,
            wx,
            wy,
            wz,
            dt,
        )
        block[VEL + k], block[VEL + L + k], block[VEL + 2 * L + k] = vx, vy, vz
        block[RATE + k], block[RATE + L + k], block[RATE + 2 * L + k] = wx, wy, wz
        block[POS + k], block[POS + L + k], block[POS + 2 * L + k] = px, py, pz
        block[QUAT + k], block[QUAT + L + k] = qx, qy
        block[QUAT + 2 * L + k], block[QUAT + 3 * L + k] = qz, qw


@LaneLoop
def accelerations(block: np.ndarray, dt: float) -> None:
    """Writes the mean accelerations over the last sub-step."""
    for k in range(3 * L):
        block[ACC + k] = (block[VEL + k] - block[OLD_VEL + k]) / dt

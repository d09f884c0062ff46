"""Buoyancy and drag of the floats of a fleet, in still water and in waves."""

import numpy as np

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.earth import waves as wave_model
from xtdrone_dynamics.forces import hull as hull_model


@njit
def _drag(
    hull: Record, wet: float, vx: float, vy: float, vz: float, wx: float, wy: float, wz: float
) -> tuple[float, float, float, float, float, float]:
    """Force [N] and torque [N m] against a motion through the water, frame of the body."""
    return (
        wet * hull_model.drag(hull.linear_drag[0], hull.quadratic_drag[0], vx),
        wet * hull_model.drag(hull.linear_drag[1], hull.quadratic_drag[1], vy),
        wet * hull_model.drag(hull.linear_drag[2], hull.quadratic_drag[2], vz),
        wet * hull_model.drag(hull.linear_damping[0], hull.quadratic_damping[0], wx),
        wet * hull_model.drag(hull.linear_damping[1], hull.quadratic_damping[1], wy),
        wet * hull_model.drag(hull.linear_damping[2], hull.quadratic_damping[2], wz),
    )


@njit
def add_hulls(
    vehicles: np.ndarray,
    hulls: np.ndarray,
    level: float,
    weight: float,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    wrench: np.ndarray,
) -> None:
    """Adds the forces of still water on all floats to the wrenches of the bodies.

    Args:
        vehicles: (N,) vehicle_dtype.
        hulls: (N, H) hull_dtype.
        level: Height of the water's surface, world [m].
        weight: Specific weight of the water [N/m^3].
        pos, quat, vel, ang_vel: Body states, as in FleetState.
        wrench: (N, B, 6) as in ActuatorStage.
    """
    for i in range(vehicles.shape[0]):
        for k in range(vehicles[i].hulls):
            hull = hulls[i, k]
            b = hull.body
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ux, uy, uz = quaternion.rotate_inverse(qx, qy, qz, qw, 0.0, 0.0, 1.0)
            total = fx = fy = fz = mx = my = mz = 0.0
            for column in range(4):
                volume, x, y, z = hull_model.buoyancy(
                    hull, column, level - pos[i, b, 2], ux, uy, uz
                )
                force = weight * volume
                total += volume
                fx, fy, fz = fx + force * ux, fy + force * uy, fz + force * uz
                mx += force * (y * uz - z * uy)
                my += force * (z * ux - x * uz)
                mz += force * (x * uy - y * ux)
            wet = min(1.0, total / hull.displacement)
            vx, vy, vz = quaternion.rotate_inverse(
                qx, qy, qz, qw, vel[i, b, 0], vel[i, b, 1], vel[i, b, 2]
            )
            wx, wy, wz = ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            dx, dy, dz, rx, ry, rz = _drag(hull, wet, vx, vy, vz, wx, wy, wz)
            fx, fy, fz = fx + dx, fy + dy, fz + dz
            mx, my, mz = mx + rx, my + ry, mz + rz
            fx, fy, fz = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            mx, my, mz = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
            out = wrench[i, b]
            out[0], out[1], out[2] = out[0] + fx, out[1] + fy, out[2] + fz
            out[3], out[4], out[5] = out[3] + mx, out[4] + my, out[5] + mz


@fleet_kernel
def add_hulls_in_waves(
    vehicles: np.ndarray,
    hulls: np.ndarray,
    level: float,
    weight: float,
    waves: np.ndarray,
    t: float,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    wrench: np.ndarray,
) -> None:
    """Adds the forces of water with waves, as add_hulls().

    Each column floats at the height of its own place, and is pushed down the slope there; drag is
    that of the motion through the water, whose velocity is the mean of that at the four columns.

    Args:
        waves: (K,) of WAVE.
        t: Time [s].
        vehicles, hulls, level, weight, pos, quat, vel, ang_vel, wrench: As of add_hulls().
    """
    for i in range(vehicles.shape[0]):
        for k in range(vehicles[i].hulls):
            hull = hulls[i, k]
            b = hull.body
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ux, uy, uz = quaternion.rotate_inverse(qx, qy, qz, qw, 0.0, 0.0, 1.0)
            total = fx = fy = fz = mx = my = mz = 0.0
            east = north = up = 0.0
            for column in range(4):
                rx, ry, rz = hull_model.foot(hull, column)
                px, py, pz = quaternion.rotate(qx, qy, qz, qw, rx, ry, rz)
                height, slope_x, slope_y, we, wn, wu = wave_model.surface(
                    waves, t, pos[i, b, 0] + px, pos[i, b, 1] + py, level - pos[i, b, 2] - pz
                )
                volume, x, y, z = hull_model.buoyancy(
                    hull, column, level + height - pos[i, b, 2], ux, uy, uz
                )
                nx, ny, nz = quaternion.rotate_inverse(qx, qy, qz, qw, -slope_x, -slope_y, 1.0)
                force = weight * volume
                total += volume
                fx, fy, fz = fx + force * nx, fy + force * ny, fz + force * nz
                mx += force * (y * nz - z * ny)
                my += force * (z * nx - x * nz)
                mz += force * (x * ny - y * nx)
                east, north, up = east + 0.25 * we, north + 0.25 * wn, up + 0.25 * wu
            wet = min(1.0, total / hull.displacement)
            vx, vy, vz = quaternion.rotate_inverse(
                qx, qy, qz, qw, vel[i, b, 0] - east, vel[i, b, 1] - north, vel[i, b, 2] - up
            )
            wx, wy, wz = ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            dx, dy, dz, tx, ty, tz = _drag(hull, wet, vx, vy, vz, wx, wy, wz)
            fx, fy, fz = quaternion.rotate(qx, qy, qz, qw, fx + dx, fy + dy, fz + dz)
            mx, my, mz = quaternion.rotate(qx, qy, qz, qw, mx + tx, my + ty, mz + tz)
            out = wrench[i, b]
            out[0], out[1], out[2] = out[0] + fx, out[1] + fy, out[2] + fz
            out[3], out[4], out[5] = out[3] + mx, out[4] + my, out[5] + mz


@fleet_kernel
def levels_in_waves(
    waves: np.ndarray, level: float, t: float, pos: np.ndarray, out: np.ndarray
) -> None:
    """Writes the height of the surface [m] at the places pos (N, 3) at a time [s] to out (N,)."""
    for i in range(pos.shape[0]):
        out[i] = level + wave_model.surface(waves, t, pos[i, 0], pos[i, 1], 0.0)[0]

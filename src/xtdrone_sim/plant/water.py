"""Buoyancy and drag of the floats of a fleet."""

import numpy as np

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.forces import hull as hull_model


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
            fx += wet * hull_model.drag(hull.linear_drag[0], hull.quadratic_drag[0], vx)
            fy += wet * hull_model.drag(hull.linear_drag[1], hull.quadratic_drag[1], vy)
            fz += wet * hull_model.drag(hull.linear_drag[2], hull.quadratic_drag[2], vz)
            wx, wy, wz = ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            mx += wet * hull_model.drag(hull.linear_damping[0], hull.quadratic_damping[0], wx)
            my += wet * hull_model.drag(hull.linear_damping[1], hull.quadratic_damping[1], wy)
            mz += wet * hull_model.drag(hull.linear_damping[2], hull.quadratic_damping[2], wz)
            fx, fy, fz = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            mx, my, mz = quaternion.rotate(qx, qy, qz, qw, mx, my, mz)
            out = wrench[i, b]
            out[0], out[1], out[2] = out[0] + fx, out[1] + fy, out[2] + fz
            out[3], out[4], out[5] = out[3] + mx, out[4] + my, out[5] + mz

"""Forces of the ground on the tyres of a fleet."""

import math

import numpy as np

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.forces import tyre


@njit
def add_tyres(
    vehicle: np.ndarray,
    tyres: np.ndarray,
    load: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    value: np.ndarray,
    deflection: np.ndarray,
    dt: float,
    wrench: np.ndarray,
) -> None:
    """Adds the friction of all tyres to the wrenches of the bodies; the ground stands still.

    Args:
        vehicle: (N,) vehicle_dtype.
        tyres: (N, T) tyre_dtype.
        load: (N, T, 3) FleetState.tyre_load.
        quat, vel, ang_vel: Of the bodies, as in FleetState.
        value: (N, A) FleetState.actuator.
        deflection: (N, T, 2) of the treads, in the direction of rolling and to the left of it [m];
            advanced in place.
        dt: Length of the step [s].
        wrench: (N, B, 6) as in ActuatorStage.
    """
    for i in range(vehicle.shape[0]):
        for k in range(vehicle[i].tyres):
            t = tyres[i, k]
            b = t.body
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ax, ay, az = quaternion.rotate(qx, qy, qz, qw, t.axis[0], t.axis[1], t.axis[2])
            nx, ny, nz = load[i, k, 0], load[i, k, 1], load[i, k, 2]
            force = math.sqrt(nx * nx + ny * ny + nz * nz)
            # Forward is across the axis and the ground's normal, left across both.
            fx, fy, fz = ay * nz - az * ny, az * nx - ax * nz, ax * ny - ay * nx
            size = math.sqrt(fx * fx + fy * fy + fz * fz)
            if size <= 0.1 * force:  # in the air, or it lies on its side
                deflection[i, k, 0] = deflection[i, k, 1] = 0.0
                continue
            fx, fy, fz = fx / size, fy / size, fz / size
            nx, ny, nz = nx / force, ny / force, nz / force
            lx, ly, lz = ny * fz - nz * fy, nz * fx - nx * fz, nx * fy - ny * fx
            # From the hub to the ground in the plane of the wheel.
            rx, ry, rz = quaternion.rotate(qx, qy, qz, qw, t.pos[0], t.pos[1], t.pos[2])
            wx, wy, wz = quaternion.rotate(
                qx, qy, qz, qw, ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            )
            rx += t.radius * (ay * fz - az * fy)
            ry += t.radius * (az * fx - ax * fz)
            rz += t.radius * (ax * fy - ay * fx)
            vx = vel[i, b, 0] + wy * rz - wz * ry
            vy = vel[i, b, 1] + wz * rx - wx * rz
            vz = vel[i, b, 2] + wx * ry - wy * rx
            speed, lateral = vx * fx + vy * fy + vz * fz, vx * lx + vy * ly + vz * lz
            rolling = value[i, t.wheel] * t.radius if t.wheel >= 0 else speed
            along, across, deflection[i, k, 0], deflection[i, k, 1] = tyre.force(
                t, force, speed, lateral, rolling, deflection[i, k, 0], deflection[i, k, 1], dt
            )
            fx, fy, fz = (
                along * fx + across * lx,
                along * fy + across * ly,
                along * fz + across * lz,
            )
            w = wrench[i, b]
            w[0], w[1], w[2] = w[0] + fx, w[1] + fy, w[2] + fz
            w[3], w[4], w[5] = (
                w[3] + ry * fz - rz * fy,
                w[4] + rz * fx - rx * fz,
                w[5] + rx * fy - ry * fx,
            )

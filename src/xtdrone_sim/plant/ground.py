"""Forces of the ground on the tyres of a fleet."""

import math

import numpy as np

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.forces import tyre as tyre_model


@njit
def add_tyres(
    vehicles: np.ndarray,
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
        vehicles: (N,) vehicle_dtype.
        tyres: (N, T) tyre_dtype.
        load: (N, T, 3) FleetState.tyre_load.
        quat, vel, ang_vel: Body states, as in FleetState.
        value: (N, A) FleetState.actuator.
        deflection: (N, T, 2) of the treads, in the direction of rolling and to the left of it [m];
            advanced in place.
        dt: Length of the step [s].
        wrench: (N, B, 6) as in ActuatorStage.
    """
    for i in range(vehicles.shape[0]):
        for k in range(vehicles[i].tyres):
            tyre = tyres[i, k]
            b = tyre.body
            qx, qy, qz, qw = quat[i, b, 0], quat[i, b, 1], quat[i, b, 2], quat[i, b, 3]
            ax, ay, az = quaternion.rotate(qx, qy, qz, qw, tyre.axis[0], tyre.axis[1], tyre.axis[2])
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
            rx, ry, rz = quaternion.rotate(qx, qy, qz, qw, tyre.pos[0], tyre.pos[1], tyre.pos[2])
            wx, wy, wz = quaternion.rotate(
                qx, qy, qz, qw, ang_vel[i, b, 0], ang_vel[i, b, 1], ang_vel[i, b, 2]
            )
            rx += tyre.radius * (ay * fz - az * fy)
            ry += tyre.radius * (az * fx - ax * fz)
            rz += tyre.radius * (ax * fy - ay * fx)
            vx = vel[i, b, 0] + wy * rz - wz * ry
            vy = vel[i, b, 1] + wz * rx - wx * rz
            vz = vel[i, b, 2] + wx * ry - wy * rx
            speed, lateral = vx * fx + vy * fy + vz * fz, vx * lx + vy * ly + vz * lz
            rolling = value[i, tyre.wheel] * tyre.radius if tyre.wheel >= 0 else speed
            along, across, deflection[i, k, 0], deflection[i, k, 1] = tyre_model.force(
                tyre, force, speed, lateral, rolling, deflection[i, k, 0], deflection[i, k, 1], dt
            )
            fx, fy, fz = (
                along * fx + across * lx,
                along * fy + across * ly,
                along * fz + across * lz,
            )
            out = wrench[i, b]
            out[0], out[1], out[2] = out[0] + fx, out[1] + fy, out[2] + fz
            out[3], out[4], out[5] = (
                out[3] + ry * fz - rz * fy,
                out[4] + rz * fx - rx * fz,
                out[5] + rx * fy - ry * fx,
            )

"""Vectors, angles and thrust curves: small kernels that the control loops share."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import from_matrix, rotate_inverse
from xtdrone_dynamics.shapes import Vector


@njit
def clamp(x: float, low: float, high: float) -> float:
    """Limits x to low..high."""
    return min(max(x, low), high)


@njit
def wrap_pi(angle: float) -> float:
    """Wraps an angle to -pi..pi [rad]."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


@njit
def limit_norm2(x: float, y: float, limit: float) -> tuple[float, float]:
    """Shortens the vector (x, y) to a length of at most limit."""
    norm = math.sqrt(x * x + y * y)
    if norm <= limit:
        return x, y
    return x * limit / norm, y * limit / norm


@njit
def yaw_of(quat: np.ndarray) -> float:
    """Returns the yaw of a quaternion xyzw, counter-clockwise from the world's x axis [rad]."""
    x, y, z, w = quat[0], quat[1], quat[2], quat[3]
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@njit
def air_velocity(vehicle: Record, estimate: Record) -> Vector:
    """Returns the velocity relative to the air, body [m/s].

    Args:
        vehicle, estimate: Records of VEHICLE_STATUS, whose wind counts, and of ESTIMATE.
    """
    vel, wind, quat = estimate.vel, vehicle.wind, estimate.quat
    return rotate_inverse(
        quat[0], quat[1], quat[2], quat[3], vel[0] - wind[0], vel[1] - wind[1], vel[2] - wind[2]
    )


@njit
def quat_from_axes(
    zx: float, zy: float, zz: float, yaw: float
) -> tuple[float, float, float, float]:
    """Returns the attitude xyzw with body z axis along a unit vector (zx, zy, zz) and a yaw [rad].

    The body x axis is normal to z and lies in the vertical plane of the yaw. If z is horizontal and
    along the yaw, x points down or up.
    """
    return axes_quat(zx, zy, zz, math.cos(yaw), math.sin(yaw))


@njit
def axes_quat(
    zx: float, zy: float, zz: float, cy: float, sy: float
) -> tuple[float, float, float, float]:
    """Returns quat_from_axes() for the cosine and sine of the yaw."""
    nx, ny, nz = cy * zz, sy * zz, -(cy * zx + sy * zy)
    norm = math.sqrt(nx * nx + ny * ny + nz * nz)
    if norm < 1e-6:  # z is horizontal and normal to the heading: choose a level x axis
        nx, ny, nz, norm = cy, sy, 0.0, 1.0
    nx, ny, nz = nx / norm, ny / norm, nz / norm
    lx, ly, lz = zy * nz - zz * ny, zz * nx - zx * nz, zx * ny - zy * nx
    return from_matrix(nx, lx, zx, ny, ly, zy, nz, lz, zz)


@njit
def thrust_newtons(vehicle: Record, command: float) -> float:
    """Returns the collective thrust at a common command 0..1 of all rotors [N]."""
    return vehicle.thrust_poly[0] + command * (
        vehicle.thrust_poly[1] + command * vehicle.thrust_poly[2]
    )


@njit
def thrust_normalised(vehicle: Record, thrust: float) -> float:
    """Returns the common command 0..1 of all rotors for a collective thrust [N]; 0 below idle."""
    c, b, a = vehicle.thrust_poly[0] - thrust, vehicle.thrust_poly[1], vehicle.thrust_poly[2]
    if c >= 0.0:
        return 0.0
    return min((-b + math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a), 1.0)

"""The compiled part of the fast telemetry messages, and of what several messages share.

A message is its array (N,) of streams.py, laid out as on the wire.
"""

import math
from typing import Any

import numpy as np

from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.earth.geodesy import to_geodetic
from xtdrone_dynamics.quaternion import to_euler

from ...control.vector import thrust_normalised
from ...state.ned import heading, quat_to_ned, to_frd, to_ned

MOTION = np.dtype(
    [
        ("ned", "f8", (3,)),
        ("ned_vel", "f8", (3,)),  # [m, m/s]
        ("frd_rate", "f8", (3,)),  # [rad/s]
        ("quat", "f8", (4,)),  # wxyz, body FRD to NED
        ("euler", "f8", (3,)),  # roll, pitch, heading [rad]
        ("geo", "f8", (3,)),  # latitude, longitude, height [rad, rad, m]
        ("home", "f8", (3,)),  # NED [m]
    ]
)  # what several messages report of one vehicle

_DEGREES = 180.0 / math.pi


@fleet_kernel
def estimated_motion(
    pos: np.ndarray,
    vel: np.ndarray,
    quat: np.ndarray,
    ang_vel: np.ndarray,
    status: np.ndarray,
    origin: tuple[float, float, float],
    out: np.ndarray,
) -> None:
    """Fills the MOTION of each vehicle.

    Args:
        pos, vel: (N, 3) estimates, ENU [m, m/s].
        quat: (N, 4) xyzw, FLU to ENU.
        ang_vel: (N, 3) body FLU [rad/s].
        status: (N,) of VEHICLE_STATUS.
        origin: Latitude, longitude, height of the world's origin [rad, rad, m].
        out: (N,) of MOTION, written.
    """
    for i in range(out.shape[0]):
        row = out[i]
        to_ned(pos[i], row.ned)
        to_ned(vel[i], row.ned_vel)
        to_frd(ang_vel[i], row.frd_rate)
        quat_to_ned(quat[i], row.quat)
        row.euler[0], row.euler[1], row.euler[2] = to_euler(
            row.quat[1], row.quat[2], row.quat[3], row.quat[0]
        )
        row.geo[0], row.geo[1] = to_geodetic(pos[i, 0], pos[i, 1], origin[0], origin[1])
        row.geo[2] = pos[i, 2] + origin[2]
        to_ned(status[i].home, row.home)


@njit
def fill_global_position(motion: np.ndarray, ms: int, out: np.ndarray) -> None:
    """GLOBAL_POSITION_INT of MOTION (N,) at a time [ms]."""
    for i in range(out.shape[0]):
        vehicle_motion, row = motion[i], out[i]
        row.time_boot_ms = ms
        row.lat = np.int32(np.rint(vehicle_motion.geo[0] * _DEGREES * 1e7))
        row.lon = np.int32(np.rint(vehicle_motion.geo[1] * _DEGREES * 1e7))
        row.alt = np.int32(np.rint(vehicle_motion.geo[2] * 1e3))
        row.relative_alt = np.int32(np.rint((vehicle_motion.home[2] - vehicle_motion.ned[2]) * 1e3))
        row.vx = _centimetres(vehicle_motion.ned_vel[0])
        row.vy = _centimetres(vehicle_motion.ned_vel[1])
        row.vz = _centimetres(vehicle_motion.ned_vel[2])
        row.hdg = np.uint16(np.rint(vehicle_motion.euler[2] * _DEGREES % 360.0 * 100.0) % 36000.0)


@njit
def _centimetres(speed: float) -> Any:  # compiled, an int16
    return np.int16(min(max(np.rint(speed * 100.0), -32767.0), 32767.0))


@njit
def fill_attitude_target(status: np.ndarray, ms: int, out: np.ndarray) -> None:
    """ATTITUDE_TARGET of the set-points in VEHICLE_STATUS (N,) at a time [ms]."""
    quat, rates = np.empty(4), np.empty(3)
    for i in range(out.shape[0]):
        vehicle, row = status[i], out[i]
        row.time_boot_ms = ms
        quat_to_ned(vehicle.sp_quat, quat)
        to_frd(vehicle.sp_rates, rates)
        for k in range(4):
            row.q[k] = quat[k]
        row.body_roll_rate, row.body_pitch_rate, row.body_yaw_rate = rates[0], rates[1], rates[2]
        row.thrust = thrust_normalised(vehicle, vehicle.sp_thrust)


@njit
def fill_position_target(
    status: np.ndarray, motion: np.ndarray, ms: int, frame: int, out: np.ndarray
) -> None:
    """POSITION_TARGET_LOCAL_NED of the set-points in VEHICLE_STATUS (N,).

    Where they leave the yaw open, PX4 holds that of the vehicle's MOTION (N,).
    """
    pos, vel, acc = np.empty(3), np.empty(3), np.empty(3)
    for i in range(out.shape[0]):
        vehicle, row = status[i], out[i]
        to_ned(vehicle.sp_pos, pos)
        to_ned(vehicle.sp_vel, vel)
        to_ned(vehicle.sp_acc, acc)
        row.time_boot_ms, row.coordinate_frame = ms, frame
        row.x, row.y, row.z = pos[0], pos[1], pos[2]
        row.vx, row.vy, row.vz = vel[0], vel[1], vel[2]
        row.afx, row.afy, row.afz = acc[0], acc[1], acc[2]
        row.type_mask = _open(pos) | _open(vel) << 3 | _open(acc) << 6
        row.yaw = heading(vehicle.sp_yaw) if math.isfinite(vehicle.sp_yaw) else motion[i].euler[2]
        row.yaw_rate = -vehicle.sp_yaw_rate if math.isfinite(vehicle.sp_yaw_rate) else 0.0


@njit
def _open(set_point: np.ndarray) -> int:
    """Bits of the components that a set-point leaves open."""
    bits = 0
    for k in range(3):
        if not math.isfinite(set_point[k]):
            bits |= 1 << k
    return bits

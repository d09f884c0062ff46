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
        m = out[i]
        to_ned(pos[i], m.ned)
        to_ned(vel[i], m.ned_vel)
        to_frd(ang_vel[i], m.frd_rate)
        quat_to_ned(quat[i], m.quat)
        m.euler[0], m.euler[1], m.euler[2] = to_euler(m.quat[1], m.quat[2], m.quat[3], m.quat[0])
        m.geo[0], m.geo[1] = to_geodetic(pos[i, 0], pos[i, 1], origin[0], origin[1])
        m.geo[2] = pos[i, 2] + origin[2]
        to_ned(status[i].home, m.home)


@njit
def fill_global_position(motion: np.ndarray, ms: int, out: np.ndarray) -> None:
    """GLOBAL_POSITION_INT of MOTION (N,) at a time [ms]."""
    for i in range(out.shape[0]):
        m, o = motion[i], out[i]
        o.time_boot_ms = ms
        o.lat = np.int32(np.rint(m.geo[0] * _DEGREES * 1e7))
        o.lon = np.int32(np.rint(m.geo[1] * _DEGREES * 1e7))
        o.alt = np.int32(np.rint(m.geo[2] * 1e3))
        o.relative_alt = np.int32(np.rint((m.home[2] - m.ned[2]) * 1e3))
        o.vx = _centimetres(m.ned_vel[0])
        o.vy = _centimetres(m.ned_vel[1])
        o.vz = _centimetres(m.ned_vel[2])
        o.hdg = np.uint16(np.rint(m.euler[2] * _DEGREES % 360.0 * 100.0) % 36000.0)


@njit
def _centimetres(speed: float) -> Any:  # compiled, an int16
    return np.int16(min(max(np.rint(speed * 100.0), -32767.0), 32767.0))


@njit
def fill_attitude_target(status: np.ndarray, ms: int, out: np.ndarray) -> None:
    """ATTITUDE_TARGET of the set-points in VEHICLE_STATUS (N,) at a time [ms]."""
    quat, rates = np.empty(4), np.empty(3)
    for i in range(out.shape[0]):
        p, o = status[i], out[i]
        o.time_boot_ms = ms
        quat_to_ned(p.sp_quat, quat)
        to_frd(p.sp_rates, rates)
        for k in range(4):
            o.q[k] = quat[k]
        o.body_roll_rate, o.body_pitch_rate, o.body_yaw_rate = rates[0], rates[1], rates[2]
        o.thrust = thrust_normalised(p, p.sp_thrust)


@njit
def fill_position_target(
    status: np.ndarray, motion: np.ndarray, ms: int, frame: int, out: np.ndarray
) -> None:
    """POSITION_TARGET_LOCAL_NED of the set-points in VEHICLE_STATUS (N,).

    Where they leave the yaw open, PX4 holds that of the vehicle's MOTION (N,).
    """
    pos, vel, acc = np.empty(3), np.empty(3), np.empty(3)
    for i in range(out.shape[0]):
        p, o = status[i], out[i]
        to_ned(p.sp_pos, pos)
        to_ned(p.sp_vel, vel)
        to_ned(p.sp_acc, acc)
        o.time_boot_ms, o.coordinate_frame = ms, frame
        o.x, o.y, o.z = pos[0], pos[1], pos[2]
        o.vx, o.vy, o.vz = vel[0], vel[1], vel[2]
        o.afx, o.afy, o.afz = acc[0], acc[1], acc[2]
        o.type_mask = _open(pos) | _open(vel) << 3 | _open(acc) << 6
        o.yaw = heading(p.sp_yaw) if math.isfinite(p.sp_yaw) else motion[i].euler[2]
        o.yaw_rate = -p.sp_yaw_rate if math.isfinite(p.sp_yaw_rate) else 0.0


@njit
def _open(set_point: np.ndarray) -> int:
    """Bits of the components that a set-point leaves open."""
    bits = 0
    for k in range(3):
        if not math.isfinite(set_point[k]):
            bits |= 1 << k
    return bits

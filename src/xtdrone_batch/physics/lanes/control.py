"""Control loops and the mixer in lanes: from actions to commands of the rotors."""

import math

import numpy as np

from xtdrone_autopilot.control.allocation import (
    rotor_command,
    thrust_range,
    tilt_fraction,
    yaw_fraction,
)
from xtdrone_autopilot.control.attitude import body_rates
from xtdrone_autopilot.control.rate import one_rate, torque_of
from xtdrone_autopilot.control.vector import axes_quat, limit_norm2
from xtdrone_autopilot.control.velocity import loop_acceleration, saturate, thrust_vector
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.lanes import LaneLoop

from ..geometric import K_P, attitude_control, desired_acceleration, rotate_heading
from .layout import (
    ACC,
    ACTION,
    ATTITUDE,
    CLIMB_MAX,
    FILTERED,
    FRACTION,
    GAINS,
    HEADING,
    HIGH,
    HOVER,
    INERTIA,
    INTEGRAL,
    LIMITS,
    LOW,
    MARGIN,
    MASS,
    POLY,
    POS,
    POS_XY_P,
    POS_Z_P,
    QUAT,
    R_MAX_THRUST,
    R_MIX,
    R_SCALING,
    R_THRUST,
    R_ZERO,
    RATE,
    SINK_MAX,
    SP_QUAT,
    SP_RATES,
    SP_WRENCH,
    SP_YAW_RATE,
    SPAN,
    TAN_TILT,
    THR_MAX,
    THR_MIN,
    THRUST,
    VEL,
    VEL_INTEGRAL,
    WEIGHT,
    XY_D,
    XY_I,
    XY_MAX,
    XY_P,
    Z_D,
    Z_I,
    Z_P,
    L,
)


@LaneLoop
def control_rates(block: np.ndarray, vehicle: np.ndarray, dt: float) -> None:
    """Rate loop of the flight stack: SP_WRENCH torque."""
    j = (
        vehicle[INERTIA],
        vehicle[INERTIA + 1],
        vehicle[INERTIA + 2],
        vehicle[INERTIA + 3],
        vehicle[INERTIA + 4],
        vehicle[INERTIA + 5],
    )
    g0, g1, g2, i0, i1, i2, l0, l1, l2 = (
        vehicle[GAINS],
        vehicle[GAINS + 1],
        vehicle[GAINS + 2],
        vehicle[GAINS + 3],
        vehicle[GAINS + 4],
        vehicle[GAINS + 5],
        vehicle[GAINS + 6],
        vehicle[GAINS + 7],
        vehicle[GAINS + 8],
    )
    for k in range(L):
        wx, wy, wz = block[RATE + k], block[RATE + L + k], block[RATE + 2 * L + k]
        ax, bx = one_rate(block[SP_RATES + k], wx, block[INTEGRAL + k], g0, i0, l0, True, dt)
        ay, by = one_rate(
            block[SP_RATES + L + k], wy, block[INTEGRAL + L + k], g1, i1, l1, True, dt
        )
        az, bz = one_rate(
            block[SP_RATES + 2 * L + k], wz, block[INTEGRAL + 2 * L + k], g2, i2, l2, True, dt
        )
        tx, ty, tz = torque_of(ax, ay, az, wx, wy, wz, j)
        block[SP_WRENCH + L + k], block[SP_WRENCH + 2 * L + k], block[SP_WRENCH + 3 * L + k] = (
            tx,
            ty,
            tz,
        )
        block[INTEGRAL + k], block[INTEGRAL + L + k], block[INTEGRAL + 2 * L + k] = bx, by, bz


@LaneLoop
def control_geometric(
    block: np.ndarray, vehicle: np.ndarray, at_position: float, dt: float
) -> None:
    """Geometric control: SP_WRENCH thrust and torque from the velocity or position in ACTION."""
    mass = vehicle[MASS]
    j = (
        vehicle[INERTIA],
        vehicle[INERTIA + 1],
        vehicle[INERTIA + 2],
        vehicle[INERTIA + 3],
        vehicle[INERTIA + 4],
        vehicle[INERTIA + 5],
    )
    gain = K_P * at_position
    at_velocity = 1.0 - at_position
    for k in range(L):
        wx = at_velocity * block[ACTION + k] + gain * (block[ACTION + k] - block[POS + k])
        wy = at_velocity * block[ACTION + L + k] + gain * (
            block[ACTION + L + k] - block[POS + L + k]
        )
        wz = at_velocity * block[ACTION + 2 * L + k] + gain * (
            block[ACTION + 2 * L + k] - block[POS + 2 * L + k]
        )
        yaw_rate = at_velocity * block[ACTION + 3 * L + k]
        cy, sy = rotate_heading(block[HEADING + k], block[HEADING + L + k], yaw_rate * dt)
        ax, ay, az = desired_acceleration(
            block[VEL + k], block[VEL + L + k], block[VEL + 2 * L + k], wx, wy, wz, GRAVITY
        )
        f, tx, ty, tz = attitude_control(
            ax,
            ay,
            az,
            cy,
            sy,
            yaw_rate,
            block[QUAT + k],
            block[QUAT + L + k],
            block[QUAT + 2 * L + k],
            block[QUAT + 3 * L + k],
            block[RATE + k],
            block[RATE + L + k],
            block[RATE + 2 * L + k],
            mass,
            j,
        )
        block[HEADING + k], block[HEADING + L + k] = cy, sy
        block[SP_WRENCH + k], block[SP_WRENCH + L + k] = f, tx
        block[SP_WRENCH + 2 * L + k], block[SP_WRENCH + 3 * L + k] = ty, tz


@LaneLoop
def filter_acceleration(block: np.ndarray, gain: float) -> None:
    """Low-passes the acceleration, for the derivative term of the velocity loop."""
    for k in range(3 * L):
        block[FILTERED + k] += gain * (block[ACC + k] - block[FILTERED + k])


@njit
def wanted_velocity(
    block: np.ndarray,
    k: int,
    at_position: float,
    gains: tuple[float, float],
    limits: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Returns the velocity set-point of a lane [m/s].

    Args:
        block: The scratch.
        k: The lane.
        at_position: 1 for an action of positions, 0 for one of velocities.
        gains: Of the position loop, horizontal and vertical [1/s].
        limits: Largest horizontal speed, climb and sink [m/s].
    """
    at_velocity = 1.0 - at_position
    gx, gy, gh = block[ACTION + k], block[ACTION + L + k], block[ACTION + 2 * L + k]
    wx = at_velocity * gx + at_position * gains[0] * (gx - block[POS + k])
    wy = at_velocity * gy + at_position * gains[0] * (gy - block[POS + L + k])
    wz = at_velocity * gh + at_position * gains[1] * (gh - block[POS + 2 * L + k])
    wx, wy = limit_norm2(wx, wy, limits[0])
    return wx, wy, min(max(wz, -limits[2]), limits[1])


@njit
def point(
    block: np.ndarray,
    k: int,
    x: float,
    y: float,
    z: float,
    size: float,
    at_position: float,
    dt: float,
) -> None:
    """Writes the attitude set-point of a lane for a thrust (x, y, z) of a size, and its heading."""
    yaw_rate = (1.0 - at_position) * block[ACTION + 3 * L + k]
    cy, sy = rotate_heading(block[HEADING + k], block[HEADING + L + k], yaw_rate * dt)
    qx, qy, qz, qw = axes_quat(x / size, y / size, z / size, cy, sy)
    block[HEADING + k], block[HEADING + L + k], block[SP_YAW_RATE + k] = cy, sy, yaw_rate
    block[SP_QUAT + k], block[SP_QUAT + L + k] = qx, qy
    block[SP_QUAT + 2 * L + k], block[SP_QUAT + 3 * L + k] = qz, qw


@LaneLoop
def control_position(block: np.ndarray, vehicle: np.ndarray, at_position: float, dt: float) -> None:
    """Position and velocity loop of the flight stack: attitude set-point and SP_WRENCH thrust.

    Every second sub-step, as there; dt is theirs [s].
    """
    hover, tan_tilt, thr_min, thr_max, margin = (
        vehicle[HOVER],
        vehicle[TAN_TILT],
        vehicle[THR_MIN],
        vehicle[THR_MAX],
        vehicle[MARGIN],
    )
    pxy, pz, dxy, dz, ixy, iz = (
        vehicle[XY_P],
        vehicle[Z_P],
        vehicle[XY_D],
        vehicle[Z_D],
        vehicle[XY_I],
        vehicle[Z_I],
    )
    gains = vehicle[POS_XY_P], vehicle[POS_Z_P]
    limits = vehicle[XY_MAX], vehicle[CLIMB_MAX], vehicle[SINK_MAX]
    c0, c1, c2 = vehicle[POLY], vehicle[POLY + 1], vehicle[POLY + 2]
    for k in range(L):
        wx, wy, wz = wanted_velocity(block, k, at_position, gains, limits)
        sx, sy = block[VEL_INTEGRAL + k], block[VEL_INTEGRAL + L + k]
        sz = min(max(block[VEL_INTEGRAL + 2 * L + k], -GRAVITY), GRAVITY)
        ex, ey, ez = wx - block[VEL + k], wy - block[VEL + L + k], wz - block[VEL + 2 * L + k]
        ax = loop_acceleration(0.0, ex, pxy, sx, dxy, block[FILTERED + k])
        ay = loop_acceleration(0.0, ey, pxy, sy, dxy, block[FILTERED + L + k])
        az = loop_acceleration(0.0, ez, pz, sz, dz, block[FILTERED + 2 * L + k])
        tx, ty, tz = thrust_vector(ax, ay, az, hover, tan_tilt, True, thr_min)
        tx, ty, tz, ex, ey, ez = saturate(
            ax, ay, ex, ey, ez, tx, ty, tz, hover, thr_min, thr_max, margin, pxy
        )
        block[VEL_INTEGRAL + k], block[VEL_INTEGRAL + L + k] = (
            sx + ixy * ex * dt,
            sy + ixy * ey * dt,
        )
        block[VEL_INTEGRAL + 2 * L + k] = sz + iz * ez * dt
        thrust = math.sqrt(tx * tx + ty * ty + tz * tz)
        point(block, k, tx, ty, tz, thrust, at_position, dt)
        block[SP_WRENCH + k] = c0 + thrust * (c1 + thrust * c2)


@LaneLoop
def control_attitude(block: np.ndarray, vehicle: np.ndarray) -> None:
    """Attitude loop of the flight stack; writes SP_RATES."""
    gains = vehicle[ATTITUDE], vehicle[ATTITUDE + 1], vehicle[ATTITUDE + 2]
    weight, limits = vehicle[WEIGHT], (vehicle[LIMITS], vehicle[LIMITS + 1], vehicle[LIMITS + 2])
    for k in range(L):
        p, q, r = body_rates(
            block[QUAT + k],
            block[QUAT + L + k],
            block[QUAT + 2 * L + k],
            block[QUAT + 3 * L + k],
            block[SP_QUAT + k],
            block[SP_QUAT + L + k],
            block[SP_QUAT + 2 * L + k],
            block[SP_QUAT + 3 * L + k],
            block[SP_YAW_RATE + k],
            gains,
            weight,
            limits,
        )
        block[SP_RATES + k], block[SP_RATES + L + k], block[SP_RATES + 2 * L + k] = p, q, r


@LaneLoop
def begin_mix(block: np.ndarray) -> None:
    """Clears the extremes of the mixer."""
    for k in range(L):
        block[LOW + k] = block[HIGH + k] = block[SPAN + k] = 0.0
        block[FRACTION + k] = 1.0


@njit
def _mixer_row(rotor_params: np.ndarray, r: int) -> tuple[float, ...]:
    """Returns the constants of a rotor that the mixer needs."""
    return (
        rotor_params[r, R_MIX],
        rotor_params[r, R_MIX + 1],
        rotor_params[r, R_MIX + 2],
        rotor_params[r, R_MIX + 3],
        rotor_params[r, R_MAX_THRUST],
        rotor_params[r, R_THRUST],
        rotor_params[r, R_SCALING],
        rotor_params[r, R_ZERO],
    )


@njit
def _tilt(
    rotor_block: np.ndarray,
    r: int,
    k: int,
    m: tuple[float, ...],
    thrust: float,
    roll: float,
    pitch: float,
) -> tuple[float, float]:
    """Returns a rotor's thrust for roll and pitch, and the fraction that stays above zero."""
    tilt = m[1] * roll + m[2] * pitch
    rotor_block[r, THRUST + k] = tilt
    return tilt, tilt_fraction(tilt, m[0] * thrust)


@LaneLoop
def mix_tilt(block: np.ndarray, rotor_block: np.ndarray, rotor_params: np.ndarray) -> None:
    """Writes the thrusts of a group of rotors for roll and pitch, and their extremes."""
    m, n, o, q = (
        _mixer_row(rotor_params, 0),
        _mixer_row(rotor_params, 1),
        _mixer_row(rotor_params, 2),
        _mixer_row(rotor_params, 3),
    )
    max_yaw = max(max(abs(m[3]), abs(n[3])), max(abs(o[3]), abs(q[3])))
    for k in range(L):
        thrust, roll, pitch = (
            block[SP_WRENCH + k],
            block[SP_WRENCH + L + k],
            block[SP_WRENCH + 2 * L + k],
        )
        yaw = abs(block[SP_WRENCH + 3 * L + k])
        a, e = _tilt(rotor_block, 0, k, m, thrust, roll, pitch)
        b, f = _tilt(rotor_block, 1, k, n, thrust, roll, pitch)
        c, g = _tilt(rotor_block, 2, k, o, thrust, roll, pitch)
        d, h = _tilt(rotor_block, 3, k, q, thrust, roll, pitch)
        block[LOW + k] = min(block[LOW + k], min(min(a, b), min(c, d)))
        block[HIGH + k] = max(block[HIGH + k], max(max(a, b), max(c, d)))
        block[FRACTION + k] = min(block[FRACTION + k], min(min(e, f), min(g, h)))
        block[SPAN + k] = max(block[SPAN + k], yaw * max_yaw)


@LaneLoop
def mix_range(block: np.ndarray, max_thrust: float) -> None:
    """Fits roll and pitch into the range of the rotors."""
    for k in range(L):
        span, low, high = thrust_range(
            block[LOW + k], block[HIGH + k], block[SPAN + k], max_thrust, block[FRACTION + k]
        )
        block[SPAN + k], block[LOW + k], block[HIGH + k] = span, low, high
        block[FRACTION + k] = 1.0


@njit
def _add_collective(
    rotor_block: np.ndarray,
    r: int,
    k: int,
    m: tuple[float, ...],
    span: float,
    collective: float,
    low: float,
    high: float,
    yaw: float,
) -> float:
    """Adds the collective to a rotor's thrust; returns the fraction of yaw that fits."""
    thrust = span * rotor_block[r, THRUST + k] + min(max(m[0] * collective, low), high)
    rotor_block[r, THRUST + k] = thrust
    return yaw_fraction(m[3] * yaw, thrust, m[4])


@LaneLoop
def mix_collective(block: np.ndarray, rotor_block: np.ndarray, rotor_params: np.ndarray) -> None:
    """Adds the collective to the thrusts of a group of rotors."""
    m, n, o, q = (
        _mixer_row(rotor_params, 0),
        _mixer_row(rotor_params, 1),
        _mixer_row(rotor_params, 2),
        _mixer_row(rotor_params, 3),
    )
    for k in range(L):
        span, low, high = block[SPAN + k], block[LOW + k], block[HIGH + k]
        collective, yaw = block[SP_WRENCH + k], block[SP_WRENCH + 3 * L + k]
        a = _add_collective(rotor_block, 0, k, m, span, collective, low, high, yaw)
        b = _add_collective(rotor_block, 1, k, n, span, collective, low, high, yaw)
        c = _add_collective(rotor_block, 2, k, o, span, collective, low, high, yaw)
        d = _add_collective(rotor_block, 3, k, q, span, collective, low, high, yaw)
        block[FRACTION + k] = min(block[FRACTION + k], min(min(a, b), min(c, d)))


@njit
def _set_command(rotor_block: np.ndarray, r: int, k: int, m: tuple[float, ...], yaw: float) -> None:
    """Replaces a rotor's thrust by its command."""
    thrust = min(max(rotor_block[r, THRUST + k] + m[3] * yaw, 0.0), m[4])
    rotor_block[r, THRUST + k] = rotor_command(thrust, m[5], m[6], m[7], 1.0)


@LaneLoop
def mix_yaw(block: np.ndarray, rotor_block: np.ndarray, rotor_params: np.ndarray) -> None:
    """Replaces the thrusts of a group of rotors by their commands."""
    m, n, o, q = (
        _mixer_row(rotor_params, 0),
        _mixer_row(rotor_params, 1),
        _mixer_row(rotor_params, 2),
        _mixer_row(rotor_params, 3),
    )
    for k in range(L):
        yaw = block[FRACTION + k] * block[SP_WRENCH + 3 * L + k]
        _set_command(rotor_block, 0, k, m, yaw)
        _set_command(rotor_block, 1, k, n, yaw)
        _set_command(rotor_block, 2, k, o, yaw)
        _set_command(rotor_block, 3, k, q, yaw)

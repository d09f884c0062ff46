"""INDI in lanes: what the motion shows beside the rotors, and loops that take it off."""

import math

import numpy as np

from xtdrone_autopilot.control.rate import torque_of
from xtdrone_autopilot.control.vector import clamp
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import rotor
from xtdrone_dynamics.lanes import LaneLoop
from xtdrone_guidance.force import limit_force
from xtdrone_guidance.indi.velocity_control import force_for
from xtdrone_guidance.indi.wrench import motion_wrench, two_poles

from .control import point, wanted_velocity
from .layout import (
    ACC,
    CLIMB_MAX,
    DISTURBANCE,
    EXPECTED,
    FILTER_GAINS,
    FORCE,
    GAINS,
    HIGHEST,
    INERTIA,
    LAST_RATE,
    LOWEST,
    MASS,
    POLE,
    POS_XY_P,
    POS_Z_P,
    QUAT,
    R_DOWN,
    R_EFFECT,
    R_MAX_SPEED,
    R_SCALING,
    R_THRUST,
    R_UP,
    R_ZERO,
    RATE,
    SINK_MAX,
    SP_RATES,
    SP_WRENCH,
    TAN_TILT,
    THRUST,
    TORQUE,
    TORQUE_LIMITS,
    VEL,
    VELOCITY_GAINS,
    XY_MAX,
    G,
    L,
)


def measure(
    block: np.ndarray,
    rotor_block: np.ndarray,
    vehicle: np.ndarray,
    rotor_params: np.ndarray,
    rotors: int,
    dt: float,
) -> None:
    """Measures the disturbance, as Disturbance.step() does in the flight stack.

    FORCE and TORQUE are its scratch.
    """
    _show_motion(block, vehicle, dt)
    for r in range(rotors):
        _take_off_rotor(block, rotor_block[r], rotor_params[r])
    _turn_force(block)
    _filter(block[FORCE : FORCE + 3 * L], block[POLE:], vehicle[FILTER_GAINS])
    _filter(block[TORQUE : TORQUE + 3 * L], block[POLE + 3 * L :], vehicle[FILTER_GAINS + 1])


@njit
def _inertia(vehicle: np.ndarray) -> tuple[float, float, float, float, float, float]:
    """Returns xx, yy, zz, xy, xz, yz [kg m^2]."""
    return (
        vehicle[INERTIA],
        vehicle[INERTIA + 1],
        vehicle[INERTIA + 2],
        vehicle[INERTIA + 3],
        vehicle[INERTIA + 4],
        vehicle[INERTIA + 5],
    )


@LaneLoop
def _show_motion(block: np.ndarray, vehicle: np.ndarray, dt: float) -> None:
    """Writes force and torque that the motion shows, body."""
    mass, gravity, inertia = vehicle[MASS], vehicle[G], _inertia(vehicle)
    for k in range(L):
        wx, wy, wz = block[RATE + k], block[RATE + L + k], block[RATE + 2 * L + k]
        accel = quaternion.rotate_inverse(
            block[QUAT + k],
            block[QUAT + L + k],
            block[QUAT + 2 * L + k],
            block[QUAT + 3 * L + k],
            block[ACC + k],
            block[ACC + L + k],
            block[ACC + 2 * L + k] + gravity,
        )
        ang_acc = (
            (wx - block[LAST_RATE + k]) / dt,
            (wy - block[LAST_RATE + L + k]) / dt,
            (wz - block[LAST_RATE + 2 * L + k]) / dt,
        )
        fx, fy, fz, tx, ty, tz = motion_wrench(mass, accel, inertia, ang_acc, (wx, wy, wz))
        block[FORCE + k], block[FORCE + L + k], block[FORCE + 2 * L + k] = fx, fy, fz
        block[TORQUE + k], block[TORQUE + L + k], block[TORQUE + 2 * L + k] = tx, ty, tz
        block[LAST_RATE + k], block[LAST_RATE + L + k] = wx, wy
        block[LAST_RATE + 2 * L + k] = wz


@LaneLoop
def _take_off_rotor(block: np.ndarray, rotor_block: np.ndarray, rotor_params: np.ndarray) -> None:
    """Takes off what a rotor exerts, by the lag of its last command."""
    constant, scaling, zero, max_speed = (
        rotor_params[R_THRUST],
        rotor_params[R_SCALING],
        rotor_params[R_ZERO],
        rotor_params[R_MAX_SPEED],
    )
    up, down = (
        (rotor_params[R_UP], rotor_params[R_UP + 1], rotor_params[R_UP + 2]),
        (rotor_params[R_DOWN], rotor_params[R_DOWN + 1], rotor_params[R_DOWN + 2]),
    )
    ez, mx, my, mz = (
        rotor_params[R_EFFECT],
        rotor_params[R_EFFECT + 1],
        rotor_params[R_EFFECT + 2],
        rotor_params[R_EFFECT + 3],
    )
    for k in range(L):
        target = rotor.target_speed(rotor_block[THRUST + k], scaling, zero, max_speed)
        after, _, square = rotor.lagged(rotor_block[EXPECTED + k], target, up, down)
        thrust = constant * square
        rotor_block[EXPECTED + k] = after
        block[FORCE + 2 * L + k] -= ez * thrust
        block[TORQUE + k] -= mx * thrust
        block[TORQUE + L + k] -= my * thrust
        block[TORQUE + 2 * L + k] -= mz * thrust


@LaneLoop
def _turn_force(block: np.ndarray) -> None:
    """Turns FORCE to the world."""
    for k in range(L):
        fx, fy, fz = quaternion.rotate(
            block[QUAT + k],
            block[QUAT + L + k],
            block[QUAT + 2 * L + k],
            block[QUAT + 3 * L + k],
            block[FORCE + k],
            block[FORCE + L + k],
            block[FORCE + 2 * L + k],
        )
        block[FORCE + k], block[FORCE + L + k], block[FORCE + 2 * L + k] = fx, fy, fz


@LaneLoop
def _filter(values: np.ndarray, poles: np.ndarray, gain: float) -> None:
    """Filters three numbers of each lane; the second poles are six rows behind the first."""
    for k in range(3 * L):
        poles[k], poles[6 * L + k] = two_poles(poles[k], poles[6 * L + k], values[k], gain)


@LaneLoop
def control_force(block: np.ndarray, vehicle: np.ndarray, at_position: float, dt: float) -> None:
    """Position loop of the flight stack, and velocity loop of INDI; as control_position()."""
    mass, tan_tilt, lowest, highest = (
        vehicle[MASS],
        vehicle[TAN_TILT],
        vehicle[LOWEST],
        vehicle[HIGHEST],
    )
    horizontal, vertical = vehicle[VELOCITY_GAINS], vehicle[VELOCITY_GAINS + 1]
    gains = vehicle[POS_XY_P], vehicle[POS_Z_P]
    limits = vehicle[XY_MAX], vehicle[CLIMB_MAX], vehicle[SINK_MAX]
    weight = mass * GRAVITY
    for k in range(L):
        wx, wy, wz = wanted_velocity(block, k, at_position, gains, limits)
        fx, fy, fz = force_for(
            mass,
            horizontal * (wx - block[VEL + k]),
            horizontal * (wy - block[VEL + L + k]),
            vertical * (wz - block[VEL + 2 * L + k]),
            block[DISTURBANCE + k],
            block[DISTURBANCE + L + k],
            block[DISTURBANCE + 2 * L + k],
        )
        fx, fy, fz = limit_force(fx, fy, fz, lowest, highest, weight, tan_tilt)
        newtons = math.sqrt(fx * fx + fy * fy + fz * fz)
        point(block, k, fx, fy, fz, newtons, at_position, dt)
        block[SP_WRENCH + k] = newtons


@LaneLoop
def control_torque(block: np.ndarray, vehicle: np.ndarray) -> None:
    """Rate loop of INDI: SP_WRENCH torque."""
    inertia = _inertia(vehicle)
    g0, g1, g2 = vehicle[GAINS], vehicle[GAINS + 1], vehicle[GAINS + 2]
    l0, l1, l2 = (vehicle[TORQUE_LIMITS], vehicle[TORQUE_LIMITS + 1], vehicle[TORQUE_LIMITS + 2])
    for k in range(L):
        wx, wy, wz = block[RATE + k], block[RATE + L + k], block[RATE + 2 * L + k]
        tx, ty, tz = torque_of(
            g0 * (block[SP_RATES + k] - wx),
            g1 * (block[SP_RATES + L + k] - wy),
            g2 * (block[SP_RATES + 2 * L + k] - wz),
            wx,
            wy,
            wz,
            inertia,
        )
        block[SP_WRENCH + L + k] = tx - clamp(block[DISTURBANCE + 3 * L + k], -l0, l0)
        block[SP_WRENCH + 2 * L + k] = ty - clamp(block[DISTURBANCE + 4 * L + k], -l1, l1)
        block[SP_WRENCH + 3 * L + k] = tz - clamp(block[DISTURBANCE + 5 * L + k], -l2, l2)

"""Safe stops: what is flown always ends with a stop in space that is known to be free."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..maps.distance_field import FREE, DistanceField, clearance, state_at
from .planner import STEP_S, Limits, Trajectory

_SMOOTHSTEP = 1.5  # steepest slope of a smooth step from 0 to 1 over its mean
CLEAR, UNSEEN, CLOSE = 0, 1, 2  # what a check has found
BODY = 0.45  # radius of a person who swings the arms, and what its place is off [m]
DOUBT = 0.12  # how much less is known of a place with each second ahead [m/s]
_AHEAD_S = 3.0  # what moves is predicted for so long [s]


def stopping(trajectory: Trajectory, keep: float, deceleration: float) -> Trajectory:
    """Returns a trajectory that follows another one for a while and then stops along its way.

    The other's time runs slower and slower, by a smooth step, until it stands.

    Args:
        trajectory: What is followed.
        keep: For how long it is flown as it is [s].
        deceleration: Along the way [m/s^2].
    """
    pos, vel, acc = _stopping(trajectory.pos, trajectory.vel, trajectory.acc, keep, deceleration)
    return Trajectory(trajectory.begun_us, pos, vel, acc)


def check(
    field: DistanceField, trajectory: Trajectory, radius: float, first: int = 0, known: bool = True
) -> int:
    """Whether a trajectory keeps a distance from obstacles, and to known free space.

    Args:
        field: What is known.
        trajectory: What is checked.
        radius: Least distance from what is occupied [m].
        first: Number of the first sample that counts.
        known: Whether what is unseen counts as occupied.

    Returns:
        CLEAR, UNSEEN or CLOSE.
    """
    return int(
        _check(
            field.state,
            field.square,
            field.low,
            field.resolution,
            trajectory.pos[first:],
            radius,
            known,
        )
    )


def exceeds(trajectory: Trajectory, limits: Limits, tolerance: float) -> bool:
    """Whether a trajectory is faster, or accelerates more, than the limits times a tolerance."""
    speed = np.sqrt((trajectory.vel**2).sum(axis=1).max())
    acceleration = np.sqrt((trajectory.acc**2).sum(axis=1).max())
    return bool(speed > tolerance * limits.speed or acceleration > tolerance * limits.acceleration)


def meets(
    trajectory: Trajectory, moving: np.ndarray, radius: float, begun: float = 0.0, rest: float = 0.0
) -> bool:
    """Whether something that moves comes too close to a trajectory.

    Where it is too close already, it may not come closer.

    Args:
        trajectory: What is checked.
        moving: (P, 4) as of Situation, where the check begins.
        radius: Of the vehicle [m].
        begun: Time of the trajectory at which the check begins [s].
        rest: How long its end counts [s].
    """
    first = min(max(round(begun / STEP_S), 0), len(trajectory.pos) - 1)
    steps = len(trajectory.pos) - first + round(rest / STEP_S)
    return bool(least_gap(trajectory.pos[first:], moving, steps) < radius + BODY)


@njit(nogil=True)
def least_gap(pos: np.ndarray, moving: np.ndarray, steps: int) -> float:
    """Returns the least distance [m] of a motion from the middle of what moves, less its doubt.

    Args:
        pos: (K, 3) places every STEP_S; it rests at the last one.
        moving: (P, 4) x, y and their velocities at the first.
        steps: How many count.
    """
    least = np.inf
    for p in range(moving.shape[0]):
        now = math.hypot(pos[0, 0] - moving[p, 0], pos[0, 1] - moving[p, 1])
        closest = now
        for n in range(min(steps, int(_AHEAD_S / STEP_S))):
            t = n * STEP_S
            k = min(n, pos.shape[0] - 1)
            x = pos[k, 0] - moving[p, 0] - t * moving[p, 2]
            y = pos[k, 1] - moving[p, 1] - t * moving[p, 3]
            closest = min(closest, math.hypot(x, y) - DOUBT * t)
        # One that is close and does not come closer is no reason to stay.
        if closest < now - 0.02 or now > 2.0 * BODY:
            least = min(least, closest)
    return least


@njit(nogil=True)
def _stopping(
    pos: np.ndarray, vel: np.ndarray, acc: np.ndarray, keep: float, deceleration: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first = min(int(keep / STEP_S), pos.shape[0] - 1)
    speed = math.sqrt(vel[first, 0] ** 2 + vel[first, 1] ** 2 + vel[first, 2] ** 2)
    duration = max(_SMOOTHSTEP * speed / deceleration, 4.0 * STEP_S)
    steps = math.ceil(duration / STEP_S)
    total = first + 1 + steps
    out_pos, out_vel, out_acc = np.zeros((total, 3)), np.zeros((total, 3)), np.zeros((total, 3))
    for n in range(total):
        rate, change, t = 1.0, 0.0, n * STEP_S
        if n > first:
            u = min((n - first) * STEP_S / duration, 1.0)
            rate = 1.0 - u * u * (3.0 - 2.0 * u)
            change = -6.0 * u * (1.0 - u) / duration
            # The integral of the rate.
            t = first * STEP_S + duration * (u - u**3 + 0.5 * u**4)
        k = t / STEP_S
        i = min(int(k), pos.shape[0] - 1)
        j = min(i + 1, pos.shape[0] - 1)
        part = min(k - i, 1.0)
        for q in range(3):
            v = vel[i, q] + part * (vel[j, q] - vel[i, q])
            a = acc[i, q] + part * (acc[j, q] - acc[i, q])
            if k > pos.shape[0] - 1:  # beyond its end it goes straight on
                out_pos[n, q] = pos[i, q] + (k - (pos.shape[0] - 1)) * STEP_S * vel[i, q]
                v, a = vel[i, q], 0.0
            else:
                out_pos[n, q] = pos[i, q] + part * (pos[j, q] - pos[i, q])
            out_vel[n, q] = v * rate
            out_acc[n, q] = a * rate * rate + v * change
    out_vel[total - 1] = 0.0
    out_acc[total - 1] = 0.0
    return out_pos, out_vel, out_acc


@njit(nogil=True)
def _check(
    state: np.ndarray,
    square: np.ndarray,
    low: np.ndarray,
    resolution: float,
    pos: np.ndarray,
    radius: float,
    known: bool,
) -> int:
    for n in range(pos.shape[0]):
        x, y, z = pos[n, 0], pos[n, 1], pos[n, 2]
        if clearance(square, low, resolution, x, y, z) < radius:
            return CLOSE
        if known and state_at(state, low, resolution, x, y, z) != FREE:
            return UNSEEN
    return CLEAR

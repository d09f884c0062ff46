"""Costs of a future, compiled; a cost of your own has the same arguments."""

import math
from collections.abc import Callable
from typing import cast

import numpy as np
from numba.core.registry import CPUDispatcher

from xtdrone_core.errors import XtdroneError, one_line, unknown_name
from xtdrone_core.registry import is_own, load_own
from xtdrone_dynamics.compiled import njit

# A compiled function of position, attitude, velocity, body rates, action and what it is to be
# compared with: cost(pos, quat, vel, ang_vel, action, reference) -> float.
Cost = Callable[..., float]


@njit
def follow(
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    action: np.ndarray,
    reference: np.ndarray,
) -> float:
    """Distance from a point that moves, and effort.

    Args:
        pos, quat, vel, ang_vel: State after the action, as in FleetState.
        action: Body rates [rad/s] and the common command of all rotors.
        reference: (6,) position and velocity of the point, world.
    """
    cost = 0.0
    for k in range(3):
        apart, slip = pos[k] - reference[k], vel[k] - reference[3 + k]
        cost += 10.0 * apart * apart + 0.5 * slip * slip + 0.01 * action[k] * action[k]
        cost += 0.01 * ang_vel[k] * ang_vel[k]
    turned = 2.0 * (quat[3] * quat[2] + quat[0] * quat[1])  # sine of the yaw of a level body
    return cost + 0.2 * turned * turned


@njit
def race(
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    action: np.ndarray,
    reference: np.ndarray,
) -> float:
    """Time lost on a path through gates, and leaving the tunnel around it; see RacePath.

    Args:
        pos, quat, vel, ang_vel: State after the action, as in FleetState.
        action: Body rates [rad/s] and the common command of all rotors.
        reference: Spacing of the path's points [m], least height [m], largest speed [m/s], and x,
            y, z and radius of the tunnel for each point.
    """
    spacing, floor = reference[0], reference[1]
    count = (len(reference) - 3) // 4
    nearest, least = 0, 1e18
    for j in range(count):
        k = 3 + 4 * j
        x, y, z = reference[k] - pos[0], reference[k + 1] - pos[1], reference[k + 2] - pos[2]
        square = x * x + y * y + z * z
        if square < least:
            nearest, least = j, square
    k = 3 + 4 * min(nearest, count - 2)
    along, apart = 0.0, 0.0
    for axis in range(3):
        ahead = (reference[k + 4 + axis] - reference[k + axis]) / spacing
        away = pos[axis] - reference[k + axis]
        along += ahead * away
        apart += away * away
    outside = math.sqrt(max(apart - along * along, 0.0)) - reference[k + 3]
    cost = -(min(nearest, count - 2) * spacing + along)
    if outside > 0.0:
        cost += 20.0 + 200.0 * outside
    if pos[2] < floor:
        cost += 20.0 + 200.0 * (floor - pos[2])
    speed = math.sqrt(vel[0] * vel[0] + vel[1] * vel[1] + vel[2] * vel[2])
    if speed > reference[2]:
        cost += 5.0 * (speed - reference[2])
    for axis in range(3):
        cost += 0.002 * action[axis] * action[axis]
    return cost + 0.02 * ang_vel[2] * ang_vel[2]


@njit
def land(
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    action: np.ndarray,
    reference: np.ndarray,
) -> float:
    """Distance from a deck that moves, and from a descent onto it inside a cone.

    Args:
        pos, quat, vel, ang_vel: State after the action, as in FleetState.
        action: Body rates [rad/s] and the common command of all rotors.
        reference: (6,) position and velocity of the deck, world.
    """
    x, y, height = pos[0] - reference[0], pos[1] - reference[1], pos[2] - reference[2]
    aside = math.sqrt(x * x + y * y)
    lowest = min(2.0 * max(aside - 0.15, 0.0), 3.0)  # of the cone [m]
    climb = min(max(0.8 * (lowest - 0.4 - height), -0.5), 1.0)
    slip = vel[0] - reference[3], vel[1] - reference[4], vel[2] - reference[5] - climb
    cost = 8.0 * aside * aside / (1.0 + aside) + slip[0] * slip[0] + slip[1] * slip[1]
    cost += 2.0 * slip[2] * slip[2]
    cost += 2.0 * (quat[0] * quat[0] + quat[1] * quat[1])  # tilt
    for k in range(3):
        cost += 0.02 * action[k] * action[k] + 0.01 * ang_vel[k] * ang_vel[k]
    return cost


COSTS: dict[str, Cost] = {"follow": follow, "race": race, "land": land}


def load_cost(name: str) -> Cost:
    """Returns a cost by its name in COSTS, or as FILE.py:function or module:function.

    Raises:
        XtdroneError: No such cost, or it is not compiled.
    """
    if name not in COSTS and not is_own(name):
        raise XtdroneError(
            unknown_name("cost", name, COSTS, "name a function of your own as FILE.py:function")
        )
    cost: Cost = COSTS[name] if name in COSTS else load_own("cost", name)
    check_compiled(cost, name)
    return cost


def check_compiled(cost: Cost, name: str = "") -> None:
    """Refuses a cost that is not compiled: it would be called millions of times a second.

    Raises:
        XtdroneError: It is not compiled.
    """
    if not isinstance(cost, CPUDispatcher):
        raise XtdroneError(
            f"cost '{name or getattr(cost, '__name__', cost)}' is not compiled: put @numba.njit "
            "above it"
        )


def check_finite(cost: Cost, name: str, reference: np.ndarray, pos: np.ndarray) -> None:
    """Refuses a cost that is not finite for a vehicle at rest and level.

    Args:
        cost: The cost, compiled.
        name: What it is called.
        reference: (R,) what it is compared with.
        pos: (3,) where the vehicle is [m].

    Raises:
        XtdroneError: It is not finite, or it fails.
    """
    level = np.array([0.0, 0.0, 0.0, 1.0])
    check_compiled(cost, name)
    plain = cast(CPUDispatcher, cost).py_func  # it is compiled for other types later
    try:
        value = plain(pos.copy(), level, np.zeros(3), np.zeros(3), np.zeros(4), reference)
    except Exception as error:  # whatever the user's function raises
        raise XtdroneError(
            f"cost '{name}' fails with {type(error).__name__}: {one_line(str(error))}; its last "
            f"argument has {len(reference)} numbers"
        ) from error
    if not np.isfinite(value):
        raise XtdroneError(
            f"cost '{name}' of a vehicle at rest is {value}: let it return a finite number for any "
            "state"
        )

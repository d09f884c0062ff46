"""Costs of a future, compiled; a cost of your own has the same arguments."""

from collections.abc import Callable
from typing import cast

import numpy as np
from numba.core.registry import CPUDispatcher

from xtdrone_core.errors import XtdroneError, unknown_name
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


COSTS: dict[str, Cost] = {"follow": follow}


def load_cost(name: str) -> Cost:
    """Returns a cost by its name in COSTS or as module:function.

    Raises:
        XtdroneError: No such cost, or it is not compiled.
    """
    if name not in COSTS and not is_own(name):
        raise XtdroneError(
            unknown_name("cost", name, COSTS, "name a function of your own as module:function")
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


def check_finite(cost: Cost, name: str, reference: np.ndarray) -> None:
    """Refuses a cost that is not finite for a vehicle at rest and level at the origin.

    Args:
        cost: The cost, compiled.
        name: What it is called.
        reference: (R,) what it is compared with.

    Raises:
        XtdroneError: It is not finite.
    """
    level = np.array([0.0, 0.0, 0.0, 1.0])
    check_compiled(cost, name)
    plain = cast(CPUDispatcher, cost).py_func  # it is compiled for other types later
    value = plain(np.zeros(3), level, np.zeros(3), np.zeros(3), np.zeros(4), reference)
    if not np.isfinite(value):
        raise XtdroneError(
            f"cost '{name}' of a vehicle at rest is {value}: let it return a finite number for any "
            "state"
        )

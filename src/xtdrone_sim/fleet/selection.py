"""Vehicles of a fleet that are given by names, indices or a mask."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from xtdrone_core import Scenario, ScenarioError
from xtdrone_core.errors import unknown_name

Vehicles: TypeAlias = int | str | Iterable[int | str] | np.ndarray | None  # None: all


def vehicle_mask(scenario: Scenario, vehicles: Vehicles) -> np.ndarray:
    """Returns (N,) bool, the vehicles that are meant.

    Args:
        scenario: The scenario with the fleet.
        vehicles: Indices, names, or a mask (N,) of bool; None for all. Any of NumPy's array-likes.

    Raises:
        ScenarioError: No such vehicle.
    """
    n = scenario.n
    if vehicles is None:
        return np.ones(n, dtype=np.bool_)
    given = np.asarray(vehicles)
    if given.dtype == np.bool_ and given.shape == (n,):
        return given.copy()
    names = [spec.name for spec in scenario.vehicles]
    mask = np.zeros(n, dtype=np.bool_)
    for vehicle in np.atleast_1d(given).tolist():
        if vehicle in names:
            mask[names.index(vehicle)] = True
        elif isinstance(vehicle, int) and 0 <= vehicle < n:
            mask[vehicle] = True
        else:
            raise ScenarioError(
                unknown_name("vehicle", vehicle, names)
                if isinstance(vehicle, str)
                else f"vehicle {vehicle} is not there: give 0 to {n - 1}, or a name"
            )
    return mask


def refuse_other_change(now: Scenario, then: Scenario) -> None:
    """Refuses a change of the fleet that neither adds vehicles nor takes some out.

    Raises:
        ScenarioError: It does something else.
    """
    former, new = set(now.specified()), set(then.specified())
    if not former < new and not new < former:
        raise ScenarioError(
            "a fleet either grows or shrinks, and the vehicles that stay keep "
            "type, name, start, autopilot and number: add some, or remove some"
        )

"""The challenge search_and_land."""

from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch
from xtdrone_core.scenario.vehicles import parse_vehicles

from ..challenge import Challenge, Referee

_PAD = np.array([6.0, 4.0])  # of the world `landing` [m]
_FAR_M = 0.5  # from the middle, without points
_SAID_M = 1.5  # standard deviation of where the pad is said to be


class SearchAndLand(Challenge):
    """Find a pad with a marker, of which you are told within 1.5 m where it is, and land on it.

    The score is 100 for the middle of the marker, less in proportion to the distance up to 0.5 m,
    and 0 if the vehicle does not stand there after two minutes. Gusts of `dryden=3`.
    """

    baseline = "marker_landing"

    def scenario(self, seed: int, folder: Path) -> Scenario:
        """The pad in gusts."""
        vehicles = parse_vehicles("iris_downward")
        return Scenario(vehicles, world="landing", wind="dryden=3", seed=seed, speed=0.0)

    def told(self, seed: int) -> dict[str, Any]:
        """About where the pad is, from the start."""
        off = np.clip(np.random.default_rng(seed).normal(0.0, _SAID_M, 2), -2.5, 2.5)
        return {"east": float(_PAD[0] + off[0]), "north": float(_PAD[1] + off[1])}

    def referee(self, seed: int) -> Referee:
        """Who measures where it stands."""
        return _Tape()


class _Tape(Referee):
    def __init__(self) -> None:
        self._away, self._speed, self._height = np.inf, np.inf, np.inf

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        self._away = float(np.linalg.norm(state.pos[0, :2] - _PAD))
        self._speed = float(np.linalg.norm(state.vel[0]))
        self._height = float(state.pos[0, 2])

    def points(self, collisions: int) -> float:
        if self._height > 0.5 or self._speed > 0.1:
            return 0.0
        return 100.0 * max(1.0 - self._away / _FAR_M, 0.0)

    def figures(self) -> dict[str, float]:
        return {"away_m": self._away}

"""The challenge forest_dash."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_planning.forest import bounds_of, objects_of, world_xml

from ..challenge import Challenge, Referee

_WORLD = "woods"
_HEIGHT_M = 2.0
_NEAR_M = 1.0
_PAR_S = 13.0  # for all points


class ForestDash(Challenge):
    """Fly 56 m through 200 unknown trees, by a depth camera.

    The goal is (56, 0, 2) in the world. The score is 100 if the vehicle is within 1 m of it after
    13 s of simulated time from its take-off, less in proportion if later, and 0 if it touches
    anything. Another forest for each seed.
    """

    baseline = "navigate"
    options: ClassVar[Mapping[str, Any]] = {"speed": 4.0, "resolution": 0.15}

    def scenario(self, seed: int, folder: Path) -> Scenario:
        """A random forest."""
        path = folder / "forest.world"
        path.write_bytes(world_xml(objects_of(_WORLD, seed), "forest", []))
        return Scenario(parse_vehicles("iris_depth"), world=str(path), seed=seed, speed=0.0)

    def told(self, seed: int) -> dict[str, Any]:
        """The goal."""
        return {"goal": ",".join(f"{x:g}" for x in _goal()), "height": _HEIGHT_M}

    def referee(self, seed: int) -> Referee:
        """Who measures the time."""
        return _Clock()


class _Clock(Referee):
    def __init__(self) -> None:
        self._began_us, self._reached_us = -1, -1

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        if self._began_us < 0 and state.pos[0, 2] > 0.5:
            self._began_us = t_us
        if self._reached_us < 0 and np.linalg.norm(state.pos[0] - _goal()) < _NEAR_M:
            self._reached_us = t_us
            self.over = True

    def points(self, collisions: int) -> float:
        if self._reached_us < 0 or collisions:
            return 0.0
        return 100.0 * min(_PAR_S / self.figures()["way_s"], 1.0)

    def figures(self) -> dict[str, float]:
        if self._reached_us < 0:
            return {}
        return {"way_s": (self._reached_us - self._began_us) * 1e-6}


def _goal() -> np.ndarray:
    return np.array([bounds_of(_WORLD)[1, 0] - 3.0, 0.0, _HEIGHT_M])

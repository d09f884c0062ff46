"""The challenge formation_through_forest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_formation.formations import slots
from xtdrone_planning.forest import bounds_of, objects_of, world_xml

from ..challenge import Challenge, Referee

_WORLD = "woods"
_STARTS = "iris_depth_small@0,0,0; iris_depth_small@-2,2,0; iris_depth_small@-2,-2,0"
_HEIGHT_M = 2.0
_FORMATION, _SPACING_M = "V", 2.5
_NEAR_M = 1.5  # of each vehicle to its slot at the goal
_OFF_M = 1.2  # from its slot, at which a vehicle has lost the shape
_BEGUN_M = 2.0  # of the leader's way, from which on the shape counts
_PAR_S = 25.0  # for all points


class FormationThroughForest(Challenge):
    """Fly a V of three vehicles 56 m through 200 unknown trees, by depth cameras.

    The leader, vehicle 0, flies to (56, 0, 2) in the world. `slots` are the places of the vehicles
    relative to it, all at its height, with its back to the start. Half of the score is for the
    time from take-off until all are within 1.5 m of their slots around the goal: 50 for 25 s, less
    in proportion if later. The other half is for the shape: 50 times the part of the way's time,
    from 2 m on, in which all are within 1.2 m of their slots beside the leader. 0 if one does not
    arrive or touches anything. Another forest for each seed.
    """

    baseline = "swarm_formation"
    options: ClassVar[Mapping[str, Any]] = {"formation": _FORMATION, "spacing": _SPACING_M}
    longest_s = 240.0

    def scenario(self, seed: int, folder: Path) -> Scenario:
        """A random forest."""
        path = folder / "forest.world"
        path.write_bytes(world_xml(objects_of(_WORLD, seed), "forest", []))
        return Scenario(parse_vehicles(_STARTS), world=str(path), seed=seed, speed=0.0)

    def told(self, seed: int) -> dict[str, Any]:
        """The goal and the shape."""
        return {"goal": ",".join(f"{x:g}" for x in _goal()), "slots": _slots(), "height": _HEIGHT_M}

    def referee(self, seed: int) -> Referee:
        """Who measures time and shape."""
        return _Surveyor()


class _Surveyor(Referee):
    def __init__(self) -> None:
        self._slots, self._goal = _slots(), _goal()
        self._began_us, self._reached_us = -1, -1
        self._looks, self._kept = 0, 0

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        if self._began_us < 0 and state.pos[0, 2] > 0.5:
            self._began_us = t_us
        if self._reached_us >= 0:
            return
        if np.hypot(*state.pos[0, :2]) > _BEGUN_M:
            off = np.linalg.norm(state.pos - state.pos[0] - self._slots, axis=1)
            self._looks += 1
            self._kept += bool(off.max() < _OFF_M)
        if np.linalg.norm(state.pos - self._goal - self._slots, axis=1).max() < _NEAR_M:
            self._reached_us = t_us
            self.over = True

    def points(self, collisions: int) -> float:
        if self._reached_us < 0 or collisions:
            return 0.0
        figures = self.figures()
        return 50.0 * min(_PAR_S / figures["way_s"], 1.0) + 50.0 * figures["shape_kept"]

    def figures(self) -> dict[str, float]:
        if self._reached_us < 0:
            return {}
        way = (self._reached_us - self._began_us) * 1e-6
        return {"way_s": way, "shape_kept": self._kept / self._looks}


def _goal() -> np.ndarray:
    return np.array([bounds_of(_WORLD)[1, 0] - 3.0, 0.0, _HEIGHT_M])


def _slots() -> np.ndarray:
    """Places (3, 3) relative to the leader [m]."""
    return np.vstack([np.zeros(3), slots(_FORMATION, 3, spacing=_SPACING_M)])

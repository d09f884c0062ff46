"""The challenge inspection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from xtdrone_batch.scenes import BOX, object_dtype
from xtdrone_core import FleetState, Scenario, SensorBatch
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_planning.forest import world_xml

from ..challenge import Challenge, Referee

_COUNT, _VEHICLES = 6, 2
_SIDE_M, _WALL_M = 4.0, 3.0  # of a house, and its height
_AREA_M, _APART_M = 60.0, 16.0
_CLEAR_M = 8.0  # around the start
_FAR_M, _SLANT, _FAST_M_S = 8.0, 0.5, 4.0  # distance, cosine of 60 degrees, speed
_AROUND_M = 14.0  # diameter of the baseline's circles
_PAR_S = 60.0  # for all points
_NORMALS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


class Inspection(Challenge):
    """See all walls of six houses, by two vehicles in gusts.

    A house is 4 x 4 m and 3 m high; `houses` are rows of x, y of their middles, and `tasks` are the
    same as Tasks. A wall is seen by a vehicle within 8 m of its middle, within 60 degrees of its
    normal, that is not faster than 4 m/s; where it looks does not count. The score is the share of
    the 24 walls that was seen, times 100 if the last one was within 60 s from take-off, less in
    proportion if later; 0 if a vehicle touches anything. Wind of 3 m/s with gusts of `dryden=3`.
    """

    baseline = "tasks"
    options: ClassVar[Mapping[str, Any]] = {"height": 4.5, "speed": 5.0}
    longest_s = 240.0

    def scenario(self, seed: int, folder: Path) -> Scenario:
        """Houses in gusts."""
        objects = np.zeros(_COUNT, dtype=object_dtype(np.float64))
        objects["kind"], objects["quat"][:, 3] = BOX, 1.0
        objects["pos"][:, :2], objects["pos"][:, 2] = _houses(seed), 0.5 * _WALL_M
        objects["size"], objects["colour"] = (_SIDE_M, _SIDE_M, _WALL_M), (0.7, 0.5, 0.4)
        path = folder / "houses.world"
        path.write_bytes(world_xml(objects, "houses", []))
        vehicles, wind = parse_vehicles(f"iris*{_VEHICLES}"), "mean=3,0,0 dryden=3"
        return Scenario(vehicles, world=str(path), wind=wind, gps="rtk", seed=seed, speed=0.0)

    def told(self, seed: int) -> dict[str, Any]:
        """The houses; as tasks as well."""
        from xtdrone_cooperation.tasks.task import Task

        houses = _houses(seed)
        tasks = [
            Task(f"house_{k}", "inspect", x, y, size=_AROUND_M, seconds=0.0)
            for k, (x, y) in enumerate(houses.tolist())
        ]
        return {"houses": houses, "tasks": tasks}

    def referee(self, seed: int) -> Referee:
        """Who counts the walls."""
        return _Inspector(_houses(seed))


def _houses(seed: int) -> np.ndarray:
    """Middles (6, 2) that are far enough from each other and from the start [m]."""
    draws, found = np.random.default_rng(seed), [np.zeros(2)]
    while len(found) <= _COUNT:
        place = draws.uniform(-0.5 * _AREA_M, 0.5 * _AREA_M, 2).round(2)
        apart = np.linalg.norm(np.array(found) - place, axis=1)
        if apart[0] > _CLEAR_M + _SIDE_M and (apart[1:] > _APART_M).all():
            found.append(place)
    return np.array(found[1:])


class _Inspector(Referee):
    def __init__(self, houses: np.ndarray) -> None:
        middles = houses[:, None] + 0.5 * _SIDE_M * _NORMALS
        heights = np.full((*middles.shape[:2], 1), 0.5 * _WALL_M)
        self._walls = np.concatenate([middles, heights], axis=2).reshape(-1, 3)
        self._normals = np.tile(np.column_stack([_NORMALS, np.zeros(4)]), (len(houses), 1))
        self._seen = np.zeros(len(self._walls), dtype=bool)
        self._began_us, self._last_us = -1, -1

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        if self._began_us < 0 and state.pos[:, 2].min() > 0.5:
            self._began_us = t_us
        before = int(self._seen.sum())
        for pos, vel in zip(state.pos, state.vel):
            if np.linalg.norm(vel) <= _FAST_M_S:
                away = pos - self._walls
                far = np.linalg.norm(away, axis=1)
                ahead = (away * self._normals).sum(axis=1) > _SLANT * far
                self._seen |= ahead & (far < _FAR_M)
        if self._seen.sum() > before:
            self._last_us = t_us
        self.over = bool(self._seen.all())

    def points(self, collisions: int) -> float:
        share = float(self._seen.mean())
        if collisions or not share or self._began_us < 0:
            return 0.0
        return 100.0 * share * min(_PAR_S / self.figures()["way_s"], 1.0)

    def figures(self) -> dict[str, float]:
        seen = int(self._seen.sum())
        if not seen or self._began_us < 0:
            return {"seen": seen}
        return {"seen": seen, "way_s": max((self._last_us - self._began_us) * 1e-6, 0.02)}

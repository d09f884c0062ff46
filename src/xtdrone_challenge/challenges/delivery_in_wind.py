"""The challenge delivery_in_wind."""

from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch
from xtdrone_core.scenario.vehicles import parse_vehicles

from ..challenge import Challenge, Referee

_COUNT, _VEHICLES = 8, 3
_NEAR_M, _STAY_S = 1.0, 0.5
_PAR_S = 50.0  # for all points
_AREA_M = 50.0
_FETCH, _BRING = 0, 1


class DeliveryInWind(Challenge):
    """Bring eight parcels from where they are to where they go, by three vehicles in gusts.

    A parcel is fetched by who stays within 1 m of its place, seen from above, for 0.5 s, and
    brought by the same vehicle staying so where it goes; a vehicle carries one. `parcels` are rows
    of from_x, from_y, to_x, to_y; `tasks` are the same as Tasks. The score is the share that was
    brought, times 100 if the last one comes within 50 s from take-off, less in proportion if
    later; 0 if vehicles touch. Wind of 4 m/s with gusts of `dryden=5`.
    """

    baseline = "tasks"
    longest_s = 240.0

    def scenario(self, seed: int, folder: Path) -> Scenario:
        """Three vehicles in gusts."""
        vehicles = parse_vehicles(f"iris*{_VEHICLES}")
        return Scenario(vehicles, wind="mean=4,0,0 dryden=5", gps="rtk", seed=seed, speed=0.0)

    def told(self, seed: int) -> dict[str, Any]:
        """The parcels; as tasks as well."""
        from xtdrone_cooperation.tasks.task import Task

        parcels = _parcels(seed)
        tasks = [
            Task(f"parcel_{k}", "deliver", x, y, to_x=u, to_y=v)
            for k, (x, y, u, v) in enumerate(parcels.tolist())
        ]
        return {"parcels": parcels, "tasks": tasks}

    def referee(self, seed: int) -> Referee:
        """Who counts the parcels."""
        return _Counter(_parcels(seed))


def _parcels(seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed).uniform(-0.5 * _AREA_M, 0.5 * _AREA_M, (_COUNT, 4))
    return np.asarray(draw.round(2))


class _Counter(Referee):
    def __init__(self, parcels: np.ndarray) -> None:
        self._places = parcels.reshape(-1, 2, 2)
        self._stage = np.zeros(len(parcels), dtype=int)  # then _BRING, then 2: brought
        self._carries = np.full(_VEHICLES, -1)
        self._since_us = np.zeros((_VEHICLES, len(parcels)), dtype=np.int64)
        self._began_us, self._last_us = -1, -1

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        if self._began_us < 0 and state.pos[:, 2].min() > 0.5:
            self._began_us = t_us
        for i in range(_VEHICLES):
            for k in range(len(self._places)):
                self._look(i, k, t_us, state.pos[i, :2])
        self.over = bool((self._stage > _BRING).all())

    def _look(self, i: int, k: int, t_us: int, place: np.ndarray) -> None:
        """Sees whether a vehicle fetches or brings a parcel."""
        stage = self._stage[k]
        may = self._carries[i] == (k if stage == _BRING else -1)
        if stage > _BRING or not may or np.hypot(*(place - self._places[k, stage])) > _NEAR_M:
            self._since_us[i, k] = t_us
        elif t_us - self._since_us[i, k] >= 1e6 * _STAY_S:
            self._stage[k] += 1
            self._carries[i] = k if stage == _FETCH else -1
            self._since_us[i, k] = t_us
            if stage == _BRING:
                self._last_us = t_us

    def points(self, collisions: int) -> float:
        brought = float((self._stage > _BRING).mean())
        if collisions or not brought:
            return 0.0
        return 100.0 * brought * min(_PAR_S / self.figures()["way_s"], 1.0)

    def figures(self) -> dict[str, float]:
        brought = int((self._stage > _BRING).sum())
        way = (self._last_us - self._began_us) * 1e-6
        return {"brought": brought, **({"way_s": way} if brought else {})}

"""The challenge gate_race."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch
from xtdrone_core.racing.laps import Laps
from xtdrone_core.racing.track import read_track
from xtdrone_core.scenario.vehicles import parse_vehicles

from ..challenge import Challenge, Referee

_TRACK = "eight"
_PAR_S = 6.0  # of the best lap, for all points


class GateRace(Challenge):
    """Fly the track `eight` by iris, as fast as you can.

    The score is 100 for a best lap of 6 s, less in proportion for a slower one, and 0 without a
    whole lap, or if the vehicle crashes. Receivers are `rtk`; the noise differs for each seed.
    """

    baseline = "race"
    options: ClassVar[Mapping[str, Any]] = {"plan": "time_optimal"}

    def scenario(self, seed: int, folder: Path) -> Scenario:
        """The track."""
        return Scenario(
            parse_vehicles("iris"),
            track=_TRACK,
            rate_control="indi",  # type: ignore[call-arg]  # an option of the flight stack
            gps="rtk",
            seed=seed,
            speed=0.0,
        )

    def referee(self, seed: int) -> Referee:
        """Who times the laps."""
        return _Timing()


class _Timing(Referee):
    period_us = 0

    def __init__(self) -> None:
        self._laps = Laps(read_track(_TRACK), 1)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        self._laps.step(t_us, state.pos)

    def points(self, collisions: int) -> float:
        best = self.figures().get("best_lap_s", np.inf)
        return 100.0 * min(_PAR_S / best, 1.0)

    def figures(self) -> dict[str, float]:
        laps = [float(lap["splits"][-1]) for lap in self._laps.flown[0]]
        return {"laps": len(laps), "best_lap_s": min(laps)} if laps else {}

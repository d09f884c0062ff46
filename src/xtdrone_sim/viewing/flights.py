"""A replay of a run folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import FleetModel, FleetState, Scenario, Vehicle, files
from xtdrone_core.runs import interpolation, run_folder
from xtdrone_core.runs.truth_log import read_truth

from ..errors import ViewError
from ..vehicles.sdf import load_vehicle
from ..world import world_of
from ..world.models import WorldModel

TRAIL_S = 8.0  # length of a trail [s]
_TRAIL_STEP_S = 0.1
_MAX_PIECES = 3000  # all trails of a fleet together
_CAPTION_S = 3.0  # time for which the caption of an event is shown [s]
_CAPTIONS = {
    "armed": "armed",
    "airborne": "airborne",
    "formation": "formation {formation}",
    "settled": "{formation} settled",
    "return": "return",
    "land": "landing",
    "landed": "landed",
    "crash": "crash of {vehicle}",
    "waypoint": "waypoint {index}",
    "corner": "corner {index}",
}


class Replay:
    """A recorded flight.

    Attributes:
        name: Name of the run.
        vehicles, models, world: What flew, and where.
        start_s, end_s: First and last simulated time of the recording [s].
        everything: (K, 3) positions during the flight, for a camera that stands still [m].
    """

    def __init__(self, folder: Path | str) -> None:
        """Reads the run.

        Raises:
            XtdroneError: It has no scenario or no truth log, or its world or vehicles are not here.
        """
        folder = Path(folder)
        self.name = folder.resolve().name
        scenario = Scenario.load(run_folder.scenario_file(folder))
        self.vehicles = scenario.vehicles
        if not files.is_file(folder / run_folder.TRUTH):
            raise ViewError(
                f"run '{folder}' has no {run_folder.TRUTH}, the true poses: give a run that flew"
            )
        self._t_us, self._table = read_truth(folder / run_folder.TRUTH, scenario.n)
        self.world = world_of(scenario)
        self.models = [load_vehicle(spec.type) for spec in self.vehicles]
        self.names = [spec.name for spec in self.vehicles]
        self.start_s, self.end_s = (float(self._t_us[k]) * 1e-6 for k in (0, -1))
        self.everything = self._table[::50, :, :3].reshape(-1, 3)
        self._state = blank_state(self.models)
        self._captions = [
            (event["t_us"] * 1e-6, _caption(event)) for event in run_folder.read_events(folder)
        ]

    def state(self, t_s: float) -> FleetState:
        """Returns the fleet at a time [s]; overwritten by the next call.

        States are interpolated between records, except where a reset moves a vehicle.
        """
        t_us = min(max(t_s, self.start_s), self.end_s) * 1e6
        k, after, fraction, step_us = interpolation.locate(self._t_us, t_us)
        here, there = self._table[k], self._table[after]
        fractions = interpolation.fractions(
            fraction, step_us * 1e-6, here[:, :3], there[:, :3], here[:, 7:10]
        )
        state = self._state
        state.t_us = round(t_us)
        state.pos[:] = here[:, :3] + fractions * (there[:, :3] - here[:, :3])
        state.quat[:] = interpolation.attitude(here[:, 3:7], there[:, 3:7], fractions)
        return state

    def trail(self, t_s: float, seconds: float = TRAIL_S) -> np.ndarray:
        """Returns positions (K, N, 3) in the seconds before a time, the latest last [m]."""
        count = max(2, min(round(seconds / _TRAIL_STEP_S), _MAX_PIECES // len(self.names)) + 1)
        # At multiples of the step, so that the trail stands still while its end moves on.
        last = np.floor(t_s / _TRAIL_STEP_S)
        times = np.append((last - np.arange(count - 2, -1, -1)) * _TRAIL_STEP_S, t_s)
        rows = np.searchsorted(self._t_us, times * 1e6, "right") - 1
        points = self._table[np.clip(rows, 0, len(self._t_us) - 1), :, :3].copy()
        points[-1] = self.state(t_s).pos
        return points

    def inserted(self) -> tuple[tuple[WorldModel, ...], Sequence[np.ndarray]]:
        """Returns models that were inserted during the flight, and their states: not recorded."""
        return (), ()

    def caption(self, t_s: float) -> str:
        """Returns the caption of the last event, for a few seconds; empty without one."""
        texts = [text for at, text in self._captions if t_s - _CAPTION_S < at <= t_s and text]
        return texts[-1] if texts else ""


def blank_state(models: Sequence[Vehicle]) -> FleetState:
    """Returns a FleetState with room for these vehicles."""
    fleet = FleetModel.of(tuple(models))
    return FleetState.zeros(
        len(models), fleet.actuator.shape[1], fleet.joint.shape[1], fleet.body.shape[1]
    )


def _caption(event: dict[str, Any]) -> str:
    try:
        return _CAPTIONS.get(event["event"], "").format(**event)
    except KeyError:  # an event of the same name by another Agent
        return event["event"]

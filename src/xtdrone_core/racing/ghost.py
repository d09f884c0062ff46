"""A ghost: the best lap of an earlier run, by its true path."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..errors import ScenarioError, XtdroneError, shown
from ..runs import run_folder
from ..runs.truth_log import read_truth
from ..scenario.scenario import Scenario
from .track import Track

PERIOD_S = 0.02  # period of the true path in a run folder [s]


@dataclass(frozen=True, eq=False)
class Ghost:
    """A lap of a vehicle."""

    run: str
    vehicle: str
    type: str
    splits: np.ndarray  # (G,) since it began, the finish last [s]
    t: np.ndarray  # (K,) since it began [s]
    pose: np.ndarray  # (K, 7) position, world [m], and quaternion xyzw

    def plain(self) -> dict[str, Any]:
        """Plain data for a page."""
        return {
            "run": self.run,
            "vehicle": self.vehicle,
            "type": self.type,
            "splits": np.round(self.splits, 4).tolist(),
            "t": np.round(self.t, 4).tolist(),
            "pose": np.round(self.pose, 4).tolist(),
        }


def laps_of(folder: Path, track: Track) -> list[tuple[float, int, dict[str, Any]]]:
    """The laps that a run flew on a track, the best first: time [s], vehicle, and the lap.

    Raises:
        XtdroneError: Its summary is damaged.
    """
    race = run_folder.read_summary(folder).get("race")
    if (
        not isinstance(race, dict)
        or race.get("track") != track.name
        or race.get("gates") != len(track.gates)
    ):
        return []
    try:
        laps = [
            (float(lap["splits"][-1]), i, lap)
            for i, vehicle in enumerate(race["vehicles"])
            for lap in vehicle["laps"]
            if len(lap["splits"]) == len(track.gates)
            and np.isfinite([lap["began_s"], *lap["splits"]]).all()
        ]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise XtdroneError(
            f"the laps in the summary of '{shown(folder)}' are damaged: "
            f"{type(error).__name__} {error}"
        ) from error
    return sorted(laps, key=lambda lap: lap[:2])


def read_ghost(run: str, track: Track) -> Ghost:
    """The best lap of a run on a track.

    Args:
        run: As run_folder.find() takes it.
        track: Track that is flown now.

    Raises:
        XtdroneError: There is no such run, or it has no whole lap of this track.
    """
    folder = run_folder.find(run)
    laps = laps_of(folder, track)
    if not laps:
        raise ScenarioError(
            f"run '{shown(run)}' has no whole lap of track '{track.name}': give a "
            f"run that has, such as one of: xtdrone fly race --track {track.name}"
        )
    time_s, i, lap = laps[0]
    scenario = Scenario.load(folder / "scenario.yaml")
    if not files.is_file(folder / run_folder.TRUTH):
        raise ScenarioError(
            f"run '{shown(run)}' has no {run_folder.TRUTH}, the true path: give another run"
        )
    t_us, table = read_truth(folder / run_folder.TRUTH, scenario.n)
    t = t_us * 1e-6 - lap["began_s"]
    inside = (t >= -PERIOD_S) & (t <= time_s + PERIOD_S)
    spec = scenario.vehicles[i]
    return Ghost(
        folder.name, spec.name, spec.type, np.array(lap["splits"]), t[inside], table[inside, i, :7]
    )


def runs_with(track: Track, maximum: int = 50) -> list[dict[str, Any]]:
    """Run folders that have a whole lap of a track, the newest first: name and best lap [s]."""
    ghosts = []
    for name in run_folder.names():
        try:
            laps = laps_of(run_folder.runs_root() / name, track)
        except XtdroneError:  # the file is of another version, or damaged
            continue
        if laps:
            ghosts.append({"run": name, "best_s": round(laps[0][0], 3)})
        if len(ghosts) == maximum:
            break
    return ghosts

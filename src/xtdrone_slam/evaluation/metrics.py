"""Accuracy of an estimated trajectory: APE and RPE by evo, used as a library.

The results equal those of evo's command line for the same files and options.
"""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from xtdrone_core import extras

from ..datasets import trajectory_file
from ..errors import SlamError
from .conventions import ALIGNMENTS, DELTA_M, MAX_DIFF_S

Trajectory: TypeAlias = Any  # a PoseTrajectory3D of evo, which has no annotations
_KITTI_RATE = 10.0  # poses a second of KITTI's odometry, of which its files say nothing
METRICS = ("ape_translation", "ape_rotation", "rpe_translation", "rpe_rotation")
UNITS = {
    "ape_translation": "m",
    "ape_rotation": "deg",
    "rpe_translation": "m",
    "rpe_rotation": "deg",
}


@dataclass(frozen=True)
class Evaluation:
    """Comparison of an estimate with a reference."""

    alignment: str  # one of ALIGNMENTS
    pairs: int  # number of associated poses
    # By metric: rmse, mean, median, std, min, max and sse, in UNITS.
    statistics: dict[str, dict[str, float]]
    errors: dict[str, np.ndarray]  # by metric: (E,) single errors, in UNITS
    times: dict[str, np.ndarray]  # by metric: (E,) times of the errors, of the reference [s]
    reference: np.ndarray  # (pairs, 4) time and position, associated [s, m]
    estimate: np.ndarray  # (pairs, 4) time and position, associated and aligned [s, m]
    by_rows: bool = False  # a file had no times, so that row k is compared with row k

    @property
    def path_m(self) -> float:
        """Length of the true path through the associated poses [m]."""
        return float(np.linalg.norm(np.diff(self.reference[:, 1:], axis=0), axis=1).sum())

    @property
    def ape_percent(self) -> float:
        """RMSE of the APE translation in per cent of the path; NaN without a motion."""
        length = self.path_m
        return 100.0 * self.statistics["ape_translation"]["rmse"] / length if length else np.nan


def evaluate(
    estimate: Path,
    reference: Path,
    alignment: str = "se3",
    delta_m: float = DELTA_M,
    max_diff_s: float = MAX_DIFF_S,
) -> Evaluation:
    """Compares two trajectories.

    Args:
        estimate, reference: Files that trajectory_file.read() takes. KITTI's poses without times
            are compared row by row with as many of the other file.
        alignment: Alignment of the estimate to the reference: se3 or sim3 (Umeyama), origin (first
            pose), or none.
        delta_m: Path length of the relative errors [m].
        max_diff_s: Largest time difference of associated poses [s].

    Raises:
        SlamError: A file is not a trajectory, the two do not overlap or are too short, or an
            argument is out of range.
    """
    if alignment not in ALIGNMENTS:
        raise SlamError(f"unknown alignment '{alignment}': choose one of {', '.join(ALIGNMENTS)}")
    if not delta_m > 0:
        raise SlamError(f"a delta of {delta_m:g} m is not allowed: give a positive length")
    try:
        return _evaluate(Path(estimate), Path(reference), alignment, delta_m, max_diff_s)
    except ModuleNotFoundError as error:
        raise SlamError(extras.lacking("the evaluation", error, "slam")) from error


def _evaluate(
    estimate: Path, reference: Path, alignment: str, delta_m: float, max_diff_s: float
) -> Evaluation:
    from evo import EvoException
    from evo.core import metrics, sync
    from evo.core.geometry import GeometryException
    from evo.core.metrics import PoseRelation, Unit

    tables, by_rows = _tables(reference, estimate)
    truth, flown = map(_trajectory, tables)
    try:
        truth, flown = sync.associate_trajectories(truth, flown, max_diff=max_diff_s)
        flown = _aligned(flown, truth, alignment)
        statistics, errors, times = {}, {}, {}
        relations = {
            "translation": PoseRelation.translation_part,
            "rotation": PoseRelation.rotation_angle_deg,
        }
        for name in METRICS:
            kind, _, part = name.partition("_")
            if kind == "ape":
                metric = metrics.APE(relations[part])
            else:
                metric = metrics.RPE(relations[part], delta_m, Unit.meters, all_pairs=False)
            metric.process_data((truth, copy.deepcopy(flown)))
            statistics[name] = {
                key: float(value) for key, value in metric.get_all_statistics().items()
            }
            errors[name] = np.array(metric.error)
            ends = metric.delta_ids if kind == "rpe" else range(truth.num_poses)
            times[name] = truth.timestamps[list(ends)]
    except GeometryException as error:
        raise SlamError(
            f"evo cannot align '{estimate}' with '{reference}' by {alignment}: {error}, as of "
            "poses on a straight line; give --align origin or --align none"
        ) from error
    except (EvoException, ValueError, np.linalg.LinAlgError) as error:
        raise SlamError(f"evo cannot compare '{estimate}' with '{reference}': {error}") from error
    return Evaluation(
        alignment,
        truth.num_poses,
        statistics,
        errors,
        times,
        _positions(truth),
        _positions(flown),
        by_rows,
    )


def _tables(reference: Path, estimate: Path) -> tuple[list[np.ndarray], bool]:
    """Reads both, and returns whether their rows are paired in the place of their times."""
    paths = [reference, estimate]
    counts = [trajectory_file.count_without_times(path) for path in paths]
    if not any(counts):
        return [trajectory_file.read(path) for path in paths], False
    times = np.arange(max(counts)) / _KITTI_RATE
    for path, count in zip(paths, counts):
        if not count:
            times = trajectory_file.read(path)[:, 0]
    for path, count in zip(paths, counts):
        if count not in (0, len(times)):
            raise SlamError(
                f"'{path}' has {count} poses without times, and the other file {len(times)}: only "
                f"as many are compared row by row; put {path.stem}_times.txt beside it, one time "
                "[s] in each row"
            )
    return [trajectory_file.read(path, times) for path in paths], True


def _trajectory(table: np.ndarray) -> Trajectory:
    """Returns a table (T, 8) as evo's trajectory."""
    from evo.core.trajectory import PoseTrajectory3D

    return PoseTrajectory3D(table[:, 1:4], np.roll(table[:, 4:], 1, axis=1), table[:, 0])


def _aligned(estimate: Trajectory, truth: Trajectory, alignment: str) -> Trajectory:
    moved = copy.deepcopy(estimate)
    if alignment == "origin":
        moved.align_origin(truth)
    elif alignment != "none":
        moved.align(truth, correct_scale=alignment == "sim3")
    return moved


def _positions(trajectory: Trajectory) -> np.ndarray:
    return np.column_stack([trajectory.timestamps, trajectory.positions_xyz])

"""Accuracy of an estimated trajectory: APE and RPE by evo, used as a library.

The results equal those of evo's command line for the same files and options.
"""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..datasets import trajectory_file
from ..errors import SlamError
from .conventions import ALIGNMENTS, DELTA_M, MAX_DIFF_S

Trajectory: TypeAlias = Any  # a PoseTrajectory3D of evo, which has no annotations
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
    """Compares two TUM files.

    Args:
        estimate, reference: TUM files.
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
        raise SlamError(
            f"the evaluation needs the Python package '{error.name}': pip install 'xtdrone[slam]'"
        ) from error


def _evaluate(
    estimate: Path, reference: Path, alignment: str, delta_m: float, max_diff_s: float
) -> Evaluation:
    from evo import EvoException
    from evo.core import metrics, sync
    from evo.core.geometry import GeometryException
    from evo.core.metrics import PoseRelation, Unit

    truth, flown = _trajectory(reference), _trajectory(estimate)
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
        alignment, truth.num_poses, statistics, errors, times, _positions(truth), _positions(flown)
    )


def _trajectory(path: Path) -> Trajectory:
    """Reads a TUM file as evo's trajectory."""
    from evo.core.trajectory import PoseTrajectory3D

    table = trajectory_file.read(path)
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

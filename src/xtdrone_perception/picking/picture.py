"""Figures of a parcel that was picked up and put down, by the truth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import plot_style
from xtdrone_core.runs.log_file import read_named_rows
from xtdrone_core.runs.run_folder import TRUTH
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_dynamics.quaternion import to_euler

LOG = "models.csv"
_BEFORE_S = 0.5  # whose mean place counts as that before the arm moves
_PARCEL, _GOAL = "parcel", "goal_marker"  # names of the models


def read(folder: Path) -> dict[str, np.ndarray]:
    """Returns rows of t [s], position (3) [m] and quaternion xyzw (4) by model."""
    return read_named_rows(folder / LOG)


def figures(folder: Path, moves: Sequence[float], beside: float) -> dict[str, Any]:
    """Returns how far the parcel was put down from its goal, and what the arm did to the vehicle.

    Args:
        folder: Run folder.
        moves: Times at which the arm began and ended to move, in turn [s].
        beside: Of the goal behind its marker [m].
    """
    times, pos, yaw = _flight(folder)
    out: dict[str, Any] = {}
    for name, axes in (("height", [2]), ("position", [0, 1])):
        off = []
        for begin, end in zip(moves[::2], moves[1::2]):
            before = pos[(times >= begin - _BEFORE_S) & (times <= begin)].mean(axis=0)
            during = pos[(times >= begin) & (times <= end)]
            off.append(float(np.linalg.norm((during - before)[:, axes], axis=1).max()))
        out[f"{name}_off_while_arm_moves_m"] = round(max(off, default=np.nan), 3)
    models = read(folder)
    if {_PARCEL, _GOAL} <= models.keys():
        last = models[_PARCEL][-1]
        off_goal = last[1:3] - _goal(models[_GOAL], beside, yaw)
        out["placed_off_goal_m"] = round(float(np.linalg.norm(off_goal)), 4)
        x, y = last[4:6]
        out["parcel_tilt_deg"] = round(float(np.degrees(np.arccos(1.0 - 2.0 * (x**2 + y**2)))), 2)
    return out


def draw(folder: Path, moves: Sequence[float], beside: float) -> None:
    """Writes plots/pick.png: ways from above, and heights by time."""
    times, pos, yaw = _flight(folder)
    models = read(folder)
    figure = plot_style.figure(10, 5, "a parcel is picked up and put down")
    above, heights = figure.subplots(1, 2)
    vehicle, parcel = plot_style.vehicle(0, 2), plot_style.vehicle(1, 2)
    above.plot(pos[:, 0], pos[:, 1], label="vehicle", **vehicle)
    heights.plot(times, pos[:, 2], **vehicle)
    if _PARCEL in models:
        table = models[_PARCEL]
        above.plot(table[:, 1], table[:, 2], label="parcel", **parcel)
        heights.plot(table[:, 0], table[:, 3], **parcel)
    if _GOAL in models:
        east, north = _goal(models[_GOAL], beside, yaw)
        above.plot([east], [north], "kx", ms=9, label="goal")
    for begin, end in zip(moves[::2], moves[1::2]):
        heights.axvspan(begin, end, color="black", alpha=0.12, lw=0)
    above.set_aspect("equal", adjustable="datalim")
    above.set_xlabel("east [m]")
    above.set_ylabel("north [m]")
    heights.set_xlabel("time [s]; grey: the arm moves")
    heights.set_ylabel("height [m]")
    plot_style.legend(figure, below=True)
    (folder / "plots").mkdir(exist_ok=True)
    plot_style.save(figure, folder / "plots" / "pick.png")


def _flight(folder: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """Times (K,) [s], places (K, 3) [m] and the yaw at the start [rad] of the vehicle."""
    t_us, table = read_truth(folder / TRUTH, 1)
    return t_us * 1e-6, table[:, 0, :3], to_euler(*table[0, 0, 3:7])[2]


def _goal(marker: np.ndarray, beside: float, yaw: float) -> np.ndarray:
    """Where the parcel should be (2,), behind the rows of the goal's marker [m]."""
    out: np.ndarray = marker[-1, 1:3] - beside * np.array([np.cos(yaw), np.sin(yaw)])
    return out

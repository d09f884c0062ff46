"""Plots of a report: figures 6 and 7 of the XTDrone paper, and resource usage."""

from pathlib import Path

import numpy as np

from .metrics import DELTA_M, UNITS
from .results import Flight

_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown",
            "tab:pink", "tab:olive", "tab:cyan")
_SMOOTH = 10  # CPU samples in the moving average
_LABELS = {"rpe_translation": "RPE translation", "rpe_rotation": "RPE rotation"}


def draw(flight: Flight, folder: Path) -> list[tuple[Path, str]]:
    """Draws all plots of a flight as PNG and PDF; returns the PNG paths with captions."""
    if not any(system.valid for system in flight.systems):
        return []
    drawn = []
    for name, function, caption in (
            ("trajectories", _trajectories, "Trajectories against the truth, aligned (figure 6)"),
            ("rpe", _rpe, f"Relative pose error per {DELTA_M:g} m over time (figure 7)"),
            ("usage", _usage, "CPU, memory and features over time")):
        path = Path(folder) / f"{flight.name}_{name}"
        _save(function(flight), path)
        drawn.append((path.with_suffix(".png"), caption))
    return drawn


def _trajectories(flight):
    """Paths from above, height over time, and APE over time."""
    figure, (plan, height, error) = _figure([["plan", "height"], ["plan", "error"]], (13, 6))
    begin = flight.truth[0, 0]
    for run, label, style in _each(flight):
        t, x, y, z = run.evaluation.estimate.T
        plan.plot(x, y, label=label, **style)
        height.plot(t - begin, z, **style)
        error.plot(run.evaluation.times["ape_translation"] - begin,
                   run.evaluation.errors["ape_translation"], **style)
    truth = {"color": "k", "ls": "--", "lw": 0.8, "zorder": 4}
    plan.plot(flight.truth[:, 1], flight.truth[:, 2], label="truth", **truth)
    height.plot(flight.truth[:, 0] - begin, flight.truth[:, 3], **truth)
    plan.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    height.set(ylabel="z [m]")
    error.set(xlabel="time [s]", ylabel="APE translation [m]", ylim=(0, None))
    for axis in (height, error):
        axis.set_xlim(0, flight.truth[-1, 0] - begin)
    figure.legend(loc="outside upper center", ncols=6)
    return figure


def _rpe(flight):
    """Relative errors and the true yaw rate over time."""
    figure, axes = _figure([[0], [1], [2]], (12, 8))
    begin = flight.truth[0, 0]
    for run, label, style in _each(flight):
        for axis, metric in zip(axes, ("rpe_rotation", "rpe_translation")):
            axis.plot(run.evaluation.times[metric] - begin, run.evaluation.errors[metric],
                      marker=".", label=label if axis is axes[0] else None, **style)
    for axis, metric in zip(axes, ("rpe_rotation", "rpe_translation")):
        axis.set_ylabel(f"{_LABELS[metric]} [{UNITS[metric]}]\nper {DELTA_M:g} m")
        if any(system.statistics(metric, "max").max() > 0 for system in flight.systems
               if system.valid):
            axis.set_yscale("log")
    times, rate = yaw_rate(flight.truth)
    axes[2].plot(times - begin, rate, "k", lw=1)
    for axis in axes[:2]:
        axis.set_xlim(axes[2].get_xlim())
    axes[2].set(xlabel="time [s]", ylabel="true yaw rate [deg/s]")
    figure.legend(loc="outside upper center", ncols=6)
    return figure


def _usage(flight):
    figure, axes = _figure([[0], [1], [2]], (12, 8))
    for run, label, style in _each(flight):
        usage = _table(run.folder / "usage.csv", 4)
        frames = _table(run.folder / "frames.csv", 4)
        usage = usage[usage[:, 2] > 0]  # without the sample at the end of the process
        if len(usage) >= _SMOOTH:
            smooth = np.convolve(usage[:, 1], np.ones(_SMOOTH) / _SMOOTH, mode="valid")
            axes[0].plot(usage[_SMOOTH - 1:, 0], smooth, **style)
        axes[1].plot(usage[:, 0], usage[:, 2], label=label, **style)
        if frames[:, 3].any():  # some systems report none
            axes[2].plot(frames[:, 0] * 1e-6 - flight.truth[0, 0], frames[:, 3], **style)
    axes[0].set_ylabel("CPU, mean of 1 s\n[% of a core]")
    axes[1].set(ylabel="memory [MiB]", xlabel="time since the system's start [s]")
    axes[2].set(ylabel="features", xlabel="time of the flight [s]")
    figure.legend(loc="outside upper center", ncols=6)
    return figure


def yaw_rate(truth: np.ndarray, step_s: float = 0.1) -> tuple:
    """Times (M,) [s] and true yaw rate (M,) [deg/s] of a trajectory (T, 8)."""
    from scipy.spatial.transform import Rotation

    kept = truth[np.unique(np.searchsorted(
        truth[:, 0], np.arange(truth[0, 0], truth[-1, 0], step_s)))]
    axis = Rotation.from_quat(kept[:, 4:]).as_matrix()[:, :, 0]
    yaw = np.degrees(np.unwrap(np.arctan2(axis[:, 1], axis[:, 0])))
    return kept[:, 0], np.gradient(yaw, kept[:, 0])


def _each(flight):
    """Run, label and style: the first valid run of a system is drawn bold, the others faint."""
    for colour, system in zip(_COLOURS * len(flight.systems), flight.systems):
        for i, run in enumerate(system.valid):
            yield run, None if i else system.label, {
                "color": colour, "lw": 0.6 if i else 1.4, "alpha": 0.35 if i else 1.0,
                "zorder": 2 if i else 3, "ms": 3}


def _table(path, width):
    """The complete rows of a CSV file with a header."""
    rows = [line.split(",") for line in Path(path).read_text().splitlines()[1:]]
    return np.array([list(map(float, row)) for row in rows if len(row) == width]).reshape(-1, width)


def _figure(mosaic, size):
    """A figure and its axes by subplot_mosaic, in the order of their names."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplot_mosaic(mosaic).values())
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure, axes


def _save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".png"), dpi=110)
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})

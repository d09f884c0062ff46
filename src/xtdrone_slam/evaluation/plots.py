"""Plots of a report: figures 6 and 7 of the XTDrone paper, and resource usage."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import outputs, plot_style

from ..errors import SlamError
from .conventions import DELTA_M
from .metrics import UNITS
from .results import Flight, Run
from .usage import usage_in_flight

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {"rpe_translation": "RPE translation", "rpe_rotation": "RPE rotation"}


def draw(flight: Flight, folder: Path) -> list[tuple[Path, str]]:
    """Draws all plots of a flight as PNG and PDF; returns the PNG paths with captions."""
    if not any(system.counted for system in flight.systems):
        return []
    drawn = []
    for name, function, caption in (
        ("trajectories", _trajectories, "Trajectories against the truth, aligned (figure 6)"),
        ("rpe", _rpe, f"Relative pose error per {DELTA_M:g} m over time (figure 7)"),
        ("usage", _usage, "CPU, memory, latency and features over time"),
    ):
        path = Path(folder) / f"{flight.name}_{name}"
        _save(function(flight), path)
        drawn.append((path.with_suffix(".png"), caption))
    return drawn


def _trajectories(flight: Flight) -> "Figure":
    """Draws paths from above, height over time, and APE over time."""
    figure = plot_style.figure(13, 6, f"{flight.name}: trajectories", wide=True)
    grid = figure.add_gridspec(1, 2)
    plan = plot_style.map_axes(figure, grid[0, 0], labels=("x [m]", "y [m]"))
    height, error = plot_style.time_axes(
        figure,
        ("z [m]", "APE translation [m]"),
        ("height", "absolute pose error"),
        "time of the flight [s]",
        grid[0, 1],
    )
    begin = flight.truth[0, 0]
    for run, label, style in _each(flight):
        assert run.evaluation is not None  # it counts
        t, x, y, z = run.evaluation.estimate.T
        plan.plot(x, y, label=label, **style)
        height.plot(t - begin, z, **style)
        error.plot(
            run.evaluation.times["ape_translation"] - begin,
            run.evaluation.errors["ape_translation"],
            **style,
        )
    truth = {**plot_style.LIMIT, "color": "black"}
    plan.plot(flight.truth[:, 1], flight.truth[:, 2], label="truth", **truth)
    height.plot(flight.truth[:, 0] - begin, flight.truth[:, 3], **truth)
    error.set(xlim=(0, max(flight.truth[-1, 0] - begin, 1e-3)), ylim=(0, None))
    plot_style.legend(figure, below=True)
    return figure


def _rpe(flight: Flight) -> "Figure":
    """Draws relative errors and the true yaw rate over time."""
    figure = plot_style.figure(12, 8, f"{flight.name}: relative pose error per {DELTA_M:g} m")
    metrics = ("rpe_rotation", "rpe_translation")
    axes = plot_style.time_axes(
        figure,
        [f"[{UNITS[metric]}]" for metric in metrics] + ["[deg/s]"],
        [_LABELS[metric] for metric in metrics] + ["true yaw rate"],
        "time of the flight [s]",
    )
    begin = flight.truth[0, 0]
    for run, label, style in _each(flight):
        assert run.evaluation is not None  # it counts
        for axis, metric in zip(axes, metrics):
            axis.plot(
                run.evaluation.times[metric] - begin,
                run.evaluation.errors[metric],
                marker=".",
                label=label if axis is axes[0] else None,
                **style,
            )
    for axis, metric in zip(axes, metrics):
        if any(
            system.statistics(metric, "max").max() > 0
            for system in flight.systems
            if system.counted
        ):
            plot_style.logarithmic(axis)
    times, rate = yaw_rate(flight.truth)
    axes[2].plot(times - begin, rate, "k", lw=1)
    axes[2].set_xlim(0, max(flight.truth[-1, 0] - begin, 1e-3))
    plot_style.legend(figure, below=True)
    return figure


def _usage(flight: Flight) -> "Figure":
    """Draws CPU, memory, latency and features over time."""
    figure = plot_style.figure(12, 10, f"{flight.name}: usage")
    axes = plot_style.time_axes(
        figure,
        ("[% of a core]", "[MiB]", "[ms]", "number [-]"),
        ("CPU, mean of 1 s", "memory, mean of 1 s", "latency of an answer", "features"),
        "time of the flight [s]",
    )
    begin = flight.truth[0, 0]
    for run, label, style in _each(flight):
        frames = _table(run.folder / "frames.csv", 5) * [1e-6, 1e3, 1, 1, 1]
        usage = usage_in_flight(_table(run.folder / "usage.csv", 4), frames)
        axes[0].plot(usage[:, 0] - begin, usage[:, 1], label=label, **style)
        axes[1].plot(usage[:, 0] - begin, usage[:, 2], **style)
        axes[2].plot(frames[:, 0] - begin, frames[:, 1], **style)
        if frames[:, 3].any():  # some systems report none
            axes[3].plot(frames[:, 0] - begin, frames[:, 3], **style)
    axes[3].set_xlim(0, max(flight.truth[-1, 0] - begin, 1e-3))
    plot_style.legend(figure, below=True)
    return figure


def yaw_rate(truth: np.ndarray, step_s: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Returns times (M,) [s] and true yaw rate (M,) [deg/s] of a trajectory (T, 8)."""
    from scipy.spatial.transform import Rotation

    kept = truth[
        np.unique(np.searchsorted(truth[:, 0], np.arange(truth[0, 0], truth[-1, 0], step_s)))
    ]
    axis = Rotation.from_quat(kept[:, 4:]).as_matrix()[:, :, 0]
    yaw = np.degrees(np.unwrap(np.arctan2(axis[:, 1], axis[:, 0])))
    return kept[:, 0], np.gradient(yaw, kept[:, 0])


def _each(flight: Flight) -> Iterator[tuple[Run, str | None, dict[str, Any]]]:
    """Yields run, label and style: the first run of a system is drawn bold, the others faint."""
    for k, system in enumerate(flight.systems):
        for i, run in enumerate(system.counted):
            yield (
                run,
                None if i else system.title,
                {
                    "color": plot_style.series(k),
                    "ls": plot_style.dashes(k),
                    "lw": 0.6 if i else 1.4,
                    "alpha": 0.35 if i else 1.0,
                    "zorder": plot_style.FLOWN + (0 if i else 0.5),
                    "ms": 3,
                },
            )


def _table(path: Path, width: int) -> np.ndarray:
    """Reads the complete rows of a CSV file with a header."""
    rows = [line.split(",") for line in Path(path).read_text().splitlines()[1:]]
    return np.array([list(map(float, row)) for row in rows if len(row) == width]).reshape(-1, width)


def _save(figure: "Figure", path: Path) -> None:
    """Saves the picture of the report and, beside it, a PDF; for a paper that has its data."""
    path.parent.mkdir(parents=True, exist_ok=True)
    outputs.save_figure(figure, path.with_suffix(".png"), error=SlamError)
    plot_style.save(figure, path.with_suffix(".pdf"), error=SlamError)

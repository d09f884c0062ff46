"""The figures of a run, one function each: FIGURES lists them.

A function returns None if the run has nothing to draw, such as the separation of one vehicle.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_autopilot.ulog.series import Series
from xtdrone_core import XtdroneError, plot_style

from .run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_POINTS = 4000  # points of a line; more are not visible
_WITH_SET_POINTS = 3  # vehicles up to which set-points are drawn, too
_MAX_LOGS = 30  # vehicles of which flight logs are read
_FEW = 12  # vehicles whose names have room beside the overview
# Field of the flight log, name, unit, factor.
_BATTERY = (
    ("voltage_v", "voltage", "V", 1.0),
    ("current_a", "current", "A", 1.0),
    ("remaining", "level", "%", 100.0),
)


def _thin(count: int) -> slice:
    return slice(None, None, max(1, count // _MAX_POINTS))


def _rows(
    run: Run, subject: str, names: Sequence[str], units: Sequence[str], t_s: np.ndarray
) -> tuple["Figure", list["Axes"]]:
    """Makes a figure of panels over time, with the events of the run."""
    figure = plot_style.figure(12, 2.2 + 1.9 * len(names), subject)
    rows = plot_style.time_axes(figure, [f"[{unit}]" for unit in units], names)
    rows[0].set_xlim(t_s[0], max(t_s[-1], t_s[0] + 1e-3))
    if above := plot_style.mark_events(rows, run.events):
        plot_style.title(rows[0], names[0], pad=above)
    return figure, rows


def _line(row: "Axes", run: Run, i: int, t_s: np.ndarray, values: np.ndarray) -> None:
    thin = _thin(len(t_s))
    row.plot(t_s[thin], values[thin], label=run.name(i), **plot_style.vehicle(i, run.scenario.n))


def _dashed(
    rows: Sequence["Axes"], run: Run, i: int, samples: Series | None, columns: Sequence[int]
) -> None:
    """Draws set-points of a vehicle, behind what it flew."""
    if samples is None:
        return
    several = len(run.index) > 1
    style: dict[str, Any] = {
        **plot_style.SET_POINT,
        **({"color": plot_style.vehicle_color(i, run.scenario.n)} if several else {}),
    }
    thin = _thin(len(samples.t_s))
    for row, column in zip(rows, columns):
        values = samples.values[thin, column]
        if np.isfinite(values).any():
            row.plot(samples.t_s[thin], values, **style)


def _background(axes: Any, run: Run, in_space: bool) -> None:  # axes: Axes or Axes3D
    """Draws planned paths, waypoints and fences of the missions, and slots of the formations."""
    for i in run.index:
        plan = run.plan(i)
        if plan is None:
            continue
        path = plan.waypoints if in_space else plan.waypoints[:, :2]
        path = path[np.isfinite(path).all(axis=1)]
        axes.plot(*path.T, **plot_style.PLAN)
        axes.plot(*path.T, **plot_style.WAYPOINT)
        for outline in plan.fence:
            flat = [np.zeros(len(outline))] if in_space else []
            axes.plot(*outline.T, *flat, **plot_style.FENCE)
    t_s, table = run.truth
    for end, slots in _formations(run, t_s):
        points = table[end, 0, 0:3] + slots
        chosen = points[[i - 1 for i in run.index if 0 < i <= len(points)]]
        if in_space:
            axes.scatter(*chosen.T, depthshade=False, label="slots", **plot_style.SLOT)
        else:
            axes.scatter(*chosen[:, :2].T, label="slots", **plot_style.SLOT)


def _formations(run: Run, t_s: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the index of the last sample and the slots (N - 1, 3) of each formation."""
    from xtdrone_formation.evaluation.analysis import events

    marks = [
        event
        for event in events(run.folder)
        if event["event"] in ("formation", "mission", "return", "land", "landed")
    ]
    for event, after in zip(marks, [*marks[1:], None]):
        if event["event"] == "formation" and len(event["slots"]) == run.scenario.n - 1:
            until = t_s[-1] if after is None else after["t_us"] * 1e-6
            yield max(0, int(np.searchsorted(t_s, until)) - 1), event["slots"]


def flown_map(run: Run) -> "Figure":
    """Draws paths from above: what was planned behind, what was flown in front."""
    _, table = run.truth
    figure = plot_style.figure(11, 8, "true paths")
    axes = plot_style.map_axes(figure)
    _background(axes, run, in_space=False)
    thin = _thin(len(table))
    for i in run.index:
        style = plot_style.vehicle(i, run.scenario.n)
        axes.plot(*table[thin, i, 0:2].T, label=run.name(i), **style)
        axes.plot(*table[0, i, 0:2], "o", color=style["color"], zorder=plot_style.MARKS)
        axes.plot(*table[-1, i, 0:2], "s", color=style["color"], zorder=plot_style.MARKS)
    axes.plot([], [], "o", color="#555555", label="start")
    axes.plot([], [], "s", color="#555555", label="end")
    _legend(figure, run)
    return figure


def map_in_space(run: Run) -> "Figure":
    """Draws paths in three dimensions, with the same scale on all axes."""
    _, table = run.truth
    figure = plot_style.figure(11, 8, "true paths")
    axes = plot_style.space_axes(figure, table[:, run.index, 0:3])
    _background(axes, run, in_space=True)
    thin = _thin(len(table))
    for i in run.index:
        axes.plot(
            *table[thin, i, 0:3].T, label=run.name(i), **plot_style.vehicle(i, run.scenario.n)
        )
    _legend(figure, run)
    return figure


def _legend(figure: "Figure", run: Run) -> None:
    """Adds the legend; a crowd of followers has one entry."""
    if not plot_style.distinct(len(run.index)):
        for axes in figure.axes:
            followers = [line for line in axes.lines if line.get_color() == plot_style.CROWD]
            for line in followers:
                line.set_label("followers")
    plot_style.legend(figure)


def position(run: Run) -> "Figure":
    """Draws east, north and height of every vehicle."""
    t_s, table = run.truth
    figure, rows = _rows(run, "true position", ("east", "north", "height"), ("m",) * 3, t_s)
    for i in run.index:
        if len(run.index) <= _WITH_SET_POINTS:
            _dashed(rows, run, i, run.set_point(i), (0, 1, 2))
        for row, values in zip(rows, table[:, i, 0:3].T):
            _line(row, run, i, t_s, values)
    _legend(figure, run)
    return figure


def velocity(run: Run) -> "Figure":
    """Draws the velocity of every vehicle by axis, and its speed."""
    t_s, table = run.truth
    figure, rows = _rows(run, "true velocity", ("east", "north", "up", "speed"), ("m/s",) * 4, t_s)
    for i in run.index:
        if len(run.index) <= _WITH_SET_POINTS:
            _dashed(rows, run, i, run.set_point(i), (3, 4, 5))
        vel = table[:, i, 7:10]
        for row, values in zip(rows, [*vel.T, np.linalg.norm(vel, axis=1)]):
            _line(row, run, i, t_s, values)
    _legend(figure, run)
    return figure


def attitude(run: Run) -> "Figure":
    """Draws roll, pitch and yaw of every vehicle; a line breaks where yaw wraps."""
    t_s, _ = run.truth
    figure, rows = _rows(
        run, "true attitude (body FLU in ENU)", ("roll", "pitch", "yaw"), ("deg",) * 3, t_s
    )
    for i in run.index:
        angles = run.angles[:, i].copy()
        angles[1:][np.abs(np.diff(angles[:, 2])) > 180.0, 2] = np.nan
        for row, values in zip(rows, angles.T):
            _line(row, run, i, t_s, values)
    _legend(figure, run)
    return figure


def estimate_error(run: Run) -> "Figure | None":
    """Draws estimated less true position and velocity."""
    t_s, table = run.truth
    names = ("horizontal position", "height", "horizontal velocity", "vertical velocity")
    figure, rows = _rows(run, "error of the estimate", names, ("m", "m", "m/s", "m/s"), t_s)
    drawn = False
    for i in run.index[:_MAX_LOGS]:
        estimate = run.estimate(i)
        if estimate is None:
            continue
        inside = (estimate.t_s >= t_s[0]) & (estimate.t_s <= t_s[-1])
        true = np.stack(
            [
                np.interp(estimate.t_s[inside], t_s, column)
                for column in table[:, i, [0, 1, 2, 7, 8, 9]].T
            ],
            axis=1,
        )
        error = estimate.values[inside] - true
        for row, values in zip(
            rows, (np.hypot(*error[:, 0:2].T), error[:, 2], np.hypot(*error[:, 3:5].T), error[:, 5])
        ):
            _line(row, run, i, estimate.t_s[inside], values)
        drawn = True
    _legend(figure, run)
    return figure if drawn else None


def actuators(run: Run) -> "Figure | None":
    """Draws motor commands: each of one vehicle, else the mean and the largest of each."""
    t_s, _ = run.truth
    one = len(run.index) == 1
    names = ("motor commands",) if one else ("mean motor command", "largest motor command")
    figure, rows = _rows(run, "actuators", names, ("0 to 1",) * len(names), t_s)
    drawn = False
    for i in run.index[:_MAX_LOGS]:
        motors = run.topic(i, "actuator_motors", *(f"control[{k}]" for k in range(12)))
        if motors is None:
            continue
        used = np.isfinite(motors.values).any(axis=0)
        if not used.any():  # a boat or rover without motors in its log
            continue
        values, thin = motors.values[:, used], _thin(len(motors.t_s))
        if one:
            for k, column in enumerate(values.T):
                rows[0].plot(
                    motors.t_s[thin],
                    column[thin],
                    label=f"motor {k + 1}",
                    color=plot_style.vehicle_color(k),
                    lw=0.9,
                )
        else:
            _line(rows[0], run, i, motors.t_s, values.mean(axis=1))
            _line(rows[1], run, i, motors.t_s, values.max(axis=1))
        drawn = True
    for row in rows:
        row.set_ylim(-0.03, 1.03)
    _legend(figure, run)
    return figure if drawn else None


def battery(run: Run) -> "Figure | None":
    """Draws voltage and level of the batteries, and the current where it is measured."""
    t_s, _ = run.truth
    found = {
        i: status
        for i in run.index[:_MAX_LOGS]
        if (status := run.topic(i, "battery_status", *(topic for topic, *_ in _BATTERY)))
    }
    if not found:
        return None
    # PX4 says -1 for a current that nothing measures.
    measured = any((status.values[:, 1] >= 0.0).any() for status in found.values())
    columns = [0, 1, 2] if measured else [0, 2]
    names, units = zip(*(_BATTERY[column][1:3] for column in columns), strict=True)
    figure, rows = _rows(run, "battery, as measured", names, units, t_s)
    for i, status in found.items():
        for row, column in zip(rows, columns):
            values = status.values[:, column]
            if column == 1:
                values = np.where(values >= 0.0, values, np.nan)
            _line(row, run, i, status.t_s, values * _BATTERY[column][3])
    _legend(figure, run)
    return figure


def separation(run: Run) -> "Figure | None":
    """Draws the distance of each vehicle to the nearest other one."""
    from scipy.spatial import cKDTree

    t_s, table = run.truth
    if run.scenario.n < 2:
        return None
    thin = _thin(len(t_s))
    pos = table[thin, :, 0:3]
    nearest = np.array([cKDTree(points).query(points, k=2)[0][:, 1] for points in pos])
    figure, rows = _rows(run, "distance to the nearest other vehicle", ("separation",), ("m",), t_s)
    for i in run.index:
        _line(rows[0], run, i, t_s[thin], nearest[:, i])
    rows[0].plot(
        t_s[thin],
        nearest.min(axis=1),
        color="#cccccc",
        lw=5,
        zorder=plot_style.BEHIND,
        label="smallest of all",
    )
    rows[0].set_ylim(0, None)
    _legend(figure, run)
    return figure


def formation(run: Run) -> "Figure | None":
    """Draws slot errors of the formations that were flown."""
    from xtdrone_formation.errors import FormationError
    from xtdrone_formation.evaluation import analysis
    from xtdrone_formation.evaluation.plots import slot_errors

    try:
        flight = analysis.load(run.folder, "truth")
    except FormationError:
        return None
    return slot_errors(flight) if flight.windows else None


FIGURES: dict[str, Callable[[Run], "Figure | None"]] = {
    "map": flown_map,
    "map3d": map_in_space,
    "position": position,
    "velocity": velocity,
    "attitude": attitude,
    "estimate_error": estimate_error,
    "actuators": actuators,
    "battery": battery,
    "separation": separation,
    "formation": formation,
}


def save_overview(folder: Path) -> None:
    """Draws the overview of a run into its folder, as each flight of a command ends with it.

    Raises:
        XtdroneError: It is no complete run.
        OSError: The figure cannot be written.
    """
    plot_style.save(overview(Run(folder)), folder / "plots" / "flight.png")


def overview(run: Run) -> "Figure":
    """Draws the figure that each flight ends with: the map beside height, speed and tilt."""
    t_s, table = run.truth
    figure = plot_style.figure(13, 7, run.title)
    place: dict[str, float] = {}
    if len(run.index) <= _FEW:  # as long as the rest would take Matplotlib's search for a layout
        figure.set_layout_engine("none")
        right = 0.945 - 0.006 * max((len(run.name(i)) for i in run.index), default=0)
        place = {"left": 0.05, "right": right, "bottom": 0.07, "top": 0.92, "wspace": 0.14}
    grid = figure.add_gridspec(1, 2, **place)
    plan = plot_style.map_axes(figure, grid[0, 0], "true paths from above")
    rows = plot_style.time_axes(
        figure, ("[m]", "[m/s]", "[deg]"), ("height", "speed", "tilt"), cell=grid[0, 1]
    )
    quat = table[..., 3:7]
    tilt = np.degrees(2 * np.arcsin(np.clip(np.hypot(quat[..., 0], quat[..., 1]), 0, 1)))
    thin = _thin(len(t_s))
    for i in run.index:
        style = plot_style.vehicle(i, run.scenario.n)
        plan.plot(*table[thin, i, 0:2].T, label=run.name(i), **style)
        plan.plot(*table[0, i, 0:2], "o", color=style["color"], zorder=plot_style.MARKS)
        for row, values in zip(
            rows, (table[:, i, 2], np.linalg.norm(table[:, i, 7:10], axis=1), tilt[:, i])
        ):
            _line(row, run, i, t_s, values)
    if len(run.index) <= plot_style.MAX_COLOURED:
        plot_style.legend(figure, of=[plan])
    return figure


def draw(
    run: Run, names: Sequence[str] = (), out: Path | None = None, suffix: str = ".png"
) -> Iterator[Path]:
    """Draws figures into files, one after the other.

    Args:
        run: The run.
        names: Names of FIGURES; empty: all for which the run holds something.
        out: Folder; None: plots/ of the run.
        suffix: .png, .pdf or .svg.

    Yields:
        The path of each file.

    Raises:
        XtdroneError: A figure that was named has nothing to show, or cannot be written.
    """
    for name in names or FIGURES:
        figure = FIGURES[name](run)
        if figure is None and names:
            raise XtdroneError(
                f"'{run.folder}' has nothing for the figure '{name}': it needs "
                "flight logs, several vehicles or a formation; give other "
                "--figures"
            )
        if figure is not None:
            yield plot_style.save(figure, (out or run.folder / "plots") / f"{name}{suffix}")

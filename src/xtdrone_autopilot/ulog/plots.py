"""Standard plots of a flight log, of this simulation or of PX4; they need no display.

World axes are north, east and up, although logs are in NED, so that height increases upwards.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import plot_style
from xtdrone_dynamics.quaternion import to_euler_array

from ..errors import AutopilotError
from .reader import FlightLog

if TYPE_CHECKING:  # matplotlib is imported when something is drawn
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SET_POINT, _ESTIMATE, _TRUTH = plot_style.SET_POINT, plot_style.ESTIMATE, plot_style.TRUTH
_SHADES = ("#eef3fa", "#fdf3e4")  # backgrounds of successive flight modes
_MIN_RATIO_LIMIT = 1.5  # smallest upper limit of the test ratio axis

# Fields of estimator_status_flags that get a bar, and its label.
_FLAGS = {
    "cs_tilt_align": "tilt aligned",
    "cs_yaw_align": "yaw aligned",
    "cs_gps": "GPS",
    "cs_baro_hgt": "barometer",
    "cs_mag_3d": "magnetometer",
    "cs_ev_pos": "vision",
    "cs_rng_hgt": "height by range",
    "cs_fuse_aspd": "airspeed",
    "cs_fuse_beta": "sideslip",
    "cs_wind": "wind known",
    "cs_in_air": "in air",
    "cs_inertial_dead_reckoning": "dead reckoning",
    "reject_hor_vel": "velocity refused",
    "reject_hor_pos": "position refused",
    "reject_ver_pos": "height refused",
    "reject_hagl": "range refused",
    "reject_airspeed": "airspeed refused",
    "reject_sideslip": "sideslip refused",
}


def _axes(
    log: FlightLog, title: str, names: Sequence[str], labels: Sequence[str]
) -> tuple["Figure", Sequence["Axes"]]:
    """Returns a figure of panels that share the time axis, with shaded and named flight modes."""
    figure = plot_style.figure(
        11, 1.9 + 1.9 * len(labels), f"{log.path.parent.name}/{log.path.name}: {title}"
    )
    rows = plot_style.time_axes(figure, labels, names, xlabel="time since the log's begin [s]")
    modes = log.modes()
    for row in rows:
        for k, (begin, end, _) in enumerate(modes):
            row.axvspan(begin, end, color=_SHADES[k % 2], lw=0, zorder=0)
        for edge in {edge for stretch in log.armed() for edge in stretch}:
            row.axvline(edge, **plot_style.LIMIT)
    rows[0].set_xlim(0, max(log.seconds, 1e-3))
    plot_style.title(rows[0], names[0], pad=18)
    for begin, end, name in modes:
        if end - begin > 0.04 * log.seconds:
            rows[0].text(
                (begin + end) / 2,
                1.02,
                name,
                ha="center",
                fontsize=8,
                color="#555555",
                transform=rows[0].get_xaxis_transform(),
            )
    rows[-1].set_xlabel("time since the log's begin [s]; dashed: armed and disarmed")
    return figure, rows


def _draw(
    row: "Axes",
    data: Mapping[str, np.ndarray] | None,
    field: str,
    style: Mapping[str, Any],
    scale: float = 1.0,
) -> bool:
    """Plots a field of a topic, times scale; returns whether the log has it.

    style: Keyword arguments of plot().
    """
    if data is None or field not in data or not np.isfinite(data[field]).any():
        return False
    row.plot(data["t"], scale * data[field].astype(float), **style)
    return True


def position(log: FlightLog) -> "Figure":
    """Draws position: set-point, estimate and, if logged, ground truth."""
    figure, rows = _axes(log, "position", ("north", "east", "up"), ("[m]",) * 3)
    for row, axis, sign in zip(rows, "xyz", (1, 1, -1)):
        _draw(row, log.topic("vehicle_local_position_setpoint"), axis, _SET_POINT, sign)
        _draw(row, log.topic("vehicle_local_position"), axis, _ESTIMATE, sign)
        _draw(row, log.topic("vehicle_local_position_groundtruth"), axis, _TRUTH, sign)
    plot_style.legend(rows[0])
    return figure


def velocity(log: FlightLog) -> "Figure":
    """Draws velocity tracking as in XTDrone Fig. 15, with the RMS error in flight."""
    figure, rows = _axes(log, "velocity", ("north", "east", "up"), ("[m/s]",) * 3)
    set_point = log.topic("vehicle_local_position_setpoint")
    estimate = log.topic("vehicle_local_position")
    for row, axis, sign in zip(rows, ("vx", "vy", "vz"), (1, 1, -1)):
        _draw(row, set_point, axis, _SET_POINT, sign)
        _draw(row, estimate, axis, _ESTIMATE, sign)
        _draw(row, log.topic("vehicle_local_position_groundtruth"), axis, _TRUTH, sign)
        error = _tracking_error(log, set_point, estimate, axis)
        if error is not None:
            row.text(
                0.01,
                0.04,
                f"RMS error in the air: {error:.3f} m/s",
                transform=row.transAxes,
                fontsize="small",
                bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1},
            )
    plot_style.legend(rows[0])
    return figure


def _tracking_error(
    log: FlightLog,
    set_point: Mapping[str, np.ndarray] | None,
    estimate: Mapping[str, np.ndarray] | None,
    field: str,
) -> float | None:
    """Returns the RMS of set-point minus estimate in flight; None without data to compare."""
    if set_point is None or estimate is None or field not in set_point or field not in estimate:
        return None
    valid = np.isfinite(set_point[field])
    if not valid.any():
        return None
    t, t_set_point = estimate["t"], set_point["t"][valid]
    flying = np.zeros(len(t), dtype=bool)
    for begin, end in log.flying():
        flying |= (t >= begin) & (t <= end)
    flying &= (t >= t_set_point[0]) & (t <= t_set_point[-1])
    if not flying.any():
        return None
    target = np.interp(t[flying], t_set_point, set_point[field][valid])
    return float(np.sqrt(np.nanmean((target - estimate[field][flying]) ** 2)))


def euler_angles(data: Mapping[str, np.ndarray] | None, field: str) -> dict[str, np.ndarray] | None:
    """Returns 't' [s], 'roll', 'pitch' and 'yaw' [deg] of a topic's quaternion wxyz.

    NaN breaks the line where yaw wraps; None if the topic is not logged.
    """
    if data is None or f"{field}[0]" not in data:
        return None
    quat = np.stack([data[f"{field}[{k}]"] for k in (1, 2, 3, 0)], axis=1).astype(float)
    angles = np.degrees(to_euler_array(quat))
    angles[1:][np.abs(np.diff(angles[:, 2])) > 180.0, 2] = np.nan
    return {"t": data["t"], **dict(zip(("roll", "pitch", "yaw"), angles.T))}


def attitude(log: FlightLog) -> "Figure":
    """Draws roll, pitch and yaw: set-point, estimate and, if logged, ground truth."""
    figure, rows = _axes(log, "attitude", ("roll", "pitch", "yaw"), ("[deg]",) * 3)
    for topic, field, style in (
        ("vehicle_attitude_setpoint", "q_d", _SET_POINT),
        ("vehicle_attitude", "q", _ESTIMATE),
        ("vehicle_attitude_groundtruth", "q", _TRUTH),
    ):
        angles = euler_angles(log.topic(topic), field)
        for row, name in zip(rows, ("roll", "pitch", "yaw")):
            _draw(row, angles, name, style)
    plot_style.legend(rows[0])
    return figure


def rates(log: FlightLog) -> "Figure":
    """Draws body rates: set-point and measurement."""
    figure, rows = _axes(log, "body rates (FRD)", ("roll", "pitch", "yaw"), ("[deg/s]",) * 3)
    measured = {**_ESTIMATE, "label": "measured", "lw": 0.8}
    for k, (row, name) in enumerate(zip(rows, ("roll", "pitch", "yaw"))):
        _draw(row, log.topic("vehicle_angular_velocity"), f"xyz[{k}]", measured, np.degrees(1.0))
        _draw(row, log.topic("vehicle_rates_setpoint"), name, _SET_POINT, np.degrees(1.0))
    plot_style.legend(rows[0])
    return figure


def actuators(log: FlightLog) -> "Figure":
    """Draws motor commands, collective thrust and battery."""
    figure, rows = _axes(
        log,
        "actuators",
        ("motors", "collective thrust", "battery"),
        ("command [0 to 1]", "command [0 to 1]", "voltage [V]"),
    )
    motors = log.topic("actuator_motors")
    for k in range(12):
        _draw(
            rows[0],
            motors,
            f"control[{k}]",
            {"lw": 0.8, "label": f"motor {k + 1}", "color": plot_style.vehicle_color(k)},
        )
    _draw(rows[1], log.topic("vehicle_rates_setpoint"), "thrust_body[2]", _SET_POINT, -1.0)
    _draw(rows[2], log.topic("battery_status"), "voltage_v", {"color": plot_style.series(2)})
    for row in rows[:2]:
        row.set_ylim(-0.05, 1.05)
    plot_style.legend(rows[0])
    return figure


def estimator(log: FlightLog) -> "Figure":
    """Draws innovation test ratios, estimated accuracy, and estimator flags."""
    figure, rows = _axes(
        log,
        "estimator",
        (
            "innovation test ratios",
            "estimated accuracy",
            "flags: what is fused, and what is refused",
        ),
        ("ratio [-]", "[m], [m/s]", ""),
    )
    status = log.topic("estimator_status")
    top = _MIN_RATIO_LIMIT
    for name in ("vel", "pos", "hgt", "mag", "tas", "hagl"):
        field = f"{name}_test_ratio"
        if _draw(rows[0], status, field, {"lw": 1.0, "label": name}) and status is not None:
            top = max(top, min(5.0, 1.1 * float(np.nanpercentile(status[field], 99))))
    limit: dict[str, Any] = {**plot_style.LIMIT, "label": "refused above"}
    rows[0].axhline(1.0, **limit)
    rows[0].set_ylim(0, top)
    position_data = log.topic("vehicle_local_position")
    for field, label in (
        ("eph", "horizontal"),
        ("epv", "vertical"),
        ("evh", "horizontal velocity"),
        ("evv", "vertical velocity"),
    ):
        _draw(rows[1], position_data, field, {"lw": 1.0, "label": label})
    if position_data is not None and np.isfinite(position_data.get("epv", np.nan)).any():
        rows[1].set_ylim(0, 1.2 * float(np.nanpercentile(position_data["epv"], 95)) + 0.3)
    _flags(log, rows[2])
    for row in rows[:2]:
        plot_style.legend(row)
    return figure


def _flags(log: FlightLog, row: "Axes") -> None:
    """Draws one bar per flag, over the times at which it was set."""
    data = log.topic("estimator_status_flags")
    if data is None:
        return
    names = [name for name in _FLAGS if name in data and data[name].any()]
    edges = np.append(data["t"], log.seconds)
    for y, name in enumerate(names):
        for k in np.flatnonzero(data[name]):
            row.barh(
                y,
                edges[k + 1] - edges[k],
                left=edges[k],
                height=0.6,
                lw=0,
                color=plot_style.series(1 if name.startswith("reject") else 2),
            )
    row.set_yticks(range(len(names)), [_FLAGS[name] for name in names])
    row.invert_yaxis()


FIGURES = {
    "position": position,
    "velocity": velocity,
    "attitude": attitude,
    "rates": rates,
    "actuators": actuators,
    "estimator": estimator,
}


def draw(log: FlightLog, folder: Path | str, kind: str = "png") -> list[Path]:
    """Writes the standard set of plots to files.

    Args:
        log: The log.
        folder: Output folder.
        kind: "png" or "svg" for one file per plot, "pdf" for one file with a page per plot.

    Returns:
        Paths of the files.

    Raises:
        AutopilotError: The log has no data to plot, or the folder cannot be written.
    """
    if log.topic("vehicle_local_position") is None and log.topic("vehicle_attitude") is None:
        raise AutopilotError(f"'{log.path}' has neither position nor attitude to draw")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AutopilotError(
            f"cannot write to '{folder}': {error.strerror}; give another folder with --out"
        ) from error
    if kind == "pdf":
        return [
            plot_style.save_pages(
                (figure(log) for figure in FIGURES.values()),
                folder / f"{log.path.stem}.pdf",
                AutopilotError,
            )
        ]
    return [
        plot_style.save(
            figure(log), folder / f"{log.path.stem}_{name}.{kind}", error=AutopilotError
        )
        for name, figure in FIGURES.items()
    ]

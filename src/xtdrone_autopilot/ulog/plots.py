"""The standard plots of a flight log, of this simulation or of PX4; needs no display.

World axes are always north, east and up, also for logs in NED, so that height
increases upwards.
"""

from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import plot_style
from xtdrone_dynamics.quaternion import to_euler_array

from ..errors import AutopilotError
from .reader import FlightLog

_WANTED, _ESTIMATED, _TRUE = plot_style.SET_POINT, plot_style.ESTIMATE, plot_style.TRUTH
_SHADES = ("#eef3fa", "#fdf3e4")  # of flight modes, in turn
_LOWEST_LIMIT = 1.5  # smallest upper limit of the test-ratio axis

# Fields of estimator_status_flags that get a bar of their own.
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


def _axes(log, title, names, labels):
    """A figure of panels with one time axis; flight modes are shaded and named above the first."""
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


def _draw(row, data, field, style, scale=1.0, step=False):
    """Plots one field of a topic; returns whether the log has it."""
    if data is None or field not in data or not np.isfinite(data[field]).any():
        return False
    row.plot(
        data["t"],
        scale * data[field].astype(float),
        drawstyle="steps-post" if step else "default",
        **style,
    )
    return True


def position(log: FlightLog) -> Any:
    """Position: set-point, estimate and, if logged, ground truth."""
    figure, rows = _axes(log, "position", ("north", "east", "up"), ("[m]",) * 3)
    for row, axis, sign in zip(rows, "xyz", (1, 1, -1)):
        _draw(row, log.topic("vehicle_local_position_setpoint"), axis, _WANTED, sign)
        _draw(row, log.topic("vehicle_local_position"), axis, _ESTIMATED, sign)
        _draw(row, log.topic("vehicle_local_position_groundtruth"), axis, _TRUE, sign)
    plot_style.legend(rows[0])
    return figure


def velocity(log: FlightLog) -> Any:
    """Velocity tracking as in XTDrone Fig. 15, with the RMS of the error in flight."""
    figure, rows = _axes(log, "velocity", ("north", "east", "up"), ("[m/s]",) * 3)
    wanted, flown = (
        log.topic("vehicle_local_position_setpoint"),
        log.topic("vehicle_local_position"),
    )
    for row, axis, sign in zip(rows, ("vx", "vy", "vz"), (1, 1, -1)):
        _draw(row, wanted, axis, _WANTED, sign)
        _draw(row, flown, axis, _ESTIMATED, sign)
        _draw(row, log.topic("vehicle_local_position_groundtruth"), axis, _TRUE, sign)
        error = _tracking_error(log, wanted, flown, axis)
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


def _tracking_error(log, wanted, flown, field):
    """RMS of set-point minus value in flight; None if there is no data to compare."""
    if wanted is None or flown is None:
        return None
    given = np.isfinite(wanted[field])
    if not given.any():
        return None
    flying = np.zeros(len(flown["t"]), dtype=bool)
    for begin, end in log.flying():
        flying |= (flown["t"] >= begin) & (flown["t"] <= end)
    flying &= (flown["t"] >= wanted["t"][given][0]) & (flown["t"] <= wanted["t"][given][-1])
    if not flying.any():
        return None
    target = np.interp(flown["t"][flying], wanted["t"][given], wanted[field][given])
    return float(np.sqrt(np.nanmean((target - flown[field][flying]) ** 2)))


def _angles(data, field):
    """Roll, pitch and yaw of a topic's quaternion [deg]; the line breaks where yaw wraps."""
    if data is None or f"{field}[0]" not in data:
        return None
    quat = np.stack([data[f"{field}[{k}]"] for k in (1, 2, 3, 0)], axis=1).astype(float)
    angles = np.degrees(to_euler_array(quat))
    angles[1:][np.abs(np.diff(angles[:, 2])) > 180.0, 2] = np.nan
    return {"t": data["t"], **dict(zip(("roll", "pitch", "yaw"), angles.T))}


def attitude(log: FlightLog) -> Any:
    """Roll, pitch and yaw: set-point, estimate and, if logged, ground truth."""
    figure, rows = _axes(log, "attitude", ("roll", "pitch", "yaw"), ("[deg]",) * 3)
    for topic, field, style in (
        ("vehicle_attitude_setpoint", "q_d", _WANTED),
        ("vehicle_attitude", "q", _ESTIMATED),
        ("vehicle_attitude_groundtruth", "q", _TRUE),
    ):
        angles = _angles(log.topic(topic), field)
        for row, name in zip(rows, ("roll", "pitch", "yaw")):
            _draw(row, angles, name, style)
    plot_style.legend(rows[0])
    return figure


def rates(log: FlightLog) -> Any:
    """Body rates: set-point and measurement."""
    figure, rows = _axes(log, "body rates (FRD)", ("roll", "pitch", "yaw"), ("[deg/s]",) * 3)
    measured = {**_ESTIMATED, "label": "measured", "lw": 0.8}
    for k, (row, name) in enumerate(zip(rows, ("roll", "pitch", "yaw"))):
        _draw(row, log.topic("vehicle_angular_velocity"), f"xyz[{k}]", measured, np.degrees(1.0))
        _draw(row, log.topic("vehicle_rates_setpoint"), name, _WANTED, np.degrees(1.0))
    plot_style.legend(rows[0])
    return figure


def actuators(log: FlightLog) -> Any:
    """Motor commands, collective thrust and battery."""
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
    _draw(rows[1], log.topic("vehicle_rates_setpoint"), "thrust_body[2]", _WANTED, -1.0)
    _draw(rows[2], log.topic("battery_status"), "voltage_v", {"color": plot_style.series(2)})
    for row in rows[:2]:
        row.set_ylim(-0.05, 1.05)
    plot_style.legend(rows[0])
    return figure


def estimator(log: FlightLog) -> Any:
    """Innovation test ratios, estimated accuracy, and estimator flags."""
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
    top = _LOWEST_LIMIT
    for name in ("vel", "pos", "hgt", "mag", "tas", "hagl"):
        field = f"{name}_test_ratio"
        if _draw(rows[0], status, field, {"lw": 1.0, "label": name}):
            top = max(top, min(5.0, 1.1 * np.nanpercentile(status[field], 99)))
    rows[0].axhline(1.0, **plot_style.LIMIT, label="refused above")
    rows[0].set_ylim(0, top)
    place = log.topic("vehicle_local_position")
    for field, label in (
        ("eph", "horizontal"),
        ("epv", "vertical"),
        ("evh", "horizontal velocity"),
        ("evv", "vertical velocity"),
    ):
        _draw(rows[1], place, field, {"lw": 1.0, "label": label})
    if place is not None:
        rows[1].set_ylim(0, 1.2 * np.nanpercentile(place["epv"], 95) + 0.3)
    _flags(log, rows[2])
    for row in rows[:2]:
        plot_style.legend(row)
    return figure


def _flags(log, row):
    """One bar per flag, over the times at which it was set."""
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
    """Draws the standard set of plots.

    Args:
        log: The log.
        folder: Output folder.
        kind: png or svg, one file per plot, or pdf, one file with one page per plot.

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

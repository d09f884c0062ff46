"""Signals of a run by name: of the truth, of estimate and set-point, and fields of the flight logs.

`truth.z`, `estimate.z` and `set_point.z` have the world's axes; `TOPIC.FIELD`, such as
`battery_status.voltage_v`, is as it stands in the log.
"""

from typing import TYPE_CHECKING

import numpy as np

from xtdrone_autopilot.ulog.series import Series
from xtdrone_core import XtdroneError, plot_style
from xtdrone_core.errors import unknown_name

from .run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOTION = {"x": "m", "y": "m", "z": "m", "vx": "m/s", "vy": "m/s", "vz": "m/s"}
TRUTH = {
    **_MOTION,
    "speed": "m/s",
    "roll": "deg",
    "pitch": "deg",
    "yaw": "deg",
    "tilt": "deg",
    "p": "deg/s",
    "q": "deg/s",
    "r": "deg/s",
}


def names(run: Run) -> list[str]:
    """Returns the names of all signals of a run, by the log of its first vehicle."""
    i = run.index[0]
    known = [f"truth.{name}" for name in TRUTH]
    log = run.log(i)
    if log is not None:
        known += [f"{source}.{name}" for source in ("estimate", "set_point") for name in _MOTION]
        known += [
            f"{topic}.{field}"
            for topic in sorted(log.topics())
            for field in sorted(log.topic(topic) or ())
            if field not in ("t", "timestamp")
        ]
    return known


def of_state(table: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the signals TRUTH of states (..., 13), whose order is that of a truth log."""
    from xtdrone_dynamics.quaternion import to_euler_array

    pos, quat, vel, rate = table[..., 0:3], table[..., 3:7], table[..., 7:10], table[..., 10:13]
    angles = np.degrees(to_euler_array(quat.reshape(-1, 4))).reshape(*quat.shape[:-1], 3)
    tilt = np.degrees(2 * np.arcsin(np.clip(np.hypot(quat[..., 0], quat[..., 1]), 0, 1)))
    columns = [
        *np.moveaxis(pos, -1, 0),
        *np.moveaxis(vel, -1, 0),
        np.linalg.norm(vel, axis=-1),
        *np.moveaxis(angles, -1, 0),
        tilt,
        *np.moveaxis(np.degrees(rate), -1, 0),
    ]
    return dict(zip(TRUTH, columns))


def values(run: Run, i: int, name: str) -> Series | None:
    """Returns a signal of a vehicle; None if its log has none."""
    source, _, part = name.partition(".")
    if source == "truth":
        t_s, table = run.truth
        return Series(t_s, of_state(table[:, i])[part])
    if source in ("estimate", "set_point"):
        logged = run.estimate(i) if source == "estimate" else run.set_point(i)
        column = list(_MOTION).index(part)
    else:
        logged, column = run.topic(i, source, part), 0
    return None if logged is None else Series(logged.t_s, logged.values[:, column])


def unit(name: str) -> str:
    """Returns the unit of a signal, in brackets; empty where the log does not give it."""
    source, _, part = name.partition(".")
    known = {"truth": TRUTH, "estimate": _MOTION, "set_point": _MOTION}.get(source, {})
    return f"[{known[part]}]" if part in known else ""


def draw(run: Run, panels: list[list[str]]) -> "Figure":
    """Draws signals: a panel for each list, with one line for each vehicle and signal.

    Raises:
        XtdroneError: The run has no such signal.
    """
    known = names(run)
    for name in {name for panel in panels for name in panel}:
        if name not in known:
            raise XtdroneError(unknown_name("signal", name, known))
    figure = plot_style.figure(12, 2.0 + 2.0 * len(panels), "signals")
    titles = [", ".join(panel) for panel in panels]
    rows = plot_style.time_axes(figure, [unit(panel[0]) for panel in panels], titles)
    lines = ("-", (0, (4, 2)), ":", "-.")
    for row, panel in zip(rows, panels):
        for k, name in enumerate(panel):
            for i in run.index:
                signal = values(run, i, name)
                if signal is None:
                    continue
                style = plot_style.vehicle(i, run.scenario.n)
                label = run.name(i)
                if len(panel) > 1:  # signals differ by their lines, or by colours for one vehicle
                    style |= (
                        {"ls": lines[k % len(lines)]}
                        if len(run.index) > 1
                        else {"color": plot_style.series(k)}
                    )
                    label = f"{label} {name}" if len(run.index) > 1 else name
                row.plot(signal.t_s, signal.values, label=label, **style)
    t_s, _ = run.truth
    rows[0].set_xlim(t_s[0], max(t_s[-1], t_s[0] + 1e-3))
    if above := plot_style.mark_events(rows, run.events):
        plot_style.title(rows[0], titles[0], pad=above)
    for row in rows:
        plot_style.legend(row)
    return figure

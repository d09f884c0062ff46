"""The published teleoperation and the tuning of its gains: docs/validation/teleoperation.md.

`python scripts/validation/teleoperation.py` simulates, tunes and flies, draws the figures and exits
with status 1 if a bound is exceeded. A real flight log is tuned by tello.py.
"""

import math
import sys
import time

import numpy as np

import xtdrone as xd
from _report import Page
from xtdrone_control.teleoperation import agent
from xtdrone_control.teleoperation.control import AXES
from xtdrone_control.teleoperation.gains import TABLE_2
from xtdrone_control.teleoperation.record import Record
from xtdrone_control.teleoperation.simulator import simulate
from xtdrone_core import plot_style
from xtdrone_dynamics import euler_zxy, stick_curves
from xtdrone_tune import tuning

HIGH = (0.0, 0.0, 2.0) + (0.0,) * 9
UNITS = ("m", "deg", "deg", "deg")
SCALES = (1.0, *[math.degrees(1.0)] * 3)


def sticks_of_20_s():
    """(20000, 4) sticks by turns, as a pilot shows a vehicle: the paper's flight is not public."""
    sticks = np.zeros((20_000, 4))
    for axis, begin, end, value in (
        (0, 1, 2, 0.6),
        (0, 16, 17, -0.4),
        (1, 3, 4, 0.5),
        (1, 14, 15, -0.7),
        (2, 5, 6.5, 0.4),
        (2, 7.5, 9, -0.4),
        (3, 10, 11.5, 0.8),
        (3, 12, 13.5, -0.8),
    ):
        sticks[round(begin * 1000) : round(end * 1000), axis] = value
    return sticks


def rows_of(title):
    figure = plot_style.figure(11, 9, title)
    rows = plot_style.time_axes(figure, [f"[{unit}]" for unit in UNITS], AXES, xlabel="time [s]")
    return figure, rows


def responses(page):
    """Hover and steps with Tables 1 and 2, as figures 10 and 12 show them."""
    page.add(
        "## Responses",
        "",
        "Table 1's vehicle under Algorithm 1 with Table 2's gains, Euler at 1 ms.",
    )
    hover = simulate(np.zeros((20_000, 4)), TABLE_2, start=HIGH)
    moved = np.abs(hover.states - np.array(HIGH)).max()
    flown = simulate(sticks_of_20_s(), TABLE_2, start=HIGH)
    page.table("check", "measured", "bound", "holds")
    up = flown.states[4000, 2] - 2.0
    turn = flown.states[13_900, 5]
    for what, value, minimum, maximum in (
        ("20 s of hover: largest change of a state", moved, 0.0, 1e-9),
        ("height after 1 s of 0.6 stick, k_z = 2.8 mm a step [m]", up, 1.65, 1.70),
        ("yaw after 1 s of 0.5 stick, k_ψ = 2.7 mrad a step [rad]", turn, 1.349, 1.351),
        ("largest pitch, of a reference of 0.395 rad [rad]", flown.states[:, 4].max(), 0.1, 0.395),
        ("largest roll, of a reference of 0.242 rad [rad]", flown.states[:, 3].max(), 0.03, 0.242),
    ):
        page.row(
            what,
            f"{value:.4g}",
            f"{minimum:g} to {maximum:g}",
            page.holds(f"{what} {value:.4g}", minimum <= value <= maximum),
        )
    page.add("")
    figure, rows = rows_of("sticks by turns, Table 2")
    for row, axis, scale in zip(rows, range(4), SCALES):
        row.plot(flown.t_s[::10], scale * flown.references[::10, axis], **plot_style.SET_POINT)
        row.plot(
            flown.t_s[::10],
            scale * flown.axes[::10, axis],
            color=plot_style.series(0),
            label="simulated",
        )
    plot_style.legend(figure, below=True)
    page.picture("Responses to sticks by turns", figure, "responses")
    page.add(
        "Pitch and roll answer slowly, as in the paper: their proportional gains against a "
        "friction of 0.5 N m s/rad give time constants of 1.6 s and 5 s."
    )


def synthetic(page):
    """Tuning on a log of the simulator: as flown, and with a sensor's noise and rate."""
    page.add(
        "## Tuning on a synthetic log",
        "",
        "The flight above is the log, Table 2 is to be found. The published search is "
        "rand/1/bin, 20 candidates, 1000 generations, CR = F = 0.5, gains in [0, 30]. J is "
        "the sum over the axes, in m² s and rad² s.",
    )
    steps = sticks_of_20_s()
    flown = simulate(steps, TABLE_2, start=HIGH)
    log = Record(flown.t_s, steps, flown.axes.copy())
    page.table("method", "J", "J of all axes together", "bound", "seconds", "holds")
    for method, extended in (("de", False), ("scipy", False), ("scipy", True), ("cma", False)):
        begun = time.perf_counter()
        found = tuning.tune(log, range(4), method, extended=extended, held_out=0.0)
        seconds = time.perf_counter() - begun
        cost = sum(one.fitted.cost for one in found)
        name = f"{method}, {'extended' if extended else 'published'} model"
        page.row(
            name,
            f"{cost:.1e}",
            f"{tuning.together(log, found).sum():.1e}",
            "1e-3, 30 s",
            f"{seconds:.0f}",
            page.holds(f"{name} {cost:.1e}, {seconds:.1f} s", cost <= 1e-3 and seconds <= 30.0),
        )
    page.add("")
    rng = np.random.default_rng(7)
    seen = flown.axes[::100] + rng.normal(0.0, (0.01, 0.005, 0.005, 0.005), (200, 4))
    noisy = Record(flown.t_s[::100], steps[::100], seen)
    found = tuning.tune(noisy, range(4), "scipy")
    figure, rows = rows_of("measured at 10 Hz with noise, and fitted")
    for row, one, scale in zip(rows, found, SCALES):
        begin = 0.0
        for k, (label, part) in enumerate((("fitted", one.fitted), ("held out", one.held_out))):
            t_s = begin + np.arange(len(part.measured)) * 1e-3
            row.plot(t_s[::10], scale * part.measured[::10], color="#888888", label="measured")
            row.plot(t_s[::10], scale * part.flown[::10], color=plot_style.series(k), label=label)
            begin = t_s[-1]
    plot_style.legend(figure, below=True)
    page.picture("Measured and fitted curves", figure, "fitted")


def lockstep(page):
    """The Agent on models/tello against the offline simulator."""
    page.add(
        "## In the lockstep",
        "",
        "The Agent `teleoperation` flies models/tello with the embedded flight stack and its "
        "estimator, by a script of steps; the offline simulator gets the same sticks.",
    )
    states, events = [], {}
    pilot = agent.TeleoperationAgent(
        1, on_event=lambda t_us, name, **values: events.setdefault(name, t_us)
    )
    with xd.Simulation(xd.Scenario(vehicles="tello", gps="rtk"), agent=pilot) as simulation:
        while not simulation.done:
            simulation.step()
            state = simulation.state
            states.append((state.t_us, state.pos[0, 2], *state.quat[0]))
    table = np.array(states)
    begin = events["airborne"]
    table = table[(table[:, 0] >= begin) & (table[:, 0] < begin + 16e6)]
    angles = np.array([euler_zxy.from_quaternion(*row) for row in table[:, 2:]])
    turned = np.unwrap(angles[:, 2])
    flown = np.stack(
        [table[:, 1] - table[0, 1] + 2.0, turned - turned[0], angles[:, 1], angles[:, 0]], axis=1
    )
    t_s = (table[:, 0] - begin) * 1e-6
    wanted = simulate(agent.script(), TABLE_2, start=HIGH).axes[np.rint(t_s * 1e3).astype(int)]
    page.table("axis", "RMS difference", "largest", "bound of the RMS", "holds")
    for name, unit, scale, maximum, one, two in zip(
        AXES, UNITS, SCALES, (0.15, 4.0, 1.0, 1.5), flown.T, wanted.T
    ):
        apart = scale * np.abs(one - two)
        rms = math.sqrt(float((apart**2).mean()))
        page.row(
            f"{name} [{unit}]",
            f"{rms:.3g}",
            f"{apart.max():.3g}",
            f"{maximum:g}",
            page.holds(f"{name} {rms:.3g} {unit}", rms <= maximum),
        )
    page.add("")
    figure, rows = rows_of("Agent on models/tello, and the offline simulator")
    for row, scale, one, two in zip(rows, SCALES, flown.T, wanted.T):
        row.plot(t_s, scale * two, **plot_style.SET_POINT | {"label": "offline simulator"})
        row.plot(t_s, scale * one, color=plot_style.series(0), label="lockstep")
    plot_style.legend(figure, below=True)
    page.picture("In the lockstep and offline", figure, "lockstep")


def curves(page):
    """Rates over sticks."""
    page.add(
        "## Curves of the sticks",
        "",
        "ACRO's rates by MC_ACRO_EXPO and MC_ACRO_SUPEXPO, and Betaflight's by RC rate, super "
        "rate and expo.",
    )
    stick = np.linspace(-1.0, 1.0, 201)
    figure, (left, right) = plot_style.panels(1, 2, 11, 4.5)
    for k, (expo, more) in enumerate(((0.0, 0.0), (0.5, 0.0), (0.0, 0.7), (0.69, 0.7))):
        left.plot(
            stick,
            [100.0 * stick_curves.super_exponential(x, expo, more) for x in stick],
            color=plot_style.series(k),
            label=f"expo {expo:g}, super expo {more:g}",
        )
    for k, numbers in enumerate(
        ((1.0, 0.0, 0.0), (1.0, 0.7, 0.0), (1.0, 0.7, 0.5), (1.5, 0.4, 0.0))
    ):
        right.plot(
            stick,
            [stick_curves.betaflight_rate(x, *numbers) for x in stick],
            color=plot_style.series(k),
            label="RC rate {:g}, super rate {:g}, expo {:g}".format(*numbers),
        )
    left.set(xlabel="stick [-]", ylabel="PX4, of 100 deg/s [deg/s]")
    right.set(xlabel="stick [-]", ylabel="Betaflight [deg/s]")
    for panel in (left, right):
        panel.legend(frameon=False, fontsize=8, loc="upper left")
    page.picture("Rates over sticks", figure, "curves")


def main() -> int:
    page = Page("teleoperation")
    page.add(
        "# Validation: teleoperation and tuning",
        "",
        "Written by `python scripts/validation/teleoperation.py`. Equations and tables are "
        "those of Mora-Soto and others, Appl. Sci. 11, 12018 (2021); "
        "[Teleoperation and tuning](../tuning.md) says how they are used here.",
    )
    for part in (responses, synthetic, lockstep, curves):
        part(page)
    return page.write()


if __name__ == "__main__":
    sys.exit(main())

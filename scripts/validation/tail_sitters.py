"""A tail-sitter flies by INDI from hover to fast flight and back: docs/validation/tail_sitters.md.

`python scripts/validation/tail_sitters.py` flies, draws the figure and exits with status 1 if a
bound is exceeded.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import xtdrone as xd
from _report import Page
from xtdrone_core import plot_style
from xtdrone_guidance.agents import GuidanceAgent

SEEDS = range(1, 4)
LENGTH, SPEED = 220.0, 15.0  # of the path [m], on it [m/s]
REST_S = 10.0  # time after the path [s]
BOUND = 1.0  # of the error of height [m]
WAYS = {"across the wind": (1.0, 0.0), "downwind": (0.0, 1.0), "upwind": (0.0, -1.0)}


class Dash(GuidanceAgent):
    """A GuidanceAgent that notes the true state of its vehicle, and rests behind the path."""

    def attach(self, flight):
        self.flight, self.rows, self.over_us, self.rests = flight, [], None, False

    def fly(self, t_us, estimates, out):
        over = super().fly(t_us, estimates, out)
        state = self.flight.state
        place = state.pos[0] - self.home[0] - [0.0, 0.0, self.height]
        x, y = state.quat[0, :2]
        tilt = np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y)))
        self.rows.append((t_us * 1e-6, *place, np.linalg.norm(state.vel[0]), tilt))
        if over and self.over_us is None:
            self.over_us = t_us
        self.rests = over and t_us - self.over_us > REST_S * 1e6
        return self.rests


def dash(way, seed, wind):
    """Flies a line from hover to hover; returns rows of time, place, speed and tilt (T, 6)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "line.csv"
        path.write_text(f"0,0,0\n{LENGTH * way[0]},{LENGTH * way[1]},0\n")
        agent = Dash(1, path=str(path), speed=SPEED, acceleration=1.5, width=8.0, height=30.0)
    scenario = xd.Scenario(
        vehicles="phi_tailsitter",
        gps="rtk",
        seed=seed,
        wind=wind,
        log="none",
        velocity_control="indi",
        rate_control="indi",
    )
    with xd.Simulation(scenario, agent=agent) as simulation:
        while not agent.rests:
            simulation.step(250)
    return np.array(agent.rows)


def there_and_back(page):
    """The table of all flights, and a figure of the calm one."""
    page.add(
        "## From hover to 15 m/s and back",
        "",
        f"Hover at 30 m, {LENGTH:g} m along a line at up to {SPEED:g} m/s by the field around it, "
        f"hover again; seeds 1 to {len(SEEDS)}. The wind is 5 m/s with turbulence (`dryden=5`), "
        "and blows along the span at the start. Error of height: the largest that any seed had, "
        "and the mean over the seeds of its largest.",
    )
    page.table(
        "wind", "error of height [m]", "mean [m]", "fastest [m/s]", "behind the end [m]", "holds"
    )
    calm = None
    for name, way in {"calm": (1.0, 0.0), **WAYS}.items():
        wind = "" if name == "calm" else "mean=0,5,0 dryden=5"
        worst, fastest, behind = [], [], []
        for seed in SEEDS:
            rows = dash(way, seed, wind)
            calm = rows if calm is None else calm
            worst.append(abs(rows[:, 3]).max())
            fastest.append(rows[:, 4].max())
            behind.append((rows[:, 1:3] @ way).max() - LENGTH)
        page.row(
            name,
            f"{max(worst):.2f}",
            f"{np.mean(worst):.2f}",
            f"{min(fastest):.1f}",
            f"{max(behind):.0f}",
            page.holds(f"{name}: {max(worst):.2f} m", max(worst) <= BOUND),
        )
    page.add("")
    figure = plot_style.figure(10, 6, "calm air, seed 1")
    axes = figure.subplots(3, 1, sharex=True)
    t = calm[:, 0] - calm[0, 0]
    for k, (column, label) in enumerate(((4, "speed [m/s]"), (5, "tilt [deg]"), (3, "height [m]"))):
        axes[k].plot(t, calm[:, column], color=plot_style.series(0))
        axes[k].set_ylabel(label)
    axes[2].set_xlabel("time [s]")
    page.picture("There and back", figure)


def main():
    """Flies everything; returns 1 if a bound is exceeded."""
    page = Page("tail_sitters")
    page.add(
        "# Tail-sitters",
        "",
        "Made by `scripts/validation.sh tail_sitters`: phi_tailsitter under the embedded flight "
        "stack with `--velocity_control indi --rate_control indi`, its sensors with noise and RTK "
        "GPS, and errors of the true state.",
    )
    there_and_back(page)
    return page.write()


if __name__ == "__main__":
    sys.exit(main())

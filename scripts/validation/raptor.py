"""RAPTOR's policy on every multirotor of models/: docs/validation/raptor.md.

`python scripts/validation/raptor.py` flies, writes the page and exits with status 1 if a bound is
exceeded. It needs `pip install 'xtdrone[raptor]'`; names of vehicles after it fly those alone.
"""

import sys
import tempfile
from typing import NamedTuple

import numpy as np

import xtdrone as xd
from _own_policy import LEARN, TOLD_M, OwnAgent, learn
from _report import Page
from xtdrone_core import SetPoints, plot_style
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_gym.policy.raptor import PERIOD_US, Raptor

VEHICLES = (
    "iris",
    "solo",
    "typhoon_h480",
    "octorotor",
    "tilted_hexarotor",
    "hexarotor_arms_tilt",
    "heavy_lifter",
    "quadrotor_arm",
    "bicopter",
    "coaxial",
    "crazyflie",
    "tello",
    "racer",
)
STEP_S, END_S = 8.0, 18.0  # when the goal moves, and the end [s]
STEP_M = 5.0
LOOKED_S = 4.0  # errors count in so long before each change [s]
NEAR_M = 0.3
BOUND_M = 0.1
BEYOND_M = 0.15  # bound of the own policy's overshoot
COLOURS = 8  # series of plot_style
NOT_HELD = {  # vehicles without a bound, and what is seen
    "racer": "it oscillates, with commands from end to end: its rotors turn its body by up to "
    "1,460 rad/s², those of an iris by 100 and of a crazyflie by 640.",
    "tello": "it swings about its goal after the step: its rotors turn its body by 20 rad/s² at "
    "most, and its drag is 1 N s/m.",
}


class Errors(NamedTuple):
    """What a flight shows."""

    hover_m: float  # RMS of the true distance from the goal
    step_m: float  # the same after the step
    settled_s: float  # time from the step on until it stays within NEAR_M
    beyond_m: float  # largest overshoot along the step


class StepAgent(FlightAgent):
    """Hands a vehicle to RAPTOR at 5 m, and moves its goal by 5 m."""

    period_us = 4_000

    def __init__(self):
        super().__init__(1, 5.0)
        self.rows = []

    def attach(self, flight):
        """Loads the policy."""
        self.flight, self.raptor = flight, Raptor(flight.fleet.vehicles)
        self._out = SetPoints.empty(1, flight.fleet.actuator.shape[1])

    def begin(self, t_us, estimates):
        """Takes over where it is."""
        self.begun_us = self.due_us = t_us
        self.goal, self.heading = self.home + [0.0, 0.0, self.height], self._yaw.copy()
        self.raptor.begin()

    def fly(self, t_us, estimates, out):
        """Flies to the goal by RAPTOR."""
        since = (t_us - self.begun_us) * 1e-6
        goal = self.goal + [STEP_M * (since > STEP_S), 0.0, 0.0]
        if t_us >= self.due_us:
            self.due_us += PERIOD_US
            e = estimates
            self.commands = self.raptor.act(e.pos, e.quat, e.vel, e.ang_vel, goal, self.heading)
        out.clear()
        out.actuators[:] = self.commands
        self.rows.append((since, *(self.flight.state.pos[0] - goal[0])))
        return since >= END_S


def fly(
    vehicle: str, agent: StepAgent | OwnAgent | None = None, **options: str
) -> np.ndarray | None:
    """Flies a hover and a step; returns time and true error (T, 4), None if it fell."""
    agent = agent or StepAgent()
    scenario = xd.Scenario(vehicles=vehicle, gps="rtk", seed=1, **options)
    with xd.Simulation(scenario, agent=agent) as simulation:
        while not agent.done and not simulation.crashes and simulation.time < 90.0:
            simulation.step(50)
        fell = bool(simulation.crashes)
    rows = np.array(agent.rows)
    return None if fell and rows[-1, 0] < END_S else rows


def errors(rows: np.ndarray) -> Errors:
    """Returns what time and error (T, 4) show."""
    t, error = rows[:, 0], rows[:, 1:]
    apart = np.linalg.norm(error, axis=1)

    def rms(begin):
        part = apart[(t > begin - LOOKED_S) & (t <= begin)]
        return float(np.sqrt((part**2).mean()))

    far = t[(t > STEP_S) & (apart > NEAR_M)]
    settled = float(far.max(initial=STEP_S) - STEP_S)
    return Errors(rms(STEP_S), rms(END_S), settled, float(error[t > STEP_S, 0].max()))


def cells(found: Errors) -> tuple[str, str, str, str]:
    """Lays out the errors of a flight: hover, after the step, settled, beyond."""
    settled = f"{found.settled_s:.1f}" if found.step_m <= NEAR_M else "not"
    beyond = max(found.beyond_m, 0.0)
    return f"{found.hover_m:.2f}", f"{found.step_m:.2f}", settled, f"{beyond:.2f}"


def own(page: Page, policy: str = "") -> None:
    """The policy of this project for any vehicle, flown alike; learned where none is given."""
    page.add(
        "## A policy of this project",
        "",
        f"`xtdrone {LEARN}`, learned with iris alone, flown to the same goals with the true pose. "
        "It commands body rates and thrust every 20 ms, so that the stack's rate loop flies, "
        "and knows mass and largest thrust of the vehicle. How it does with noise is on "
        "[another page](policies.md#one-policy-for-vehicles-that-it-never-saw). "
        f"The goal that it is told is at most {TOLD_M:g} m away, as RAPTOR's is at most 1 m: it "
        "has learned goals of up to 2 m along each axis. Told all of the step, it comes faster "
        "than it has learned to brake, and which policy the training ends with decides how far "
        "it goes beyond: 0.52 m with iris and 0.95 m with tilted_hexarotor (seed 0, this one), "
        "0.22 m and 0.85 m (seed 1).",
    )
    page.table("vehicle", "hover [m]", "after the step [m]", "settled [s]", "beyond [m]", "holds")
    with tempfile.TemporaryDirectory() as folder:
        policy = policy or learn(folder)
        for vehicle in VEHICLES:
            rows = fly(vehicle, OwnAgent(policy, STEP_S, STEP_M, END_S), pose_source="truth")
            if rows is None:
                page.row(vehicle, "fell", *[""] * 3, "no bound")
                continue
            found = errors(rows)
            what = f"own policy, {vehicle}: {found.beyond_m:.2f} m beyond"
            page.row(vehicle, *cells(found), page.holds(what, found.beyond_m <= BEYOND_M))
    page.add(
        "",
        "bicopter and coaxial turn by servos that tilt their rotors, which a policy of iris, whose "
        "rotors turn it at once, has not met.",
    )


def main() -> int:
    """Flies all; returns 1 if a bound is exceeded."""
    page = Page("raptor")
    page.add(
        "# RAPTOR",
        "",
        "Made by `scripts/validation.sh raptor`. The policy of others in the Python package "
        "foundation-policy 1.0.2, unchanged, by `xtdrone fly policy --policy raptor`: it commands "
        "rotors every 10 ms and knows nothing of the vehicle. It hovers for 8 s from the moment it "
        f"takes over, then its goal moves by {STEP_M:g} m. RMS of the true distance from the goal "
        f"in the last {LOOKED_S:g} s of each, every sensor with its noise: with the true pose "
        "(`--pose_source truth`), and with RTK GPS, whose receiver is off by 0.2 m itself. "
        f"*Settled*: from when on the distance stays below {NEAR_M:g} m.",
    )
    page.table(
        "vehicle",
        "hover [m]",
        "after the step [m]",
        "settled [s]",
        "beyond [m]",
        "RTK: hover [m]",
        "after the step [m]",
        "holds",
    )
    figure = plot_style.figure(10, 5, f"A step of {STEP_M:g} m by RAPTOR")
    axes = figure.add_subplot()
    for k, vehicle in enumerate(sys.argv[1:] or VEHICLES):
        rows, by_gps = fly(vehicle, pose_source="truth"), fly(vehicle)
        if rows is None or by_gps is None:
            page.row(vehicle, "fell", *[""] * 5, page.holds(f"{vehicle} fell", False))
            continue
        measured = errors(by_gps)
        found, shown = errors(rows), rows[:, 0] > STEP_S - 0.5
        style = "-" if k < COLOURS else "--"
        axes.plot(
            rows[shown, 0] - STEP_S,
            rows[shown, 1] + STEP_M * (rows[shown, 0] > STEP_S),
            style,
            color=plot_style.series(k % COLOURS),
            label=vehicle,
        )
        worst = max(found.hover_m, found.step_m)
        good = worst <= BOUND_M
        if vehicle not in NOT_HELD:
            good = page.holds(f"{vehicle}: {worst:.2f} m at most", good)
        page.row(
            vehicle,
            *cells(found),
            f"{measured.hover_m:.2f}",
            f"{measured.step_m:.2f}",
            {True: "yes", False: "no bound"}.get(good, good),
        )
    axes.set_xlabel("time since the step [s]")
    axes.set_ylabel("along it [m]")
    plot_style.legend(figure)
    page.add("", *(f"{vehicle}: {why}" for vehicle, why in NOT_HELD.items()))
    page.picture("Steps", figure)
    own(page)
    return page.write()


if __name__ == "__main__":
    sys.exit(main())

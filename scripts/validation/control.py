"""Controllers of the embedded flight stack on all vehicles that hover: docs/validation/control.md.

`python scripts/validation/control.py` flies, draws the figures and exits with status 1 if a bound
is exceeded.
"""

import json
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))
import bench_batch

import xtdrone as xd
from _report import Page
from loiter import loiter
from xtdrone_autopilot.estimation.ekf import Ekf
from xtdrone_core import plot_style
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_guidance.agents import GuidanceAgent, TrajectoryAgent

LOOPS = ("velocity_control", "attitude_control", "rate_control")
CONTROLLERS = {
    "cascade": {},
    "SE(3)": dict.fromkeys(LOOPS, "se3"),
    "Mellinger": dict.fromkeys(LOOPS, "mellinger"),
    "INDI": {"velocity_control": "indi", "rate_control": "indi"},
}
BOTH = ("cascade", "INDI")
PX4_RECORDED = Path(__file__).with_name("px4_control.json")  # by _control_px4.py
LEAST_SQUARES = {**CONTROLLERS["INDI"], "mixer": "least_squares"}
LOST_S, AFTER_S = 10.0, 15.0  # when a rotor stops, and time after it [s]
# Vehicles that can hover without one of their rotors, that rotor, wind from the west [m/s].
LOST = (
    ("typhoon_h480", 0, 0),
    ("typhoon_h480", 2, 5),
    ("octorotor", 5, 0),
    ("octorotor", 2, 5),
    ("tilted_hexarotor", 2, 5),
    ("hexarotor_arms_tilt", 3, 5),
)
# Quadrotors that spin from then on: rotor, wind, largest distance at first and in the end [m].
SPINS = (
    ("iris", 1, 0, 1.0, 0.5),
    ("iris", 1, 5, 1.5, 0.7),
    ("iris", 3, 5, 1.5, 0.7),
    ("iris", 0, 0, 12.0, 0.5),
    ("iris", 0, 5, 15.0, 0.7),
)
SPIN_HEIGHT, SPIN_LOST_S, SPIN_S, SPIN_END_S = 25.0, 25.0, 30.0, 10.0  # [m], [s]
SETTLED_S = 10.0  # time on the curve from which errors count [s]
# Wind from the west, published RMS of a baseline and of INDI in real flights [cm]; and by how much
# INDI must be better than the cascade here.
SINE = "mean=6.1,0,0 " + " ".join(f"gust={k * 2 * math.pi:.4f}:6.2832:4.8,0,0" for k in range(20))
WINDS = (
    ("0", "", 11.9, 7.6, 36),
    ("4.2", "4.2,0,0", 10.6, 6.3, 41),
    ("8.5", "8.5,0,0", 16.5, 8.6, 48),
    ("8.5 + 2.4 sin t", SINE, 31.1, 11.1, 64),
    ("12.1", "12.1,0,0", 24.2, 10.7, 56),
)
FAULTS = (
    ("payload of 30 % of the mass", "20: payload iris_0 0.46"),
    ("one rotor 20 % weaker", "20: rotor iris_0 2 0.8"),
    ("all propellers 15 % weaker", "; ".join(f"20: rotor iris_0 {k} 0.85" for k in range(4))),
)
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
    "racer",
    "quadrotor_gripper",
)


class TrueState(Ekf):
    """The flight stack's filter, with position, velocity and attitude replaced by the truth.

    For this page alone: it separates the errors of controllers from those of the estimator.
    """

    flight = None  # the Simulation, once it is there

    def step(self, sensors, parameters=None):
        super().step(sensors, parameters)
        if self.flight is not None:
            state = self.flight.state
            self.pos[:], self.vel[:], self.quat[:] = state.pos, state.vel, state.quat
            self.ang_vel[:] = state.ang_vel


class Flown(NamedTuple):
    """One flight of a curve."""

    t: np.ndarray  # (T,) time on the curve [s]
    wanted: np.ndarray  # (T, 3) set-points, world [m]
    pos: np.ndarray  # (T, 3) true positions [m]

    def rms(self, since=SETTLED_S):
        """Root of the mean square of the distance to the set-point [cm]."""
        error = (self.pos - self.wanted)[self.t >= since]
        return 100.0 * math.sqrt((error**2).sum(axis=1).mean())


class Recorded(TrajectoryAgent):
    """A TrajectoryAgent that keeps set-points and true positions of the first vehicle."""

    def attach(self, flight):
        self.flight, self.rows = flight, []
        if flight.scenario.autopilot == "embedded":
            flight.autopilot.estimator.flight = flight  # of a TrueState; others ignore it

    def fly(self, t_us, estimates, out):
        over = super().fly(t_us, estimates, out)
        self.rows.append((t_us * 1e-6, *out.pos[0], *self.flight.state.pos[0]))
        return over


def fly(
    controller, vehicle="iris", curve="lemniscate", lap=2 * math.pi, laps=6, truth=True, **given
):
    """Flies a curve by a controller of CONTROLLERS, or by its options; returns a Flown."""
    if isinstance(controller, str):
        controller = CONTROLLERS[controller]
    agent = Recorded(1, curve=curve, lap=lap, laps=laps)
    options = {"gps": "rtk", "seed": 1, **controller, **given}
    if truth:
        options["estimator"] = "control:TrueState"
    with xd.Simulation(xd.Scenario(vehicles=vehicle, **options), agent=agent) as simulation:
        while not agent.done:
            simulation.step(250)
    rows = np.array(agent.rows)
    return Flown(rows[:, 0] - rows[0, 0], rows[:, 1:4], rows[:, 4:])


def in_wind(page):
    """The published lemniscate in five winds."""
    page.add(
        "## A lemniscate in wind",
        "",
        "x = 1.25 sin t, z = 0.75 sin 2t by an iris, wind along x. RMS of the distance to the "
        "set-point after 10 s [cm]; *published* are those of a quadrotor of this class in a wind "
        "tunnel (Neural-Fly's data: baseline controller and INDI). *PX4*: real PX4 v1.15.4 in "
        "OFFBOARD by position, velocity and acceleration set-points, with its own defaults; its "
        "true state is the true pose that its estimator fuses (`--pose_source truth`). In "
        "gusts it meets another phase of them, since it arms at another time. This page does not "
        "fly it again: where PX4 is present, "
        "`PX4_BUILD=... python scripts/validation/_control_px4.py` records it anew.",
    )
    page.table(
        "wind [m/s]",
        "cascade",
        "PX4",
        "INDI",
        "less by",
        "cascade, estimated state",
        "PX4, estimated state",
        "INDI, estimated state",
        "published",
        "bound of INDI",
        "holds",
    )
    flown, px4 = {}, json.loads(PX4_RECORDED.read_text())
    for name, wind, baseline, best, percent in WINDS:
        for controller in BOTH:
            for truth in (True, False):
                flown[name, controller, truth] = fly(controller, wind=wind, truth=truth)
        cascade, indi = (flown[name, controller, True].rms() for controller in BOTH)
        less = 100.0 * (1.0 - indi / cascade)
        page.row(
            name,
            f"{cascade:.1f}",
            f"{px4[name]['truth']:.1f}",
            f"{indi:.1f}",
            f"{less:.0f} %",
            f"{flown[name, 'cascade', False].rms():.1f}",
            f"{px4[name]['sensors']:.1f}",
            f"{flown[name, 'INDI', False].rms():.1f}",
            f"{baseline}, {best}",
            f"{best} cm, {percent} % less",
            page.holds(
                f"wind {name}: {indi:.1f} cm, {less:.0f} % less", indi <= best and less >= percent
            ),
        )
    page.add("")
    figure = plot_style.figure(11, 5, "wind 12.1 m/s, true state")
    axes = figure.subplots(1, 2)
    for k, controller in enumerate(BOTH):
        one = flown["12.1", controller, True]
        shown = one.t >= SETTLED_S
        if k == 0:
            axes[0].plot(one.wanted[shown, 0], one.wanted[shown, 2], **plot_style.SET_POINT)
        axes[0].plot(
            one.pos[shown, 0], one.pos[shown, 2], color=plot_style.series(k), label=controller
        )
        axes[1].plot(
            one.t, 100.0 * np.linalg.norm(one.pos - one.wanted, axis=1), color=plot_style.series(k)
        )
    axes[0].set(title="from the south", xlabel="east [m]", ylabel="height [m]", aspect="equal")
    axes[1].set(xlabel="time on the curve [s]", ylabel="distance to the set-point [cm]")
    plot_style.legend(figure, below=True)
    page.picture("Lemniscate in wind", figure)


def with_faults(page):
    """The same curve in calm air, with a vehicle that changes in flight."""
    page.add(
        "## A vehicle that is not its model",
        "",
        "The same curve in calm air with the true state; the change comes at 20 s of simulated "
        "time. RMS after it has settled, and the largest distance after the change [cm].",
    )
    page.table("change", "cascade", "INDI", "largest: cascade", "INDI", "holds")
    for what, disturbance in FAULTS:
        results = [fly(name, laps=6, disturbances=disturbance) for name in BOTH]
        rms = [one.rms(20.0) for one in results]
        worst = [
            100.0 * np.linalg.norm(one.pos - one.wanted, axis=1)[one.t >= 5.0].max()
            for one in results
        ]
        page.row(
            what,
            *(f"{value:.1f}" for value in (*rms, *worst)),
            page.holds(f"{what}: {rms[1]:.1f} cm of {rms[0]:.1f}", rms[1] < rms[0]),
        )
    page.add("")


class Stay(FlightAgent):
    """Holds its place above the start."""

    def attach(self, flight):
        self.flight = flight

    def fly(self, t_us, estimates, out):
        out.pos[:] = self.home + [0.0, 0.0, self.height]
        return False


def distance_without(rotor, vehicle, wind, failure_mode=0, **options):
    """Largest distance from the place of a hover after a rotor stopped [cm]."""
    agent = Stay(1, 8.0)
    scenario = xd.Scenario(
        vehicles=vehicle,
        wind=f"{wind},0,0",
        gps="rtk",
        seed=1,
        log="none",
        disturbances=f"{LOST_S:g}: rotor {vehicle}_0 {rotor} 0",
        **options,
    )
    with xd.Simulation(scenario, agent=agent) as simulation:
        agent.flight.autopilot.set_parameter(0, "CA_FAILURE_MODE", failure_mode)
        while simulation.time < LOST_S:
            simulation.step(25)
        place, away = simulation.state.pos[0].copy(), 0.0
        while simulation.time < LOST_S + AFTER_S:
            simulation.step(5)
            away = max(away, float(np.linalg.norm(simulation.state.pos[0] - place)))
    return 100.0 * away


def without_a_rotor(page):
    """A hover in which a rotor stops."""
    page.add(
        "## A rotor that stops",
        "",
        f"Hover by the estimated state; the rotor stops after {LOST_S:g} s. Largest distance from "
        f"the place in the {AFTER_S:g} s after it [cm]; more than 500: it fell. *INDI, least "
        "squares*: `--mixer least_squares` with INDI, which is not told of the failure. "
        "CA_FAILURE_MODE 0 is PX4's default: the mixer counts on a rotor that is gone.",
    )
    page.table(
        "vehicle",
        "rotor",
        "wind [m/s]",
        "cascade, CA_FAILURE_MODE 0",
        "cascade, CA_FAILURE_MODE 1",
        "INDI, least squares",
        "bound",
        "holds",
    )
    for vehicle, rotor, wind in LOST:
        found = [
            distance_without(rotor, vehicle, wind),
            distance_without(rotor, vehicle, wind, failure_mode=1),
            distance_without(rotor, vehicle, wind, **LEAST_SQUARES),
        ]
        page.row(
            vehicle,
            rotor,
            wind,
            *(f"{value:.0f}" for value in found),
            "100",
            page.holds(f"{vehicle} without rotor {rotor}: {found[2]:.0f} cm", found[2] <= 100.0),
        )
    page.add("")


def spin(vehicle, rotor, wind, **options):
    """Distances from the place (T,) [m] in a spin, and times since the rotor stopped (T,) [s]."""
    agent = Stay(1, SPIN_HEIGHT)
    scenario = xd.Scenario(
        vehicles=vehicle,
        wind=f"{wind},0,0",
        gps="rtk",
        seed=1,
        log="none",
        mixer="spin",
        disturbances=f"{SPIN_LOST_S:g}: rotor {vehicle}_0 {rotor} 0",
        **options,
    )
    with xd.Simulation(scenario, agent=agent) as simulation:
        if "estimator" in options:
            agent.flight.autopilot.estimator.flight = agent.flight
        while simulation.time < SPIN_LOST_S:
            simulation.step(25)
        place, times, away, rates = simulation.state.pos[0].copy(), [], [], []
        while simulation.time < SPIN_LOST_S + SPIN_S:
            simulation.step(5)
            times.append(simulation.time - SPIN_LOST_S)
            away.append(simulation.state.pos[0] - place)
            rates.append(simulation.state.ang_vel[0, 2])
    return np.array(times), np.array(away), np.array(rates)


def in_a_spin(page):
    """A quadrotor whose rotor stops."""
    page.add(
        "## A quadrotor that loses a rotor",
        "",
        "`--mixer spin` with PX4's loops and parameters: it gives its yaw up and keeps its place. "
        f"Hover at {SPIN_HEIGHT:g} m; largest distance from the place in the {SPIN_S:g} s after "
        f"the rotor stopped, and in the last {SPIN_END_S:g} s of them [m]. The front arms of an "
        "iris are longer than those behind: without a front rotor no thrusts of the other three "
        "are free of torque, so that it loses height until it spins fast enough. With PX4's mixer "
        "and with `least_squares` each falls.",
    )
    page.table(
        "vehicle",
        "rotor",
        "wind [m/s]",
        "true state: farthest",
        "in the end",
        "estimated state: farthest",
        "in the end",
        "spin [rad/s]",
        "bounds",
        "holds",
    )
    figure = plot_style.figure(9, 5)
    axes = plot_style.time_axes(
        figure,
        ("height less that before [m]", "spin [rad/s]"),
        xlabel="time since the rotor stopped [s]",
    )
    for vehicle, rotor, wind, farthest, at_end in SPINS:
        cells, holds = [], True
        for options in ({"estimator": "control:TrueState"}, {}):
            times, away, rates = spin(vehicle, rotor, wind, **options)
            distance = np.linalg.norm(away, axis=1)
            last = float(distance[times > SPIN_S - SPIN_END_S].max())
            cells += [f"{distance.max():.2f}", f"{last:.2f}"]
            holds = holds and bool(distance.max() <= farthest and last <= at_end)
        if vehicle == "iris" and not wind:
            axes[0].plot(times, away[:, 2], label=f"rotor {rotor}")
            axes[1].plot(times, rates, label=f"rotor {rotor}")
        page.row(
            vehicle,
            rotor,
            wind,
            *cells,
            f"{abs(float(rates[times > SPIN_S - SPIN_END_S].mean())):.1f}",
            f"{farthest:g}, {at_end:g}",
            page.holds(f"{vehicle} without rotor {rotor} in {wind} m/s", holds),
        )
    axes[0].legend()
    page.add("")
    page.picture("A quadrotor in a spin", figure)


def every_vehicle(page):
    """A horizontal figure of eight by everything that hovers."""
    page.add(
        "## Every controller, every vehicle that hovers",
        "",
        "A horizontal figure of eight of 6 m by 3 m in 10 s, wind 5 m/s, true state, gains of the "
        "vehicle's own parameters. RMS of the distance to the set-point after 10 s [cm]; INDI may "
        "not be above the cascade, or above 5 cm. *SE(3)* and *Mellinger* are `se3` and "
        "`mellinger` as velocity_control, attitude_control and rate_control, *INDI, least "
        "squares* is INDI with `--mixer least_squares`. tello is left out: it has no GPS.",
    )
    page.table("vehicle", *CONTROLLERS, "INDI, least squares", "holds")
    for vehicle in VEHICLES:
        found = {
            name: fly(options, vehicle, "eight", lap=10.0, laps=3, wind="5,0,0").rms()
            for name, options in (*CONTROLLERS.items(), ("least squares", LEAST_SQUARES))
        }
        cascade, indi = (found[name] for name in BOTH)
        page.row(
            vehicle,
            *(f"{value:.1f}" for value in found.values()),
            page.holds(
                f"{vehicle}: " + ", ".join(f"{name} {rms:.1f}" for name, rms in found.items()),
                indi <= max(cascade, 5.0),
            ),
        )
    page.add("")


def a_plane(page):
    """A loiter in gusts, by the surfaces of a plane."""
    page.add(
        "## A plane in gusts",
        "",
        "Loiter of 80 m by the plane with turbulence, estimated state; RMS over 40 s of the errors "
        "of bank and pitch [deg] and of the body rates [deg/s]. *INDI* is `--rate_control indi "
        "--mixer least_squares`, which has the vehicle's model and no FW_RR_, FW_PR_ and FW_YR_ "
        "gains.",
    )
    page.table(
        "wind", "controller", "bank", "pitch", "roll rate", "pitch rate", "yaw rate", "holds"
    )
    for wind in ("mean=0,5,0 dryden=5", "mean=0,7,0 dryden=8"):
        for name, options in (
            ("PX4's", {}),
            ("INDI", {"rate_control": "indi", "mixer": "least_squares"}),
        ):
            found = loiter(wind=wind, **options)
            page.row(
                wind,
                name,
                *(f"{value:.1f}" for value in (found.bank, found.pitch, *found.rates)),
                page.holds(
                    f"plane by {name} in {wind}: {found.bank:.1f} and {found.pitch:.1f} deg",
                    found.bank < 2.0 and found.pitch < 2.0,
                ),
            )
    page.add("")


class Near(GuidanceAgent):
    """A GuidanceAgent that notes the true distance of the first vehicle from its path."""

    def attach(self, flight):
        self.flight, self.distances = flight, []
        flight.autopilot.estimator.flight = flight

    def fly(self, t_us, estimates, out):
        over = super().fly(t_us, estimates, out)
        place = self.flight.state.pos[0] - self.home[0] - [0.0, 0.0, self.height]
        nearest = self.path.nearest(place, self._arc_lengths[0])
        self.distances.append(np.linalg.norm(nearest.pos - place))
        return over


def along_paths(page):
    """Vector fields around a circle and a figure of eight in wind."""
    page.add(
        "## Along a path",
        "",
        "`xtdrone fly guidance`, speed up to 3 m/s, acceleration up to 3 m/s², wind 5 m/s, true "
        "state, an iris: RMS of the distance from the path without the first quarter [cm].",
    )
    page.table("path", "cascade", "INDI", "bound of INDI", "holds")
    for path in ("circle", "eight"):
        rms = []
        for options in map(CONTROLLERS.get, BOTH):
            agent = Near(1, path=path)
            scenario = xd.Scenario(
                vehicles="iris",
                wind="5,0,0",
                gps="rtk",
                seed=1,
                estimator="control:TrueState",
                **options,
            )
            with xd.Simulation(scenario, agent=agent) as simulation:
                while not agent.done:
                    simulation.step(250)
            distances = np.array(agent.distances)[len(agent.distances) // 4 :]
            rms.append(100.0 * math.sqrt((distances**2).mean()))
        page.row(
            path,
            *(f"{value:.1f}" for value in rms),
            "15",
            page.holds(f"along {path}: {rms[1]:.1f} cm", rms[1] <= 15.0),
        )
    page.add("")


def cost(page):
    """Time of a step of 100 vehicles."""
    page.add("## Cost", "", "One step of 4 ms of 100 hovering iris without telemetry, one thread:")
    seconds = {}
    steppers = {**CONTROLLERS, "INDI, least squares": LEAST_SQUARES}
    for controller, options in steppers.items():
        scenario = xd.Scenario(vehicles="iris*100", gps="rtk", log="none", **options)
        with xd.Simulation(scenario) as simulation:
            simulation.arm()
            simulation.takeoff(3.0, time_out=120.0)
            begun = time.perf_counter()
            simulation.step(500)
            seconds[controller] = (time.perf_counter() - begun) / 500
    page.add("; ".join(f"{name} {1e3 * value:.2f} ms" for name, value in seconds.items()) + ".")
    rates = {
        name: bench_batch.measure(4096, what=what, dtype="float64") / 1e6
        for name, what in (("cascade", "controlled"), ("INDI", "indi"))
    }
    page.add(
        "Of 4,096 iris in a batch under velocities (`BatchSimulation(controller=...)`, float64, "
        "all threads): "
        + "; ".join(f"{name} {value:.1f} million steps/s" for name, value in rates.items())
        + f". INDI makes {rates['INDI'] / rates['cascade']:.2f} times the steps of the cascade; "
        "both run in lanes."
    )


def elsewhere(page):
    """Where other claims about control are shown."""
    page.add("## On other pages")
    page.table("what", "bound", "shown by")
    for row in (
        (
            "tail-sitter from hover to 15 m/s and back, calm and in wind, ten seeds",
            "1 m of height",
            "`scripts/validation.sh tail_sitters` ([page](tail_sitters.md))",
        ),
        (
            "missions with transitions by both tail-sitters, in wind, too",
            "all phases, landed within 1 m",
            "the same",
        ),
        ("a loop beside Tal and Karaman's 7.9 cm", "15 cm", "the same"),
        (
            "circle and spline in 5 m/s wind, a plane in gusts, from far off",
            "0.15 m; 1 m",
            "`scripts/validation.sh fields` ([page](fields.md))",
        ),
        (
            "19 way-points: plan, and flight by the estimated state",
            "17.7 s in 30 s; 5 % more, 0.3 m",
            "`scripts/validation.sh racing` ([page](racing.md))",
        ),
        (
            "planner, sampling, a learned policy and the sticks of the page on `eight`",
            "sampling within 10 % of the planner, no touch",
            "the same ([pilots](racing.md#four-pilots))",
        ),
        (
            "rollouts a second of sampling",
            "real time on two cores",
            "`python benchmarks/bench_mppi.py`",
        ),
        (
            "INDI in the batch beside the lockstep",
            "1e-9 in float64",
            "`python -m pytest tests/batch/test_batch_parity.py`",
        ),
        (
            "RAPTOR on each multirotor",
            "0.1 m",
            "`scripts/validation.sh raptor` ([page](raptor.md))",
        ),
        (
            "a policy of this project for vehicles that it never saw",
            "90 % held, beside RAPTOR",
            "`scripts/validation.sh policies` ([page](policies.md))",
        ),
    ):
        page.row(*row)
    page.add("")


def main():
    """Flies everything; returns 1 if a bound is exceeded."""
    page = Page("control")
    page.add(
        "# Control",
        "",
        "Made by `scripts/validation.sh control`. *Cascade* is PX4's cascade of loops with PX4's "
        "default parameters, which flies unless something else is asked for; *INDI* is "
        "`--velocity_control indi --rate_control indi`, with the same parameters. Every "
        "sensor has its noise. *True state*: position, velocity, attitude and rates come from the "
        "simulation, on this page alone; *estimated state*: from the flight stack's filter with "
        "RTK GPS, and the distance is still that of the true position, so that the receiver's "
        "own error of some centimetres is in it.",
    )
    in_wind(page)
    with_faults(page)
    without_a_rotor(page)
    in_a_spin(page)
    every_vehicle(page)
    a_plane(page)
    along_paths(page)
    cost(page)
    elsewhere(page)
    return page.write()


if __name__ == "__main__":
    sys.exit(main())

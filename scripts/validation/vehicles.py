"""Flights of every type of vehicle by both stacks: writes docs/validation/vehicles.md.

    python scripts/validation/vehicles.py              every vehicle, and the page
    python scripts/validation/vehicles.py plane boat   these, without the page

Those of real PX4 are not flown anew: _vehicles.py has recorded them.
"""

import math
import sys

import numpy as np

import _vehicles
from _report import Page
from _vehicles import AIRS, BANK, KINDS, PITCH, PITCHED, ROLL, SIDE, STEP, VX, VY, VZ, T, X, Y, Z
from xtdrone_core import FleetModel, XtdroneError, plot_style
from xtdrone_dynamics.abilities.vehicle_type import NOT_VTOL, cannot_fly, vtol_types
from xtdrone_sim.vehicles.parts.wings import level_flight
from xtdrone_sim.vehicles.report import vehicle_figures
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

HEAD = f"""Made by `scripts/validation.sh vehicles`. Each vehicle flies alone with its own sensors \
and an RTK receiver, in calm air and in 5 m/s of wind from the south with Dryden turbulence of \
5 m/s at 20 ft, seed {_vehicles.SEED}. A cell has the figure of the embedded flight stack and that \
of real PX4 v1.15.4 in the same flight on this simulator, as \
`PX4_BUILD=... python scripts/validation/_vehicles.py` records it; – is a flight that the stack \
does not fly. All figures are of the true motion. In the pictures the embedded stack is blue, PX4 \
orange, the plan grey. The last column is of the embedded stack: the bounds of the script, and a \
path error of at most twice PX4's and 0.5 m."""
TEXTS = {
    "multirotor": (
        "Multirotors",
        f"Take-off to 5 m, a square of {SIDE:g} m by OFFBOARD positions "
        f"that jump from corner to corner, a step of the velocity to {STEP:g} m/s east "
        "for 6 s, landing. The path error is the distance from the sides of the square, "
        "overshoot at its corners included. PX4 has no airframe with servos for "
        "hexarotor_arms_tilt, coaxial, bicopter and phi_tailsitter; phi_tailsitter "
        "hovers by its vehicle.params, and its elevons hold it poorly in wind.",
    ),
    "plane": (
        "Planes",
        "docs/missions/figure_eight.plan: take-off from the runway to the east, "
        "one and a half figures of eight 400 m long at 40 m, landing at the origin. Legs: "
        "distance across the middle of each leg, 80 m and more from its ends, which is what "
        "is left of the turn before it; turns: the largest distance from the plan anywhere. "
        "The parameters are those of its vehicle.params.",
    ),
    "vtol": (
        "VTOLs",
        "docs/missions/vtol.plan: hover to 30 m, transition, 1.4 km on the wings, "
        "transition back, landing in a hover. Height error there: from 3 s before it flies "
        "8 m/s to 10 s after it; back: from 5 s before it flies less for good to 5 s after "
        "it. The goal for both is 3 m, and 1 m for a tail-sitter. Real PX4 pitches a "
        "tail-sitter up at its speed of flight, so that it rises on the way back. PX4 flies "
        "the two others with WV_EN 0: its weathervane keeps them from turning to a transition "
        "whose waypoint has no heading ([why](../px4.md)). The embedded "
        "stack's tail-sitter keeps its height on the way back, drifts some 60 m with the "
        "wind meanwhile, and flies back in a hover.",
    ),
    "ground": (
        "Rovers and the boat",
        "docs/missions/course.plan: three sides of 40 m by 30 m and "
        "back, the boat in worlds/lake.world. The path error has the turns in it, which "
        "begin at the acceptance radius of a corner. Rise: from 0.1 to 0.9 of the speed "
        "between the corners. PX4 forgets the integral of the speed in each cycle of "
        "rover_pos_control (its pid_init), and the embedded stack does as well: both stay "
        "below GND_SPEED_TRIM, which is 4 m/s for the rover and 1 m/s for the boat. "
        "r1_rover and the boat have parameters of their own (vehicle.params), without which "
        "PX4 turns the one round for ever and does not arm the other in wind.",
    ),
}
COLUMNS = {
    "multirotor": {
        "path, RMS [m]": "path_rms",
        "path, largest [m]": "path",
        "height [m]": "height",
        "step: rise [s]": "rise",
        "overshoot [%]": "overshoot",
        "touch-down [m/s]": "touch_down",
    },
    "plane": {
        "legs, RMS [m]": "legs_rms",
        "legs, largest [m]": "legs",
        "turns [m]": "turns",
        "height [m]": "height",
        "take-off run [m]": "run",
        "touch-down [m/s]": "touch_down",
        "from its place [m]": "off_place",
    },
    "vtol": {
        "height there [m]": "there",
        "back [m]": "back",
        "on the wings [m]": "cruise_height",
        "legs, RMS [m]": "legs_rms",
        "legs, largest [m]": "legs",
        "turns [m]": "turns",
        "touch-down [m/s]": "touch_down",
        "from its place [m]": "place",
    },
    "ground": {
        "path, RMS [m]": "path_rms",
        "path, largest [m]": "path",
        "farthest from a corner [m]": "corner",
        "speed [m/s]": "speed",
        "rise [s]": "rise",
        "fastest turn [deg/s]": "turn",
    },
}
STEPS = {"rise [s]": "rise", "overshoot [%]": "overshoot", "error at the end [deg]": "rest"}
BOUNDS = {  # largest figure of the embedded stack, by kind: of what, in calm air, in wind
    "multirotor": (("touch_down", 1.0, 1.0), ("height", 0.8, 0.8)),
    "plane": (("touch_down", 1.5, 2.5), ("height", 3.0, 5.0), ("legs_rms", 3.5, 5.0)),
    "vtol": (
        ("touch_down", 1.2, 1.2),
        ("there", 3.0, 3.0),
        ("back", 3.0, 3.0),
        ("place", 1.5, 1.5),
    ),
    "ground": (("corner", 4.0, 4.0),),
}
# Its elevons are weak: wind carries it along for seconds, and it sinks faster where it pitches.
OWN = {("phi_tailsitter_wind", "touch_down"): 3.5}
PATH = {"multirotor": "path", "plane": "legs_rms", "vtol": "legs_rms", "ground": "path_rms"}
GOAL = {"tailsitter": 1.0, "standard_vtol": 3.0, "tiltrotor": 3.0}  # error in transitions [m]
RATIO, SLACK = 2.0, 0.5  # of the path error: over PX4's, and beyond it [m]
HERE, REAL = (
    {"color": plot_style.series(k), "label": label, "lw": 1.1, "zorder": 3.0 - 0.1 * k}
    for k, label in enumerate(("embedded stack", "PX4"))
)


class Flights:
    """Every flight of both stacks: figures and tracks by VEHICLE_AIR and VEHICLE_steps."""

    def __init__(self, page, names):
        self.figures, self.tracks = {}, {}
        self.px4, self.px4_tracks = _vehicles.recorded()
        for kind in KINDS.values():
            for vehicle in kind.vehicles:
                if flown_here(vehicle, kind) and (not names or vehicle in names):
                    self._fly(page, vehicle, kind)

    def _fly(self, page, vehicle, kind):
        flights = {
            f"{vehicle}_{air}": lambda air=air: _vehicles.fly("embedded", vehicle, air)
            for air in AIRS
        }
        if kind.winged:
            flights[f"{vehicle}_steps"] = lambda: _vehicles.steps("embedded", vehicle)
        for key, fly in flights.items():
            try:
                self.figures[key], rows = fly()
            except XtdroneError as error:
                page.holds(f"{key}: {error}", False)
                continue
            self.tracks[key] = rows

    def both(self, key):
        """(track, style) of the stacks that have flown it; PX4's is drawn first."""
        return [
            (tracks[key], style)
            for tracks, style in ((self.px4_tracks, REAL), (self.tracks, HERE))
            if key in tracks
        ]


def flown_here(vehicle, kind):
    """Whether the embedded stack flies it, a VTOL on its wings too."""
    fleet = FleetModel.of([load_vehicle(vehicle)])
    return not cannot_fly(fleet)[0] and (
        kind is not KINDS["vtol"] or vtol_types(fleet)[0] != NOT_VTOL
    )


def number(figures, name):
    """A figure in a table's cell; – where it was not flown, or has no value."""
    value = figures.get(name, math.nan)
    return "–" if math.isnan(value) else f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}"


def pair(flights, key, name):
    """A cell: the embedded stack's figure and PX4's."""
    return " / ".join(number(every.get(key, {}), name) for every in (flights.figures, flights.px4))


def shown(flights, vehicle):
    """Airs of which one stack has a flight."""
    return [air for air in AIRS if {f"{vehicle}_{air}"} & {*flights.figures, *flights.px4}]


def table(page, flights, name):
    """Figures of a kind."""
    goal = ("goal met",) if name == "vtol" else ()
    page.table("vehicle", "air", *COLUMNS[name], *goal, "within its bounds")
    for vehicle in KINDS[name].vehicles:
        for air in shown(flights, vehicle):
            key = f"{vehicle}_{air}"
            page.row(
                vehicle,
                air,
                *(pair(flights, key, figure) for figure in COLUMNS[name].values()),
                *(meets(flights, key, vehicle) for _ in goal),
                judge(page, flights, name, key, air),
            )
    page.add()


def meets(flights, key, vehicle):
    """A cell: whether each stack's transitions meet the goal."""
    return " / ".join(
        "–"
        if key not in every
        else "yes"
        if max(every[key]["there"], every[key]["back"]) <= GOAL[vehicle]
        else "no"
        for every in (flights.figures, flights.px4)
    )


def judge(page, flights, name, key, air):
    """Checks of a flight of the embedded stack; their cell."""
    here, there = flights.figures.get(key), flights.px4.get(key)
    if here is None:
        return "–"
    bounds = [
        (figure, OWN.get((key, figure), wind if air == "wind" else calm))
        for figure, calm, wind in BOUNDS[name]
    ]
    if there is not None:
        bounds.append((PATH[name], RATIO * there[PATH[name]] + SLACK))
    good = [
        page.holds(f"{key}: {figure} {here[figure]:.3g} (bound {bound:.3g})", here[figure] <= bound)
        for figure, bound in bounds
    ]
    return "yes" if set(good) == {"yes"} else "**no**"


def step_table(page, flights, name):
    """Steps of bank and pitch."""
    page.table("vehicle", "step", *STEPS)
    for vehicle in KINDS[name].vehicles:
        key = f"{vehicle}_steps"
        if key in flights.figures or key in flights.px4:
            for what, angle in (("bank", BANK), ("pitch", PITCH)):
                page.row(
                    vehicle,
                    f"{what} to {angle:g} deg",
                    *(pair(flights, key, f"{what}_{figure}") for figure in STEPS.values()),
                )
    page.add()


def map_of(axes, flights, key, plan=None):
    """Both stacks' way over the ground."""
    if plan is not None:
        axes.plot(*plan.T, **plot_style.PLAN)
    for track, style in flights.both(key):
        axes.plot(track[:, X], track[:, Y], **style)
    axes.set(xlabel="east [m]", ylabel="north [m]", aspect="equal", title=key.replace("_", " "))


def since_motion(track):
    """Times from the first motion on [s]: the stacks arm at different times."""
    speed = np.linalg.norm(track[:, VX : VZ + 1], axis=1)
    return track[:, T] - track[np.argmax(speed > 0.3), T]


def height_of(axes, flights, key):
    """Both stacks' height."""
    for track, style in flights.both(key):
        axes.plot(since_motion(track), track[:, Z], **style)
    axes.set(xlabel="t [s]", ylabel="height [m]", title=key.replace("_", " "))


def speed_of(axes, flights, key):
    """Both stacks' horizontal speed."""
    for track, style in flights.both(key):
        axes.plot(since_motion(track), np.hypot(track[:, VX], track[:, VY]), **style)
    axes.set(xlabel="t [s]", ylabel="speed [m/s]", title=key.replace("_", " "))


def angle_of(axes, flights, vehicle, what):
    """Both stacks' answer to a step of bank or pitch."""
    column, sign, wanted = (ROLL, 1.0, BANK) if what == "bank" else (PITCHED, -1.0, PITCH)
    key = f"{vehicle}_steps"
    for figures, tracks, style in (
        (flights.px4, flights.px4_tracks, REAL),
        (flights.figures, flights.tracks, HERE),
    ):
        if key in tracks:
            t = tracks[key][:, T] - figures[key][f"{what}_at"]
            part = (t > -1.0) & (t < 3.0)
            axes.plot(t[part], sign * np.degrees(tracks[key][part, column]), **style)
    axes.plot([-1.0, 0.0, 0.0, 3.0], [0.0, 0.0, wanted, wanted], **plot_style.SET_POINT)
    axes.set(xlabel="t [s]", ylabel=f"{what} [deg]", title=f"{vehicle}, {what}")


def velocity_step(axes, flights, key):
    """Both stacks' answer to the step of the velocity."""
    for figures, tracks, style in (
        (flights.px4, flights.px4_tracks, REAL),
        (flights.figures, flights.tracks, HERE),
    ):
        if key in tracks:
            t = tracks[key][:, T] - figures[key]["step"]
            part = (t > -1.0) & (t < 10.0)
            axes.plot(t[part], tracks[key][part, VX], **style)
    axes.plot(
        [-1.0, 0.0, 0.0, 6.0, 6.0, 10.0], [0.0, 0.0, STEP, STEP, 0.0, 0.0], **plot_style.SET_POINT
    )
    axes.set(xlabel="t [s]", ylabel="east [m/s]", title=key.replace("_", " "))


def pictures(page, flights, name, plan):
    """Of a kind: ways, heights, steps."""
    vehicles = [v for v in KINDS[name].vehicles if shown(flights, v)]
    if name == "multirotor":
        square = SIDE * np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
        for text, draw in (
            ("Squares in wind", lambda axes, v: map_of(axes, flights, f"{v}_wind", square)),
            (
                "Velocity steps in calm air",
                lambda axes, v: velocity_step(axes, flights, f"{v}_calm"),
            ),
        ):
            figure, axes = plot_style.panels(3, 3, 11, 9)
            for one, vehicle in zip(axes.flat, vehicles, strict=True):
                draw(one, vehicle)
            finish(page, figure, text)
        return
    for vehicle in vehicles:
        figure, axes = plot_style.panels(2, 2, 11, 6)
        map_of(axes[0, 0], flights, f"{vehicle}_calm", plan)
        map_of(axes[0, 1], flights, f"{vehicle}_wind", plan)
        below = speed_of if name == "ground" else height_of
        below(axes[1, 0], flights, f"{vehicle}_calm")
        below(axes[1, 1], flights, f"{vehicle}_wind")
        finish(page, figure, f"Way of {vehicle}")
    if KINDS[name].winged:
        figure, axes = plot_style.panels(len(vehicles), 2, 11, 3.0 * len(vehicles))
        for row, vehicle in zip(np.atleast_2d(axes), vehicles, strict=True):
            angle_of(row[0], flights, vehicle, "bank")
            angle_of(row[1], flights, vehicle, "pitch")
        finish(page, figure, f"Steps of {KINDS[name].what}")


def finish(page, figure, text):
    """A picture with one legend."""
    plot_style.legend(figure, below=True)
    page.picture(text, figure)


def trim(page, flights):
    """Hover and level flight by the model, and as they were flown in calm air."""
    page.add(
        "## Trim",
        "",
        "Hover: mean speed of the rotors that lift, by `xtdrone vehicle show` "
        "and over 1.5 s at the last corner of the square. Level flight: angle of attack at "
        "which the wings carry the weight at the speed of the legs, control surfaces at rest, "
        "and the pitch that was flown.",
    )
    page.table(
        "vehicle",
        "rotors by the model [rad/s]",
        "flown",
        "speed of the legs [m/s]",
        "angle of attack by the model [deg]",
        "pitch flown [deg]",
    )
    for name, kind in KINDS.items():
        for vehicle in kind.vehicles if name != "ground" else ():
            key, model = f"{vehicle}_calm", load_vehicle(vehicle)
            if key not in flights.figures and key not in flights.px4:
                continue
            found = flights.figures.get(key) or flights.px4[key]
            if kind.winged:
                angle = math.degrees(level_flight(model, found["speed"])[0])
                page.row(
                    vehicle,
                    "",
                    "",
                    pair(flights, key, "speed"),
                    number({"": angle}, ""),
                    pair(flights, key, "pitch"),
                )
            else:
                speed = np.mean(vehicle_figures(model)["hover_speed_rad_s"])
                page.row(vehicle, number({"": speed}, ""), pair(flights, key, "rotors"), "", "", "")
    page.add()


def main(names) -> int:
    """Flies the named vehicles, or all; writes the page only if all were flown."""
    page = Page("vehicles")
    flights = Flights(page, names)
    world = load_world("empty")
    origin = world.latitude, world.longitude, world.altitude
    page.add("# Vehicles", "", HEAD)
    trim(page, flights)
    for name, (title, text) in TEXTS.items():
        page.add(f"## {title}", "", text)
        table(page, flights, name)
        if KINDS[name].winged:
            page.add(
                "Steps by sticks in STABILIZED, in calm air, at "
                f"{100 * _vehicles.THROTTLE:g} % of throttle:"
            )
            step_table(page, flights, name)
        if not names:
            plan = KINDS[name].plan
            pictures(page, flights, name, _vehicles.corners(plan, origin) if plan else None)
    return page.write() if not names else int(bool(page.broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

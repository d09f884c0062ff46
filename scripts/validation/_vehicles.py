"""Flights of vehicles.py, by either stack; as a program it records those of real PX4.

    PX4_BUILD=... python scripts/validation/_vehicles.py             every vehicle that PX4 flies
    PX4_BUILD=... python scripts/validation/_vehicles.py plane boat

Figures go to px4_vehicles.json beside this, tracks at 5 Hz to px4_vehicles.npz; flights that are
not asked for stay as they were. Vehicle, sensors, wind, plan and parameters are those of the page.
"""

import itertools
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))

from flight import response  # noqa: E402
from px4_references import Recording  # noqa: E402
from stack_flights import MissionFlight  # noqa: E402
from xtdrone_autopilot.navigation.mission_items import MISSION, fields_of  # noqa: E402
from xtdrone_autopilot.navigation.plan_file import load  # noqa: E402
from xtdrone_control.agents import MissionAgent, SquareAgent  # noqa: E402
from xtdrone_core import Mode, SetPoints, XtdroneError, resources  # noqa: E402
from xtdrone_core.agent import BaseAgent  # noqa: E402
from xtdrone_core.contracts import Observer  # noqa: E402
from xtdrone_core.mavlink.dialect import mavlink  # noqa: E402
from xtdrone_core.state import ARM  # noqa: E402
from xtdrone_dynamics.abilities.vehicle_type import lifting_rotors  # noqa: E402
from xtdrone_dynamics.quaternion import multiply, to_euler  # noqa: E402

SEED = 2
AIRS = {"calm": "", "wind": "mean=0,5,0 dryden=5"}
SIDE, HEIGHT, STEP = 10.0, 5.0, 3.0  # of the square [m, m], of the velocity step [m/s]
BANK, PITCH = 22.5, 10.0  # of the steps by sticks [deg]
THROTTLE = 0.35  # of those steps
MARGIN = 80.0  # of a leg's ends, which belong to its turns [m]
FAST = 8.0  # above which a VTOL flies on its wings [m/s]
LONGEST_S = 400.0  # of a flight
SETTLED_US = 10_000_000  # until PX4's estimates have settled, for which Recording waits
# VTOLs that turn their nose into the wind do not reach the heading of a transition across it in
# time, and PX4 gives the mission up.
OF_PX4 = {"standard_vtol": {"WV_EN": 0}, "tiltrotor": {"WV_EN": 0}}
# PX4's airframe that is generated for them has no servos, and does not fly them.
SERVOS = "hexarotor_arms_tilt", "coaxial", "bicopter", "phi_tailsitter"
T, X, Y, Z, VX, VY, VZ, ROLL, PITCHED, YAW, TURN, ROTORS = range(12)  # columns of rows
_FIGURES, _TRACKS = HERE / "px4_vehicles.json", HERE / "px4_vehicles.npz"
_TRACK_HZ, _STICKS_US = 5, 48_000


@dataclass(frozen=True)
class Kind:
    """Vehicles that fly the same; `fly` returns figures by name, and the rows of the flight."""

    what: str
    vehicles: tuple[str, ...]
    plan: str  # in docs/missions; "" = the square by OFFBOARD
    height: float  # [m]
    fly: Callable
    winged: bool = False


class Track(Observer):
    """True motion: rows of T to ROTORS at each step; ROTORS is the mean speed of those that lift.

    A tail-sitter's attitude is that of its wings.
    """

    def __init__(self, fleet):
        self.rows, self._lifting = [], lifting_rotors(fleet)[0]
        self._sits = fleet.vehicles[0].type == "tailsitter"

    def on_step(self, t_us, state, sensors):
        """Adds a row."""
        speeds, quat = state.actuator[0][self._lifting], state.quat[0]
        if self._sits:
            quat = multiply(*quat, 0.0, -math.sqrt(0.5), 0.0, math.sqrt(0.5))
        self.rows.append(
            (
                t_us * 1e-6,
                *state.pos[0],
                *state.vel[0],
                *to_euler(*quat),
                state.ang_vel[0, 2],
                abs(speeds).mean() if len(speeds) else 0.0,
            )
        )


class Embedded:
    """One vehicle flown by the embedded stack."""

    def __init__(self, folder, vehicle, **scenario):
        self._flight = MissionFlight(vehicle, **scenario)
        self.simulation = self._flight.simulation
        self.step, self.send = self.simulation.step, self._flight.send
        while self.simulation.t_us < SETTLED_US:
            self.step()

    def upload(self, items):
        """Missions are on the vehicle at once."""
        self._flight.autopilot.missions.replace(0, MISSION, items)

    def close(self):
        """Ends the simulation."""
        self.simulation.close()


class Px4:
    """One vehicle flown by real PX4."""

    def __init__(self, folder, vehicle, **scenario):
        self._flight = Recording(folder, 0.0, vehicle=vehicle, gps="rtk", **scenario)
        self.simulation, station = self._flight.simulation, self._flight.station
        self.step, self.send, self.close = station.step, station.send, self._flight.close
        self._flight.await_ready()

    def upload(self, items):
        """By the mission protocol."""
        self._flight.client.upload([fields_of(item) for item in items])


STACKS = {"embedded": Embedded, "px4": Px4}


class Square(SquareAgent):
    """The square, then a step of the velocity to the east and back to zero.

    Attributes:
        times: When each event came [s], by name.
    """

    def __init__(self):
        self.times = {}
        super().__init__(1, SIDE, HEIGHT, on_event=self._note)
        self._step_us = None

    def _note(self, t_us, name, **values):
        self.times[name] = t_us * 1e-6

    def fly(self, t_us, estimates, out):
        """The corners; then 6 s at STEP and 4 s at zero."""
        if self._step_us is None:
            if super().fly(t_us, estimates, out):
                self._step_us = t_us
                self.event(t_us, "step")
            return False
        since = (t_us - self._step_us) * 1e-6
        out.pos[:] = math.nan
        out.vel[:] = (STEP if since < 6.0 else 0.0), 0.0, 0.0
        return since > 10.0


class Sticks(BaseAgent):
    """A take-off by itself, on the wings where it is a VTOL; then steps of bank and pitch.

    Attributes:
        times: When each step began [s], by name.
    """

    MEMORY = ()
    _STEPS = (
        ("level", 6.0, 0.0, 0.0),
        ("bank", 4.0, BANK / 45.0, 0.0),
        ("level again", 6.0, 0.0, 0.0),
        ("pitch", 3.0, 0.0, -PITCH / 30.0),
    )

    def __init__(self, flown, vtol, throttle):
        self.times, self._flown, self._throttle = {}, flown, throttle
        self._out, self._asked_us, self._vtol = SetPoints.empty(1), 0, vtol
        self._loitering_us = self._begun_us = None

    def step(self, t_us, estimates):
        """Requests for modes; sticks go to the vehicle by MANUAL_CONTROL."""
        out, mode = self._out, int(estimates.mode[0])
        out.clear()
        again = t_us - self._asked_us >= 1_000_000
        if again:
            self._asked_us = t_us
        if self._loitering_us is None:
            if not estimates.armed[0] and again:
                out.mode[0] = Mode.TAKEOFF
                if mode == Mode.TAKEOFF:
                    out.arm[0] = ARM
            elif estimates.armed[0] and mode == Mode.LOITER and estimates.pos[0, 2] > 20.0:
                self._loitering_us = t_us
        elif self._begun_us is None:
            self._settle(t_us, mode, again, out)
        else:
            self._deflect(t_us)
        return out

    def _settle(self, t_us, mode, again, out):
        waited = (t_us - self._loitering_us) * 1e-6
        if self._vtol and again and 5.0 < waited < 7.0:
            self._flown.send(
                mavlink.MAVLink_command_long_message(
                    1,
                    1,
                    mavlink.MAV_CMD_DO_VTOL_TRANSITION,
                    0,
                    mavlink.MAV_VTOL_STATE_FW,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                )
            )
        if waited > 40.0:
            self._manual(0.0, 0.0)
            if again:
                out.mode[0] = Mode.STABILIZED
            if mode == Mode.STABILIZED:
                self._begun_us = t_us

    def _deflect(self, t_us):
        since = (t_us - self._begun_us) * 1e-6
        for name, seconds, right, forward in self._STEPS:
            if since < seconds:
                self.times.setdefault(name, t_us * 1e-6)
                self._manual(right, forward)
                return
            since -= seconds
        self.done = True

    def _manual(self, right, forward):
        self._flown.send(
            mavlink.MAVLink_manual_control_message(
                1, round(1000 * forward), round(1000 * right), round(1000 * self._throttle), 0, 0
            )
        )


def corners(plan, origin, start=(0.0, 0.0)):
    """Places (K, 2) of a plan's waypoints and take-off [m], from the start on."""
    items = load(resources.root() / "docs/missions" / f"{plan}.plan").items[MISSION]
    return np.array(
        [
            start,
            *(item.position(origin, np.zeros(3))[:2] for item in items if item.command in (16, 22)),
        ]
    )


def across(pos, places):
    """Horizontal distance of positions (K, 2) from the lines between places (P, 2) [m]."""
    found = []
    for a, b in itertools.pairwise(places):
        if (a == b).all():
            continue
        share = np.clip((pos - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        found.append(np.linalg.norm(pos - a - share[:, None] * (b - a), axis=1))
    return np.min(found, axis=0)


def on_legs(rows, places):
    """What of a flight is on the legs between places, one after the other.

    Args:
        rows: Rows of a flight.
        places: (P, 2) [m].

    Returns:
        Rows that are more than MARGIN from the ends of their leg, their distances from it [m], and
        the index of the row that ends the last leg.
    """
    since, found, away_from = 0, [], []
    for a, b in itertools.pairwise(places):
        if (a == b).all():
            continue
        length = np.linalg.norm(b - a)
        along, pos = (b - a) / length, rows[since:, X:Z]
        away = pos - a
        end = int(np.argmax(np.linalg.norm(pos - b, axis=1) < 0.75 * MARGIN))
        if not end:
            raise XtdroneError(f"the corner at {b} was not reached")
        passed = away[:end] @ along
        inside = (passed > MARGIN) & (passed < length - MARGIN)
        found.append(rows[since : since + end][inside])
        away_from.append(abs(away[:end] @ (-along[1], along[0]))[inside])
        since += end
    return np.concatenate(found), np.concatenate(away_from), since


def touch_down(rows):
    """Largest sink rate from 0.2 m above where it came to rest on [m/s]."""
    high = np.flatnonzero(rows[:, Z] > rows[-1, Z] + 0.2)[-1]
    return -rows[high:, VZ].min()


def rms(values):
    """Root of the mean square."""
    return math.sqrt((values**2).mean())


def _parameters(folder, stack, vehicle, **more):
    """A parameter file of what the vehicle needs."""
    more = (OF_PX4.get(vehicle, {}) if stack == "px4" else {}) | more
    lines = [
        f"1\t1\t{name}\t{value}\t{9 if isinstance(value, float) else 6}"
        for name, value in {"NAV_DLL_ACT": 0, **more}.items()
    ]
    path = Path(folder) / "flight.params"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _fly(flown, agent, over=lambda: False):
    """Rows of a flight by an Agent, until it is done or `over` says so."""
    track = Track(flown.simulation.fleet)
    flown.simulation.observers.append(track)
    flown.simulation.agent = agent
    while not (agent.done or over()):
        flown.step()
        if len(track.rows) > LONGEST_S * 250:
            raise XtdroneError(
                f"the flight is not over after {LONGEST_S:g} s, at "
                f"{np.round(track.rows[-1][X:VX], 1)}"
            )
    for _ in range(250):
        flown.step()
    return np.array(track.rows)


def _mission(flown, kind, over=lambda: False):
    items = load(resources.root() / "docs/missions" / f"{kind.plan}.plan").items[MISSION]
    flown.upload(items)
    world = flown.simulation.world
    return (
        _fly(flown, MissionAgent(), over),
        corners(kind.plan, (world.latitude, world.longitude, world.altitude)),
    )


def multirotor(flown, kind):
    """The square and the velocity step."""
    agent = Square()
    rows = _fly(flown, agent)
    t, z = rows[:, T], rows[:, Z] - rows[0, Z]
    at = agent.times
    square = (t > at["airborne"]) & (t < at["step"])
    away = across(
        rows[square, X:Z] - rows[0, X:Z], SIDE * np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
    )
    if away.max() > 0.5 * SIDE:
        raise XtdroneError(f"it was {away.max():.1f} m beside the square")
    still = (t > at["step"] - 1.5) & (t < at["step"])
    step = (t >= at["step"]) & (t < at["step"] + 6.0)
    rise, over, rest = response(t[step] - at["step"], rows[step, VX], 0.0, STEP)
    return {
        "path_rms": rms(away),
        "path": away.max(),
        "height": abs(z[square] - HEIGHT).max(),
        "rotors": rows[still, ROTORS].mean(),
        "rise": rise,
        "overshoot": 100 * over,
        "rest": rest,
        "step": at["step"],
        "touch_down": touch_down(rows),
    }, rows


def _wings(rows, places, height, first):
    """Figures of legs on the wings, from the leg that begins at the place of a number on."""
    begin = int(np.argmax(np.linalg.norm(rows[:, X:Z] - places[first], axis=1) < MARGIN))
    level, away, end = on_legs(rows[begin:], places[first:])
    flight = rows[begin : begin + end]
    return {
        "legs_rms": rms(away),
        "legs": away.max(),
        "turns": across(flight[:, X:Z], places[first:]).max(),
        "height": abs(flight[:, Z] - height).max(),
        "speed": np.hypot(level[:, VX], level[:, VY]).mean(),
        "pitch": -math.degrees(level[:, PITCHED].mean()),
    }


def plane(flown, kind):
    """Take-off, figure of eight and landing."""
    rows, places = _mission(flown, kind)
    begin = rows[0, X:Z]
    off = int(np.argmax(rows[:, Z] > rows[0, Z] + 1.0))
    down = np.flatnonzero(rows[:, Z] > rows[-1, Z] + 0.2)[-1]
    return {
        **_wings(rows, places[:-1], kind.height, 2),
        "run": np.linalg.norm(rows[off, X:Z] - begin),
        "touch_down": touch_down(rows),
        "off_place": np.linalg.norm(rows[down, X:Z]),
    }, rows


def vtol(flown, kind):
    """Hover, transition, a kilometre on the wings, transition back and landing."""
    rows, places = _mission(flown, kind)
    speed = np.hypot(rows[:, VX], rows[:, VY])
    fast = np.flatnonzero(speed > FAST)
    there = slice(fast[0] - 750, fast[0] + 2500)
    back = slice(fast[-1] - 1250, fast[-1] + 1250)
    error = abs(rows[:, Z] - kind.height)
    return {
        **_wings(rows[fast[0] : fast[-1]], places[1:], kind.height, 0),
        "there": error[there].max(),
        "back": error[back].max(),
        "cruise_height": error[there.stop : back.start].max(),
        "touch_down": touch_down(rows),
        "place": np.linalg.norm(rows[-1, X:Z] - rows[0, X:Z]),
    }, rows


def ground(flown, kind):
    """A course."""
    simulation, begun = flown.simulation, False

    def over():
        nonlocal begun
        estimates = simulation.autopilot.estimates()
        mission = bool(estimates.armed[0]) and estimates.mode[0] == Mode.MISSION
        begun = begun or mission
        return begun and not mission

    rows, places = _mission(flown, kind, over)
    speed = np.hypot(rows[:, VX], rows[:, VY])
    cruise = np.median(speed[speed > 0.5 * speed.max()])
    up = int(np.argmax(speed > 0.9 * cruise))
    off = [0, *np.flatnonzero(speed[:up] < 0.1 * cruise)][-1]
    away = across(rows[:, X:Z], places)
    near = [np.linalg.norm(rows[:, X:Z] - place, axis=1).min() for place in places[1:]]
    return {
        "path_rms": rms(away[off:]),
        "path": away.max(),
        "corner": max(near[:-1]),
        "end": near[-1],
        "speed": cruise,
        "rise": rows[up, T] - rows[off, T],
        "turn": math.degrees(abs(rows[:, TURN]).max()),
    }, rows


KINDS = {
    "multirotor": Kind(
        "multirotors",
        ("iris", "solo", "typhoon_h480", "quadrotor_arm", "tilted_hexarotor", *SERVOS),
        "",
        HEIGHT,
        multirotor,
    ),
    "plane": Kind("planes", ("plane",), "figure_eight", 40.0, plane, True),
    "vtol": Kind("VTOLs", ("standard_vtol", "tiltrotor", "tailsitter"), "vtol", 30.0, vtol, True),
    "ground": Kind("rovers and boats", ("rover", "r1_rover", "boat"), "course", 0.0, ground),
}


def fly(stack, vehicle, air):
    """One flight: figures by name (numbers), and rows."""
    kind = next(kind for kind in KINDS.values() if vehicle in kind.vehicles)
    with tempfile.TemporaryDirectory() as folder:
        flown = STACKS[stack](
            Path(folder),
            vehicle,
            seed=SEED,
            wind=AIRS[air],
            world="lake" if vehicle == "boat" else "empty",
            params=_parameters(folder, stack, vehicle),
        )
        began = time.monotonic()
        try:
            figures, rows = kind.fly(flown, kind)
        finally:
            flown.close()
    found = {name: round(float(value), 3) for name, value in figures.items()}
    print(
        f"{vehicle}, {air}, {stack}: {rows[-1, T]:.0f} s in {time.monotonic() - began:.0f} s: "
        + ", ".join(f"{name} {value:.3g}" for name, value in found.items()),
        flush=True,
    )
    return found, rows


def steps(stack, vehicle):
    """Steps of bank and pitch on the wings: figures, and rows from the first step on."""
    with tempfile.TemporaryDirectory() as folder:
        flown = STACKS[stack](
            Path(folder),
            vehicle,
            seed=SEED,
            params=_parameters(folder, stack, vehicle, MIS_TAKEOFF_ALT=40.0, COM_RC_IN_MODE=1),
        )
        agent = Sticks(flown, vehicle != "plane", THROTTLE)
        try:
            rows = _fly(flown, agent)
        finally:
            flown.close()
    found = {}
    for name, column, sign, wanted, seconds in (
        ("bank", ROLL, 1.0, BANK, 4.0),
        ("pitch", PITCHED, -1.0, PITCH, 3.0),
    ):
        at = agent.times[name]
        part = rows[(rows[:, T] >= at) & (rows[:, T] < at + seconds)]
        angle = sign * np.degrees(part[:, column])
        rise, over, rest = response(part[:, T] - at, angle, angle[0], wanted)
        found |= {
            f"{name}_at": at,
            f"{name}_rise": rise,
            f"{name}_overshoot": 100 * over,
            f"{name}_rest": rest,
        }
    found = {name: round(float(value), 3) for name, value in found.items()}
    print(f"{vehicle}, steps, {stack}: {found}", flush=True)
    return found, rows[rows[:, T] > agent.times["bank"] - 2.0]


def sampled(rows, rate=_TRACK_HZ):
    """Rows at a rate [Hz], rounded, as float32."""
    return np.round(rows[:: 250 // rate], 3).astype("f4")


def recorded():
    """Figures and tracks of real PX4 by VEHICLE_AIR and VEHICLE_steps."""
    figures = json.loads(_FIGURES.read_text()) if _FIGURES.is_file() else {}
    tracks = dict(np.load(_TRACKS)) if _TRACKS.is_file() else {}
    return figures, tracks


def record(key, figures, rows, rate=_TRACK_HZ):
    """Adds a flight of real PX4 to what is recorded."""
    every, tracks = recorded()
    every[key], tracks[key] = figures, sampled(rows, rate)
    lines = (f' "{name}": {json.dumps(every[name])}' for name in sorted(every))
    _FIGURES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    np.savez_compressed(_TRACKS, **{name: tracks[name] for name in sorted(tracks)})


def main(names):
    """Flies the named vehicles, or all, by real PX4."""
    for kind in KINDS.values():
        for vehicle in kind.vehicles:
            if vehicle not in names and (names or vehicle in SERVOS):
                continue
            try:
                for air in AIRS:
                    record(f"{vehicle}_{air}", *fly("px4", vehicle, air))
                if kind.winged:
                    record(f"{vehicle}_steps", *steps("px4", vehicle), rate=50)
            except (XtdroneError, SystemExit, IndexError, KeyError) as error:
                print(f"{vehicle}: not recorded: {error!r}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

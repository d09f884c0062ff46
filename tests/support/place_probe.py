"""Where a vehicle flies by each command that names a place, a height, a heading or a speed.

    python tests/support/place_probe.py --autopilot px4 --out tests/data/px4_places.json
    python tests/support/place_probe.py                  compare the embedded stack with that file

Each case begins in AUTO.LOITER 10 m above the start, nose to the north. Recorded are the answer,
the mode, and after so many simulated seconds the true position north, east and up of the start [m]
and the heading [deg]; of an orbit the distance from its centre [m], height [m], speed, positive
clockwise [m/s], and heading off the direction to the centre [deg]; of DO_SET_HOME the home [m]; of
the message SET_GPS_GLOBAL_ORIGIN the local position that the vehicle tells then [m].
"""

import argparse
import json
import math
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_probe import HEIGHT, Station
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.earth.geodesy import to_geodetic, to_local_array

RECORDED = Path(__file__).resolve().parents[1] / "data" / "px4_places.json"
NAN = math.nan
GLOBAL, RELATIVE, RELATIVE_INT, TERRAIN, LOCAL = 0, 3, 6, 10, 1  # of MAV_FRAME
FRAMES = (GLOBAL, RELATIVE, RELATIVE_INT, TERRAIN, LOCAL)
# How far two autopilots may be apart: position [m], heading [deg], orbit's four numbers.
NEAR, TURN, ORBIT = 0.8, 6.0, (0.8, 0.8, 0.4, 10.0)
_TURN_RATE = math.radians(45.0)  # MPC_YAWRAUTO_MAX [rad/s]
_STILL_M, _STILL_M_S, _STILL_DEG = 0.7, 0.25, 4.0


@dataclass(frozen=True)
class Case:
    """One command: what it is given, and for how long it is flown then.

    Attributes:
        command: Name in MAV_CMD, or SET_GPS_GLOBAL_ORIGIN.
        params: The seven; the fifth and sixth are north and east of the start [m], the seventh a
            height above it, which are sent as latitude, longitude and height above the sea.
        frame: MAV_FRAME of a COMMAND_INT; None = COMMAND_LONG.
        seconds: Simulated time until it is looked at [s].
        before: A DO_CHANGE_SPEED's parameters, sent first.
        while_flying: DO_CHANGE_SPEED's parameters, sent a second after the command.
        raw_height: The seventh parameter is sent as it is.
        raw_place: So are the fifth and sixth.
        landed: It begins on the ground, and is armed after the command.
        centre: North and east of an orbit's [m].
    """

    command: str
    params: tuple[float, ...]
    frame: int | None = GLOBAL
    seconds: float = 12.0
    before: tuple[float, ...] = ()
    while_flying: tuple[float, ...] = ()
    raw_height: bool = False
    raw_place: bool = False
    landed: bool = False
    centre: tuple[float, float] = (15.0, 0.0)


def cases() -> dict[str, Case]:
    """All that is tried, by what it is."""
    there = (15.0, 0.0, 16.0)  # north, east, up
    go = (-1.0, 1.0, 0.0, NAN)
    round_it = (10.0, 3.0, 0.0, NAN)
    found = {f"DO_REPOSITION frame {f}": Case("DO_REPOSITION", (*go, *there), f) for f in FRAMES}
    found |= {
        "DO_REPOSITION long": Case("DO_REPOSITION", (*go, *there), None),
        "DO_REPOSITION frame 3, height above home": Case(
            "DO_REPOSITION", (*go, 5.0, 0.0, 16.0), RELATIVE, 25.0, raw_height=True
        ),
        "DO_REPOSITION 2 m/s": Case("DO_REPOSITION", (2.0, 1.0, 0.0, NAN, *there), seconds=6.0),
        "DO_REPOSITION yaw 1.5 rad": Case("DO_REPOSITION", (-1.0, 1.0, 0.0, 1.5, *there)),
        "DO_REPOSITION yaw 90": Case("DO_REPOSITION", (-1.0, 1.0, 0.0, 90.0, *there)),
        "DO_REPOSITION only height": Case("DO_REPOSITION", (*go, NAN, NAN, 16.0)),
        "DO_REPOSITION only place": Case("DO_REPOSITION", (*go, 15.0, 0.0, NAN)),
        "DO_REPOSITION only yaw": Case("DO_REPOSITION", (-1.0, 1.0, 0.0, 1.5, NAN, NAN, NAN)),
        "DO_REPOSITION nothing": Case("DO_REPOSITION", (*go, NAN, NAN, NAN), seconds=6.0),
        "DO_REPOSITION flags 0": Case("DO_REPOSITION", (-1.0, 0.0, 0.0, NAN, *there)),
        "DO_REPOSITION flags 3": Case("DO_REPOSITION", (-1.0, 3.0, 0.0, NAN, *there)),
        "DO_CHANGE_ALTITUDE": Case("DO_CHANGE_ALTITUDE", (16.0, 0.0, 0, 0, 0, 0, 0), None),
        "DO_CHANGE_ALTITUDE frame 3": Case("DO_CHANGE_ALTITUDE", (16.0, 3.0, 0, 0, 0, 0, 0), 3),
        "NAV_TAKEOFF frame 0": Case("NAV_TAKEOFF", (0.0, 0.0, 0.0, NAN, *there)),
        "NAV_TAKEOFF frame 3": Case("NAV_TAKEOFF", (0.0, 0.0, 0.0, NAN, *there), RELATIVE),
        "NAV_TAKEOFF yaw, no place": Case("NAV_TAKEOFF", (0.0, 0.0, 0.0, 1.5, NAN, NAN, 16.0)),
        "NAV_TAKEOFF lower": Case("NAV_TAKEOFF", (0.0, 0.0, 0.0, NAN, NAN, NAN, 5.0)),
        "NAV_TAKEOFF to latitude and longitude 0": Case(
            "NAV_TAKEOFF", (0.0, 0.0, 0.0, NAN, 0.0, 0.0, 16.0), raw_place=True
        ),
        "NAV_TAKEOFF elsewhere from the ground": Case(
            "NAV_TAKEOFF", (0.0, 0.0, 0.0, NAN, 8.0, 0.0, 8.0), seconds=8.0, landed=True
        ),
        "NAV_LAND elsewhere": Case("NAV_LAND", (0.0, 0.0, 0.0, 1.5, *there), seconds=6.0),
        "DO_SET_HOME frame 0": Case("DO_SET_HOME", (0.0, 0.0, 0.0, 0.0, 5.0, 4.0, 2.0), seconds=2),
        "DO_SET_HOME frame 3": Case("DO_SET_HOME", (0.0, 0.0, 0.0, 0.0, 5.0, 4.0, 2.0), 3, 2.0),
        "DO_SET_HOME long": Case("DO_SET_HOME", (0.0, 0.0, 0.0, 0.0, 5.0, 4.0, 2.0), None, 2.0),
        "NAV_RETURN_TO_LAUNCH": Case("NAV_RETURN_TO_LAUNCH", (0.0,) * 4 + there),
        "airspeed 2 m/s, then DO_REPOSITION": Case(
            "DO_REPOSITION", (*go, *there), seconds=6.0, before=(0.0, 2.0, -1.0)
        ),
        "ground speed 2 m/s, then DO_REPOSITION": Case(
            "DO_REPOSITION", (*go, *there), seconds=6.0, before=(1.0, 2.0, -1.0)
        ),
        "DO_REPOSITION, then ground speed 2 m/s": Case(
            "DO_REPOSITION", (*go, *there), seconds=6.0, while_flying=(1.0, 2.0, -1.0)
        ),
        "DO_REPOSITION, then airspeed 2 m/s": Case(
            "DO_REPOSITION", (*go, *there), seconds=6.0, while_flying=(0.0, 2.0, -1.0)
        ),
        "DO_REPOSITION 2 m/s, then speed -1": Case(
            "DO_REPOSITION",
            (2.0, 1.0, 0.0, NAN, 30.0, 0.0, 10.0),
            seconds=8.0,
            while_flying=(1.0, -1.0, -1.0),
        ),
    }
    for f in (GLOBAL, RELATIVE, RELATIVE_INT, None):
        found[f"DO_ORBIT {'long' if f is None else f'frame {f}'}"] = Case(
            "DO_ORBIT", (*round_it, *there), f, 25.0
        )
    for behaviour in range(6):
        found[f"DO_ORBIT behaviour {behaviour}"] = Case(
            "DO_ORBIT", (-10.0, 3.0, float(behaviour), NAN, *there), seconds=25.0
        )
    found |= {
        name: Case("DO_ORBIT", params, seconds=25.0)
        for name, params in {
            "DO_ORBIT no behaviour": (10.0, 3.0, NAN, NAN, *there),
            "DO_ORBIT no speed": (10.0, NAN, 0.0, NAN, *there),
            "DO_ORBIT no radius": (NAN, 3.0, 0.0, NAN, *there),
            "DO_ORBIT 20 m/s": (10.0, 20.0, 0.0, NAN, *there),
            "DO_ORBIT -3 m/s": (10.0, -3.0, 0.0, NAN, *there),
            "DO_ORBIT 0 m/s": (10.0, 0.0, 0.0, NAN, *there),
            "DO_ORBIT only place": (10.0, 3.0, 0.0, NAN, 15.0, 0.0, NAN),
            "DO_ORBIT radius 3 m": (3.0, 3.0, 0.0, NAN, *there),
            "DO_ORBIT radius 0.5 m": (0.5, 1.0, 0.0, NAN, *there),
            "DO_ORBIT radius 2000 m": (2000.0, 3.0, 0.0, NAN, *there),
        }.items()
    }
    found["SET_GPS_GLOBAL_ORIGIN"] = Case(
        "SET_GPS_GLOBAL_ORIGIN", (0.0,) * 4 + (-30.0, 20.0, 5.0), seconds=6.0
    )
    found["DO_ORBIT here"] = Case(
        "DO_ORBIT", (10.0, 3.0, 0.0, NAN, NAN, NAN, NAN), seconds=25.0, centre=(0.0, 0.0)
    )
    return found


class Probe:
    """A vehicle that is given one command after another."""

    def __init__(self, autopilot: str, folder: Path) -> None:
        """Starts a simulation of one iris by this autopilot."""
        self.station = Station(autopilot, folder)
        world = self.station.simulation.world
        self._origin = world.latitude, world.longitude, world.altitude

    def close(self) -> None:
        """Ends the simulation."""
        self.station.close()

    def params(self, case: Case) -> list[float]:
        """The seven parameters as they are sent."""
        p = [float(value) for value in case.params]
        if case.command == "DO_CHANGE_ALTITUDE":
            p[0] = self._on_earth(0.0, 0.0, p[0])[2]
            return p
        lat, lon, height = self._on_earth(p[4], p[5], p[6])
        lat, lon = p[4:6] if case.raw_place else (lat, lon)
        return [*p[:4], lat, lon, p[6] if case.raw_height else height]

    def _on_earth(self, north: float, east: float, up: float) -> tuple[float, float, float]:
        if math.isnan(north):
            return NAN, NAN, self._origin[2] + up
        lat, lon = to_geodetic(east, north, *self._origin[:2])
        return math.degrees(lat), math.degrees(lon), self._origin[2] + up

    def send(self, name: str, values: list[float], frame: int | None = None) -> str:
        """The result of a command of this name."""
        number = getattr(mavlink, f"MAV_CMD_{name}")
        return self.station.command(number, [*values, *[0.0] * (7 - len(values))], frame)

    def place(self) -> np.ndarray:
        """(3,) truth, north, east and up of the start [m]."""
        x, y, z = self.station.simulation.state.pos[0]
        return np.array([y, x, z])

    def velocity(self) -> np.ndarray:
        """(3,) truth, north, east and up [m/s]."""
        x, y, z = self.station.simulation.state.vel[0]
        return np.array([y, x, z])

    def heading(self) -> float:
        """True heading, clockwise from north [deg]."""
        x, y, z, w = self.station.simulation.state.quat[0]
        return math.degrees(math.pi / 2 - math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))

    def mode(self) -> str:
        """Main and sub mode that its last heartbeat told."""
        beats = [
            m
            for m in self.station.heard
            if m.get_type() == "HEARTBEAT" and m.get_srcComponent() == 1
        ]
        number = beats[-1].custom_mode if beats else 0
        return f"{number >> 16 & 0xFF}, {number >> 24 & 0xFF}"

    def bring_back(self) -> None:
        """To the hover in which a case begins."""
        self.send("DO_CHANGE_SPEED", [1.0, -1.0, -1.0])
        self.station.bring_back("hover")
        back = Case("DO_REPOSITION", (-1.0, 1.0, 0.0, 0.0, 0.0, 0.0, HEIGHT))
        for _ in range(3):
            self.send("DO_REPOSITION", self.params(back), GLOBAL)
            if self.station.run(40.0, self._still):
                return
        raise AssertionError(f"it does not come back, it is at {self.place().round(1)}")

    def _still(self) -> bool:
        return (
            np.linalg.norm(self.place() - [0.0, 0.0, HEIGHT]) < _STILL_M
            and np.linalg.norm(self.velocity()) < _STILL_M_S
            and abs(_wrap(self.heading())) < _STILL_DEG
        )

    def fly(self, case: Case) -> dict:
        """What becomes of a case."""
        self.bring_back()
        if case.landed:
            self.send("NAV_LAND", [])
            if not self.station.run(60.0, lambda: not self.station.armed()):
                raise AssertionError("it does not land")
        if case.before:
            self.send("DO_CHANGE_SPEED", list(case.before))
        end = self.station.simulation.t_us + case.seconds * 1e6
        found: dict = {"answer": self._give(case)}
        if case.landed:
            self.station.arm(True)
        if case.while_flying:
            self.station.run(1.0)
            self.send("DO_CHANGE_SPEED", list(case.while_flying))
        self.station.heard.clear()
        self.station.run((end - self.station.simulation.t_us) * 1e-6)
        found["mode"] = self.mode()
        place, heading = self.place(), _wrap(self.heading())
        if case.command == "DO_ORBIT":
            found["orbit"] = [round(float(x), 2) for x in self._orbit(case)]
        elif case.command == "DO_SET_HOME":
            found["home"] = [round(float(x), 1) for x in self._home()]
        elif case.command == "SET_GPS_GLOBAL_ORIGIN":
            found["home"] = [round(float(x), 1) for x in self._local()]
            self._set_origin((0.0, 0.0, 0.0))
        else:
            found["place"] = [round(float(x), 2) for x in place]
            found["heading"] = round(heading, 1)
        if case.landed:  # from up there it is brought back
            self.station.run(10.0)
        return found

    def _give(self, case: Case) -> str:
        if case.command != "SET_GPS_GLOBAL_ORIGIN":
            return self.send(case.command, self.params(case), case.frame)
        self._set_origin(case.params[4:])
        self.station.run(1.0)
        told = any(m.get_type() == "GPS_GLOBAL_ORIGIN" for m in self.station.heard)
        return "told" if told else "no answer"

    def _set_origin(self, place: tuple[float, ...]) -> None:
        lat, lon, height = self._on_earth(*place)
        self.station.heard.clear()
        self.station.send(
            mavlink.MAVLink_set_gps_global_origin_message(
                1, round(lat * 1e7), round(lon * 1e7), round(height * 1e3), 0
            )
        )

    def _local(self) -> np.ndarray:
        told = [m for m in self.station.heard if m.get_type() == "LOCAL_POSITION_NED"][-1]
        return np.array([told.x, told.y, -told.z])

    def _orbit(self, case: Case) -> tuple[float, float, float, float]:
        place, velocity = self.place(), self.velocity()
        out = place[:2] - case.centre
        radius = float(np.hypot(*out))
        speed = (out[0] * velocity[1] - out[1] * velocity[0]) / radius
        to_centre = math.degrees(math.atan2(-out[1], -out[0]))
        return radius, float(place[2]), float(speed), _wrap(self.heading() - to_centre)

    def _home(self) -> np.ndarray:
        self.send("GET_HOME_POSITION", [])
        self.station.run(0.2)
        home = [m for m in self.station.heard if m.get_type() == "HOME_POSITION"][-1]
        place = [[math.radians(home.latitude / 1e7), math.radians(home.longitude / 1e7), 0.0]]
        x, y = to_local_array(place, *self._origin)[0, :2]
        return np.array([y, x, home.altitude / 1e3 - self._origin[2]])


def _wrap(degrees: float) -> float:
    return (degrees + 180.0) % 360.0 - 180.0


def probe(autopilot: str, folder: Path, only: tuple[str, ...] = ()) -> dict:
    """What becomes of each case whose name has one of these parts."""
    vehicle = Probe(autopilot, folder)
    try:
        vehicle.station.run(20.0)
        vehicle.station.set_takeoff_height()
        found = {}
        for name, case in cases().items():
            if not only or any(part in name for part in only):
                found[name] = vehicle.fly(case)
                print(f"{name}: {found[name]}", file=sys.stderr, flush=True)
        return found
    finally:
        vehicle.close()


def differences(found: dict, reference: dict) -> list[str]:
    """One line for each case that ends otherwise."""
    return [
        f"{name}: {ended}, PX4 {reference.get(name, 'not recorded')}"
        for name, ended in found.items()
        if not _alike(ended, reference.get(name, {}))
    ]


def _alike(one: dict, other: dict) -> bool:
    if one.keys() != other.keys() or any(one[k] != other[k] for k in ("answer", "mode")):
        return False
    if "orbit" in one:
        *sizes, nose = np.abs(np.subtract(one["orbit"], other["orbit"]))
        radius, _, speed, _ = one["orbit"]
        if abs(speed) > _TURN_RATE * radius:  # the nose cannot follow
            nose = 0.0
        return all(np.array([*sizes, abs(_wrap(nose))]) <= ORBIT)
    if "home" in one:
        return bool(np.abs(np.subtract(one["home"], other["home"])).max() <= NEAR)
    turned = abs(_wrap(one["heading"] - other["heading"]))
    return bool(np.abs(np.subtract(one["place"], other["place"])).max() <= NEAR) and turned <= TURN


def main() -> int:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--autopilot", default="embedded")
    parser.add_argument("--out", type=Path, help="write what was found into it, not compare")
    parser.add_argument("only", nargs="*", help="parts of names of cases")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XTDRONE_RUNS"] = folder
        found = probe(args.autopilot, Path(folder), tuple(args.only))
    if args.out:
        found = (json.loads(args.out.read_text()) if args.out.exists() else {}) | found
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())
        args.out.write_text(f"{{\n{lines}\n}}\n")
        return 0
    lines = differences(found, json.loads(RECORDED.read_text()))
    print("\n".join(lines) or "as recorded")
    print(f"{len(found)} cases, {len(lines)} differ", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

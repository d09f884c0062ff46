"""Flies references of real PX4 in process, with the embedded stack, and records them alike.

    python tests/support/mission_records.py OUT [lanes/calm corners/wind ...]
    python tests/support/flight_comparison.py tests/data/missions/px4 OUT

What px4_references.py records of real PX4 through a ground station is recorded here. A record is
NAME.npz (t_s, pos, vel, yaw: the truth at 10 Hz by seconds after arming) and NAME.json (modes,
texts, mission items and landed states with their times, duration_s).
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np

from stack_flights import MissionFlight, each_step
from xtdrone_autopilot.mavlink.streams import BUFFER
from xtdrone_autopilot.navigation.mission_items import MISSION
from xtdrone_autopilot.navigation.plan_file import load
from xtdrone_core.frames import yaw_enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import ROS_NAME, Mode, from_custom_mode

MISSIONS = Path(__file__).resolve().parents[1] / "data" / "missions"
REFERENCES = MISSIONS / "px4"
FLIGHTS = sorted(
    str(path.relative_to(REFERENCES).with_suffix("")) for path in REFERENCES.glob("*/*.npz")
)
WATCHED = ("HEARTBEAT", "EXTENDED_SYS_STATE", "MISSION_CURRENT", "MISSION_ITEM_REACHED")
LANDED = {0: "UNDEFINED", 1: "ON_GROUND", 2: "IN_AIR", 3: "TAKEOFF", 4: "LANDING"}
_TRUTH_US, _STREAM_US = 100_000, 1_000_000


class Listener:
    """Stands where Links stands: reads streams and texts of one vehicle at once."""

    def __init__(self, autopilot):
        self._streams, self._clock = autopilot.streams(), autopilot.clock
        self._out = np.zeros((1, BUFFER), dtype=np.uint8)
        self._decoder = mavlink.MAVLink(None)
        self.seen = []  # (t_us, message)

    def broadcast(self, i, message):
        self.seen.append((self._clock.t_us, message))

    def broadcast_text(self, i, messages, t_us):
        self.seen += [(t_us, message) for message in messages]

    def broadcast_stream(self, i, name, t_us):
        self._streams.changed(name)
        length = np.zeros(1, dtype=np.int64)
        self._streams.append(
            self._streams.index[name],
            t_us,
            np.ones(1, dtype=bool),
            np.zeros(1, dtype=np.uint8),
            self._out,
            length,
        )
        if length[0]:
            self.seen.append((t_us, self._decoder.decode(bytearray(self._out[0, : length[0]]))))

    def hurry(self, i, name, t_us):
        self.broadcast_stream(i, name, t_us)


class Record:
    """The truth and what was heard of one flight."""

    def __init__(self, flight):
        self._flight = flight
        self._rows = []
        self._listener = Listener(flight.autopilot)
        flight.autopilot.outbox.links = self._listener
        each_step(flight.simulation, self._step)

    def _step(self, t_us, state, sensors):
        if t_us % _TRUTH_US == 0:
            x, y, z, w = state.quat[0]
            yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
            self._rows.append((t_us * 1e-6, *state.pos[0], *state.vel[0], yaw))
        if t_us % _STREAM_US == 0:
            for name in WATCHED:
                self._listener.broadcast_stream(0, name, t_us)

    def save(self, stem, armed_us, ended_us):
        """Writes STEM.npz and STEM.json; times count from arming [us]."""
        rows = np.array(self._rows)
        log = {"modes": [], "texts": [], "current": [], "reached": [], "landed": []}
        for t_us, message in self._listener.seen:
            entry = _entry(message)
            if entry is None:
                continue
            key, *values = entry
            if key == "texts" and message.chunk_seq:
                log[key][-1][-1] += message.text
            elif key == "texts" or not log[key] or log[key][-1][1:] != values:
                log[key].append([round((t_us - armed_us) * 1e-6, 3), *values])
        keep = (rows[:, 0] >= armed_us * 1e-6 - 2) & (rows[:, 0] <= ended_us * 1e-6 + 2)
        rows = rows[keep]
        np.savez_compressed(
            f"{stem}.npz",
            t_s=np.round(rows[:, 0] - armed_us * 1e-6, 3),
            pos=rows[:, 1:4].astype("f4"),
            vel=rows[:, 4:7].astype("f4"),
            yaw=rows[:, 7].astype("f4"),
        )
        document = {"duration_s": round((ended_us - armed_us) * 1e-6, 2), **log}
        Path(f"{stem}.json").write_text(json.dumps(document, indent=1))


def _entry(message):
    kind = message.get_type()
    if kind == "HEARTBEAT":
        return "modes", ROS_NAME[from_custom_mode(message.custom_mode)]
    if kind == "STATUSTEXT":
        return "texts", message.severity, message.text
    if kind == "EXTENDED_SYS_STATE":
        return "landed", LANDED[message.landed_state]
    if kind in ("MISSION_CURRENT", "MISSION_ITEM_REACHED"):
        return "current" if kind == "MISSION_CURRENT" else "reached", message.seq
    return None


def fly_plan(plan, stem, seconds=420, **scenario):
    """Flies a plan from the ground until it is disarmed, and writes its record."""
    flight = MissionFlight(**scenario)
    record = Record(flight)
    try:
        flight.run(10)
        flight.wait(lambda: flight.autopilot.status["ready"][0], 30)
        assert flight.upload(load(plan).items[MISSION]) == mavlink.MAV_MISSION_ACCEPTED
        flight.run(1)
        flight.start()
        armed_us = flight.simulation.t_us
        flight.wait(lambda: not flight.armed, seconds)
        ended_us = flight.simulation.t_us
        flight.run(2)
    finally:
        flight.simulation.close()
    record.save(stem, armed_us, ended_us)


def fly_offboard(stem, set_points, **scenario):
    """Position 10 m up, then velocities, then a landing.

    Args:
        stem: Of the record.
        set_points: [time since arming [s], 'velocity N E D NED' [m/s] or 'land'] of each.
        scenario: Options.
    """
    flight = MissionFlight(**scenario)
    record = Record(flight)
    goal = {}

    def stream():
        position = goal.get("position")
        mask = 0b000111000111 if position is None else 0b000111111000
        x, y, z = position or (0.0, 0.0, 0.0)
        vx, vy, vz = goal.get("velocity", (0.0, 0.0, 0.0))
        flight.target(
            mavlink.MAV_FRAME_LOCAL_NED,
            mask | 2048,
            x=x,
            y=y,
            z=z,
            vx=vx,
            vy=vy,
            vz=vz,
            yaw=goal["yaw"],
        )

    try:
        flight.run(10)
        east, north, up = flight.autopilot.estimator.pos[0]
        goal.update(
            yaw=float(yaw_enu_ned(flight.autopilot.estimator.yaw(0))),
            position=(north, east, -up - 10.0),
        )
        flight.run(1.5, stream, 25)
        flight.offboard()
        assert flight.autopilot.commander.arm(0, flight.simulation.t_us).accepted
        armed_us = flight.simulation.t_us
        for t, what in set_points:
            flight.run(t - (flight.simulation.t_us - armed_us) * 1e-6, stream, 25)
            if what != "land":
                goal.update(position=None, velocity=[float(v) for v in what.split()[1:4]])
        flight.set_mode(Mode.LAND)
        flight.wait(lambda: not flight.armed, 60)
        ended_us = flight.simulation.t_us
        flight.run(2)
    finally:
        flight.simulation.close()
    record.save(stem, armed_us, ended_us)


def fly(name, stem):
    """Flies one of FLIGHTS as its reference was flown, and writes its record."""
    about = json.loads((REFERENCES / name).with_suffix(".json").read_text())
    scenario = {"gps": "", "seed": about["seed"]}
    if about["wind"]:
        scenario["wind"] = about["wind"]
    Path(stem).parent.mkdir(parents=True, exist_ok=True)
    if about["plan"] == "offboard":
        fly_offboard(stem, about["set_points"][1:], **scenario)
    else:
        fly_plan(MISSIONS / f"{about['plan']}.plan", stem, **scenario)


def main():
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "flights",
        nargs="*",
        metavar="FLIGHT",
        default=FLIGHTS,
        help="all, or some of " + ", ".join(FLIGHTS),
    )
    args = parser.parse_args()
    for name in set(args.flights) - set(FLIGHTS):
        parser.error(f"no flight '{name}': give one of {', '.join(FLIGHTS)}")
    for name in args.flights:
        fly(name, args.out / name)


if __name__ == "__main__":
    sys.exit(main())

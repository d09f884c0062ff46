"""Flies real PX4 on this simulator and records the flight, to hold the embedded stack against.

    PX4_BUILD=... python tests/support/px4_references.py lanes_calm corners_wind offboard_calm
    PX4_BUILD=... python tests/support/px4_references.py all --speed 2

A mission NAME_calm or NAME_wind flies tests/data/missions/NAME.plan; offboard is a scripted
flight by set-points. A reference is calm.npz and calm.json, or wind.*, in
tests/data/missions/px4/NAME; with --seed 2 it is calm_2. All times are simulated seconds since
arming; the instants of arming and disarming are those of PX4's own answers in lockstep, exact to
4 ms.

- npz: at 10 Hz t_s, pos (T, 3) ENU [m], vel (T, 3) [m/s] and yaw [rad, ENU] of the truth; estimate
  (K, 7) t_s, pos, vel of PX4's LOCAL_POSITION_NED in ENU at 2 Hz.
- json: modes, armed, texts (severity, text), current, reached (the first of each run), landed, acks
  (command, result), home, each entry with its time first; rates_hz; set_points of offboard;
  parameters_changed (name: value, firmware's default); duration_s from arming to disarming.
"""

import argparse
import contextlib
import hashlib
import json
import math
import socket
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pymavlink.dialects.v20 import development as mavlink
from pyulog import ULog

from mission_records import LANDED, MISSIONS, REFERENCES
from own_ports import PORTS
from xtdrone_autopilot.navigation.mission_items import MISSION, fields_of
from xtdrone_autopilot.navigation.plan_file import load
from xtdrone_core import Scenario
from xtdrone_core.contracts import Observer
from xtdrone_core.mavlink.client import MavlinkClient
from xtdrone_core.modes import ROS_NAME, Mode, custom_mode, from_custom_mode
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

WIND = {"calm": "", "wind": "mean=4,0,0 dryden=4"}
PLANS = ("lanes", "corners", "roi_jump", "headings", "heights", "loiters")
FLIGHTS = (*(f"{plan}_{wind}" for plan in PLANS for wind in WIND), "offboard_calm")
LONGEST_S = 420.0  # of a flight
_KEPT = ("modes", "armed", "texts", "current", "reached", "landed", "acks", "home")
_PERIOD_US, _BEAT_US, _TRUTH_US = 20_000, 500_000, 100_000


class Station:
    """A ground station of vehicle 1 in the simulation's own thread: waiting for it flies on.

    Attributes:
        heard: (t_us, message) of everything that vehicle 1's autopilot has sent.
        each: Called at every 20 ms of simulated time.
    """

    system = 255

    def __init__(self, simulation):
        self.heard = []
        self.each = lambda: None
        self._simulation = simulation
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", PORTS.ground_station))
        self._socket.setblocking(False)
        self._mavlink = mavlink.MAVLink(None, self.system, mavlink.MAV_COMP_ID_MISSIONPLANNER)
        self._parser = mavlink.MAVLink(None)
        self._parser.robust_parsing = True
        self._partner = None

    def close(self):
        """Frees the port."""
        self._socket.close()

    def send(self, message):
        """Sends to the vehicle, once it has been heard."""
        if self._partner is not None:
            self._socket.sendto(message.pack(self._mavlink), self._partner)

    @contextlib.contextmanager
    def listen(self, *kinds):
        """As Transport: what comes in while the simulation goes on."""
        at = len(self.heard)

        def receive(seconds):
            nonlocal at
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                while at < len(self.heard):
                    message = self.heard[at][1]
                    at += 1
                    if message.get_type() in kinds:
                        return message
                self.step()
            return None

        yield receive

    def step(self):
        """One step of the simulation, at its speed."""
        simulation = self._simulation
        simulation.step()
        t_us = simulation.t_us
        if t_us % _PERIOD_US:
            return
        simulation.pacer.wait(t_us)
        self._take_in(t_us)
        if t_us % _BEAT_US == 0:
            self.send(
                mavlink.MAVLink_heartbeat_message(
                    mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3
                )
            )
        self.each()

    def until(self, condition, seconds):
        """Flies on until a condition holds, at most for so many simulated seconds."""
        end = self._simulation.t_us + seconds * 1e6
        while not condition():
            if self._simulation.t_us >= end:
                raise SystemExit(f"{condition.__name__} did not come within {seconds:g} s")
            self.step()

    def wait(self, seconds):
        """Flies on for so many simulated seconds."""
        for _ in range(round(seconds * 250)):
            self.step()

    def last(self, kind):
        """The newest message of a type, or None."""
        return next((m for _, m in reversed(self.heard) if m.get_type() == kind), None)

    def _take_in(self, t_us):
        while True:
            try:
                data, partner = self._socket.recvfrom(65536)
            except BlockingIOError:
                return
            for message in self._parser.parse_buffer(data) or ():
                if message.get_srcSystem() == 1 and message.get_srcComponent() == 1:
                    self._partner = partner
                    self.heard.append((t_us, message))


class Truth(Observer):
    """What the first vehicle truly does.

    Attributes:
        rows: t_us, x, y, z, vx, vy, vz, yaw at 10 Hz.
        armed_us, ended_us: When it was first armed, and when it was disarmed after that.
    """

    def __init__(self):
        self.rows = []
        self.armed_us = self.ended_us = None
        self.autopilot = None

    def on_step(self, t_us, state, sensors):
        """Adds a row, notes whether it is armed."""
        armed = self.autopilot.armed[0]
        if self.armed_us is None and armed:
            self.armed_us = t_us
        elif self.armed_us is not None and self.ended_us is None and not armed:
            self.ended_us = t_us
        if t_us % _TRUTH_US == 0:
            x, y, z, w = state.quat[0]
            self.rows.append(
                (
                    t_us,
                    *state.pos[0],
                    *state.vel[0],
                    math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
                )
            )


class Recording:
    """One flight of real PX4, with a ground station."""

    def __init__(self, folder, speed, seed, vehicle="iris", **options):
        run_folder.prepare(folder)
        self.folder, self.truth = folder, Truth()
        self.simulation = Simulation(
            Scenario(fleet(vehicle, 1), autopilot="px4", speed=speed, seed=seed, **options),
            folder,
            observers=[self.truth],
        )
        self.truth.autopilot = self.simulation.autopilot
        self.station = Station(self.simulation)
        self.client = MavlinkClient(1, self.station)
        self.set_points = []  # (t_us, what)

    def close(self):
        """Ends PX4."""
        self.station.close()
        self.simulation.close()

    def await_ready(self):
        """Until PX4 would arm, and at least 10 s, in which its estimates settle."""

        def it_would_arm():
            status = self.station.last("SYS_STATUS")
            return (
                self.simulation.t_us > 10_000_000
                and status is not None
                and status.onboard_control_sensors_health & mavlink.MAV_SYS_STATUS_PREARM_CHECK
            )

        self.station.until(it_would_arm, 60)

    def arm(self, mode):
        """Changes to a mode and arms; asks again each second where it is refused."""
        main, sub = custom_mode(mode) >> 16 & 255, custom_mode(mode) >> 24
        for _ in range(40):
            self.client.command(mavlink.MAV_CMD_DO_SET_MODE, 1, main, sub)
            self.client.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
            self.station.wait(0.1)
            if self.truth.armed_us is not None:
                return
            self.station.wait(1.0)
        raise SystemExit("PX4 does not arm")

    def finish(self, seconds=LONGEST_S):
        """Until it is disarmed, and 2 s."""

        def it_is_disarmed():
            return self.truth.ended_us is not None

        self.station.until(it_is_disarmed, seconds)
        self.station.wait(2.0)

    def save(self, stem, **what):
        """Writes STEM.npz and STEM.json."""
        rows = np.array(self.truth.rows)
        begin, end = self.truth.armed_us - 2e6, self.truth.ended_us + 2e6
        rows = rows[(rows[:, 0] >= begin) & (rows[:, 0] <= end)]
        estimate = [
            (self.since(m.time_boot_ms * 1e3), m.y, m.x, -m.z, m.vy, m.vx, -m.vz)
            for _, m in self.station.heard
            if m.get_type() == "LOCAL_POSITION_NED"
        ][::25]
        stem.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(
            stem.with_suffix(".npz"),
            t_s=_millimetres(self.since(rows[:, 0])),
            pos=_millimetres(rows[:, 1:4]),
            vel=_millimetres(rows[:, 4:7]),
            yaw=_millimetres(rows[:, 7]),
            estimate=_millimetres(estimate),
        )
        document = {
            **what,
            "duration_s": self.duration,
            **self._log(),
            "set_points": [[self.since(t), text] for t, text in self.set_points],
            "rates_hz": self._rates(),
            "parameters_changed": self._parameters(),
        }
        lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
        stem.with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n")

    @property
    def duration(self):
        """From arming to disarming [s]."""
        return self.since(self.truth.ended_us)

    def since(self, t_us):
        """Time after arming [s]."""
        return np.round((t_us - self.truth.armed_us) * 1e-6, 3)

    def _log(self):
        log = {key: [] for key in _KEPT}
        for t_us, message in self.station.heard:
            if message.get_type() == "STATUSTEXT" and message.id and message.chunk_seq:
                log["texts"][-1][2] += message.text
                continue
            for key, *values in _entries(message):
                if key in ("texts", "acks") or not log[key] or log[key][-1][1:] != values:
                    log[key].append([self.since(t_us), *values])
        return log

    def _rates(self):
        inside = [
            m.get_type()
            for t, m in self.station.heard
            if self.truth.armed_us <= t < self.truth.ended_us
        ]
        return {kind: round(inside.count(kind) / self.duration, 3) for kind in sorted(set(inside))}

    def _parameters(self):
        (log,) = (self.folder / "ulog").rglob("*.ulg")
        log = ULog(str(log), ["vehicle_status"])
        values, usual = log.initial_parameters, log.get_default_parameters(0)
        return {
            name: [round(float(values[name]), 6), round(float(default), 6)]
            for name, default in sorted(usual.items())
            if name in values and abs(values[name] - default) > 1e-6
        }


def _millimetres(values):
    return np.round(np.array(values), 3).astype("f4")


def _entries(message):
    """(key of the record, values) of what is kept of a message."""
    kind = message.get_type()
    if kind == "HEARTBEAT":
        yield "modes", ROS_NAME[from_custom_mode(message.custom_mode)]
        yield "armed", bool(message.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
    elif kind == "STATUSTEXT":
        yield "texts", message.severity, message.text
    elif kind == "EXTENDED_SYS_STATE":
        yield "landed", LANDED[message.landed_state]
    elif kind == "MISSION_CURRENT":
        yield "current", message.seq
    elif kind == "MISSION_ITEM_REACHED":
        yield "reached", message.seq
    elif kind == "COMMAND_ACK":
        yield "acks", message.command, message.result
    elif kind == "HOME_POSITION":
        yield (
            "home",
            message.latitude,
            message.longitude,
            message.altitude,
            *(round(float(value), 2) for value in (message.x, message.y, message.z)),
        )


def fly_plan(recording, plan):
    """Uploads a plan, starts it, and waits for its end."""
    recording.await_ready()
    recording.client.upload([fields_of(item) for item in load(plan).items[MISSION]])
    recording.station.wait(1.0)
    recording.arm(Mode.MISSION)
    recording.finish()


@contextlib.contextmanager
def set_points(recording):
    """Sends set-points at 25 Hz, at first a position 10 m above.

    Yields:
        want(velocity): sends another one, (3,) NED [m/s], at once and from then on.
    """
    station = recording.station
    here, yaw = station.last("LOCAL_POSITION_NED"), station.last("ATTITUDE").yaw
    wanted = {"mask": 0b100111111000, "pos": (here.x, here.y, here.z - 10.0), "vel": (0, 0, 0)}

    def send():
        station.send(
            mavlink.MAVLink_set_position_target_local_ned_message(
                recording.simulation.t_us // 1000,
                1,
                1,
                mavlink.MAV_FRAME_LOCAL_NED,
                wanted["mask"],
                *wanted["pos"],
                *wanted["vel"],
                0,
                0,
                0,
                yaw,
                0,
            )
        )

    def stream():
        if recording.simulation.t_us % (2 * _PERIOD_US) == 0:
            send()

    def want(velocity):
        wanted.update(mask=0b100111000111, pos=(0, 0, 0), vel=velocity)
        send()

    station.each = stream
    yield want
    station.each = lambda: None


def fly_offboard(recording):
    """10 m up by position, velocity zero for 30 s, steps of 5 m/s on each axis, landing."""
    recording.await_ready()
    station, now = recording.station, recording.simulation

    def velocity(north, east, down, seconds):
        recording.set_points.append((now.t_us, f"velocity {north:g} {east:g} {down:g} NED"))
        want((north, east, down))
        station.wait(seconds)

    with set_points(recording) as want:
        station.wait(1.5)
        recording.set_points.append((now.t_us, "position 10 m above"))
        recording.arm(Mode.OFFBOARD)
        station.wait(20)
        velocity(0, 0, 0, 30)
        for axis, seconds in (((5, 0, 0), 4), ((0, 5, 0), 4), ((0, 0, -5), 3)):
            velocity(*axis, 4)
            velocity(0, 0, 0, 4)
            velocity(*(-v for v in axis), seconds)
            velocity(0, 0, 0, 4)
        velocity(0, 0, 0, 10)
    recording.set_points.append((now.t_us, "land"))
    recording.client.command(mavlink.MAV_CMD_DO_SET_MODE, 1, 4, 6)
    recording.finish()


def record(name, out=REFERENCES, speed=2.0, seed=1):
    """Flies and writes one of FLIGHTS."""
    plan, _, air = name.rpartition("_")
    wind = WIND[air]
    what = {"plan": plan, "wind": wind, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(Path(folder), speed, seed, wind=wind)
        try:
            if plan == "offboard":
                fly_offboard(recording)
            else:
                path = MISSIONS / f"{plan}.plan"
                what["plan_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
                fly_plan(recording, path)
        finally:
            recording.close()
        recording.save(out / plan / (air if seed == 1 else f"{air}_{seed}"), **what)
    print(f"{name}: {recording.duration} s", flush=True)


def main():
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "flights",
        nargs="+",
        metavar="FLIGHT",
        choices=[*FLIGHTS, "all"],
        help="all, or some of " + ", ".join(FLIGHTS),
    )
    parser.add_argument("--out", type=Path, default=REFERENCES)
    parser.add_argument(
        "--speed", type=float, default=2.0, help="simulated seconds per wall second"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for name in FLIGHTS if "all" in args.flights else args.flights:
        record(name, args.out, args.speed, args.seed)


if __name__ == "__main__":
    sys.exit(main())

"""Real PX4 in flights of flight.py and dynamics.py: writes its figures to px4.json beside this.

    PX4_BUILD=... python scripts/validation/_px4.py

Vehicle, sensors, wind and set-points are those of the page; PX4 has its own default parameters.
Each figure has one value for each of SEEDS.
"""

import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
from pymavlink.dialects.v20 import development as mavlink

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))

import flight  # noqa: E402
import px4_references  # noqa: E402
from xtdrone_autopilot.navigation.mission_items import fields_of  # noqa: E402
from xtdrone_autopilot.state.clock import LOOP_US  # noqa: E402
from xtdrone_core import Mode  # noqa: E402
from xtdrone_core.contracts import Observer  # noqa: E402

SEEDS, SPEED = (1, 2), 4.0
TURBULENT, STRONG = "mean=5,0,0 dryden=5", "12,0,0"


class Truth(Observer):
    """True motion at each step: t [s], position [m] and velocity [m/s] as rows."""

    def __init__(self):
        self.rows = []

    def on_step(self, t_us, state, sensors):
        """Adds a row."""
        self.rows.append((t_us * 1e-6, *state.pos[0], *state.vel[0]))


class Flown(px4_references.Recording):
    """A flight of real PX4 whose set-points and truth can be asked for."""

    def __init__(self, folder, seed, **options):
        """Starts PX4 and waits until it would arm."""
        super().__init__(folder, SPEED, seed, gps="rtk", **options)
        self.steps = Truth()
        self.simulation.observers.append(self.steps)
        self.await_ready()

    @property
    def origin(self):
        """Latitude, longitude [rad] and height [m] of the world's origin."""
        world = self.simulation.world
        return world.latitude, world.longitude, world.altitude

    def hold(self, seconds, pos):
        """Flies to a position, ENU [m], for a time; arms in OFFBOARD where it is not flying."""
        self._stream(0b100111111000, pos, (0, 0, 0))
        if self.truth.armed_us is None:
            self.station.wait(1.5)
            self.arm(Mode.OFFBOARD)
        return self.after(seconds)

    def fly(self, seconds, vel):
        """Flies at a velocity, ENU [m/s], for a time."""
        self._stream(0b100111000111, (0, 0, 0), vel)
        return self.after(seconds)

    def after(self, seconds):
        """Flies on; returns times from now (K,), positions and velocities (K, 3)."""
        begin, since = self.simulation.t_us * 1e-6, len(self.steps.rows)
        self.station.wait(seconds)
        rows = np.array(self.steps.rows[since:])
        return rows[:, 0] - begin, rows[:, 1:4], rows[:, 4:7]

    def start(self, items):
        """Uploads a mission and starts it."""
        self.client.upload([fields_of(item) for item in items])
        self.station.wait(1.0)
        self.arm(Mode.MISSION)

    def _stream(self, mask, pos, vel):
        (x, y, z), (vx, vy, vz) = pos, vel

        def send():
            self.station.send(
                mavlink.MAVLink_set_position_target_local_ned_message(
                    self.simulation.t_us // 1000,
                    1,
                    1,
                    mavlink.MAV_FRAME_LOCAL_NED,
                    mask,
                    y,
                    x,
                    -z,
                    vy,
                    vx,
                    -vz,
                    0,
                    0,
                    0,
                    math.pi / 2,
                    0,
                )
            )

        self.station.each = send


def velocity(folder, seed):
    """The horizontal step to 5 m/s."""
    flown = Flown(folder, seed)
    try:
        flown.hold(30, (0, 0, 10))
        t, _, vel = flown.fly(6, (5, 0, 0))
    finally:
        flown.close()
    return {"velocity_error": flight.response(t, vel[:, 0], 0.0, 5.0)[2]}


def hover(folder, seed):
    """A minute of hover in turbulence."""
    flown = Flown(folder, seed, wind=TURBULENT)
    try:
        flown.client.command(
            mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, mavlink.MAVLINK_MSG_ID_ATTITUDE_TARGET, LOOP_US
        )
        flown.hold(35, (0, 0, 10))
        begin = flown.simulation.t_us
        _, pos, _ = flown.hold(60, (0, 0, 10))
    finally:
        flown.close()
    quats = {
        m.time_boot_ms: m.q
        for t, m in flown.station.heard
        if m.get_type() == "ATTITUDE_TARGET" and t > begin
    }
    t, quats = np.array(list(quats)) * 1e-3, np.array(list(quats.values()))[:, [1, 2, 3, 0]]
    turned = np.degrees(
        (
            flight.Rotation.from_quat(quats[:-1]).inv() * flight.Rotation.from_quat(quats[1:])
        ).magnitude()
    )
    away = np.hypot(pos[:, 0], pos[:, 1])
    return {
        "hover_turn": (turned / np.diff(t)).max(),
        "hover_largest": away.max(),
        "hover_rms": math.sqrt((away**2).mean()),
    }


def strong_wind(folder, seed):
    """A take-off to 5 m in 12 m/s of wind, which carries it away at first."""
    flown = Flown(folder, seed, wind=STRONG)
    try:
        t, pos, _ = flown.hold(22, (0, 0, 5))
    finally:
        flown.close()
    away = np.hypot(pos[:, 0], pos[:, 1])
    return {f"strong_wind_{at}_s": np.interp(at, t, away) for at in (10, 15, 20)}


def cruise(folder, seed):
    """The leg at 12 m/s."""
    flown = Flown(folder, seed)
    try:
        flown.station.send(
            mavlink.MAVLink_param_set_message(
                1, 1, b"MPC_XY_CRUISE", flight.CRUISE, mavlink.MAV_PARAM_TYPE_REAL32
            )
        )
        flown.station.wait(1.0)
        flown.start(flight.cruise_items(flown.origin))
        _, pos, vel = flown.after(60)
    finally:
        flown.close()
    speed = flight.cruise_speed(pos, vel)
    return {"cruise_mean": speed.mean(), "cruise_spread": speed.std()}


def mission(folder, seed):
    """The twenty waypoints."""
    flown = Flown(folder, seed)
    try:
        items, positions = flight.waypoints(flown.origin)
        flown.start(items)
        flown.finish()
    finally:
        flown.close()
    rows = np.array(flown.steps.rows)
    reached = {}
    for t, message in flown.station.heard:
        if message.get_type() == "MISSION_ITEM_REACHED":
            reached.setdefault(message.seq, t * 1e-6)
    seqs = np.searchsorted([reached[k] for k in sorted(reached)], rows[:, 0])
    nearest = flight.waypoint_distances(rows[:, 1:4], seqs, positions)
    return {"waypoints_outside": int((nearest > 2.0).sum()), "waypoints_largest": nearest.max()}


def main():
    """Flies every case with every seed and writes the figures."""
    found = {}
    for seed in SEEDS:
        for case in (velocity, hover, strong_wind, cruise, mission):
            with tempfile.TemporaryDirectory() as folder:
                for name, value in case(Path(folder), seed).items():
                    found.setdefault(name, []).append(round(float(value), 3))
                    print(f"{name}, seed {seed}: {found[name][-1]}", flush=True)
    lines = (f' "{name}": {json.dumps(values)}' for name, values in found.items())
    (HERE / "px4.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

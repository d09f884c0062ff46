"""Control performance of the flight stack: writes docs/validation/flight.md.

    python scripts/validation/flight.py

Every flight is one iris with its sensors, commanded by MAVLink messages. The
true motion is compared with the set-point, or with what real PX4 did in the same flight, as
_px4.py has measured it.
"""

import json
import math
import sys
from collections import deque
from pathlib import Path

import numpy as np
from matplotlib.patches import Circle
from scipy.spatial.transform import Rotation

from _report import Report

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from stack_flights import VELOCITY, MissionFlight, each_step, hover_command, item
from xtdrone_autopilot.navigation.auto import TASK_US
from xtdrone_autopilot.navigation.plan_file import load
from xtdrone_autopilot.state.clock import LOOP_US, STEP_US
from xtdrone_core import Mode, plot_style
from xtdrone_core.frames import enu_ned, quat_enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.quaternion import to_euler

HEAD = """Made by `scripts/validation.sh flight`. One iris, RTK GPS, every sensor with its noise; \
the flight stack is commanded by MAVLink messages and has PX4's default parameters unless a section\
 says otherwise. All errors are of the true motion against the set-point, the estimator's own \
error included. Where real PX4 misses the set-point as well, its figure is named and is the \
measure: that of PX4 v1.15.4 in the same flight on this simulator, as \
`python scripts/validation/_px4.py` measures it into `scripts/validation/px4.json`."""
PX4 = json.loads(Path(__file__).with_name("px4.json").read_text())  # figures of real PX4 by seed
TWENTY = Path(__file__).resolve().parents[2] / "docs/missions/twenty.plan"
CRUISE, LEG = 12.0, 300.0  # speed and length of the cruise [m/s, m]
LOOP = LOOP_US // STEP_US  # steps from one attitude set-point to the next
LOCAL = mavlink.MAV_FRAME_LOCAL_NED
ROW = np.dtype(
    [
        ("t", "f8"),
        ("pos", "f8", 3),
        ("vel", "f8", 3),
        ("rate", "f8", 3),
        ("euler", "f8", 3),
        ("est_pos", "f8", 3),
        ("sp_vel", "f8", 3),
        ("sp_quat", "f8", 4),
        ("smooth_acc", "f8", 3),
        ("mode", "i4"),
    ]
)
VISION_DELAY_US, VISION_POS, VISION_ANGLE = 60_000, 0.02, math.radians(0.5)


class Recorded(MissionFlight):
    """A flight that records every step."""

    def __init__(self, **scenario):
        """Starts one iris, ready to arm."""
        super().__init__(**scenario)
        self.rows = []
        each_step(self.simulation, self._keep)
        self.ready()

    def _keep(self, t_us, state, sensors):
        v, e = self.autopilot.status[0], self.autopilot.estimator
        self.rows.append(
            (
                t_us * 1e-6,
                state.pos[0].copy(),
                state.vel[0].copy(),
                state.ang_vel[0].copy(),
                to_euler(*state.quat[0]),
                e.pos[0].copy(),
                v["sp_vel"].copy(),
                v["sp_quat"].copy(),
                v["smooth_acc"].copy(),
                v["mode"],
            )
        )

    def table(self, since=0):
        """The rows from an index on, as one record array."""
        return np.array(self.rows[since:], dtype=ROW)

    def climb(self, height=5.0):
        """Takes off to a height above the ground and waits until the vehicle is at rest."""
        self.set(MIS_TAKEOFF_ALT=height)
        assert self.autopilot.commander.take_off(0, math.nan, self.simulation.t_us).accepted
        assert self.autopilot.commander.arm(0, self.simulation.t_us).accepted
        self.wait(lambda: self.mode == Mode.LOITER, 60)
        self.run(4)
        return self

    def offboard_for(self, seconds, ask):
        """Calls ask(t) at 50 Hz in OFFBOARD; returns the record of this time, t from 0."""
        since, start = len(self.rows), self.simulation.t_us

        def now():
            ask((self.simulation.t_us - start) * 1e-6)

        now()
        if self.mode != Mode.OFFBOARD:
            self.offboard()
        self.run(seconds, now)
        found = self.table(since)
        found["t"] -= start * 1e-6
        return found

    def position(self, pos, vel=None, acc=None, yaw=0.0):
        """Sends a position set-point, ENU [m], with feed-forward where given; yaw from east."""
        mask = 0x800 | (0 if vel is not None else 0x38) | (0 if acc is not None else 0x1C0)
        vel, acc = (np.zeros(3) if x is None else x for x in (vel, acc))
        names = ("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz")
        values = np.concatenate([enu_ned(np.asarray(a, float)) for a in (pos, vel, acc)])
        self.target(LOCAL, mask, yaw=math.pi / 2 - yaw, **dict(zip(names, values)))

    def attitude(self, roll=0.0, pitch=0.0, yaw=0.0, rates=None):
        """Sends Euler angles (body FLU in ENU) or body rates, at hover thrust."""
        quat = quat_enu_ned(np.array(Rotation.from_euler("ZYX", (yaw, pitch, roll)).as_quat()))
        rates = (0.0,) * 3 if rates is None else rates
        self.send(
            mavlink.MAVLink_set_attitude_target_message(
                0,
                1,
                1,
                7 if not any(rates) else 128,
                [quat[3], *quat[:3]],
                rates[0],
                -rates[1],
                -rates[2],
                hover_command(self) / math.sqrt(math.cos(roll) * math.cos(pitch)),
            )
        )


def close(flight):
    """Closes the simulation of a flight."""
    flight.simulation.close()


def turn_of(quats):
    """Angular rate (K - LOOP,) of attitude set-points (K, 4), one per step [deg/s]."""
    attitudes = Rotation.from_quat(quats)
    return np.degrees((attitudes[:-LOOP].inv() * attitudes[LOOP:]).magnitude()) / (LOOP_US * 1e-6)


def jerk_of(acc):
    """Jerk (K - J, 3) of the trajectory of AUTO modes by its acceleration (K, 3) at each step.

    The mean over two steps of the trajectory, which goes on by 16 and 24 ms in turn [m/s^3].
    """
    window = 2 * TASK_US // STEP_US
    return (acc[window:] - acc[:-window]) / (2e-6 * TASK_US)


def cruise_speed(pos, vel):
    """Horizontal speed in the middle of the cruise, of positions and velocities (K, 3) [m/s]."""
    even = (pos[:, 0] > 80) & (pos[:, 0] < 240)
    return np.hypot(vel[even, 0], vel[even, 1])


def waypoint_distances(pos, seqs, positions):
    """How near each waypoint was passed while it was the mission's current item [m].

    Args:
        pos: (K, 3) [m].
        seqs: (K,) number of the current item.
        positions: (3,) [m] by number.
    """
    return np.array(
        [np.linalg.norm(pos[seqs == k] - place, axis=1).min() for k, place in positions.items()]
    )


def waypoints(origin):
    """The items of TWENTY, and the positions (3,) of its waypoints by number [m]."""
    items = load(TWENTY).items[0]
    return items, {
        k: one.position(origin, np.zeros(3)) for k, one in enumerate(items) if one.command == 16
    }


def of_px4(figure):
    """Mean of a figure of real PX4 over its flights."""
    return float(np.mean(PX4[figure]))


def response(t, y, start, end):
    """Response to a step from `start` to `end`: rise time 10-90 % [s], overshoot, final error."""
    share = (y - start) / (end - start)
    rise = t[np.argmax(share > 0.9)] - t[np.argmax(share > 0.1)] if share.max() > 0.9 else math.nan
    last = share[t > t[-1] - 0.2 * (t[-1] - t[0])]
    return rise, max(share.max() - 1.0, 0.0), (last.mean() - 1.0) * (end - start)


def rotation_steps(report):
    """Step responses of body rates and attitude."""
    figure, axes = plot_style.panels(2, 3, 12.5, 5.6)
    flight = Recorded().climb(30.0)
    for k, (name, rate, seconds, rise_bound) in enumerate(
        (("roll", 60, 0.5, 0.15), ("pitch", 60, 0.5, 0.15), ("yaw", 45, 1.5, 0.5))
    ):
        wanted = math.radians(rate)
        rates = [wanted if j == k else 1e-6 for j in range(3)]
        found = flight.offboard_for(seconds, lambda t: flight.attitude(rates=rates))
        flight.offboard_for(6, lambda t: flight.position((0.0, 0.0, 30.0)))
        y = np.degrees(found["rate"][:, k])
        rise, over, rest = response(found["t"], y, y[0], rate)
        axes[0, k].plot(found["t"], y)
        axes[0, k].axhline(rate, color="k", ls=":", lw=1)
        axes[0, k].set(xlabel="t [s]", ylabel=f"{name} rate [deg/s]")
        report.check(
            f"{name.capitalize()} rate, step to {rate} deg/s: rise time", rise, rise_bound, "s"
        )
        report.check(f"{name.capitalize()} rate: overshoot", 100 * over, 20, "%")
        report.check(f"{name.capitalize()} rate: error in the end", rest, 3.0, "deg/s")
    for k, (name, angle, seconds, rise_bound) in enumerate(
        (("roll", 20, 1.2, 0.4), ("pitch", 20, 1.2, 0.4), ("yaw", 45, 4, 1.5))
    ):
        angles = {name: math.radians(angle)}
        found = flight.offboard_for(seconds, lambda t: flight.attitude(**angles))
        flight.offboard_for(6, lambda t: flight.position((0.0, 0.0, 30.0)))
        y = np.degrees(found["euler"][:, k])
        rise, over, rest = response(found["t"], y, y[0], angle)
        axes[1, k].plot(found["t"], y)
        axes[1, k].axhline(angle, color="k", ls=":", lw=1)
        axes[1, k].set(xlabel="t [s]", ylabel=f"{name} [deg]")
        report.check(f"{name.capitalize()}, step to {angle} deg: rise time", rise, rise_bound, "s")
        report.check(f"{name.capitalize()}: overshoot", 100 * over, 15, "%")
        report.check(f"{name.capitalize()}: error in the end", rest, 1.5, "deg")
    close(flight)
    report.section(
        "Steps of rate and attitude",
        "SET_ATTITUDE_TARGET with body rates (above) and with an attitude (below) from a hover.",
        figure,
    )


def motion_steps(report):
    """Step responses of velocity and position."""
    figure, axes = plot_style.panels(2, 2, 10, 5.6)
    flight = Recorded().climb(10.0)
    for k, (name, axis, wanted, rise_bound) in enumerate(
        (("horizontal", 0, 5.0, 2.0), ("vertical", 2, 2.0, 1.0))
    ):
        vel = np.zeros(3)
        vel[axis] = wanted
        ned = enu_ned(vel)
        found = flight.offboard_for(
            6,
            lambda t: flight.target(
                LOCAL, VELOCITY & ~0x400, vx=ned[0], vy=ned[1], vz=ned[2], yaw=math.pi / 2
            ),
        )
        flight.offboard_for(12, lambda t: flight.position((0.0, 0.0, 10.0)))
        y = found["vel"][:, axis]
        rise, over, rest = response(found["t"], y, 0.0, wanted)
        axes[0, k].plot(found["t"], y)
        axes[0, k].axhline(wanted, color="k", ls=":", lw=1)
        axes[0, k].set(xlabel="t [s]", ylabel=f"{name} velocity [m/s]")
        report.check(f"Velocity, {name} step to {wanted:g} m/s: rise time", rise, rise_bound, "s")
        report.check(f"Velocity, {name}: overshoot", 100 * over, 15, "%")
        px4 = of_px4("velocity_error") if name == "horizontal" else 0.0
        report.check(
            f"Velocity, {name}: error in the end" + (f", less PX4's {px4:.2f}" if px4 else ""),
            rest - px4,
            0.1,
            "m/s",
        )
    for k, (name, axis, wanted, rise_bound) in enumerate(
        (("horizontal", 0, 5.0, 4.0), ("vertical", 2, 2.0, 3.0))
    ):
        position = np.array([0.0, 0.0, 10.0])
        start = flight.table(-250)["pos"][:, axis].mean()
        position[axis] += wanted
        found = flight.offboard_for(12, lambda t: flight.position(position))
        flight.offboard_for(12, lambda t: flight.position((0.0, 0.0, 10.0)))
        y = found["pos"][:, axis] - start
        rise, over, rest = response(found["t"], y, 0.0, wanted)
        axes[1, k].plot(found["t"], y)
        axes[1, k].axhline(wanted, color="k", ls=":", lw=1)
        axes[1, k].set(xlabel="t [s]", ylabel=f"{name} displacement [m]")
        report.check(f"Position, {name} step of {wanted:g} m: rise time", rise, rise_bound, "s")
        report.check(f"Position, {name}: overshoot", 100 * over, 10, "%")
        report.check(f"Position, {name}: error in the end", rest, 0.15, "m")
    close(flight)
    report.section(
        "Steps of velocity and position",
        "SET_POSITION_TARGET_LOCAL_NED with a "
        "velocity (above) and with a position (below) from a hover. The integrator of "
        "the velocity loop has not made up for the rotor drag at 5 m/s after 6 s: real "
        f"PX4 is {-of_px4('velocity_error'):.2f} m/s too slow then, the same.",
        figure,
    )


def hover_in_wind(report):
    """One minute of hover in turbulence."""
    flight = Recorded(wind="mean=5,0,0 dryden=5").climb(10.0)
    flight.offboard_for(5, lambda t: flight.position((0.0, 0.0, 10.0)))  # a step at its entry
    found = flight.offboard_for(60, lambda t: flight.position((0.0, 0.0, 10.0)))
    close(flight)
    away = found["pos"] - (0.0, 0.0, 10.0)
    tilt = np.degrees(np.hypot(found["euler"][:, 0], found["euler"][:, 1]))
    turn = turn_of(found["sp_quat"])
    figure, axes = plot_style.panels(1, 4, 15, 3.6)
    axes[0].plot(found["t"], away, label=("east", "north", "up"))
    axes[0].set(xlabel="t [s]", ylabel="from its set-point [m]")
    plot_style.legend(axes[0], below=True)
    axes[1].plot(away[:, 0], away[:, 1], lw=0.7)
    axes[1].set(xlabel="east [m]", ylabel="north [m]", aspect="equal")
    axes[2].plot(found["t"], tilt)
    axes[2].set(xlabel="t [s]", ylabel="tilt [deg]")
    axes[3].plot(found["t"][LOOP:], turn, lw=0.8)
    axes[3].set(xlabel="t [s]", ylabel="rate of the attitude set-point [deg/s]")
    side = np.hypot(away[:, 0], away[:, 1])
    report.check("Hover in wind: RMS distance across", math.sqrt((side**2).mean()), 0.25, "m")
    report.check("Hover in wind: largest distance across", side.max(), 0.6, "m")
    report.check("Hover in wind: RMS height", math.sqrt((away[:, 2] ** 2).mean()), 0.2, "m")
    report.check(
        "Hover in wind: fastest rotation of the attitude set-point", turn.max(), 40, "deg/s"
    )
    report.section(
        "Hover in wind",
        "One minute at 10 m in a mean wind of 5 m/s from the west with "
        "Dryden turbulence of 5 m/s at 20 ft. The attitude set-point makes no steps "
        "where GPS fixes correct the estimate. Real PX4: "
        f"{of_px4('hover_turn'):.1f} deg/s, {of_px4('hover_rms'):.2f} m RMS and "
        f"{of_px4('hover_largest'):.2f} m at most across.",
        figure,
    )


def cruise_items(origin):
    """Take-off, a leg to the east, and a stop at its end."""
    return [
        item(origin, 22, 0, 0, 10.0),
        item(origin, 16, LEG, 0, 10.0),
        item(origin, 17, LEG, 0, 10.0),
    ]


def cruise_flight():
    """The record of a mission leg at CRUISE, from the end of the take-off."""
    flight = Recorded()
    flight.set(MPC_XY_CRUISE=CRUISE)
    flight.upload(cruise_items(flight.autopilot.origin))
    flight.start()
    flight.wait(lambda: flight.seq() == 1, 30)
    since = len(flight.rows)
    flight.run(40)
    close(flight)
    return flight.table(since)


def cruise(report):
    """A mission leg at 12 m/s."""
    found = cruise_flight()
    t, speed = found["t"] - found["t"][0], np.hypot(found["vel"][:, 0], found["vel"][:, 1])
    even = cruise_speed(found["pos"], found["vel"])
    mean, spread = of_px4("cruise_mean"), of_px4("cruise_spread")
    figure, axes = plot_style.panels(1, 3, 12.5, 3.6)
    axes[0].plot(t, speed)
    axes[0].axhline(CRUISE, color="k", ls=":", lw=1)
    axes[0].set(xlabel="t [s]", ylabel="speed [m/s]")
    axes[1].plot(found["pos"][:, 0], found["pos"][:, 2] - 10, label="height")
    axes[1].plot(found["pos"][:, 0], found["pos"][:, 1], label="across the leg")
    axes[1].set(xlabel="east [m]", ylabel="error [m]")
    plot_style.legend(axes[1], below=True)
    axes[2].plot(t, np.degrees(found["euler"][:, 1]))
    axes[2].set(xlabel="t [s]", ylabel="pitch [deg]")
    report.check(
        f"Cruise at 12 m/s: mean speed, less PX4's {mean:.2f}", even.mean() - mean, 0.1, "m/s"
    )
    report.check(
        f"Cruise at 12 m/s: RMS about the mean, less PX4's {spread:.2f}",
        even.std() - spread,
        0.1,
        "m/s",
    )
    report.check(
        "Cruise at 12 m/s: largest error of height, the whole leg",
        abs(found["pos"][:, 2] - 10).max(),
        1.0,
        "m",
    )
    report.check(
        "Cruise at 12 m/s: largest distance across the leg", abs(found["pos"][:, 1]).max(), 0.5, "m"
    )
    report.check(
        "Cruise at 12 m/s: overshoot at the end", max(found["pos"][:, 0].max() - LEG, 0), 0.5, "m"
    )
    report.section(
        "Cruise",
        "A mission leg of 300 m at 12 m/s: MPC_XY_CRUISE = 12, "
        "MPC_XY_VEL_MAX = 12 as always, and so is the velocity set-point: the position "
        "loop cannot add to it, and the integrator of the velocity loop has not yet "
        "made up for the rotor drag, in real PX4 as well.",
        figure,
    )


def eight(t, length=8.0, period=16.0):
    """Position, velocity and acceleration on a horizontal figure of eight about (0, 0, 10)."""
    w = 2 * math.pi / period
    pos = np.array([length * math.sin(w * t), 0.5 * length * math.sin(2 * w * t), 10.0])
    vel = np.array([length * w * math.cos(w * t), length * w * math.cos(2 * w * t), 0.0])
    acc = np.array(
        [-length * w * w * math.sin(w * t), -2 * length * w * w * math.sin(2 * w * t), 0.0]
    )
    return pos, vel, acc


def figure_of_eight(report):
    """Tracking of a smooth trajectory with and without feed-forward."""
    flight = Recorded().climb(10.0)
    figure, axes = plot_style.panels(1, 3, 12.5, 3.8)
    for name, given, bounds in (
        ("with feed-forward", 3, (0.25, 0.5)),
        ("position only", 1, (6.0, 8.0)),
    ):
        found = flight.offboard_for(40, lambda t: flight.position(*eight(t)[:given]))
        flight.offboard_for(10, lambda t: flight.position((0.0, 0.0, 10.0)))
        wanted = np.array([eight(t)[0] for t in found["t"]])
        away = np.linalg.norm(found["pos"] - wanted, axis=1)
        later = found["t"] > 8.0
        report.check(
            f"Figure of eight, {name}: RMS distance",
            math.sqrt((away[later] ** 2).mean()),
            bounds[0],
            "m",
        )
        report.check(
            f"Figure of eight, {name}: largest distance", away[later].max(), bounds[1], "m"
        )
        axes[0].plot(*found["pos"][later][:, :2].T, label=name)
        axes[1].plot(found["t"], away, label=name)
        axes[2].plot(found["t"], np.linalg.norm(found["vel"], axis=1), label=name)
    axes[0].plot(*wanted[:, :2].T, ":k", lw=1, label="set-point")
    axes[0].set(xlabel="east [m]", ylabel="north [m]", aspect="equal")
    axes[1].set(xlabel="t [s]", ylabel="distance from the set-point [m]")
    axes[2].set(xlabel="t [s]", ylabel="speed [m/s]")
    plot_style.legend(axes[0], below=True)
    close(flight)
    report.section(
        "Figure of eight",
        "16 m by 8 m in 16 s, up to 4.4 m/s, as set-points at 50 Hz: "
        "with velocity and acceleration as feed-forward, and as positions alone, which "
        "PX4's cascade follows with a lag of 1 / MPC_XY_P.",
        figure,
    )


def vision_of(flight, rng):
    """A function that sends the true pose of VISION_DELAY_US ago, with noise."""
    poses = deque()

    def measure():
        state, t_us = flight.simulation.state, flight.simulation.t_us
        poses.append((t_us, state.pos[0].copy(), state.quat[0].copy()))
        if poses[0][0] > t_us - VISION_DELAY_US:
            return
        then, pos, quat = poses.popleft()
        turn = Rotation.from_rotvec(rng.normal(0, VISION_ANGLE, 3))
        roll, pitch, yaw = to_euler(
            *quat_enu_ned(np.array((turn * Rotation.from_quat(quat)).as_quat()))
        )
        flight.send(
            mavlink.MAVLink_vision_position_estimate_message(
                then, *enu_ned(pos + rng.normal(0, VISION_POS, 3)), roll, pitch, yaw
            )
        )

    return measure


def gps_loss(report):
    """Half a minute on vision without GPS."""
    flight = Recorded().climb(10.0)
    rng = np.random.default_rng(5)
    measure, count = vision_of(flight, rng), [0]
    lost, back, end = 20.0, 50.0, 70.0

    def gps(kind):
        flight.send(
            mavlink.MAVLink_command_long_message(
                1,
                1,
                mavlink.MAV_CMD_INJECT_FAILURE,
                0,
                mavlink.FAILURE_UNIT_SENSOR_GPS,
                kind,
                0,
                0,
                0,
                0,
                0,
            )
        )

    def ask(t):
        count[0] += 1
        if count[0] == round(lost * 50):
            gps(mavlink.FAILURE_TYPE_OFF)
        if count[0] == round(back * 50):
            gps(mavlink.FAILURE_TYPE_OK)
        if count[0] % 2:  # 25 Hz
            measure()
        flight.position(*eight(t))

    found = flight.offboard_for(end, ask)
    mode = flight.mode
    close(flight)
    wanted = np.array([eight(t)[0] for t in found["t"]])
    error = np.linalg.norm(found["est_pos"] - found["pos"], axis=1)
    away = np.linalg.norm(found["pos"] - wanted, axis=1)
    jump = np.linalg.norm(np.diff(found["est_pos"] - found["pos"], axis=0), axis=1)
    turn = turn_of(found["sp_quat"])
    figure, axes = plot_style.panels(1, 3, 12.5, 3.6)
    axes[0].plot(found["t"], error, label="error of the estimate")
    axes[0].plot(found["t"], away, label="distance from the set-point")
    axes[0].set(xlabel="t [s]", ylabel="[m]")
    plot_style.legend(axes[0], below=True)
    axes[1].plot(found["t"][1:], 100 * jump)
    axes[1].set(xlabel="t [s]", ylabel="change of that error in a step [cm]")
    begun = found["t"][LOOP:] > 2  # the eight begins at full speed
    axes[2].plot(found["t"][LOOP:][begun], turn[begun], lw=0.8)
    axes[2].set(xlabel="t [s]", ylabel="rate of the attitude set-point [deg/s]")
    for panel in axes:
        panel.axvspan(lost, back, color="0.9")
    gone = (found["t"] > lost) & (found["t"] < back)
    again = found["t"] > back
    steady = (found["t"] > 8) & (found["t"] < lost)
    report.check(
        "GPS loss: still in OFFBOARD in the end (0 = yes)", float(mode != Mode.OFFBOARD), 0.0
    )
    report.check("GPS loss: largest error of the estimate on vision", error[gone].max(), 0.4, "m")
    report.check(
        "GPS loss: largest distance from the set-point on vision", away[gone].max(), 0.6, "m"
    )
    report.check("GPS loss: the same after GPS came back", away[again].max(), 0.6, "m")
    report.check(
        "GPS loss: largest jump of the estimate in one step",
        jump[found["t"][1:] > 8].max(),
        0.15,
        "m",
    )
    report.check(
        "GPS loss: largest rotation rate of the attitude set-point at loss and return, "
        "over that before",
        max(turn[abs(found["t"][LOOP:] - x) < 2].max() for x in (lost, back))
        / turn[steady[LOOP:]].max(),
        2.0,
    )
    report.section(
        "GPS loss with vision",
        "The same eight. VISION_POSITION_ESTIMATE brings the "
        "true pose at 25 Hz, 60 ms late, with noise of 2 cm and 0.5 degrees; "
        "MAV_CMD_INJECT_FAILURE takes GPS away from 20 to 50 s (grey). The steps of the "
        "attitude set-point (right) are those of the set-points that come at 50 Hz.",
        figure,
    )


def mission(report):
    """Twenty waypoints, and the trajectory between them."""
    flight = Recorded()
    items, positions = waypoints(flight.autopilot.origin)
    flight.upload(items)
    seqs, since = [], len(flight.rows)
    flight.start()
    for _ in range(200):
        flight.run(1, lambda: seqs.append(flight.seq()), 250)
        if not flight.armed:
            break
    found = flight.table(since)
    limit = flight.autopilot.parameters.get(0, "MPC_JERK_AUTO")
    radius = flight.autopilot.parameters.get(0, "NAV_ACC_RAD")
    close(flight)
    nearest = waypoint_distances(found["pos"], np.array(seqs), positions)
    jerk = jerk_of(found["smooth_acc"])
    after = len(found) - len(jerk)
    flying = (found["mode"][after:] != Mode.LOITER) & (found["pos"][after:, 2] > 0.3)
    report.check(
        f"Mission: waypoints not passed inside {radius:g} m of the truth, of "
        f"{len(nearest)}; PX4's number",
        (nearest > radius).sum(),
        max(PX4["waypoints_outside"]),
    )
    report.check(
        "Mission: largest distance of a waypoint when it was passed; PX4's largest",
        nearest.max(),
        max(PX4["waypoints_largest"]),
        "m",
    )
    report.check(
        "Mission: jerk of the trajectory, largest on an axis, over MPC_JERK_AUTO",
        abs(jerk[flying]).max() / limit,
        1.001,
    )
    report.check("Mission: still armed in the end (0 = no)", float(found["pos"][-1, 2] > 0.5), 0.0)
    figure, axes = plot_style.panels(1, 3, 12.5, 3.8)
    axes[0].plot(*found["pos"][:, :2].T)
    for _k, position in positions.items():
        axes[0].add_patch(Circle(position[:2], radius, fill=False, lw=0.8))
    axes[0].set(xlabel="east [m]", ylabel="north [m]", aspect="equal")
    t = found["t"] - found["t"][0]
    axes[1].plot(t, np.linalg.norm(found["vel"], axis=1), label="speed [m/s]")
    axes[1].plot(t, found["pos"][:, 2], label="height [m]")
    axes[1].set(xlabel="t [s]")
    plot_style.legend(axes[1], below=True)
    axes[2].plot(t[after:], np.where(flying[:, None], jerk, np.nan), lw=0.6)
    axes[2].set(xlabel="t [s]", ylabel="jerk of the trajectory by axis [m/s³]")
    report.section(
        "Mission of 20 waypoints",
        "docs/missions/twenty.plan, from take-off to "
        "landing; the circles are the acceptance radius. It bounds the horizontal "
        "distance of the estimated position, the table has the distance in space of "
        "the true one: that of real PX4 was up to "
        f"{max(PX4['waypoints_largest']):.2f} m. The trajectory that AUTO modes follow "
        "is limited in jerk (right) on each axis, as in PX4.",
        figure,
    )


def main(names) -> int:
    """Flies the named cases, or all; writes the page only if all were flown."""
    parts = {
        part.__name__: part
        for part in (
            rotation_steps,
            motion_steps,
            hover_in_wind,
            cruise,
            figure_of_eight,
            gps_loss,
            mission,
        )
    }
    report = Report("flight", HEAD)
    for name in names or parts:
        parts[name](report)
    return report.write() if not names else int(bool(report.broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The embedded autopilot: a PX4-compatible flight stack for a whole fleet, in process."""

import math

import numpy as np

from xtdrone_core import FleetModel, registry
from xtdrone_core.contracts import ExternalPose, SettableParameters
from xtdrone_core.modes import Mode
from xtdrone_core.ports import Ports
from xtdrone_core.state import ARM, DISARM, KEEP, Estimates, SensorBatch, SetPoints

from . import interfaces as parts
from .mavlink.dialect import mavlink
from .mavlink.links import TICK_US, Links
from .mavlink.messages import Messages
from .mavlink.streams import Streams
from .navigation.follow import FollowTarget
from .navigation.mission import Missions
from .navigation.navigator import Navigator
from .parameters import store as parameters
from .parameters.preload import preload
from .safety.battery import Battery
from .safety.commander import Commander
from .safety.failsafes import Failsafes
from .safety.failures import VISION, Failures
from .safety.health import health
from .safety.rotor_monitor import RotorMonitor
from .ulog.writer import FleetLog
from .vehicle_status import TASK_GO, TRAJECTORY, describe_bodies, new_status

TEXT_CHUNK = 50  # characters of one STATUSTEXT
WARNINGS_PER_SECOND = 20  # of one vehicle; who provokes more does not flood links and logs
PARAMETERS_PER_TICK = 10  # of a list that a ground station asked for
VISION_MAX_AGE_US = 240_000  # of a pose; the estimator looks back no further [us]
READY_PERIOD_US = 100_000  # of looking at the arming checks [us]
MAV_TYPE_OF_ROTORS = {3: mavlink.MAV_TYPE_TRICOPTER, 4: mavlink.MAV_TYPE_QUADROTOR,
                      6: mavlink.MAV_TYPE_HEXAROTOR, 8: mavlink.MAV_TYPE_OCTOROTOR}


class EmbeddedAutopilot(ExternalPose, SettableParameters):
    """Estimator, control loops, modes and MAVLink links of N vehicles.

    Implements xtdrone_core.contracts.Autopilot. It sees sensor readings only.
    """

    def __init__(self, fleet: FleetModel, origin, magnetic_field, links: bool = True,
                 on_text=None, classes=None, ports: Ports | None = None):
        """Starts the flight stack of a fleet.

        Args:
            fleet: The vehicles.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            magnetic_field: (3,) field at the origin, ENU [T], for heading.
            links: Whether to open the MAVLink ports.
            on_text: Called with (vehicle, severity, text) for each STATUSTEXT.
            classes: The class of each part, as of parts.classes(); None = the embedded ones.
            ports: Of the simulation; None = those of the environment's instance.

        Raises:
            AutopilotError: A port is in use, or a part cannot be made.
        """
        n = fleet.n
        self.t_us = 0
        self.origin = tuple(origin)
        self.parameters = parameters.ParameterStore(n)
        self.parameter_files = None  # one for each vehicle, where it saves its parameters
        rotors = fleet.n_rotors
        self.parameters.values["MAV_TYPE"] = [
            MAV_TYPE_OF_ROTORS.get(r, mavlink.MAV_TYPE_QUADROTOR) for r in rotors.tolist()]
        self.status = new_status(n)
        self.battery = Battery(fleet, self.parameters)
        self.sensors = SensorBatch.empty(n)
        describe_bodies(self.status, fleet)
        made = {part: parts.build(part, kind, *((n, origin, magnetic_field)
                                                if part == "estimator" else (fleet,)))
                for part, kind in (classes or parts.classes()).items()}
        self.estimator = made["estimator"]
        self.estimator.mount(fleet)
        self._resets = self.estimator.reset_count.copy()
        self.navigator = Navigator()
        self.position_control = made["position_control"]
        self.velocity_control = made["velocity_control"]
        self.attitude_control = made["attitude_control"]
        self.rate_control = made["rate_control"]
        self.mixer = made["mixer"]
        self.commander = Commander(self, self.say)
        self.missions = Missions(self, n)
        self.failsafes = Failsafes(self, n)
        self.follow = FollowTarget(self, n)
        self.failures = Failures(fleet.rotor_mask)
        self._rotor_monitor = RotorMonitor(fleet)
        self._rotor_mask = fleet.rotor_mask
        self._rotor_numbers = np.arange(fleet.rotor_mask.shape[1])
        self.commands = np.zeros(fleet.rotor_mask.shape)
        self._on_text = on_text
        self._text_id = 0
        self._warnings = np.zeros((n, 2), dtype=np.int64)  # the second, and how many came in it
        self._said_once = set()
        self.log = None  # FleetLog, or None
        self._parameter_queue = []  # (link, name) still to be sent
        self._links = Links(n, Streams(self), ports) if links else None
        self._messages = Messages(self, self._links) if links else None

    @classmethod
    def for_scenario(cls, scenario, fleet: FleetModel, origin, magnetic_field, folder, links: bool,
                     on_text) -> "EmbeddedAutopilot":
        """The flight stack of a scenario's fleet; arguments as of the class, folder for logs."""
        classes = parts.classes(**{part: getattr(scenario, part) for part in registry.PARTS})
        autopilot = cls(fleet, origin, magnetic_field, links, on_text, classes,
                        Ports(scenario.instance))
        try:
            preload(autopilot, scenario, folder)
        except BaseException:
            autopilot.close()
            raise
        if folder is not None and scenario.log != "none":
            profile = scenario.log
            if profile == "auto":
                profile = "full" if fleet.n == 1 else "fleet"
            try:
                autopilot.log = FleetLog(autopilot, fleet, [v.name for v in scenario.vehicles],
                                         folder / "ulog", profile)
            except BaseException:
                autopilot.close()
                raise
        return autopilot

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step: readings at t_us in, rotor commands (N, R) in 0..1 out."""
        dt = (t_us - self.t_us) * 1e-6
        self.t_us = t_us
        self.sensors = sensors
        self.failures.spoil_sensors(sensors)
        self.estimator.landed[:] = self.status["landed"]
        self.estimator.step(sensors, self.parameters.values)
        self._follow_resets()
        if self._links is not None:
            self._links.receive(t_us, self._messages.handle)
        p, values = self.status, self.parameters.values
        if self.navigator.step(t_us, p, values, self.estimator, sensors, dt):
            self.commander.handle_events(t_us)
        self.missions.step(t_us)
        self.position_control.step(p, values, self.estimator, dt)
        self.velocity_control.step(p, values, self.estimator, dt)
        self.attitude_control.step(p, values, self.estimator, dt)
        self.rate_control.step(p, values, self.estimator, dt)
        self.mixer.step(p, values, self.estimator, dt, self.commands)
        self.commands[~np.isfinite(self.commands)] = 0.0  # of an estimate that has failed
        self._rotor_monitor.step(p["armed"] & ~p["landed"], values["FD_ACT_EN"], self.commands,
                                 self.estimator.records, dt, self.failsafes.failed_rotor)
        self.failures.stop_motors(self.commands)
        if t_us % READY_PERIOD_US == 0:
            self._look_at_checks(t_us)
        if self.log is not None:
            self.log.step(t_us)
        if self._links is not None and t_us % TICK_US == 0:
            self._links.stream(t_us)
            self._send_queued_parameters()
            self._messages.downloads.step()
        return self.commands

    def estimates(self) -> Estimates:
        """What the autopilot believes now; the arrays are its own, not copies."""
        e, p = self.estimator, self.status
        return Estimates(self.t_us, e.pos, e.quat, e.vel, e.ang_vel, p["armed"], p["landed"],
                         p["mode"], p["ready"])

    def apply(self, set_points: SetPoints) -> None:
        """Takes an Agent's set-points as OFFBOARD ones, and its wishes to arm and change mode."""
        s, p = set_points, self.status
        given = np.isfinite(s.pos).any(axis=1) | np.isfinite(s.vel).any(axis=1)
        given |= np.isfinite(s.acc).any(axis=1)
        for name in ("pos", "vel", "acc", "yaw", "yaw_rate"):
            p[f"offboard_{name}"][given] = getattr(s, name)[given]
        p["offboard_kind"][given] = TRAJECTORY
        p["offboard_t"][given] = self.t_us
        p["offboard_count"][given] += 1
        for i in np.flatnonzero(s.mode != KEEP):
            self.commander.set_mode(int(i), Mode(s.mode[i]), self.t_us)
        for i in np.flatnonzero(s.arm == ARM):
            self.commander.arm(int(i), self.t_us)
        for i in np.flatnonzero(s.arm == DISARM):
            self.commander.disarm(int(i))

    def health(self) -> list[dict]:
        """What each vehicle says about itself, as plain data; see health.py."""
        return health(self, self._links)

    def set_parameter(self, i: int, name: str, value: float) -> None:
        """Sets a parameter of vehicle i."""
        self.parameters.set(i, name, value)

    def interrupt(self) -> None:
        """Nothing here waits for a peer."""

    def close(self) -> None:
        """Closes the MAVLink links and the flight logs."""
        if self.log is not None:
            self.log.close()
        if self._links is not None:
            self._links.close()

    def take_pose(self, i: int, t_us: int, pos, quat) -> None:
        """A pose that something outside measured, with the simulated time at which it was true.

        Args:
            i: The vehicle.
            t_us: Simulated time [us]; outside the last quarter of a second (another clock)
                it counts as now.
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world.
        """
        if not 0 <= self.t_us - t_us <= VISION_MAX_AGE_US:
            t_us = self.t_us
        if not self.failures.failed(i, VISION):
            self.estimator.fuse_vision(i, t_us, pos, quat)

    # For the MAVLink side -------------------------------------------------------------------

    def set_trajectory(self, i: int, pos, vel, acc, yaw: float, yaw_rate: float) -> None:
        """An offboard trajectory set-point of vehicle i, world ENU, NaN = not controlled."""
        v = self.status[i]
        v["offboard_pos"], v["offboard_vel"], v["offboard_acc"] = pos, vel, acc
        v["offboard_yaw"], v["offboard_yaw_rate"] = yaw, yaw_rate
        v["offboard_kind"] = TRAJECTORY
        v["offboard_t"] = self.t_us
        v["offboard_count"] += 1

    def reposition(self, i: int, target, yaw: float, speed: float) -> None:
        """A new place (3,) [m] to hold in AUTO.LOITER; NaN keeps what it has."""
        v = self.status[i]
        if v["phase"] == -1:
            self.begin_way(i)
        v["target"] = np.where(np.isfinite(target), target, v["target"])
        if np.isfinite(yaw):
            v["target_yaw"] = yaw
        v["target_speed"] = speed if np.isfinite(speed) and speed > 0 else np.nan

    def begin_way(self, i: int) -> None:
        """Begins an AUTO mode at once, so that the target that it gets next is not forgotten."""
        v = self.status[i]
        goes_on = v["on_way"] and not v["landed"]
        if not goes_on:
            v["smooth_pos"], v["smooth_vel"] = self.estimator.pos[i], self.estimator.vel[i]
            v["smooth_acc"] = 0.0
        if not (goes_on and math.isfinite(v["sp_yaw"])):
            v["sp_yaw"] = self.estimator.yaw(i)
        v["target_vel"] = 0.0
        v["target"] = v["smooth_pos"]
        v["target_yaw"] = self.estimator.yaw(i)
        v["climb"] = v["accept_yaw"] = v["target_speed"] = np.nan
        v["task"], v["watch"], v["pass_speed"] = TASK_GO, False, 0.0
        v["phase"] = 0

    def fly_without(self, i: int, rotor: int) -> None:
        """Takes a rotor (from 0) of vehicle i out of the mixer until the vehicle is disarmed."""
        self.mixer.use_rotors(i, self._rotor_mask[i] & (self._rotor_numbers != rotor))

    def thrust_normalised(self) -> np.ndarray:
        """(N,) collective set-point as the common rotor command 0..1 that gives it."""
        c, b, a = self.status["thrust_poly"].T
        c = np.minimum(c - self.status["sp_thrust"], 0.0)
        return np.minimum((-b + np.sqrt(b * b - 4 * a * c)) / (2 * a), 1.0)

    def say(self, i: int, severity: int, text: str) -> None:
        """Sends a STATUSTEXT from vehicle i, in chunks where it is long.

        Warnings beyond WARNINGS_PER_SECOND are left out.
        """
        if severity == mavlink.MAV_SEVERITY_WARNING:
            second = self.t_us // 1_000_000
            count = self._warnings[i, 1] + 1 if self._warnings[i, 0] == second else 1
            self._warnings[i] = second, count
            if count > WARNINGS_PER_SECOND:
                return
        if self._on_text is not None:
            self._on_text(i, severity, text)
        if self.log is not None:
            self.log.text(i, self.t_us, severity, text)
        if self._links is None:
            return
        data = text.encode("ascii", "replace")
        self._text_id = self._text_id % 65535 + 1
        chunks = [data[k:k + TEXT_CHUNK] for k in range(0, len(data), TEXT_CHUNK)]
        for k, chunk in enumerate(chunks):
            self._links.broadcast(i, mavlink.MAVLink_statustext_message(
                severity, chunk, self._text_id if len(chunks) > 1 else 0, k))

    def broadcast(self, i: int, message) -> None:
        """Sends one message on every link of vehicle i that has a peer."""
        if self._links is not None:
            self._links.broadcast(i, message)

    def broadcast_stream(self, i: int, name: str) -> None:
        """Sends one message of the streams at once, on every link of vehicle i that has a peer."""
        if self._links is not None:
            self._links.broadcast_stream(i, name, self.t_us)

    def announce(self, i: int) -> None:
        """Tells every client at the next tick that vehicle i changed its mode or arming."""
        if self._links is not None:
            self._links.hurry(i, "HEARTBEAT", self.t_us)

    def say_once(self, i: int, text: str) -> None:
        """A warning that is sent only the first time."""
        if (i, text) not in self._said_once:
            self._said_once.add((i, text))
            self.say(i, mavlink.MAV_SEVERITY_WARNING, text)

    def send_parameters(self, link) -> None:
        """Queues every parameter for a ground station."""
        self._parameter_queue = [item for item in self._parameter_queue if item[0] is not link]
        self._parameter_queue += [(link, name) for name in parameters.table()]

    def _send_queued_parameters(self):
        for _ in range(min(PARAMETERS_PER_TICK, len(self._parameter_queue))):
            self._messages.send_parameter(*self._parameter_queue.pop(0))

    def _follow_resets(self):
        """Where an estimate jumped, the way that the vehicle follows jumps along."""
        e = self.estimator
        jumped = np.flatnonzero(e.reset_count != self._resets)
        if len(jumped):
            self.status["smooth_pos"][jumped] += e.reset_pos[jumped]
            self._resets[jumped] = e.reset_count[jumped]

    def _look_at_checks(self, t_us):
        p = self.status
        self.battery.step(p["armed"], self.sensors.battery_voltage, self.sensors.battery_current,
                          READY_PERIOD_US * 1e-6)
        self.failures.empty_batteries(self.battery.level)
        least = self.parameters.values["COM_ARM_BAT_MIN"]
        self.failsafes.step(t_us)
        self.follow.step()
        p["ready"] = (self.estimator.ready & (self.battery.level >= least)
                      & self.failsafes.may_arm())
        first = p["ready"] & ~p["home_set"]
        if first.any():
            p["home"][first] = self.estimator.pos[first]
            for i in np.flatnonzero(first):
                p["home_yaw"][i] = self.estimator.yaw(i)
                self.announce(i)
            p["home_set"] |= first
        if self._links is not None and t_us % 10_000_000 == 0:
            self._links.forget_silent_peers(t_us)
        if self._messages is not None:
            self._messages.step(t_us)

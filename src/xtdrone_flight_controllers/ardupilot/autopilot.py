"""Real ArduPilot as the autopilot of a fleet: software in the loop, in lockstep."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.state.vehicle_status import describe_bodies, new_status
from xtdrone_core import FleetModel, FleetState
from xtdrone_core.contracts import AutopilotContext, Observer, RemovableVehicles
from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import Estimates, SensorBatch, SetPoints

from ..common.own_state import OwnState, check_given
from ..common.process import stop_all
from . import frames, process
from .link import ANSWER_S, JsonLink
from .options import ArduPilotOptions
from .telemetry import ArduPilotTelemetry

MAX = 100  # vehicles, each a process
CONNECT_S = 30.0  # wall time for the fleet to connect [s]
STEP_US = 4000  # step of the simulation [us]
FRAMES = 2  # frames in a step: ArduPilot's loop needs a clock finer than its period
_TELEMETRY_US = 20_000  # period of reading the telemetry [us]
_IDLE, _RANGE = 1000.0, 1000.0  # pulse width of no thrust, and from there to all [us]
_CRITICAL, _WARNING = 2, 4  # MAV_SEVERITY
_WAIT_S = 0.1
_log = logging.getLogger(__name__)


class ArduPilotAutopilot(OwnState, RemovableVehicles, Observer):
    """N real ArduPilots, each a process of its own.

    Implements xtdrone_core.contracts.Autopilot. ArduPilot runs its own estimator, flight modes and
    MAVLink links. By its JSON interface it gets the true pose, from which it makes its readings of
    GPS, compass and barometer, and our readings of gyroscope and accelerometer.
    """

    own_state = (
        "the state of a real ArduPilot cannot be saved or loaded: it lies in its process; "
        "fly autopilot:=embedded for that"
    )

    def __init__(
        self,
        fleet: FleetModel,
        names: Sequence[str],
        origin: Sequence[float],
        starts: npt.ArrayLike,
        installation: process.ArduPilotInstallation | None,
        folder: Path | None,
        on_text: Callable[[int, int, str], None],
        own: Ports,
    ):
        """Opens the ports, and starts the ArduPilots if an installation is given.

        Args:
            fleet: The vehicles.
            names: Name of each vehicle.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            starts: (N, 3) start position of each vehicle in the world [m].
            installation: What to start; None waits for ArduPilots that are started externally.
            folder: Run folder for consoles and logs, or None.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation.

        Raises:
            AutopilotError: A vehicle has no frame of ArduPilot's, a port is in use, or ArduPilot
                cannot be started.
        """
        n = fleet.n
        if n > MAX:
            raise AutopilotError(f"{n} ArduPilots are not allowed: give at most {MAX}")
        self._names, self._ports, self._on_text = tuple(names), own, on_text
        self._fleet, self._origin, self._folder = fleet, tuple(origin), folder
        self._installation = installation
        self._motors = [frames.motors(model)[1] for model in fleet.vehicles]
        self.commands = np.zeros(fleet.actuator.shape)
        bodies = new_status(n)
        describe_bodies(bodies, fleet)
        self._turn_max = bodies["turn_max"][:, 0]
        # (N, 10) true position, velocity, quaternion xyzw; now, and when step() was called last.
        self._now = np.hstack(
            [np.array(starts, dtype=float), np.zeros((n, 3)), np.tile((0.0, 0.0, 0.0, 1.0), (n, 1))]
        )
        self._past = self._now
        self._interrupted = self._begun = False
        self._starts = np.zeros(n, dtype=np.int64)
        self._processes: list[process.ArduPilotProcess] = []
        self._link = JsonLink(n, own)
        self._telemetry = ArduPilotTelemetry(n, origin, on_text, own)
        try:
            for i in range(n if installation is not None else 0):
                self._processes.append(self._start(i))
        except BaseException:
            self.close()
            raise

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> "ArduPilotAutopilot":
        """Starts the ArduPilots from the scenario's `ardupilot`, or waits for external ones."""
        scenario = context.scenario
        check_given(scenario, "ArduPilot", ", and upload it by a ground station")
        return cls(
            context.fleet,
            [spec.name for spec in scenario.vehicles],
            context.origin,
            [spec.pos for spec in scenario.vehicles],
            process.find(scenario.settings(ArduPilotOptions).ardupilot),
            context.folder,
            context.on_text,
            scenario.ports,
        )

    @property
    def pids(self) -> list[int]:
        """Process ids of the ArduPilots that this simulation started."""
        return [running.pid for running in self._processes]

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Keeps the true pose, for the JSON interface."""
        self._now = np.hstack([state.pos, state.vel, state.quat])

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Keeps the true pose."""
        self.on_start(t_us, state, sensors)

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step: sends the state of t_us, returns actuator commands (N, A) 0..1.

        Raises:
            AutopilotError: An ArduPilot has ended or hangs.
        """
        if not self._begun:
            self._begun = True
            self._await_fleet()
        for frame in range(1, FRAMES + 1):
            for i in self._link.exchange(
                self._lines(t_us, sensors, frame / FRAMES), self._check_processes
            ):
                raise AutopilotError(
                    f"ArduPilot {i} of '{self._names[i]}' does not answer for "
                    f"{ANSWER_S:g} s: it hangs"
                )
        self._past = self._now
        if t_us % _TELEMETRY_US == 0:
            self._check_processes()
            self._telemetry.step(t_us)
        for i, order in enumerate(self._motors):
            pulses = self._link.pulses[i, order]
            self.commands[i, : len(order)] = np.clip((pulses - _IDLE) / _RANGE, 0.0, 1.0)
        return self.commands

    def estimates(self) -> Estimates:
        """ArduPilot's estimates, from its latest telemetry."""
        return self._telemetry.estimates()

    def apply(self, set_points: SetPoints) -> None:
        """Sends an Agent's set-points to ArduPilot by MAVLink."""
        self._telemetry.apply(set_points)

    def health(self) -> list[dict]:
        """Mode, armed, landed and not_ready of each ArduPilot, from its MAVLink telemetry."""
        return self._telemetry.health()

    def interrupt(self) -> None:
        """Stops waiting for ArduPilots to connect; safe to call in a signal handler."""
        self._interrupted = True

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Restarts the ArduPilots of some vehicles (mask (N,) bool, None for all).

        Raises:
            AutopilotError: The ArduPilots were started externally.
        """
        if not self._processes:
            raise AutopilotError(
                "these ArduPilots were started externally, and ArduPilot can only "
                "be reset by starting it anew: give ardupilot:=PATH, and the "
                "simulation starts them"
            )
        chosen = np.flatnonzero(np.ones(len(self._names), dtype=bool) if mask is None else mask)
        for i in map(int, chosen):
            self._processes[i].stop()
            self._link.await_again(i)
            self._telemetry.begin_again(i)
            self._processes[i] = self._start(i)
        self.commands[chosen] = 0.0
        self._begun = False

    def remove_vehicle(self, i: int) -> None:
        """Stops the ArduPilot of vehicle i for good; see contracts.RemovableVehicles."""
        if self._processes:
            self._processes[i].stop()
        self._link.remove_vehicle(i)
        self._telemetry.remove_vehicle(i)

    def close(self) -> None:
        """Stops every ArduPilot that this simulation started, and closes all links."""
        stop_all(self._processes)
        self._processes = []
        self._telemetry.close()
        self._link.close()

    def _start(self, i: int) -> process.ArduPilotProcess:
        assert self._installation is not None
        self._starts[i] += 1
        return process.ArduPilotProcess(
            self._installation,
            i,
            self._names[i],
            self._fleet.vehicles[i],
            float(self._turn_max[i]),
            self._origin,
            self._telemetry.port,
            self._folder,
            self._ports,
            int(self._starts[i]),
        )

    def _lines(self, t_us: int, sensors: SensorBatch, fraction: float) -> list[bytes]:
        """The state of each vehicle as ArduPilot reads it, at a fraction of the step to t_us.

        The readings of gyroscope and accelerometer are those of the whole step.
        """
        turned = np.where(
            (self._now[:, 6:] * self._past[:, 6:]).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0
        )  # the nearer one of the two quaternions of an attitude
        now = np.hstack([self._now[:, :6], turned * self._now[:, 6:]])
        at = self._past + fraction * (now - self._past)
        pos, vel = enu_ned(at[:, :3]), enu_ned(at[:, 3:6])
        quat = quat_enu_ned(at[:, 6:] / np.linalg.norm(at[:, 6:], axis=1, keepdims=True))
        gyro, accel = flu_frd(sensors.gyro), flu_frd(sensors.accel)
        t = (t_us + (fraction - 1.0) * STEP_US) * 1e-6
        return [
            _LINE.format(t, *g, *a, *p, *q, *v).encode()
            for g, a, p, q, v in zip(gyro, accel, pos, quat[:, [3, 0, 1, 2]], vel)
        ]

    def _await_fleet(self) -> None:
        """Blocks until every ArduPilot has connected, the time limit is over, or interrupt()."""
        begin, announced = time.monotonic(), False
        while self._link.missing.size and not self._interrupted:
            self._link.listen(_WAIT_S)
            self._check_processes()
            missing = self._link.missing
            late = time.monotonic() - begin
            if missing.size and self._processes and late > CONNECT_S:
                raise AutopilotError(
                    f"ArduPilot {missing[0]} of '{self._names[missing[0]]}' did "
                    f"not connect within {CONNECT_S:g} s"
                )
            if missing.size and not self._processes and not announced and late > 1.0:
                announced = True
                for i in map(int, missing):
                    text = (
                        f"waiting for its ArduPilot on UDP {self._ports.ardupilot(i)}; start "
                        f"it with '--model JSON:127.0.0.1 --sim-port-out "
                        f"{self._ports.ardupilot(i)} --sysid {self._ports.system_id(i)}'"
                    )
                    self._on_text(i, _WARNING, text)
                    _log.warning("%s: %s", self._names[i], text)

    def _check_processes(self) -> None:
        for i, running in enumerate(self._processes):
            if not self._link.left[i] and (end := running.end()):
                text = f"ArduPilot {i} of '{self._names[i]}' {end}"
                self._on_text(i, _CRITICAL, text)
                raise AutopilotError(text)


_NUMBERS = "[{}]".format(", ".join(["{:.9g}"] * 3))
# Three numbers are read by "[%f, %f, %f]", and names with exactly one colon after them.
_LINE = (
    '\n{{"timestamp":{:.6f},"imu":{{"gyro":'
    + _NUMBERS
    + ',"accel_body":'
    + _NUMBERS
    + '}},"position":'
    + _NUMBERS
    + ',"quaternion":[{:.9g}, {:.9g}, {:.9g}, {:.9g}],'
    '"velocity":' + _NUMBERS + ',"no_time_sync":1}}\n'
)

"""Real PX4 as the autopilot of a fleet: software in the loop, in lockstep."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.parameters import file as parameter_file
from xtdrone_autopilot.state.estimator_flags import HEIGHT_BY_VISION
from xtdrone_core import FleetModel, FleetState, Scenario
from xtdrone_core.contracts import (
    AutopilotContext,
    ExternalPose,
    LandingTargetTaker,
    RemovableVehicles,
    Telemetered,
)
from xtdrone_core.runs import ports
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import SensorBatch

from ..common.process import stop_all
from . import process as px4_process
from .fleet import Px4Fleet
from .link import Peer, SimulatorLink
from .options import Px4Options

NAME_S = 1.8  # wall time after which a warning names each PX4 that has not connected [s]
CONNECT_S = 30.0  # wall time for the whole fleet to connect, from the first PX4 on [s]
BY_HAND_S = 60.0  # wall time for the first PX4 that somebody starts by hand [s]
TELEMETRY_US = 20_000  # period of reading PX4's telemetry [us]
HEARTBEAT_US = 3_000_000  # after so long without one and without an answer, a PX4 hangs [us]
_WAIT_S = 0.1
_WARNING = 4  # MAV_SEVERITY
_log = logging.getLogger(__name__)


class Px4Autopilot(Px4Fleet, ExternalPose, LandingTargetTaker, Telemetered, RemovableVehicles):
    """N real PX4s, each a process of its own.

    Implements xtdrone_core.contracts.Autopilot. PX4 runs its own estimator, flight modes and
    MAVLink links. Ground stations and other MAVLink clients connect to PX4, not to the simulation.
    """

    _link: SimulatorLink

    def __init__(
        self,
        fleet: FleetModel,
        names: Sequence[str],
        origin: Sequence[float],
        offsets: npt.ArrayLike,
        installation: px4_process.Px4Installation | None = None,
        folder: Path | None = None,
        loss: str = "stop",
        shared_origin: bool = True,
        on_text: Callable[[int, int, str], None] | None = None,
        own: Ports | None = None,
        parameters: Sequence[Mapping[str, float]] | None = None,
        defaults: Sequence[Mapping[str, float]] | None = None,
    ):
        """Opens the simulator links, and starts the PX4s if an installation is given.

        Args:
            fleet: The vehicles.
            names: Name of each vehicle.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            offsets: (N, 3) start position of each vehicle in the world [m]: the origin of its local
                frame, unless shared_origin.
            installation: Px4Installation to start; None waits for PX4s that are started externally.
            folder: Run folder for consoles and logs, or None.
            loss: What happens when a PX4 is lost: "stop" ends the simulation, "continue" goes on
                with the other vehicles.
            shared_origin: Whether the origin of every local frame is the world's origin.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation; None = those of the environment's instance.
            parameters: For each vehicle, the PX4 parameters (name: value) that its start-up
                script sets; None keeps PX4's defaults.
            defaults: The same, in place of PX4's own defaults.

        Raises:
            AutopilotError: A port is in use, or PX4 cannot be started.
        """
        super().__init__(fleet, names, origin, loss, on_text, own)
        n = fleet.n
        self._truth: FleetState | None = None
        self._announced = np.zeros(n, dtype=np.bool_)
        self._processes: list[px4_process.Px4Process] = []
        self._installation, self._folder, self._fleet = installation, folder, fleet
        self._parameters, self._defaults = parameters or [{}] * n, defaults or [{}] * n
        self._starts = np.zeros(n, dtype=np.int64)  # how often this simulation started each PX4
        if installation is not None:
            _refuse_living(self._ports, n)
        self._link = SimulatorLink(
            n, self._lost, self._news, self._ports, self._replaced if installation is None else None
        )
        try:
            self._open_telemetry(offsets, shared_origin)
            for i in range(n if installation is not None else 0):
                self._processes.append(self._start(i))
        except BaseException:
            self.close()
            raise

    def _start(self, i: int) -> px4_process.Px4Process:
        """Starts the PX4 of vehicle i."""
        assert self._installation is not None
        self._starts[i] += 1
        return px4_process.Px4Process(
            self._installation,
            i,
            self._names[i],
            self._fleet.vehicles[i],
            self._folder,
            self._ports,
            int(self._starts[i]),
            self._parameters[i],
            self._defaults[i],
        )

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> "Px4Autopilot":
        """Starts the PX4s from the scenario's `px4`, or waits for externally started ones."""
        scenario, options = context.scenario, context.scenario.settings(Px4Options)
        installation = px4_process.find(options.px4)
        if scenario.mission:
            raise AutopilotError(
                "mission cannot be given to real PX4: leave it out, and upload it "
                "by a ground station or 'xtdrone mission upload'"
            )
        if scenario.params and installation is None:
            raise AutopilotError(
                "params cannot be given to PX4s that are started externally: name "
                "a build of PX4 (--px4 or PX4_BUILD), or set them yourself"
            )
        return cls(
            context.fleet,
            [spec.name for spec in scenario.vehicles],
            context.origin,
            [spec.pos for spec in scenario.vehicles],
            installation,
            context.folder,
            options.px4_loss,
            scenario.origin == "shared",
            context.on_text,
            scenario.ports,
            _parameters_of(scenario),
            [px4_process.simulation_defaults(float(late)) for late in context.sensors.gps_latency],
        )

    @property
    def states(self) -> np.ndarray:
        """(N,) Peer: state of the simulator link of each PX4."""
        return self._link.state

    @property
    def armed(self) -> np.ndarray:
        """(N,) bool, whether each PX4 is armed, as its last answer says."""
        return self._link.armed

    @property
    def pids(self) -> list[int]:
        """Process ids of the PX4s that this simulation started."""
        return [process.pid for process in self._processes]

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Keeps the true state, which goes to PX4's ground-truth topics and so into its log."""
        self._truth = state

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Keeps the true state."""
        self._truth = state

    def estimated_us(self) -> np.ndarray:
        """(N,) simulated time of each position, which PX4 stamps by the same clock [us]."""
        return self._telemetry.estimated_us()

    def take_pose(self, i: int, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Sends a pose to PX4 as external vision; EKF2_EV_CTRL sets whether EKF2 fuses it."""
        self._telemetry.send_pose(i, t_us, pos, quat)

    def take_landing_target(self, i: int, t_us: int, pos: npt.ArrayLike) -> None:
        """Sends a place to PX4 as LANDING_TARGET; see contracts.LandingTargetTaker."""
        self._telemetry.send_landing_target(i, t_us, pos)

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step: sends the readings of t_us, returns actuator commands (N, A) 0..1.

        Raises:
            AutopilotError: A PX4 is lost, and `loss` is "stop".
        """
        if not self._begun:
            self._begun = True
            self._await_fleet()
        link = self._link
        chosen = (link.state != Peer.AWAITED) & (link.state < Peer.HANGING)
        if chosen.any():
            link.exchange(t_us, self._frames.encode(t_us, sensors, self._truth, chosen))
        if t_us % TELEMETRY_US == 0:
            if not chosen.all():
                link.listen(0.0)
            self._check_processes()
            self._telemetry.step(t_us)
            self._find_hanging(t_us)
        return self._commands_from(link.controls)

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Restarts the PX4s of some vehicles (mask (N,) bool, None for all).

        The next step waits until they have connected. PX4 seeds its random numbers itself, so no
        two of its flights are bit-identical.

        Raises:
            AutopilotError: The PX4s were started externally.
        """
        if not self._processes:
            raise AutopilotError(
                "these PX4s were started externally, and PX4 can only be "
                "reset by starting it anew: give px4:=FOLDER, and the simulation "
                "starts them, or fly autopilot:=embedded"
            )
        chosen = np.flatnonzero(np.ones(len(self._names), dtype=bool) if mask is None else mask)
        stop_all([self._processes[i] for i in chosen])
        for i in chosen:
            self._link.await_again(int(i))
            self._telemetry.begin_again(int(i))
            self._announced[i] = False
        for i in chosen:
            self._processes[i] = self._start(int(i))
        self.commands[chosen] = 0.0
        self._begun = False

    def remove_vehicle(self, i: int) -> None:
        """Stops the PX4 of vehicle i for good; see contracts.RemovableVehicles."""
        if self._processes:
            self._processes[i].stop()
        self._link.remove_vehicle(i)
        self._telemetry.remove_vehicle(i)
        self.commands[i] = 0.0

    def close(self) -> None:
        """Stops every PX4 that this simulation started, and closes all links; may be repeated."""
        stop_all(self._processes)
        self._processes = []
        super().close()

    def _await_fleet(self) -> None:
        """Blocks until every PX4 has connected, the time limit is over, or interrupt()."""
        link, begin, first = self._link, time.monotonic(), None
        while (missing := np.flatnonzero(link.state == Peer.AWAITED)).size:
            if self._interrupted:
                return
            now = time.monotonic()
            if first is None and (self._processes or missing.size < len(link.state)):
                first = now
            if now - begin > NAME_S:
                for i in missing:
                    self._announce(int(i))
            if first is not None and now - first > (
                NAME_S if self._loss == "continue" and not self._processes else CONNECT_S
            ):
                if self._loss == "stop":
                    link.lose(int(missing[0]), f"did not connect within {CONNECT_S:g} s")
                return
            if first is None and now - begin > BY_HAND_S:
                link.lose(
                    int(missing[0]),
                    f"was not started within {BY_HAND_S:g} s: give --px4 BUILD or set PX4_BUILD, "
                    "and it is started for you",
                )
                return
            link.listen(_WAIT_S)
            self._check_processes()

    def _announce(self, i: int) -> None:
        if self._announced[i]:
            return
        self._announced[i] = True
        text = f"waiting for its PX4 on TCP {self._ports.simulator(i)}"
        if not self._processes:
            text += (
                f"; a living PX4 {i} of an earlier simulation will not reconnect: restart it"
                if ports.in_use(self._ports.ground_station_local(i))
                else f"; start it with '-i {self._ports.px4_number(i)}', or end this by Ctrl-C "
                "and set PX4_BUILD, then it is started for you"
            )
        self._on_text(i, _WARNING, text)
        _log.warning("%s: %s", self._names[i], text)  # the simulation waits

    def _check_processes(self) -> None:
        for i, process in enumerate(self._processes):
            if self._link.state[i] != Peer.LOST and (end := process.end()):
                self._link.lose(i, end)

    def _find_hanging(self, t_us: int) -> None:
        """A PX4 that does not answer and sends no heartbeat hangs; with one, it only waits.

        While it starts up it may answer before its first heartbeat, and pause.
        """
        alive_us = np.maximum(self._telemetry.heard_us, self._link.answered_us)
        silent = self._link.state == Peer.SILENT
        for i in np.flatnonzero(silent & (t_us - alive_us >= HEARTBEAT_US)):
            self._link.hang(int(i), "does not answer and sends no heartbeat: it hangs")

    def _replaced(self, i: int) -> None:
        """Another PX4 has connected in place of a lost one that was started externally."""
        self._telemetry.begin_again(i)
        self._news(i, "was replaced: another one has connected, and starts anew")

    def _lost(self, i: int, why: str) -> None:
        if self._processes and why.startswith("closed"):
            time.sleep(0.05)  # the exit status is available only a moment after the socket closes
            why = self._processes[i].end() or why
        super()._lost(i, why)


def _parameters_of(scenario: Scenario) -> list[dict[str, float]]:
    """The parameters that the start-up script of each PX4 of a scenario sets."""
    parameters = []
    for spec in scenario.vehicles:
        values = parameter_file.of_model(spec.type)
        if scenario.pose_source != "sensors":  # fuse external vision alone, as the embedded stack
            values |= {"EKF2_GPS_CTRL": 0, "EKF2_HGT_REF": HEIGHT_BY_VISION}
        if scenario.params:
            values |= parameter_file.of_scenario(scenario, spec.name)[0]
        parameters.append(values)
    return parameters


def _refuse_living(own: Ports, n: int) -> None:
    """Refuses to start PX4s while another PX4 is running on their ports.

    Raises:
        AutopilotError: A port that one of our PX4s needs is in use.
    """
    for i in range(n):
        for port in (own.ground_station_local(i), own.offboard_local(i)):
            if ports.in_use(port):
                raise AutopilotError(
                    f"port {port} (UDP) is in use: a PX4 started with '-i {own.px4_number(i)}' or "
                    "another simulation is running, and PX4 does not reconnect to a new "
                    f"simulation; {ports.advice()}"
                )
